import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from kdb.work import broker
from tests.kdb.work.broker_load import connect


@pytest.fixture
def connection(tmp_path: Path):
    with connect(str(tmp_path)) as connection:
        yield connection


def inflight(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.queue/inflight/*"))


def get(connection: Connection, name: str = "work"):
    queue = connection.SimpleQueue(name)
    message = queue.get(block=False)
    queue.consumer.cancel()
    return message


def put(connection: Connection, *bodies: object, name: str = "work") -> None:
    with connection.SimpleQueue(name) as queue:
        for body in bodies:
            queue.put(body)


def test_messages_come_in_the_order_they_were_put(connection):
    put(connection, *range(20))

    with connection.SimpleQueue("work") as queue:
        received = []
        for _ in range(20):
            message = queue.get(block=False)
            received.append(message.payload)
            message.ack()

    assert received == list(range(20))


def test_queues_do_not_mix_even_with_hostile_names(connection, tmp_path):
    put(connection, "theirs", name="../../work")
    put(connection, "ours", name="work")

    assert get(connection, "work").payload == "ours"
    assert get(connection, "../../work").payload == "theirs"
    assert not list(tmp_path.parent.glob("*.queue"))


def test_a_message_is_in_flight_until_it_is_acknowledged(connection, tmp_path):
    put(connection, "work")

    message = get(connection)
    assert len(inflight(tmp_path)) == 1
    assert broker.waiting(tmp_path) == 0

    message.ack()
    assert inflight(tmp_path) == []


def test_a_rejected_message_is_gone_and_a_requeued_one_comes_again(connection, tmp_path):
    put(connection, "once", "again")

    get(connection).reject()
    get(connection).requeue()

    assert get(connection).payload == "again"
    assert broker.waiting(tmp_path) == 0


def test_closing_a_connection_gives_back_what_it_held(tmp_path):
    with connect(str(tmp_path)) as first:
        put(first, "work")
        get(first)

    assert inflight(tmp_path) == []
    with connect(str(tmp_path)) as second:
        assert get(second).payload == "work"


def test_what_a_killed_consumer_held_comes_back(tmp_path):
    with connect(str(tmp_path)) as producer:
        put(producer, "work")
    holder = (
        "import os, signal; from tests.kdb.work.broker_load import connect\n"
        f"message = connect({str(tmp_path)!r}).SimpleQueue('work').get(block=False)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", holder], check=False)
    assert len(inflight(tmp_path)) == 1

    assert broker.requeue_inflight(tmp_path, ["other"]) == 0
    assert broker.requeue_inflight(tmp_path, ["work"]) == 1

    with connect(str(tmp_path)) as consumer:
        assert get(consumer).payload == "work"


def test_acknowledging_what_was_given_back_meanwhile_does_no_harm(connection, tmp_path):
    put(connection, "work")
    message = get(connection)
    broker.requeue_inflight(tmp_path, ["work"])

    message.ack()

    assert get(connection).payload == "work"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b"{}", b'{"properties": {}}', b"\xff\xfe", b"\0" * 4096])
def test_a_damaged_message_is_set_aside_and_the_next_one_comes(connection, tmp_path, damage):
    put(connection, "first", "second")
    folder = tmp_path / "work.queue"
    min(folder.glob("*.msg")).write_bytes(damage)

    assert get(connection).payload == "second"

    (bad,) = folder.glob("*.bad")
    assert bad.read_bytes() == damage


def test_a_file_still_being_written_is_not_a_message(connection, tmp_path):
    put(connection, "work")
    get(connection).ack()
    half = tmp_path / "work.queue" / ".00-half.msg"
    half.write_text("{")

    with pytest.raises(Empty):
        get(connection)

    assert half.exists()
    assert broker.waiting(tmp_path) == 0


def test_a_file_whose_writer_died_long_ago_is_cleared_away(connection, tmp_path):
    put(connection, "work")
    old, new = (tmp_path / "work.queue" / f".{name}.msg" for name in ("old", "new"))
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))

    broker.requeue_inflight(tmp_path, ["work"])

    assert [old.exists(), new.exists()] == [False, True]


def test_purging_empties_the_queue(connection, tmp_path):
    put(connection, 1, 2, 3)

    with connection.SimpleQueue("work") as queue:
        assert queue.qsize() == 3
        assert queue.clear() == 3

    assert broker.waiting(tmp_path) == 0


@pytest.mark.slow
def test_two_producers_and_two_consumers_lose_and_repeat_nothing(tmp_path):
    count = 1500
    roles = [("produce", "a", count), ("produce", "b", count), ("consume", "c", 3), ("consume", "d", 3)]

    processes = [
        subprocess.Popen([sys.executable, "-m", "tests.kdb.work.broker_load", role, str(tmp_path), name, str(last)])
        for role, name, last in roles
    ]

    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]
    received = Counter(line for name in "cd" for line in (tmp_path / f"received-{name}").read_text().split())
    assert received == Counter(f"{name}-{number}" for name in "ab" for number in range(count))
    assert all((tmp_path / f"received-{name}").stat().st_size for name in "cd")
    assert inflight(tmp_path) == []
