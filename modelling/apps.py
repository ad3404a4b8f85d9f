from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from experiments.catalogue.search.find import Hit


class ModellingConfig(AppConfig):
    """Inference: from published facts to rankings and their reasons."""

    name = "modelling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from experiments.catalogue.search import find

        from . import metrics, receivers  # noqa: F401  (register themselves)

        find.FURTHER.append(_find_hits)


def _find_hits(text: str) -> "list[Hit]":
    from .ask.finding import find_answers  # imported late, as it loads pandas and scipy

    return find_answers(text)
