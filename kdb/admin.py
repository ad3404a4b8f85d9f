"""Users in the administration site: whoever keeps them cannot give more than they have, nor take it. Who did what."""

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
    """Rows that follow from imports, publications and jobs; nobody types them in."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class GuardedUserAdmin(UserAdmin):
    """Superusers may all. Others give roles of which they have every permission, to users who have no others."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The door of the password form, too: who sets a password may act in that name."""
        return super().has_change_permission(request, obj) and (obj is None or not has_more(obj, request.user))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or not has_more(obj, request.user))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        fields = tuple(super().get_readonly_fields(request, obj))
        return fields if request.user.is_superuser else (*fields, "is_superuser", "user_permissions")

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        if db_field.name == "groups":
            field.queryset = groups_within(request.user)
        return field


def has_more(user: Any, other: Any) -> bool:
    """Whether `user` has, or would have once active, what `other` has not."""
    if other.is_superuser:
        return False
    held = Permission.objects.filter(Q(user=user) | Q(group__user=user))
    return user.is_superuser or held.exclude(pk__in=_held(other)).exists()


def groups_within(user: Any) -> QuerySet[Group]:
    """The groups that give nothing which `user` has not."""
    if user.is_superuser:
        return Group.objects.all()
    return Group.objects.exclude(permissions__in=Permission.objects.exclude(pk__in=_held(user)))


def _held(user: Any) -> QuerySet[Permission]:
    return Permission.objects.filter(Q(user=user) | Q(group__user=user)).values("pk")


@admin.register(SecondFactor)
class SecondFactorAdmin(admin.ModelAdmin):
    """Superusers take one away, of who lost both the app and the recovery codes. Nobody sees a secret."""

    list_display = ("user", "confirmed_at")
    readonly_fields = ("user", "confirmed_at")
    list_select_related = ("user",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnlyAdmin):
    """Who changed what in the administration itself: users, roles, passwords, the catalogue. Newest first."""

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
