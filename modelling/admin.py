"""Register models of modelling with Django's administration, to read."""

from django.contrib import admin

from kdb.admin import ReadOnlyAdmin

from .models import LaboratoryAuditEntry


@admin.register(LaboratoryAuditEntry)
class LaboratoryAuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail of all laboratories, newest first."""

    list_display = ("at", "actor", "action", "laboratory", "detail")
    list_select_related = ("actor", "laboratory")
    search_fields = ("laboratory__slug", "detail", "actor__username")
    show_full_result_count = False
