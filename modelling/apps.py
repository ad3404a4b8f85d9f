from django.apps import AppConfig


class ModellingConfig(AppConfig):
    """Inference: from published facts to rankings and their reasons."""

    name = "modelling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from experiments.search import find

        from . import metrics, receivers  # noqa: F401  (register themselves)
        from .ask.finding import found_in

        find.FURTHER.append(found_in)
