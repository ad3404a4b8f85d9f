from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """Evidence: the catalogue, case studies with their measurements, imports, campaigns and observed hosts."""

    name = "experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import metrics, receivers  # noqa: F401  (register themselves)
