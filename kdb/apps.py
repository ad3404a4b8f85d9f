from django.apps import AppConfig
from django.db.models.signals import post_migrate


class KdbConfig(AppConfig):
    """The project itself: its commands and its checks of the settings."""

    name = "kdb"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kdb import checks, letters, receivers, roles, tokens  # noqa: F401  (register themselves)

        post_migrate.connect(roles.bring_up_to_date, dispatch_uid="kdb.roles")
