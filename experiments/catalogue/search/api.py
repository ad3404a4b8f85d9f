"""The API of the search."""

from dataclasses import asdict

from django import forms
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kdb.api.bodies import Fields
from kdb.api.errors import refuse_faults
from kdb.api.public import PublicView

from .find import FURTHER_KINDS, KINDS, LONGEST, search


class SearchForm(forms.Form):
    q = forms.CharField(max_length=LONGEST)


class HitSerializer(Fields):
    """One hit."""

    kind = serializers.ChoiceField(choices=[*FURTHER_KINDS, *(kind.label for kind in KINDS)])
    title = serializers.CharField()
    address = serializers.CharField(help_text="Its page on this server.")
    excerpt = serializers.CharField(allow_blank=True, help_text="The text around what was asked.")
    is_retracted = serializers.BooleanField(
        help_text="It is, or speaks of nothing but, case studies that count no longer."
    )


class HitsSerializer(Fields):
    """The hits, by kind and then by how well they fit; at most 20 of a kind, but every answer and comparison."""

    q = serializers.CharField()
    hits = HitSerializer(many=True)


@method_decorator(conditional_page, name="dispatch")
class SearchView(PublicView):
    @extend_schema(
        operation_id="search",
        parameters=[
            OpenApiParameter(
                "q", required=True, description='Words, `"a phrase"`, `-without`; at most 400 characters: `btrfs`.'
            )
        ],
        responses=HitsSerializer,
        tags=["search"],
    )
    def get(self, request: Request) -> Response:
        """Search everything visible: answers to the text, glossary, case studies, publications, catalogue, claims."""
        form = SearchForm(request.query_params)
        refuse_faults(form, request.query_params)
        asked = form.cleaned_data["q"]
        return Response({"q": asked, "hits": [asdict(hit) for hit in search(asked)]})
