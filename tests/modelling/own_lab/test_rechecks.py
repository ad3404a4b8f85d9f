"""Choices that led on a machine are measured again: whether they changed."""

import pytest

from tests.modelling.own_lab.test_sessions import BODY, SPEED

pytestmark = pytest.mark.django_db


def measured(asked, speed, **more):
    """A sitting measured to its end."""
    sitting = asked("sittings/", {**BODY, **more}, 201)
    while sitting["next"]:
        for run in sitting["next"]:
            sitting = asked(f"sittings/{sitting['id']}/runs/{run['number']}/", {"value": speed[run["choice"]]})
    return sitting


@pytest.fixture
def decided(asked):
    """A decision in which xfs leads ext4, both run several times."""
    return measured(asked, SPEED | {"ext4": 1400.0}, seconds=20)


@pytest.mark.parametrize(
    ("factor", "kind", "said"),
    [
        (0.7, "changed", "xfs: it is 0.70 times as fast as before (0."),
        (1.3, "changed", "xfs: it is 1.30 times as fast as before (1."),
        (1.1, "not sure", "xfs: whether it changed is not sure; it is 1.10 times as fast as before"),
    ],
)
def test_the_two_that_led_are_run_again_and_held_against_before(asked, decided, factor, kind, said):
    sitting = measured(asked, {"xfs": 1500 * factor, "ext4": 1400.0}, again=True)
    assert {choice["name"] for choice in sitting["choices"]} == {"ext4", "xfs"}
    assert sitting["seconds"] == decided["seconds"] == 20
    changes = {change["name"]: change for change in sitting["decision"]["changes"]}
    assert changes["xfs"]["kind"] == kind
    assert changes["xfs"]["sentence"].startswith(said)
    assert changes["xfs"]["low"] < factor < changes["xfs"]["high"]
    assert decided["decision"]["changes"] == []


def test_what_is_as_before_is_no_change_that_matters(asked, decided):
    measured(asked, {"xfs": 1500.0, "ext4": 1400.0}, again=True)
    sitting = measured(asked, {"xfs": 1500.0, "ext4": 1400.0}, again=True)
    assert [change["kind"] for change in sitting["decision"]["changes"]] == ["no change that matters"] * 2


def test_without_a_decision_or_without_its_choices_it_says_so(asked, decided):
    (error,) = asked("sittings/", {**BODY, "machine": "another", "again": True}, 400)["errors"]
    assert error["message"] == "No decision under fileserver on another is kept in this laboratory."
    others = [{"name": name, "place": "vdb"} for name in ("xfs", "zfs")]
    (error,) = asked("sittings/", {**BODY, "choices": others, "again": True}, 400)["errors"]
    assert error == {
        "field": "choices",
        "message": "The last decision was between xfs and ext4: ext4 is not among these.",
    }


def test_where_nothing_changed_nothing_is_measured_if_asked_so(asked, decided):
    body = {"facts": {"kernel": "6.1", "measured_at": "a"}, "again": True, "if_changed": True}
    first = measured(asked, SPEED, **body)
    assert (
        asked("sittings/", {**BODY, **body, "facts": {"kernel": "6.1", "measured_at": "b"}}, 200)["id"] == first["id"]
    )
    assert asked("sittings/", {**BODY, **body, "facts": {"kernel": "6.8"}}, 201)["next"]
    choices = [
        {**choice, "settings": {**choice.get("settings", {}), "io_mode": "native"}} for choice in BODY["choices"]
    ]
    assert asked("sittings/", {**BODY, **body, "choices": choices}, 201)["next"]


def test_a_night_that_was_skipped_says_why_and_does_not_count_as_measured(asked, decided, client, ada):
    body = {**BODY, "facts": {"kernel": "6.8"}, "again": True, "if_changed": True}
    sitting = asked("sittings/", body, 201)
    client.force_login(ada)
    told = []
    while sitting["next"]:
        number = sitting["next"][0]["number"]
        busy = {"disturbed": "skipped: other programs kept 3.0 processors busy"}
        sitting = asked(f"sittings/{sitting['id']}/runs/{number}/", busy)
        page = client.get(f"/laboratories/sittings/{sitting['id']}/").content.decode()
        told.append("Nothing of it counts: skipped: other programs kept 3.0 processors busy." in page)
    assert len(told) > 1
    assert told == [False] * (len(told) - 1) + [True]  # not while a run is still to come
    assert asked("sittings/", body, 201)["next"]
