"""The base of what everybody may read by API."""

from typing import Any, ClassVar

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from kdb.web.private import PRIVATE

from .errors import name_errors
from .faults import FaultyRequest
from .formats import FORMAT_PARAMETER


class PublicView(APIView):
    """A view that everyone may read; nothing depends on who asks, so nobody is looked up."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def refuse_parameters(self) -> None:
        """Raise FaultyRequest where there is any parameter but the format."""
        if errors := name_errors(self.request.query_params, [FORMAT_PARAMETER]):
            raise FaultyRequest(errors)


class PublicOrOwnView(PublicView):
    """A view that everyone may read, and that tells members more where the address has the parameter `own_with`.

    Who asks is looked up only there, and no cache keeps what is said there.
    """

    own_with: ClassVar[str]
    authentication_classes = [*APIView.authentication_classes]

    def get_authenticators(self) -> list[BaseAuthentication]:
        return super().get_authenticators() if self.request and self.own_with in self.request.GET else []

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.own_with in request.GET:
            response["Cache-Control"] = PRIVATE
        return response
