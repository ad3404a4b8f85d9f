from django.apps import AppConfig
from django.db.models.signals import post_migrate


class KdbConfig(AppConfig):
    """The project itself: its commands and its checks of the settings."""

    name = "kdb"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kdb import receivers  # noqa: F401  (they all register themselves)
        from kdb.accounts import letters, roles, tokens  # noqa: F401
        from kdb.operations import checks  # noqa: F401

        post_migrate.connect(roles.bring_up_to_date, dispatch_uid="kdb.accounts.roles")
