"""A suspicion becomes a change by later blocks that have both sides: the old release, or the neighbour choice."""

import numpy as np
import pytest

from kdb.notifications.models import Delivery
from modelling.models import SeriesChange, Sitting
from modelling.own_lab.changes import detection
from modelling.own_lab.changes.reruns import compare_reruns
from tests.modelling.own_lab.changes.conftest import CHOICES, make_night, reboot

pytestmark = pytest.mark.django_db
BOTH = [CHOICES[0], {"name": "xfs", "place": "vdc", "settings": {"guest_fs": "xfs"}}]


def side_by_side(laboratory, night, speeds, *, choices=BOTH, blocks=2, **fields):
    """Make a sitting whose blocks have a run of each choice. speeds : of these"""
    noise = np.exp(np.random.default_rng(night).normal(0, 0.02, (blocks, len(speeds))))
    sitting = make_night(laboratory, night, [], choices=choices, **fields)
    for block in range(blocks):
        for choice, speed in enumerate(speeds):
            number = 1 + len(speeds) * block + choice
            sitting.runs.create(block=block, number=number, choice=choice, value=speed * noise[block, choice])
    return sitting


def look():
    detection.find_changes(lambda done, total: None)
    return SeriesChange.objects.filter(about__name="ext4").first()


@pytest.fixture
def machine_wide(ours):
    """Both choices become slower by 15 % in the same night."""
    for night in range(27):
        slower = 0.85 if night >= 20 else 1
        side_by_side(ours, night, (1000 * slower, 1400 * slower))
    return look()


@pytest.fixture
def of_one(ours):
    """One choice becomes slower by 15 %."""
    for night in range(27):
        side_by_side(ours, night, (850 if night >= 20 else 1000, 1400))
    return look()


def test_the_nights_that_raised_a_suspicion_do_not_confirm_it(of_one):
    assert of_one.confirmed_by is None
    assert compare_reruns(of_one) is None


def test_the_neighbour_in_the_same_blocks_confirms_what_changed_beside_it(of_one, ours):
    rerun = side_by_side(ours, 30, (850, 1400))
    assert compare_reruns(of_one).interval[0] < 0.85 < compare_reruns(of_one).interval[1]
    assert look().confirmed_by == rerun


def test_what_came_back_is_not_confirmed(of_one, ours):
    for night in range(30, 36):
        side_by_side(ours, night, (1000, 1400))
    change = look()
    assert change.confirmed_by is None
    assert compare_reruns(change).interval[0] > 0.9


def test_the_neighbour_does_not_confirm_what_it_went_through_as_well(machine_wide, ours):
    for night in range(30, 34):
        side_by_side(ours, night, (850, 1190))
    assert look().confirmed_by is None
    assert not Delivery.objects.exists()


def test_old_and_new_release_in_one_block_confirm(of_one, ours):
    SeriesChange.objects.update(facts=[{"name": "guest_fs_release", "before": "1.46", "after": "1.47"}])
    old = {**CHOICES[0], "name": "old", "place": "vdb", "settings": {"guest_fs": "ext4", "guest_fs_release": "1.46"}}
    rerun = side_by_side(ours, 30, (850, 1000), choices=[CHOICES[0], old], blocks=4)
    change = look()
    assert change.confirmed_by == rerun
    assert change.low < 0.85 < change.high < 0.95


@pytest.mark.parametrize(("slower", "pairs", "is_confirmed"), [(0.85, 3, True), (1.0, 3, False), (0.85, 1, False)])
def test_an_old_kernel_that_was_booted_in_turns_confirms(ours, nights, slower, pairs, is_confirmed):
    reboot(ours, slower=slower, pairs=pairs)
    assert (look().confirmed_by is not None) == is_confirmed


def test_a_rerun_that_is_gone_leaves_a_suspicion(of_one, ours):
    rerun = side_by_side(ours, 30, (850, 1400))
    assert look().confirmed_by == rerun
    Sitting.objects.filter(pk=rerun.pk).delete()
    assert look().confirmed_by is None
