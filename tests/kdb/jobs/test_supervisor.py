"""Real children of a real supervisor, in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from .test_serve import HANG_SECONDS, ROOT, wait_until

pytestmark = [pytest.mark.server]

# The supervisor of two children: one of them does what PROGRAM says and then waits.
_SUPERVISOR = """
import os, sys
from kdb.jobs import supervisor

supervisor.LONGEST_BACKOFF_SECONDS = 0
wait = "import time; time.sleep(600)"
children = [
    supervisor.Child("clock", [sys.executable, "-c", wait + "  # clock"]),
    supervisor.Child("laboratory", [sys.executable, "-c", os.environ["PROGRAM"] + wait + "  # laboratory"]),
]
supervisor.Supervisor(children).run(each_turn=lambda: None)
"""
# As ssh does with the connection that it shares between commands: a session of its own, and a parent that has ended.
_IN_THE_BACKGROUND = """
import subprocess
subprocess.run(["sh", "-c", "{setsid} sleep {seconds} &"])
"""


class Supervised:
    def __init__(self, program: str) -> None:
        environment = os.environ | {"PROGRAM": program}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SUPERVISOR], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
        )

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def named(self, word: str) -> list[psutil.Process]:
        """Return its children by the last word of their command; one that has just ended has no command."""
        return [child for child in self.children() if "".join(_command(child)[-1:]).endswith(word)]

    def wait_for(self, word: str, other_than: psutil.Process | None = None) -> psutil.Process:
        children: list[psutil.Process] = []

        def is_there() -> bool:
            children[:] = [child for child in self.named(word) if child != other_than]
            return bool(children)

        wait_until(is_there)
        return children[0]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture
def supervise() -> Iterator:
    begun: list[Supervised] = []

    def supervise(program: str = "") -> Supervised:
        begun.append(Supervised(program))
        for word in ("# clock", "# laboratory"):
            begun[-1].wait_for(word)
        return begun[-1]

    yield supervise
    for supervised in begun:
        supervised.process.terminate()
        supervised.process.communicate(timeout=HANG_SECONDS)


def test_what_a_living_child_put_into_the_background_outlives_the_kill_of_another(supervise):
    supervised = supervise(_IN_THE_BACKGROUND.format(seconds=600, setsid="setsid"))
    background = supervised.wait_for("600")

    for word in ("# clock", "# laboratory"):
        killed = supervised.wait_for(word)
        killed.kill()
        supervised.wait_for(word, other_than=killed)

    assert background.is_running()
    supervised.process.terminate()
    supervised.process.wait(HANG_SECONDS)
    assert not background.is_running()


def test_what_a_killed_child_leaves_of_its_session_ends_with_it(supervise):
    supervised = supervise(_IN_THE_BACKGROUND.format(seconds=600, setsid=""))
    left = supervised.wait_for("600")

    supervised.wait_for("# laboratory").kill()

    wait_until(lambda: not left.is_running())


def test_every_orphan_that_ends_is_collected_while_all_children_run(supervise):
    supervised = supervise(_IN_THE_BACKGROUND.format(seconds=1, setsid="setsid") * 3)
    wait_until(lambda: len(supervised.named("1")) == 3)

    wait_until(lambda: len(supervised.children()) == 2)


def test_a_child_that_is_killed_again_and_again_is_started_again_and_again(supervise):
    supervised = supervise()
    for _ in range(5):
        killed = supervised.wait_for("# clock")
        killed.kill()
        supervised.wait_for("# clock", other_than=killed)

    assert supervised.process.poll() is None
