"""A broker that needs no server: a queue is a folder, a message is a file.

kombu brings such a transport, `filesystem`, but it loses messages: it lets a consumer read a file
while the producer still writes it, it deletes a message on receipt instead of on acknowledgement,
and one empty file stops the worker (kombu issue 1551). This one rests on two properties of a POSIX
file system: a rename is atomic, and of two processes that rename the same file one fails.

    QUEUE.queue/.NAME.msg            being written; no consumer looks at dot files
    QUEUE.queue/NAME.msg             waiting
    QUEUE.queue/inflight/NAME.msg    a consumer has it; deleted when the message is acknowledged
    QUEUE.queue/NAME.bad             could not be read; kept for a person to look at

What stays in flight after a kill -9 goes back by `requeue_inflight`, before the next worker runs.
Where another worker is alive, that delivers its message a second time: see `kdb.work.jobs` for
why that is harmless. A queue's name is its routing key, so there are no bindings to share or lose,
and neither events nor broadcasts nor remote control. One folder serves one machine; several need Redis.
"""

import json
import logging
import os
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from kombu.transport import virtual

logger = logging.getLogger(__name__)

_ABANDONED_AFTER_SECONDS = 3600  # a file still being written after that has lost its writer


def requeue_inflight(folder: Path, queues: Iterable[str]) -> int:
    """Give back what a dead consumer held, in these queues of `folder`; returns how many messages."""
    count = 0
    for queue in queues:
        for path in (folder / _name(queue)).glob("inflight/*.msg"):
            path.rename(path.parents[1] / path.name)
            count += 1
        for path in (folder / _name(queue)).glob(".*"):
            if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_SECONDS:
                path.unlink(missing_ok=True)
    return count


def _name(queue: str) -> str:
    return f"{quote(queue, safe='')}.queue"


def waiting(folder: Path) -> int:
    """Count the messages that no consumer has taken yet."""
    return sum(1 for _ in folder.glob("*.queue/[!.]*.msg"))


class QoS(virtual.QoS):
    """Unacknowledged messages; their delivery tag is the path of their file in flight."""

    def ack(self, delivery_tag: str) -> None:
        Path(delivery_tag).unlink(missing_ok=True)
        super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        super().reject(delivery_tag, requeue)  # which calls Channel._restore to requeue
        Path(delivery_tag).unlink(missing_ok=True)


class Channel(virtual.Channel):
    """A channel that puts and gets messages as files."""

    QoS = QoS

    def __init__(self, connection: Any, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self._folder = Path(connection.client.transport_options["folder"])
        self._listed: dict[str, deque[str]] = {}

    def _queue_folder(self, queue: str) -> Path:
        folder = self._folder / _name(queue)
        (folder / "inflight").mkdir(parents=True, exist_ok=True)
        return folder

    def _lookup(self, exchange: str, routing_key: str, default: str | None = None) -> list[str]:
        # Only work has a reader here; Celery's events, a topic exchange, have none.
        return [routing_key] if self.typeof(exchange).type == "direct" else []

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        folder = self._queue_folder(queue)
        name = f"{time.time_ns():020d}-{uuid4().hex}.msg"  # sorts by age
        hidden = folder / f".{name}"
        with hidden.open("w", encoding="utf-8") as file:
            json.dump(message, file)
            file.flush()
            os.fsync(file.fileno())
        hidden.rename(folder / name)
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        folder = self._queue_folder(queue)
        names = self._listed.get(queue)
        if not names:
            names = self._listed[queue] = deque(sorted(n for n in os.listdir(folder) if self._is_waiting(n)))
        while names:
            name = names.popleft()
            held = folder / "inflight" / name
            try:
                (folder / name).rename(held)
            except FileNotFoundError:
                continue  # another consumer was faster
            try:
                message = json.loads(held.read_bytes())
                message["properties"]["delivery_tag"] = str(held)
                self.Message(message, channel=self)  # its body can be decoded
                if not message.keys() >= {"body", "headers", "content-type"}:
                    raise ValueError("incomplete")
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                bad = folder / f"{name.removesuffix('.msg')}.bad"
                held.rename(bad)
                logger.error("set a damaged message aside file=%s reason=%r", bad, error)
                continue
            return message
        raise Empty

    def _restore(self, message: virtual.Message) -> None:
        held = Path(message.delivery_tag)
        try:
            held.rename(held.parents[1] / held.name)
        except FileNotFoundError:
            logger.info("a message in flight was given back already file=%s", held)

    def _size(self, queue: str) -> int:
        return sum(map(self._is_waiting, os.listdir(self._queue_folder(queue))))

    def _purge(self, queue: str) -> int:
        folder, count = self._queue_folder(queue), 0
        for name in filter(self._is_waiting, os.listdir(folder)):
            try:
                (folder / name).unlink()
            except FileNotFoundError:
                continue
            count += 1
        return count

    @staticmethod
    def _is_waiting(name: str) -> bool:
        return name.endswith(".msg") and not name.startswith(".")


class Transport(virtual.Transport):
    """The transport that Celery's `broker_transport` names.

    It is polled from the worker's event loop, as Redis is: only then has each process of the pool pipes of its own.
    Else they share one and its lock, and a process that is killed while it waits for work takes the lock along.
    """

    Channel = Channel
    driver_type = driver_name = "folder"
    implements = virtual.Transport.implements.extend(asynchronous=True)

    # Queues and exchanges are declared once a process, whichever connection asks.
    _process_state = virtual.BrokerState()

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.state = self._process_state

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        loop.call_repeatedly(self.polling_interval, self._take_what_waits)

    def _take_what_waits(self) -> None:
        """Deliver as many messages as may be taken."""
        with suppress(Empty):
            while self.cycle is not None:
                self.cycle.get(self._deliver)

    def driver_version(self) -> str:
        return "1"
