from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "kdb.notifications"
    label = "notifications"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import receivers  # noqa: F401  (register themselves)
