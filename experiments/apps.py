from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """Facts: the catalogue, case studies, their configurations and measurements."""

    name = "experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import metrics, receivers  # noqa: F401  (register themselves)
