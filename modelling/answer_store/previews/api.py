"""The preview of a publication, and what an ending moved, as data."""

from typing import Any, get_args

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from experiments import permissions
from experiments.models import CaseStudy, KnowledgeRevision
from kdb.api.bodies import Fields
from kdb.api.public import PublicView
from kdb.api.shapes import shape_of

from . import effects, preview


class PreviewSerializer(Fields):
    state = serializers.ChoiceField(choices=get_args(preview.State))
    progress = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    error = serializers.CharField()
    result = shape_of(preview.Preview)(allow_null=True)


class PreviewView(APIView):
    """The preview of a draft: what publishing it would change in the rankings."""

    permission_classes = [IsAuthenticated]

    @extend_schema(operation_id="drafts_preview", tags=["drafts"], responses=PreviewSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the stored preview."""
        return Response(self._shown(self._draft(slug)))

    @extend_schema(
        operation_id="drafts_preview_create", tags=["drafts"], request=None, responses={202: PreviewSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Work it out anew, in the background."""
        draft = self._draft(slug)
        preview.request_preview(draft)
        return Response(self._shown(draft), status=202)

    def _draft(self, slug: str) -> CaseStudy:
        draft = permissions.drafts_of(self.request.user).filter(slug=slug).first()
        if draft is None:
            raise Http404
        return draft

    def _shown(self, draft: CaseStudy) -> dict[str, Any]:
        state, kept, job = preview.preview_state(draft)
        return {
            "state": state,
            "progress": job.progress if job else None,
            "total": job.total if job else None,
            "error": job.error if job else "",
            "result": kept.result if kept else None,
        }


class EffectsSerializer(Fields):
    state = serializers.ChoiceField(choices=["none", "computing", "ready"], help_text="None: nobody looks at it.")
    result = shape_of(effects.Effects)(allow_null=True)


class EffectsView(PublicView):
    """The headlines that a revision moved, where it ended something or published one case study."""

    @extend_schema(operation_id="revisions_effects", tags=["revisions"], responses=EffectsSerializer)
    def get(self, request: Request, number: int) -> Response:
        """Return the headlines before and after."""
        self.refuse_parameters()
        revision = KnowledgeRevision.objects.filter(number=number).first()
        if revision is None:
            raise Http404
        kept = effects.find_effects(number)
        state = "ready" if kept else "computing" if effects.has_effects(revision) else "none"
        return Response({"state": state, "result": kept.result if kept else None})
