"""The command that measures what an answer leaves open, as kdb measure takes it."""

import argparse
import shlex
from types import SimpleNamespace

import pytest
from kdb_client import measure, places

from modelling.answers.content import AnswerVerdict
from modelling.estimation.verdict import LEADS, NO_DIFFERENCE, NOT_KNOWN, USE
from modelling.evidence.question import Question
from modelling.own_lab import content, words
from modelling.own_lab.words import measure_command

SERVER = "https://kdb.example.org"


def answer(axis: str, *keys: str, kind: str = NOT_KNOWN, workload: str = "varmail", gain: float | None = 5.0, told="x"):
    """Return an answer of this kind on these entries; gain : of measuring them; None: nothing is proposed."""
    runs = (
        () if gain is None else (SimpleNamespace(entries=keys[:2], gain=1.0), SimpleNamespace(entries=keys, gain=gain))
    )
    return SimpleNamespace(
        question=Question(axis, workload),
        verdict=AnswerVerdict(kind, "", "weak", (), ""),
        next_runs=() if gain is None else tuple(runs),
        measure_next=told,
        entries=[SimpleNamespace(key=key) for key in keys],
    )


@pytest.mark.parametrize(
    ("axis", "keys", "options"),
    [
        ("guest-fs", ("ext4", "xfs", "ntfs"), "--disk=/dev/vdb --fs=ext4,xfs"),
        ("host-fs", ("ext4", "xfs"), "--disk=/dev/vdb --fs=ext4,xfs"),
        ("host-storage", ("dir-ext4", "zvol"), "--disk=/dev/vdb=dir-ext4 --disk=/dev/vdc=zvol --fs=ext4"),
        ("fs-pair", ("ext4-on-xfs", "xfs-on-ext4"), "--disk=/dev/vdb=dir-xfs --disk=/dev/vdc=dir-ext4 --fs=ext4,xfs"),
        (
            "cache-mode",
            ("none", "writeback"),
            "--place=none=/mnt/a,cache_mode=none --place=writeback=/mnt/b,cache_mode=writeback",
        ),
    ],
)
def test_it_names_what_the_axis_compares_and_is_understood(axis, keys, options):
    command = measure_command(answer(axis, *keys), "ours", server=SERVER)
    assert command.text == f"kdb measure varmail --laboratory ours {options}"
    parser = argparse.ArgumentParser()
    measure.add_arguments(parser)
    given = parser.parse_args(shlex.split(command.text)[2:])
    assert (given.seconds, given.most_runs) == (content.SECONDS, content.MOST_RUNS)
    assert len(measure._places(given)) > 1
    assert (command.minutes, command.gain) == (18, 5.0)


def test_it_makes_the_file_systems_that_the_program_makes():
    assert list(places.MAKE) == list(words.MAKES)


@pytest.mark.parametrize("kind", [LEADS, NO_DIFFERENCE, NOT_KNOWN])
def test_every_answer_below_use_has_one(kind):
    command = measure_command(answer("guest-fs", "ext4", "xfs", kind=kind), server=SERVER)
    assert command.text == f"curl -sSf {SERVER}/kdb.py | python3 - measure varmail --disk=/dev/vdb --fs=ext4,xfs"
    assert command.asked == "axis=guest-fs&workload=varmail"


@pytest.mark.parametrize(
    "settled",
    [
        answer("guest-fs", "ext4", "xfs", kind=USE),
        answer("guest-fs", "ext4", "xfs", workload="atto"),
        answer("guest-fs", "ext4", "xfs", gain=None),
        answer("guest-fs", "ntfs", "refs"),
        answer("hypervisor", "kvm", "xen"),
        answer("cache-mode", "none"),
    ],
    ids=["use", "a load it does not make", "nothing worth measuring", "not on Linux", "several machines", "one"],
)
def test_what_is_settled_or_out_of_reach_has_none(settled):
    assert measure_command(settled, server=SERVER) is None


def test_where_nothing_is_published_it_begins_with_common_file_systems():
    command = measure_command(answer("guest-fs", gain=None, told=""), server=SERVER)
    assert command.text.endswith(" measure varmail --disk=/dev/vdb --fs=ext4,xfs,btrfs")
    assert command.gain is None
