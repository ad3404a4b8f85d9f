"""The API of the table of abilities."""

from dataclasses import asdict, dataclass

from django.http import HttpResponse, HttpResponseBase
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.published_evidence.abilities import ABILITIES, COLUMNS, Ability, Fact, facts
from kdb.api.formats import CsvRenderer, csv_text
from kdb.api.public import PublicView
from kdb.api.shapes import shape_of


@dataclass(frozen=True)
class AbilityTable:
    """The abilities, and the documented facts of each choice; what has no fact is not known."""

    component = "Abilities"

    abilities: tuple[Ability, ...]
    facts: tuple[Fact, ...]


@method_decorator(conditional_page, name="dispatch")
class AbilitiesView(PublicView):
    renderer_classes = [JSONRenderer, CsvRenderer]

    @extend_schema(operation_id="abilities", responses=shape_of(AbilityTable), tags=["catalogue"])
    def get(self, request: Request) -> HttpResponseBase:
        """Return what choices can do besides speed, each with its documentation. CSV has the facts alone."""
        self.refuse_parameters()
        all_facts = tuple(fact for of_choice in facts().values() for fact in of_choice.values())
        if request.accepted_renderer.format != "csv":
            return Response(asdict(AbilityTable(tuple(ABILITIES.values()), all_facts)))
        response = HttpResponse(csv_text(COLUMNS, map(asdict, all_facts)), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="kdb-abilities.csv"'
        return response
