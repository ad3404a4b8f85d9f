"""Choose a public name, and show what was published under it."""

import secrets
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.template.defaultfilters import pluralize
from django.utils.text import slugify

from experiments.case_studies import bibtex
from experiments.models import CaseStudy, Contributor, KnowledgeRevision, Measurement
from experiments.records import visible


def choose_name(user: Any, name: str) -> Contributor:
    """Show this name with the user's published case studies; a page that there is already keeps its address."""
    contributor = Contributor.objects.filter(user=user).first() or Contributor(user=user, slug=_free_slug(name))
    contributor.name = name
    contributor.save()
    return contributor


def _free_slug(name: str) -> str:
    slug = slugify(name)[:50] or "contributor"
    is_taken = slug == "your-name" or Contributor.objects.filter(slug=slug).exists()
    return f"{slug}-{secrets.token_hex(2)}" if is_taken else slug


@dataclass(frozen=True)
class ContributorPage:
    """What one person brought. studies : case study and its measurements, newest first; revision : of now"""

    contributor: Contributor
    studies: list[tuple[CaseStudy, int]]
    revision: int

    @property
    def counts(self) -> str:
        """Return "2 case studies, 30 measurements", without measurements that ended."""
        counted = [count for case_study, count in self.studies if case_study.status == CaseStudy.Status.PUBLISHED]
        studies = f"{len(self.studies)} case stud{pluralize(self.studies, 'y,ies')}"
        return f"{studies}, {sum(counted):,} measurement{pluralize(sum(counted))}"

    def citation(self, address: str) -> str:
        """Return the page as a line of text. address : of the page"""
        return f"{self.contributor.name}: {self.counts}. KDB, knowledge revision {self.revision}. {address}"

    def bibtex(self, address: str) -> str:
        where = f"KDB, knowledge revision {self.revision}"
        fields = {"author": self.contributor.name, "title": self.counts, "howpublished": where, "url": address}
        return bibtex.entry("misc", f"kdb-contributor-{self.contributor.slug}", fields)


def contributor_page(slug: str) -> ContributorPage | None:
    """Return the page; None where nobody has it, or nothing of theirs is published. Four queries."""
    contributor = Contributor.objects.filter(slug=slug).first()
    if contributor is None:
        return None
    own = visible.case_studies().filter(owner=contributor.user_id).select_related("publication")
    own = own.order_by("-published_revision", "slug")
    rows = Measurement.objects.filter(configuration__case_study__in=own, excluded_because="").order_by()
    counts = dict(rows.values_list("configuration__case_study").annotate(Count("pk")))
    studies = [(case_study, counts.get(case_study.pk, 0)) for case_study in own]
    return ContributorPage(contributor, studies, KnowledgeRevision.now()) if studies else None
