"""Every error that an attempt can meet has one fate, and the documentation has it too."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError

from experiments.campaigns import hosts
from experiments.campaigns.runs import fates
from experiments.campaigns.runs.fates import Fate, fate_of
from experiments.laboratory.measuring import bench
from experiments.laboratory.places import hypervisors
from experiments.laboratory.reach import remote, ssh
from kdb.jobs import jobs

FATES = {
    jobs.LeaseLost: Fate.GIVEN_UP,
    remote.Superseded: Fate.GIVEN_UP,
    fates.Cancelled: Fate.CANCELLED,
    OperationalError: Fate.DATABASE,
    ssh.Unreachable: Fate.WAITS,
    remote.NotNow: Fate.WAITS,
    remote.NoRoom: Fate.WAITS,
    remote.LeftOvers: Fate.WAITS,
    ssh.SshError: Fate.WAITS_FOR_SOMEBODY,
    ssh.TooMuch: Fate.WAITS_FOR_SOMEBODY,
    ssh.KeyChanged: Fate.WAITS_FOR_SOMEBODY,
    ssh.LoginRefused: Fate.WAITS_FOR_SOMEBODY,
    ssh.NotAllowed: Fate.WAITS_FOR_SOMEBODY,
    hosts.HostError: Fate.WAITS_FOR_SOMEBODY,
    hypervisors.GuestGone: Fate.REPEATED,
    hypervisors.GuestNotUp: Fate.REPEATED,
    hypervisors.GuestStopped: Fate.FAILED,
    bench.RunFailed: Fate.FAILED,
    bench.Silent: Fate.FAILED,
    remote.Refused: Fate.FAILED,
    ZeroDivisionError: Fate.MISTAKE,
}


@pytest.mark.parametrize("kind", FATES)
def test_each_kind_of_error_has_its_fate(kind):
    assert fate_of(kind("said")) is FATES[kind]


def test_no_error_of_the_laboratory_is_forgotten():
    modules = (bench, hypervisors, remote, ssh)
    kinds = {
        member
        for module in modules
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, Exception) and member.__module__ == module.__name__
    }
    assert kinds <= FATES.keys()


def test_the_documentation_has_a_row_for_each_kind():
    text = (Path(settings.BASE_DIR) / "docs/campaigns.md").read_text()
    table = text.partition("## What can go wrong")[2].partition("\n## ")[0]
    told = set(re.findall(r"`(\w+)`", table))
    assert {kind.__name__ for kind in FATES if kind is not ZeroDivisionError} - told == set()
