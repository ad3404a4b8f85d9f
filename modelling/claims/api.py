"""Claims with their verdicts, and hypotheses with their scores, as data."""

from collections.abc import Sequence
from typing import Any

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, Prefetch, QuerySet
from django.http import Http404
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from experiments.models import Claim
from experiments.records import visible
from experiments.records.api import filters as facts
from experiments.records.api.serializers import RetractedSlugs, Slug, Slugs
from experiments.records.api.views import TableViewSet
from kdb.api.bodies import Fields
from kdb.api.errors import refuse_faults
from kdb.api.formats import CsvRenderer
from kdb.api.public import PublicView
from modelling.evidence import counts
from modelling.models import ClaimVerdict

from . import pages as claim_pages
from . import verdicts as claim_verdicts

# Claims


class EvidenceSerializer(Fields):
    """Ids of the rows that a verdict rests on; measurements, derived values and findings are lists of this API."""

    measurements = serializers.ListField(child=serializers.IntegerField())
    derived_values = serializers.ListField(child=serializers.IntegerField())
    printed_ratios = serializers.ListField(child=serializers.IntegerField())
    findings = serializers.ListField(child=serializers.IntegerField())


class JudgedText(serializers.CharField):
    """A column of the verdict asked for; null where it is empty, or the claim is not judged yet."""

    def __init__(self, column: str, help_text: str) -> None:
        super().__init__(source=f"judged.{column}", read_only=True, allow_null=True, help_text=help_text)

    def to_representation(self, value: str) -> str | None:  # type: ignore[override]  # null for an empty text
        return value or None


class JudgedNumber(serializers.IntegerField):
    def __init__(self, column: str, help_text: str) -> None:
        super().__init__(source=f"judged.{column}", read_only=True, allow_null=True, help_text=help_text)


class ClaimSerializer(Fields):
    """One claim, with its verdict by its own paper or by everybody else's data."""

    id = serializers.CharField(source="code", help_text="The claim's code.")
    paper = Slug("publication.slug")
    location = serializers.CharField(help_text="Where it stands in the paper.")
    case_studies = Slugs()
    retracted_case_studies = RetractedSlugs("case_studies")
    kind = serializers.ChoiceField(choices=Claim.Kind.choices)
    workloads = Slugs()
    part = serializers.CharField(source="scope", help_text="Which part of the results it speaks of.")
    statement = serializers.CharField(help_text="In the words of this project.")
    predicate = serializers.CharField(help_text="What would have to hold.")
    scope = JudgedText("scope", "Whose facts judged it: `own` or `others`.")
    verdict = JudgedText(
        "verdict",
        "`supported`, `open` (some comparisons hold, others cannot be decided), `partly` (some hold, some "
        "do not), `contradicted` or `untestable`.",
    )
    held = JudgedNumber("held", "Comparisons that hold.")
    failed = JudgedNumber("failed", "Comparisons that do not.")
    undecided = JudgedNumber("undecided", "Comparisons that the facts leave open.")
    basis = JudgedText("basis", "The least sure kind of evidence used: `measured`, `derived`, `listed`, `stated`.")
    reason = JudgedText("reason", "One or two sentences.")
    evidence = EvidenceSerializer(source="judged.evidence", read_only=True, allow_null=True)
    revision = JudgedNumber("revision", "Knowledge revision it was judged at.")


class ClaimDetailSerializer(ClaimSerializer):
    """One claim with its verdict, its conditions and every comparison."""

    checks = serializers.DictField(help_text="The predicate as conditions; docs/models/claims.md has the grammar.")
    comparisons = serializers.ListField(
        source="judged.comparisons",
        child=serializers.ListField(child=serializers.CharField()),
        read_only=True,
        allow_null=True,
        help_text="Each as [held, failed or undecided; what was compared].",
    )


class RevisionField(forms.IntegerField):
    """A knowledge revision that there is."""

    def clean(self, value: Any) -> int | None:
        revision = super().clean(value)
        if revision is not None and not 1 <= revision <= counts.revision():
            raise forms.ValidationError(f"{value!r} is no knowledge revision; there are 1 to {counts.revision()}.")
        return revision


class RevisionFilter(facts.IntegerFilter):
    field_class = RevisionField


class ClaimFilters(facts.ClaimFilters):
    paper = facts.VisibleFilter(
        field_name="publication__slug", rows=visible.publications, help_text="The same as `publication`."
    )
    scope = django_filters.ChoiceFilter(
        choices=ClaimVerdict.Scope.choices,
        method="unfiltered",
        help_text="Whose facts judge it; its own paper's if absent.",
    )
    verdict = django_filters.ChoiceFilter(choices=ClaimVerdict.Kind.choices, method="by_verdict")
    as_of = RevisionFilter(
        method="known_at", help_text="Knowledge revision: verdicts as they were then, whatever was published since."
    )

    def unfiltered(self, queryset: QuerySet[Claim], name: str, value: str) -> QuerySet[Claim]:
        """Filter nothing: the scope decides which verdict the view shows."""
        return queryset

    def by_verdict(self, queryset: QuerySet[Claim], name: str, value: str) -> QuerySet[Claim]:
        scope = self.form.cleaned_data["scope"] or ClaimVerdict.Scope.OWN
        if (as_of := self.form.cleaned_data["as_of"]) is not None:
            then = claim_verdicts.verdicts_as_of(as_of).items()
            return queryset.filter(pk__in=[pk for (pk, judge), row in then if (judge, row.verdict) == (scope, value)])
        return queryset.filter(Exists(ClaimVerdict.objects.filter(claim=OuterRef("pk"), scope=scope, verdict=value)))

    def known_at(self, queryset: QuerySet[Claim], name: str, value: int) -> QuerySet[Claim]:
        return queryset.filter(pk__in=visible.claims(value))


class ScopeForm(forms.Form):
    """The parameters of a single claim besides the format."""

    scope = forms.ChoiceField(required=False, choices=[("", ""), *ClaimVerdict.Scope.choices])
    as_of = RevisionField(required=False)


@extend_schema_view(
    retrieve=extend_schema(
        responses=ClaimDetailSerializer,
        parameters=[
            OpenApiParameter("scope", enum=ClaimVerdict.Scope.values, description="Whose facts judge it."),
            OpenApiParameter("as_of", int, description="Knowledge revision: the verdict as it was then."),
        ],
    )
)
class ClaimViewSet(TableViewSet):
    """Checkable statements that a publication makes about results, each with its computed verdict."""

    serializer_class = ClaimSerializer
    filterset_class = ClaimFilters
    lookup_field = "code"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Claim]:
        related = Prefetch("case_studies", visible.case_studies()), "workloads"
        return visible.claims().select_related("publication").prefetch_related(*related)

    def get_serializer_class(self) -> type[Fields]:
        is_table = self.request and isinstance(getattr(self.request, "accepted_renderer", None), CsvRenderer)
        return ClaimDetailSerializer if self.action == "retrieve" and not is_table else ClaimSerializer

    def get_object(self) -> Claim:
        form = ScopeForm(self.request.query_params)
        refuse_faults(form, self.request.query_params)
        self.filter_backends = []
        claim = ReadOnlyModelViewSet.get_object(self)
        as_of = form.cleaned_data["as_of"]
        if as_of is not None and not visible.claims(as_of).filter(pk=claim.pk).exists():
            raise Http404(f"{claim.code} was not published by revision {as_of}")
        self._judge([claim])
        return claim

    def paginate_queryset(self, queryset: QuerySet[Any] | Sequence[Any]) -> list[Any] | None:
        page = super().paginate_queryset(queryset)
        self._judge(page or [])
        return page

    def _judge(self, claims: list[Any]) -> None:
        """Set `judged` of each claim to its verdict of the requested scope, or None where it is not judged yet."""
        scope = self.request.query_params.get("scope") or ClaimVerdict.Scope.OWN
        if as_of := self.request.query_params.get("as_of"):
            judged = claim_verdicts.verdicts_as_of(int(as_of))
        else:
            verdicts = ClaimVerdict.objects.filter(claim__in=claims, scope=scope)
            verdicts = verdicts if self.action == "retrieve" else verdicts.defer("comparisons")
            judged = {(row.claim_id, row.scope): row for row in verdicts}
        for claim in claims:
            claim.judged = judged.get((claim.pk, scope))


# Hypotheses


class SourceScoreSerializer(Fields):
    """The score of a hypothesis by one source: a case study, or the lists of one publication."""

    source = serializers.CharField()
    agree = serializers.IntegerField(source="held")
    disagree = serializers.IntegerField(source="failed")
    ties = serializers.IntegerField(source="undecided")
    basis = serializers.CharField(allow_blank=True)
    reason = serializers.CharField()
    evidence = EvidenceSerializer(read_only=True)
    revision = serializers.IntegerField(help_text="Knowledge revision it was computed at.")


class HypothesisSerializer(Fields):
    """A prediction and how many comparisons of the evidence agree with it."""

    id = serializers.CharField(source="hypothesis.code")
    paper = serializers.CharField(source="hypothesis.publication")
    location = serializers.CharField(source="hypothesis.source")
    statement = serializers.CharField(source="hypothesis.statement")
    prediction = serializers.CharField(source="hypothesis.prediction", help_text="What is tested, in words.")
    untestable = serializers.CharField(source="hypothesis.untestable", help_text="Why it is not; empty: it is.")
    agree = serializers.IntegerField()
    disagree = serializers.IntegerField()
    ties = serializers.IntegerField(help_text="Comparisons that the spread of the runs leaves open.")
    sources = SourceScoreSerializer(source="scores", many=True)


class HypothesesSerializer(Fields):
    """Every hypothesis of the papers, put to all published case studies."""

    revision = serializers.IntegerField(help_text="Knowledge revision now; a score may be of the one before.")
    hypotheses = HypothesisSerializer(many=True)


@method_decorator(conditional_page, name="dispatch")
class HypothesesView(PublicView):
    @extend_schema(operation_id="hypotheses", responses=HypothesesSerializer, tags=["hypotheses"])
    def get(self, request: Request) -> Response:
        """List what the papers predicted, and how the evidence of all of them agrees."""
        self.refuse_parameters()
        content = {"revision": counts.revision(), "hypotheses": claim_pages.hypothesis_lines()}
        return Response(HypothesesSerializer(content).data)
