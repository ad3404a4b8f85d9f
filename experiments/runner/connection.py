"""Run commands on a host through its runner: the same commands as over ssh, queued for the runner."""

from collections.abc import Sequence
from types import TracebackType

from experiments.laboratory.transport import ssh
from experiments.models import AskedCommand, Host

from . import queue
from .scripts import SCRIPTS

Outcome = AskedCommand.Outcome


class RunnerConnection(ssh.Connection):
    """A connection without a login: each command is queued and waits for the runner."""

    def __init__(self, host: Host, owner: str) -> None:
        super().__init__(address_of(host), owner=owner)
        self.host = host

    def __enter__(self) -> "RunnerConnection":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def _run(self, arguments: Sequence[str], given: bytes, timeout: float, most: int, may_end_255: bool) -> ssh.Answer:
        self.host.refresh_from_db(fields=["runner_heard_at"])
        if not queue.is_heard(self.host):
            heard = self.host.runner_heard_at
            since = f"since {heard:%Y-%m-%d %H:%M} UTC" if heard else "yet"
            raise ssh.Unreachable(f"The runner of {self.host} was not heard {since}.")
        if len(given) > queue.MOST_BYTES:
            raise ssh.NotAllowed(f"{len(given):,} bytes are too many for a runner; it takes {queue.MOST_BYTES:,}.")
        script, name, words = ssh.script_digest(arguments), "", arguments
        if script:
            name, words = arguments[3], arguments[4:]
        if script and script not in SCRIPTS:
            raise ssh.NotAllowed(f"The runner of {self.host} is not given this script: do it on the host itself.")
        answered = queue.ask(self.host.pk, words, script=script, name=name, given=given, seconds=timeout, most=most)
        if answered is None or answered.outcome == Outcome.LATE:
            raise ssh.Unreachable(f"{self.host} did not answer within {timeout:.0f} s.")
        if answered.outcome == Outcome.LOST:
            raise ssh.Unreachable(
                f"The runner of {self.host} ended while it did this; whether it is done is not known."
            )
        if answered.outcome == Outcome.REFUSED:
            raise ssh.NotAllowed(f"The runner of {self.host} refuses: {answered.errors[:500]}")
        if answered.outcome == Outcome.TOO_MUCH:
            raise ssh.TooMuch(f"{self.host} sent more than {most:,} bytes in answer to one command. Nothing is used.")
        return ssh.Answer(answered.status or 0, bytes(answered.output), answered.errors)


def address_of(host: Host) -> ssh.Address:
    """Return an address for messages: a host with a runner has only a name."""
    return ssh.Address("", 0, host.login, "", label=host.name)
