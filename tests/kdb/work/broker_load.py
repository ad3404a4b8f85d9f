"""What test_broker starts several times: a producer or a consumer of many messages.

python -m tests.kdb.work.broker_load produce FOLDER NAME COUNT
python -m tests.kdb.work.broker_load consume FOLDER NAME SECONDS_OF_SILENCE
"""

import sys
from pathlib import Path
from queue import Empty

from kombu import Connection

SIZES = (200, 200, 200, 200, 200_000)


def connect(folder: str) -> Connection:
    options = {"folder": folder, "polling_interval": 0.01}
    return Connection("folder://localhost", transport="kdb.work.broker:Transport", transport_options=options)


def produce(folder: str, name: str, count: int) -> None:
    with connect(folder) as connection, connection.SimpleQueue("load") as queue:
        for number in range(count):
            queue.put({"id": f"{name}-{number}", "padding": "x" * SIZES[number % len(SIZES)]})


def consume(folder: str, name: str, silence: float) -> None:
    received = Path(folder) / f"received-{name}"
    with connect(folder) as connection, connection.SimpleQueue("load") as queue, received.open("w") as notes:
        while True:
            try:
                message = queue.get(timeout=silence)
            except Empty:
                return
            body = message.payload
            assert len(body["padding"]) in SIZES
            notes.write(body["id"] + "\n")
            message.ack()


if __name__ == "__main__":
    role, *arguments, last = sys.argv[1:]
    {"produce": lambda: produce(*arguments, int(last)), "consume": lambda: consume(*arguments, float(last))}[role]()
