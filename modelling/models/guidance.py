"""Makers' advice and defaults of their products, which enter no estimate."""

from django.db import models


class Advice(models.Model):
    """One statement of a maker, in our words. An empty list means any; modelling.guidance.words has all values."""

    code = models.SlugField(max_length=40, unique=True)
    axis = models.CharField(max_length=30, db_index=True, help_text="KDB's axis, or a further subject.")
    hypervisors = models.JSONField(default=list, blank=True)
    host_storages = models.JSONField(default=list, blank=True)
    storages = models.JSONField(default=list, blank=True)
    guest_oses = models.JSONField(default=list, blank=True)
    workloads = models.JSONField(default=list, blank=True, help_text="Families of workloads.")
    recommended = models.JSONField(default=list, blank=True, help_text="Values of the axis, any of them.")
    discouraged = models.JSONField(default=list, blank=True, help_text="Values of the axis, each of them.")
    condition = models.CharField(max_length=200, blank=True, help_text="When it holds; empty: no condition is stated.")
    wording = models.CharField(max_length=20, help_text="As strong as the source says it.")
    reason = models.CharField(max_length=20, blank=True)
    statement = models.CharField(max_length=300)
    title = models.CharField(max_length=200, help_text="Of the source; of a default the product with its release.")
    publisher = models.CharField(max_length=80, db_index=True)
    kind = models.CharField(max_length=30, help_text="Of the source.")
    address = models.CharField(max_length=300, help_text="Of the source.")
    version = models.CharField(max_length=80, blank=True, help_text="Version or date of the source.")
    read = models.CharField(max_length=10, help_text="How much of the source was read.")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.code


class Contradiction(models.Model):
    """One question on which makers disagree: two views, each with the codes of its advice."""

    number = models.PositiveSmallIntegerField(unique=True)
    subject = models.CharField(max_length=100)
    one_view = models.CharField(max_length=100)
    one_side = models.JSONField(default=list)
    other_view = models.CharField(max_length=100)
    other_side = models.JSONField(default=list)
    why = models.CharField(max_length=200, help_text="What is likely to be behind it; inferred.")

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return self.subject
