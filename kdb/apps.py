from django.apps import AppConfig


class KdbConfig(AppConfig):
    """The project itself: its commands and its checks of the settings."""

    name = "kdb"

    def ready(self) -> None:
        from kdb import checks  # noqa: F401  (registers itself)
