"""What runs under some loads tell of any other one, worked by hand: two pools of one file system, and normals alone."""

from math import log

import numpy as np
import pytest

from experiments.models import FileSystem
from modelling.estimation.machine import PLACES
from modelling.evidence.question import Question
from modelling.own_lab import laboratories, pools
from modelling.own_lab.content import Choice
from tests.factories import entry, make_user
from tests.modelling.fleet.moving.test_measured_pools import measure

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

POOLS = {"fast": "ext4", "slow": "ext4"}
CHOICES = [Choice(pool, pool, {"guest_fs": "ext4"}) for pool in POOLS]


def by_hand(seen: list[float]) -> tuple[float, float]:
    """Return mean and standard deviation of ln fast / slow under one more load, given those of some loads.

    Each is s + o with s common to all: s ~ N(0, a v), o ~ N(0, (1 - a) v), v that of two disks; a is one of four.
    """
    count, variance = len(seen), 2 * PLACES**2
    logs, means, variances = [], [], []
    for share in pools.ACROSS:
        spread = variance * (share * np.ones((count, count)) + (1 - share) * np.eye(count))
        weighed = np.linalg.solve(spread, seen)
        logs.append(-(np.linalg.slogdet(spread)[1] + weighed @ seen) / 2)
        means.append(share * variance * weighed.sum())
        variances.append(variance - (share * variance) ** 2 * np.linalg.inv(spread).sum())
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean = weights @ means
    return mean, np.sqrt(weights @ (np.array(variances) + np.array(means) ** 2) - mean**2)


@pytest.mark.parametrize(
    "ratios",
    [(2.0,), (3.0, 3.0, 3.0), (3.0, 1 / 3.0), (4.0, 3.5, 0.5, 3.0)],
    ids=["one load", "three that agree", "two that do not", "one of four that does not"],
)
def test_another_load_follows_what_the_measured_ones_have_in_common(ratios):
    entry(FileSystem, "ext4")
    laboratory = laboratories.create_laboratory(make_user("operators"), "ours", "Our laboratory")
    for ratio, workload in zip(ratios, ("varmail", "fileserver", "database", "sync-write"), strict=False):
        measure(laboratory, ratio=ratio, workload=workload, choices=CHOICES)
    sessions = pools.sessions_on_pools(pools.Runs(laboratory, "kvm-1", {pool: pool for pool in POOLS}))
    question = Question("fs-pair", "", hypervisor="kvm", metric="throughput")
    known = pools.on_pools(question, laboratory, "ext4", ["any load"], POOLS, sessions)["any load"]
    weights, means, covariances = known.machine
    apart = means[:, 0] - means[:, 1]
    mean = weights @ apart
    spread = np.sqrt(
        weights @ (covariances[:, 0, 0] + covariances[:, 1, 1] - 2 * covariances[:, 0, 1] + apart**2) - mean**2
    )
    assert (mean, spread) == pytest.approx(by_hand([log(ratio) for ratio in ratios]), abs=0.08)
    assert known.is_own is False
