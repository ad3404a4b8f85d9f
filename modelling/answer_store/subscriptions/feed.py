"""Serve an Atom feed of a question, with an entry for each knowledge revision that changed its answer."""

import hashlib

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from kdb.web.entity_tags import tagged
from modelling.answer_store.history import changed_answers, publication_times
from modelling.answer_store.permalinks import allowed_share, pin_answer
from modelling.answer_store.selectors import answer_in, snapshot_or_none
from modelling.answers import words
from modelling.evidence import names
from modelling.evidence.forms import AskForm
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot


@require_safe
def feed(request: HttpRequest) -> HttpResponseBase:
    """Return the feed of the question in the address, newest answer first. Its entity tag makes polling cheap."""
    form = AskForm(request.GET)
    if not form.is_valid():
        return redirect(f"{reverse('answer')}?{request.GET.urlencode()}")  # that page shows the form's errors
    question = form.question()
    current = snapshot_or_none(question)  # also notes that it was asked for, so that publications renew it
    changed = changed_answers(question)
    is_kept = {row.pk: pin_answer(row, allowed_share(request.user)) for row in changed}
    if not changed and current is not None and current.revision:  # not worth keeping, but an answer
        changed = [current]
    editions = [(row.revision, row.method, is_kept.get(row.pk, False)) for row in changed]
    tag = hashlib.sha256(repr([question.key, editions]).encode()).hexdigest()
    return tagged(
        request,
        tag,
        lambda: HttpResponse(
            _atom(request, question, changed, is_kept), content_type="application/atom+xml; charset=utf-8"
        ),
    )


def _atom(request: HttpRequest, question: Question, changed: list[RankingSnapshot], is_kept: dict[int, bool]) -> str:
    def absolute(address: str) -> str:
        return request.build_absolute_uri(address)

    published = publication_times({row.revision for row in changed})
    page = absolute(words.address(question))
    title = words.title(question, names.names())
    atom = Atom1Feed(
        title=f"KDB: {title}",
        link=page,
        feed_url=absolute(request.get_full_path()),
        description="An entry for each knowledge revision that changed the answer.",
        language="en",
    )
    for row in changed:
        answer = answer_in(row)
        not_kept = () if is_kept.get(row.pk) else ("This answer is not kept for good.",)
        permanent = absolute(words.address(question, row.revision, method=row.method))
        atom.add_item(
            title=answer.verdict.sentence,
            link=permanent,
            unique_id=permanent,
            description=" ".join((f"Evidence: {answer.verdict.strength}.", *answer.verdict.reasons, *not_kept)),
            pubdate=published[answer.revision],
            updateddate=published[answer.revision],
            author_name="KDB",
        )
    return atom.writeString("utf-8")
