"""The API of runners: a runner leases the commands for its host, with a token for nothing else, and sends answers."""

import base64
import binascii
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.parsers import BaseParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from experiments import permissions
from experiments.models import AskedCommand, Host
from kdb.api.bodies import TEXT_AREA, Fields, fields_of
from kdb.api.faults import FaultyRequest
from kdb.api.formats import JsonParser
from kdb.models import ApiToken
from kdb.web.rates import is_within

from . import queue
from .scripts import SCRIPTS

TAGS = ["runner"]
MAX_LEASED = 16
_MAX_HELD = 10 * MAX_LEASED
_MAX_ID = 2**63
_MAX_PER_MINUTE = 1200  # requests of a runner: ten commands a second


class RunnerScriptSerializer(Fields):
    digest = serializers.CharField(help_text="SHA-256 of its text.")
    name = serializers.CharField()
    about = serializers.CharField(help_text="What it is for.")
    text = serializers.CharField()


class RunnerLeaseFieldsSerializer(Fields):
    runner = serializers.CharField(help_text="Which runner asks: a text that it keeps, of at most 36 characters.")
    held = serializers.ListField(child=serializers.IntegerField(), help_text="Commands that it has.")
    room = serializers.IntegerField(help_text="How many more it takes now; 0: it only says that it is there.")


class RunnerCommandSerializer(Fields):
    """A command. It is answered once; whoever waits gives up after a while."""

    id = serializers.IntegerField()
    script = serializers.CharField(help_text="Digest of the script to run; empty: a program.")
    name = serializers.CharField(help_text="The script's own name, $0.")
    words = serializers.ListField(child=serializers.CharField())
    given = serializers.CharField(help_text="Its standard input, in base64.")
    seconds = serializers.IntegerField(help_text="That it may take.")
    most_bytes = serializers.IntegerField(help_text="That it may print.")


class RunnerLeaseSerializer(Fields):
    host = serializers.CharField()
    commands = RunnerCommandSerializer(many=True)
    pause_seconds = serializers.IntegerField(help_text="After which it shall ask again.")


class RunnerAnswerFieldsSerializer(Fields):
    id = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=AskedCommand.Outcome.choices)
    status = serializers.IntegerField(required=False, help_text="With which it ended, where it did.")
    output = serializers.CharField(help_text="What it printed, in base64.")
    error_output = serializers.CharField(style=TEXT_AREA, help_text="What it said of errors, or why it was refused.")


class RunnerTakenSerializer(Fields):
    is_taken = serializers.BooleanField(help_text="False: nobody waits for it any more; forget it.")


class RunnerThrottle(BaseThrottle):
    """Limits each runner separately: an operator may have many, which must not use up the operator's own rate."""

    def allow_request(self, request: Request, view: Any) -> bool:
        return is_within(_MAX_PER_MINUTE, 60, "runner", str(getattr(request.auth, "pk", "")), str(request.user.pk))


class _LongJsonParser(JsonParser):
    most_bytes = queue.MOST_BYTES * 4 // 3 + 6 * queue.MOST_ERROR_BYTES + 1000


class AnswerParser(BaseParser):
    """JSON with as much output as a command may have, in base64.

    It is no subclass of JSONParser, whose bodies REST framework reads whole, within Django's limit for forms.
    """

    media_type = "application/json"

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        return _LongJsonParser().parse(*args, **kwargs)


class RunnerView(APIView):
    """Base of the views of runners, which are authenticated by their token."""

    permission_classes = [IsAuthenticated]
    throttle_classes = [RunnerThrottle]

    def host(self) -> Host:
        """Return the one host that the token is for. Raises PermissionDenied."""
        token = self.request.auth
        host = Host.objects.filter(runner_token=token).first() if isinstance(token, ApiToken) else None
        if host is None or not host.is_by_runner or not permissions.may_change_host(self.request.user, host):
            raise PermissionDenied("This needs the token of a host's runner, as the host's page gives it.")
        if host.archived_at:
            raise PermissionDenied(f"{host} is archived.")
        return host


class ScriptsView(RunnerView):
    """The scripts of this release that a runner may be asked to run."""

    @extend_schema(operation_id="runner_scripts", tags=TAGS, responses=RunnerScriptSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Return the scripts, for the host's owner to read and to allow by their digests."""
        self.host()
        return Response([asdict(script) for script in SCRIPTS.values()])


class LeaseView(RunnerView):
    """Commands for a host, leased to its runner."""

    @extend_schema(
        operation_id="runner_lease", tags=TAGS, request=RunnerLeaseFieldsSerializer, responses=RunnerLeaseSerializer
    )
    def post(self, request: Request) -> Response:
        """Lease commands; where there is none, the answer may take ten seconds. It is also the runner's heartbeat."""
        if idle := queue.idle_host(request.auth):
            return Response({"host": idle, "commands": [], "pause_seconds": queue.idle_pause()})
        host, data = self.host(), fields_of(request, RunnerLeaseFieldsSerializer)
        runner, held, room = data.get("runner", ""), data.get("held", []), data.get("room", 0)
        if not 1 <= len(runner) <= 36:
            raise FaultyRequest([{"field": "runner", "message": "1 to 36 characters are expected."}])
        if len(held) > _MAX_HELD or not all(0 < number < _MAX_ID for number in held):
            raise FaultyRequest([{"field": "held", "message": f"At most {_MAX_HELD} numbers are expected."}])
        commands, pause = queue.lease(host, runner, held, min(room, MAX_LEASED))
        items = [_command_data(command) for command in commands]
        return Response({"host": host.slug, "commands": items, "pause_seconds": pause})


class AnswerView(RunnerView):
    """The answer to a command."""

    parser_classes = [AnswerParser]

    @extend_schema(
        operation_id="runner_answer", tags=TAGS, request=RunnerAnswerFieldsSerializer, responses=RunnerTakenSerializer
    )
    def post(self, request: Request) -> Response:
        """Send the answer to a command."""
        host, data = self.host(), fields_of(request, RunnerAnswerFieldsSerializer)
        outcome, status = data.get("outcome"), data.get("status")
        if outcome not in AskedCommand.Outcome.values:
            allowed = [*AskedCommand.Outcome.values]
            raise FaultyRequest([{"field": "outcome", "message": "There is no such outcome.", "allowed": allowed}])
        if outcome == AskedCommand.Outcome.DONE and status not in range(256):
            raise FaultyRequest([{"field": "status", "message": "A number from 0 to 255 is expected."}])
        try:
            output = base64.b64decode(data.get("output", ""), validate=True)
        except binascii.Error:
            raise FaultyRequest([{"field": "output", "message": "Base64 is expected."}]) from None
        number, errors = data.get("id", 0), data.get("error_output", "")
        is_one = 0 < number < _MAX_ID
        return Response({"is_taken": is_one and queue.answer(host, number, outcome, status, output, errors)})


def _command_data(command: AskedCommand) -> dict[str, Any]:
    names = ("script", "name", "words", "seconds", "most_bytes")
    given = base64.b64encode(bytes(command.given)).decode()
    return {"id": command.pk, "given": given, **{name: getattr(command, name) for name in names}}
