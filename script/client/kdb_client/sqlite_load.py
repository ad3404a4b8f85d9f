"""Small transactions on SQLite: reads a row, writes it, and adds one, each flushed before the next begins.

A program of its own, so that it can be killed: FOLDER BYTES WARM_UP SECONDS INTERVAL OUTPUT.
"""

import json
import random
import sqlite3
import sys
import time
from contextlib import closing

_ROW = 400  # bytes, about
_FILL = """
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
INSERT INTO account SELECT n, 0, randomblob(380) FROM number
"""


def run(folder: str, size: int, warm_up: int, seconds: int, interval: int) -> list[float]:
    """Return the transactions a second in each interval, on tables of so many bytes."""
    with closing(sqlite3.connect(f"{folder}/kdb.sqlite3", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, filler BLOB)")
        database.execute("CREATE TABLE history (id INTEGER PRIMARY KEY, account INTEGER, delta INTEGER)")
        rows = max(1, size // _ROW)
        database.execute(_FILL, [rows])
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        done = [0] * (seconds // interval)
        begun = time.monotonic() + warm_up
        while (place := (time.monotonic() - begun) // interval) < len(done):
            account = random.randint(1, rows)  # noqa: S311 - no secret
            database.execute("BEGIN IMMEDIATE")
            (balance,) = database.execute("SELECT balance FROM account WHERE id = ?", [account]).fetchone()
            database.execute("UPDATE account SET balance = ? WHERE id = ?", [balance + 1, account])
            database.execute("INSERT INTO history (account, delta) VALUES (?, 1)", [account])
            database.execute("COMMIT")
            if place >= 0:
                done[int(place)] += 1
        return [count / interval for count in done]


if __name__ == "__main__":
    with open(sys.argv[6], "w", encoding="utf-8") as _file:
        json.dump(run(sys.argv[1], *map(int, sys.argv[2:6])), _file)
