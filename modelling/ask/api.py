"""The reading of a person's own words, as data."""

from dataclasses import asdict

from django import forms
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kdb.api.errors import refuse_faults
from kdb.api.public import PublicView
from kdb.api.shapes import shape_of

from .gather import read_text
from .language.content import Said
from .language.parsing import LONGEST


class TextForm(forms.Form):
    text = forms.CharField(max_length=LONGEST)


@method_decorator(conditional_page, name="dispatch")
class AskView(PublicView):
    @extend_schema(
        operation_id="ask",
        parameters=[
            OpenApiParameter(
                "text",
                required=True,
                description=f"A question in English or German, at most {LONGEST} characters: `qcow2 or raw for mail?`.",
            )
        ],
        responses=shape_of(Said),
        tags=["rankings"],
    )
    def get(self, request: Request) -> Response:
        """Read a question in a person's own words: what is understood, what is not, and the questions it may be.

        Nothing is guessed: where two readings are possible both are listed, the likeliest first.
        """
        form = TextForm(request.query_params)
        refuse_faults(form, request.query_params)
        understanding = asdict(read_text(form.cleaned_data["text"]))
        for word in understanding["understood"]:
            del word["rest"]
        return Response(understanding)
