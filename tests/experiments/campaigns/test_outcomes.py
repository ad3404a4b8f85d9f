"""Every error that an attempt can meet has one outcome, and the documentation has it too."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError

from experiments.campaigns import hosts
from experiments.campaigns.runs import attempt
from experiments.campaigns.runs.outcomes import Outcome, outcome_of
from experiments.laboratory.benchmarks import bench
from experiments.laboratory.targets import hypervisors
from experiments.laboratory.transport import remote, ssh
from kdb.jobs import jobs

OUTCOMES = {
    jobs.LeaseLost: Outcome.TAKEN_OVER,
    remote.Superseded: Outcome.TAKEN_OVER,
    attempt.Cancelled: Outcome.CANCELLED,
    OperationalError: Outcome.DATABASE,
    ssh.Unreachable: Outcome.WAITS,
    remote.NotNow: Outcome.WAITS,
    remote.NoRoom: Outcome.WAITS,
    remote.Leftovers: Outcome.WAITS,
    ssh.SshError: Outcome.WAITS_FOR_SOMEBODY,
    ssh.TooMuch: Outcome.WAITS_FOR_SOMEBODY,
    ssh.KeyChanged: Outcome.WAITS_FOR_SOMEBODY,
    ssh.LoginRefused: Outcome.WAITS_FOR_SOMEBODY,
    ssh.NotAllowed: Outcome.WAITS_FOR_SOMEBODY,
    hosts.HostError: Outcome.WAITS_FOR_SOMEBODY,
    hypervisors.GuestGone: Outcome.REPEATED,
    hypervisors.GuestNotUp: Outcome.REPEATED,
    hypervisors.GuestStopped: Outcome.FAILED,
    bench.RunFailed: Outcome.FAILED,
    bench.Silent: Outcome.FAILED,
    remote.Refused: Outcome.FAILED,
    ZeroDivisionError: Outcome.MISTAKE,
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_each_kind_of_error_has_its_outcome(kind):
    assert outcome_of(kind("said")) is OUTCOMES[kind]


def test_no_error_of_the_laboratory_is_forgotten():
    modules = (bench, hypervisors, remote, ssh)
    kinds = {
        member
        for module in modules
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, Exception) and member.__module__ == module.__name__
    }
    assert kinds <= OUTCOMES.keys()


def test_the_documentation_has_a_row_for_each_kind():
    text = (Path(settings.BASE_DIR) / "docs/campaigns.md").read_text()
    table = text.partition("## What can go wrong")[2].partition("\n## ")[0]
    told = set(re.findall(r"`(\w+)`", table))
    assert {kind.__name__ for kind in OUTCOMES if kind is not ZeroDivisionError} - told == set()
