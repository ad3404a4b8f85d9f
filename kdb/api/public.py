"""The base of what everybody may read by API."""

from rest_framework.permissions import AllowAny
from rest_framework.views import APIView

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
