from django.apps import AppConfig
from django.db.models.signals import post_migrate


class KdbConfig(AppConfig):
    """The project's own app: commands, checks of settings, accounts and jobs."""

    name = "kdb"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kdb import receivers  # noqa: F401  (importing them registers what they define)
        from kdb.accounts import mail, roles, tokens  # noqa: F401
        from kdb.operations import checks  # noqa: F401

        post_migrate.connect(roles.update_groups, dispatch_uid="kdb.accounts.roles")
