from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """Facts: the catalogue, case studies, their configurations and measurements."""

    name = "experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import receivers  # noqa: F401  (registers itself)
