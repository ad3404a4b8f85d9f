"""kdb measure --ci: the same runs each time, sent at once, as a point of the series of each place."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from . import kept
from .client import Client
from .errors import KdbError
from .output import show

RUNS = 4  # of each place, after one that warms up
NOT_MEASURED, SLOWER = 1, 3  # exit statuses
# What says by itself which runs are made, or when.
EXCLUDED = ("like", "resume", "every", "scheduled", "most_minutes", "most_written")


def check_options(given: Mapping[str, Any]) -> None:
    """Raise KdbError unless the options name a series, and runs that are the same each time."""
    if excluded := [f"--{name.replace('_', '-')}" for name in EXCLUDED if given[name]]:
        raise KdbError(f"--ci makes the same runs each time: leave out {', '.join(excluded)}.")
    if not (given["laboratory"] and given["machine"]):
        raise KdbError("A series is of one machine in a laboratory of yours: --laboratory NAME --machine NAME.")


def measure_night(client: Client, asked: dict[str, Any], one_run: Callable[[str], dict[str, Any]]) -> int:
    """Run each choice RUNS times and send that; the last line printed is what the server says, as JSON.

    one_run : makes a run of a choice, and returns its report
    Returns 0; NOT_MEASURED where no run counts; SLOWER where a series became slower and nobody said anything of it.
    """
    asked["facts"]["measured_at"] = datetime.now(UTC).isoformat()  # sent again it is the same night, by this
    names = [choice["name"] for choice in asked["choices"]]
    show("The first run warms up:")
    one_run(names[0])
    # Each is first in a block as often as the others, in the same order each time.
    order = [(block, names[(block + place) % len(names)]) for block in range(RUNS) for place in range(len(names))]
    runs = [{"block": block + 1, "choice": name, **one_run(name)} for block, name in order]
    path = f"laboratories/{quote(asked.pop('laboratory'), safe='')}/series/"
    night = kept.post_until_answered(client, path, {**asked, "runs": runs})
    try:
        sentences = [f"{row['name']}: {row['sentence']}" for row in night["series"]]
        is_slower = any(row["is_new"] and row["state"] == "slower" for row in night["series"])
    except (KeyError, TypeError):
        raise KdbError("The server's answer is none to a night.") from None
    show(*sentences, json.dumps(night))
    return NOT_MEASURED if not any("value" in run for run in runs) else SLOWER if is_slower else 0
