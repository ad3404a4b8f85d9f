"""The administration of users, second factors and the log. Nobody can grant or reach permissions that they lack."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from kdb.models import SecondFactor

admin.site.unregister(User)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that imports, publications and jobs write, and that nobody edits by hand."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class GuardedUserAdmin(UserAdmin):
    """Users. Only superusers may grant permissions that they lack, or change accounts that have such permissions."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the user may change an account, which includes setting its password and acting in its name."""
        return super().has_change_permission(request, obj) and (
            obj is None or not has_permission_beyond(obj, request.user)
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and (
            obj is None or not has_permission_beyond(obj, request.user)
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        fields = tuple(super().get_readonly_fields(request, obj))
        return fields if request.user.is_superuser else (*fields, "is_superuser", "user_permissions")

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "groups":
            kwargs["queryset"] = grantable_groups(request.user)
        return super().formfield_for_manytomany(db_field, request, **kwargs)


def has_permission_beyond(user: Any, other: Any) -> bool:
    """Tell whether `user` has a permission that `other` lacks, or would have it once active."""
    if other.is_superuser:
        return False
    held = Permission.objects.filter(Q(user=user) | Q(group__user=user))
    return user.is_superuser or held.exclude(pk__in=_permission_ids(other)).exists()


def grantable_groups(user: Any) -> QuerySet[Group]:
    """Return the groups whose permissions `user` has, too."""
    if user.is_superuser:
        return Group.objects.all()
    return Group.objects.exclude(permissions__in=Permission.objects.exclude(pk__in=_permission_ids(user)))


def _permission_ids(user: Any) -> QuerySet[Permission, int]:
    return Permission.objects.filter(Q(user=user) | Q(group__user=user)).values_list("pk", flat=True)


@admin.register(SecondFactor)
class SecondFactorAdmin(admin.ModelAdmin):
    """Second factors, which superusers delete for users who lost app and recovery codes. Secrets are not shown."""

    list_display = ("user", "confirmed_at")
    readonly_fields = ("user", "confirmed_at")
    list_select_related = ("user",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnlyAdmin):
    """Changes that were made in the administration, newest first."""

    list_display = ("action_time", "user", "action_flag", "content_type", "object_repr", "__str__")
    list_filter = (
        "action_flag",
        "action_time",
        ("user", admin.RelatedOnlyFieldListFilter),
        ("content_type", admin.RelatedOnlyFieldListFilter),
    )
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "change_message", "user__username")
    search_help_text = "What was changed, a person, or a word of the change."
    date_hierarchy = "action_time"
    ordering = ("-pk",)
    show_full_result_count = False
