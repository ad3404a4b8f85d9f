"""Base classes of the API's public views."""

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
    """A view that everybody may read. Its answer does not depend on the user, so none is authenticated."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def refuse_parameters(self) -> None:
        """Raise FaultyRequest where the query has any parameter but the format."""
        if errors := name_errors(self.request.query_params, [FORMAT_PARAMETER]):
            raise FaultyRequest(errors)


class PublicOrOwnView(PublicView):
    """A public view that answers members with their own data where the query has the parameter `own_with`.

    Only then the user is authenticated, and the answer is kept from caches.
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
