"""A laboratory whose machine is measured each night."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from modelling.models import Laboratory, Sitting, SittingRun
from tests.factories import make_token, make_user

FIRST = datetime(2026, 11, 1, 3, tzinfo=UTC)
CHOICES = [{"name": "ext4", "place": "vdb", "settings": {"guest_fs": "ext4", "guest_fs_release": "1.47"}}]


@pytest.fixture
def ada(db):
    return make_user(username="ada")


@pytest.fixture
def ours(ada):
    ours = Laboratory.objects.create(slug="ours", name="Our laboratory")
    ours.members.add(ada)
    return ours


def make_night(laboratory, night, values, *, disturbed=0, choices=CHOICES, **fields):
    """Make a sitting that ended in a night, from 0, with a run of the first choice for each value."""
    told = {"machine": "box", "workload": "fileserver", "engine": "fio", "seconds": 30, "most_runs": 9, "facts": {}}
    sitting = Sitting.objects.create(
        laboratory=laboratory,
        choices=choices,
        known={},
        state="spent",
        ended_at=FIRST + timedelta(days=night),
        **told | fields,
    )
    runs = [{"value": value} for value in values] + [{"value": 1.0, "disturbed": "a backup ran"}] * disturbed
    SittingRun.objects.bulk_create(
        SittingRun(sitting=sitting, block=1, number=number, choice=0, reported_at=sitting.ended_at, **run)
        for number, run in enumerate(runs, start=1)
    )
    return sitting


@pytest.fixture
def nights(ours):
    """Twenty nights at 1000 operations a second, then eight of a kernel that is slower by 15 %."""
    noise = np.exp(np.random.default_rng(1).normal(0, 0.02, (28, 2)))
    return [
        make_night(ours, night, 1000 * noise[night] * (0.85 if night >= 20 else 1), facts=kernel_of(night))
        for night in range(28)
    ]


def reboot(laboratory, *, slower=0.85, pairs=3, first=28):
    """Measure under the old kernel and under the new one in turns, a night each."""
    for night in range(first, first + 2 * pairs, 2):
        make_night(laboratory, night, [1000.0], facts={"kernel": "6.1"})
        make_night(laboratory, night + 1, [1000.0 * slower], facts={"kernel": "6.8"})


def kernel_of(night):
    return {"kernel": "6.8" if night >= 20 else "6.1", "measured_at": f"night {night}"}


@pytest.fixture
def asked(client, ada):
    headers = {"authorization": f"Bearer {make_token(ada, ('read', 'laboratory'))}"}

    def ask(path, body=None, status=200):
        told = {} if body is None else {"data": body, "content_type": "application/json"}
        method = client.get if body is None else client.post
        answer = method(f"/api/v1/{path}", headers=headers, **told)
        assert answer.status_code == status, answer.content
        return answer.json()

    return ask
