"""An Atom feed of the changes that everybody may see: confirmed by a laboratory that shared what it measured."""

from datetime import datetime

from django.contrib.syndication.views import Feed
from django.db.models import QuerySet
from django.urls import reverse, reverse_lazy
from django.utils.feedgenerator import Atom1Feed

from modelling.models import SeriesChange

from . import selectors, words

MOST = 100


class ChangeFeed(Feed):  # type: ignore[type-arg]  # Django's cannot be subscripted
    """The changes that were confirmed last."""

    feed_type = Atom1Feed
    title = "KDB: machines that became faster or slower"
    subtitle = "Changes of speed in laboratories that share what they measure: confirmed side by side and by members."
    link = reverse_lazy("answer")
    author_name = "KDB"

    def items(self) -> QuerySet[SeriesChange]:
        return selectors.public_changes()[:MOST]

    def item_title(self, item: SeriesChange) -> str:
        return words.headline(words.without_machine(item.about, item.laboratory.name), item.ratio)

    def item_description(self, item: SeriesChange) -> str:
        return selectors.sentence_of(item, words.without_machine(item.about, item.laboratory.name))

    def item_link(self, item: SeriesChange) -> str:
        return reverse("series-change", args=[item.pk])

    def item_pubdate(self, item: SeriesChange) -> datetime | None:
        return item.handled_at

    def item_updateddate(self, item: SeriesChange) -> datetime | None:
        return item.handled_at
