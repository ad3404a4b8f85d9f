"""Changes are found night by night, kept once, told once, and handled by members."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils.timezone import now

from kdb.models import Job
from kdb.notifications import delivering, subscriptions
from kdb.notifications.models import Delivery
from modelling.changes import keeping
from modelling.changes.statistics.discoveries import level
from modelling.models import MonthOfTests, SeriesChange, Sitting
from tests.factories import make_user
from tests.modelling.changes.conftest import CHOICES, make_night

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(ada, settings):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["hooks.test"]
    return subscriptions.add(ada, "webhook", "http://hooks.test/a", ["change"], "http://kdb.test")


def look():
    keeping.find_changes(lambda done, total: None)


def test_a_slower_kernel_is_found_once_and_told_once(ours, nights, told, ada):
    stranger = make_user(username="eve")
    subscriptions.add(stranger, "webhook", "http://hooks.test/b", ["change"], "http://kdb.test")
    look()
    (change,) = SeriesChange.objects.all()
    assert change.sitting == nights[20]
    assert change.shown_by in nights[22:]
    assert change.low < 0.85 < change.high
    assert change.facts == [{"name": "kernel", "before": "6.1", "after": "6.8"}]
    (delivery,) = Delivery.objects.all()
    assert delivery.subscription == told
    assert delivery.subject.startswith("ext4 on box under fileserver became slower: 0.8")
    assert "New with it: kernel 6.8 (was 6.1)." in delivery.text
    look()
    Sitting.objects.update(looked_at=None)  # as if nobody had looked
    MonthOfTests.objects.update(tests=1000)
    look()
    assert (SeriesChange.objects.count(), Delivery.objects.count()) == (1, 1)


def test_each_change_was_held_against_what_was_discovered_before_it(ours):
    """Two disks of a machine become slower in the same night: the second is told by a level that the first raised."""
    both = [{**CHOICES[0], "name": place, "place": place} for place in ("vdb", "vdc")]
    for night in range(28):
        sitting = make_night(ours, night, [1000.0 + night % 7 - 150 * (night >= 20)], choices=both)
        sitting.runs.create(block=1, number=2, choice=1, value=990.0 + night % 5 - 150 * (night >= 20))
    look()
    changes = SeriesChange.objects.order_by("test")
    assert {change.about["place"] for change in changes} == {"vdb", "vdc"}
    earlier = []
    for change in changes:
        assert change.level == level(change.test, earlier)
        earlier.append(change.test)


def test_a_sitting_that_was_looked_at_counts_for_one_test_however_often_it_is_looked_at(ours, nights):
    look()
    before = MonthOfTests.objects.get().tests
    keeping.look_at(nights[-1].pk)
    assert MonthOfTests.objects.get().tests == before


def test_what_does_not_change_is_not_told(ours):
    for night in range(25):
        make_night(ours, night, [1000.0 + night % 3])
    look()
    assert not SeriesChange.objects.exists()
    assert MonthOfTests.objects.get().tests == 18  # the first seven nights tell nothing
    assert not Sitting.objects.filter(looked_at=None).exists()


def test_disturbed_runs_count_for_nothing(ours):
    for night in range(25):
        make_night(ours, night, [1000.0] if night < 15 else [], disturbed=1)
    look()
    assert not SeriesChange.objects.exists()
    assert MonthOfTests.objects.get().tests == 8


def test_killed_while_it_tells_nothing_is_kept_and_all_is_done_again(ours, nights, told, monkeypatch):
    def dies(change, first):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keeping, "_announce", dies)
        with pytest.raises(KeyboardInterrupt):
            look()
    assert not SeriesChange.objects.exists()
    waiting = Sitting.objects.filter(looked_at=None).count()
    assert 0 < waiting < 20
    look()
    assert (SeriesChange.objects.count(), Delivery.objects.count()) == (1, 1)
    sure = nights.index(SeriesChange.objects.get().shown_by)
    # From the eighth night on each is one test, none twice; after the change again from the eighth on.
    assert MonthOfTests.objects.get().tests == (sure - 6) + 1


def test_months_are_numbered_anew(ours):
    for night in range(40):
        make_night(ours, night, [1000.0])
    look()
    assert [month.tests for month in MonthOfTests.objects.order_by("month")] == [23, 10]


def test_a_sitting_that_ends_asks_for_the_work_and_so_does_the_tick(ours, nights, ada):
    keeping.look_after()
    assert Job.objects.get().kind == keeping.JOB
    look()
    Job.objects.all().delete()
    keeping.look_after()
    assert not Job.objects.exists()


def test_members_handle_a_change_on_its_page_and_by_the_api(client, ada, ours, nights, asked):
    look()
    change = SeriesChange.objects.get()
    assert asked(f"series-changes/{change.pk}/")["handling"] == {
        **{"state": "new", "reason": "", "excused_until": None, "by": ""}
    }
    assert asked(f"series-changes/{change.pk}/handle/", {"deed": "confirm"})["handling"]["state"] == "confirmed"
    client.force_login(ada)
    path = f"/series-changes/{change.pk}/"
    assert client.post(path, {"deed": "excuse"}).status_code == 422
    assert client.post(path, {"deed": "acknowledge", "reason": "why"}).status_code == 422
    until = now().date() + timedelta(days=3)
    assert client.post(path, {"deed": "excuse", "reason": "a scrub", "until": str(until)}).status_code == 302
    page = client.get(path).content.decode()
    assert "It is <strong>excused</strong>" in page
    assert "a scrub, said ada" in page
    handling = asked(f"series-changes/{change.pk}/")["handling"]
    assert handling == {"state": "excused", "reason": "a scrub", "excused_until": str(until), "by": "ada"}
    asked(f"series-changes/{change.pk}/handle/", {"deed": "reopen"})
    assert asked(f"series-changes/{change.pk}/")["handling"]["reason"] == ""


def test_an_excuse_runs_out(ours, nights):
    look()
    SeriesChange.objects.update(state="excused", reason="a scrub", excused_until=now().date() - timedelta(days=1))
    assert SeriesChange.objects.get().standing == "new"


def test_an_excuse_that_is_over_already_is_refused(asked, ours, nights):
    look()
    pk = SeriesChange.objects.get().pk
    body = {"deed": "excuse", "reason": "a scrub", "until": "2020-01-01"}
    (error,) = asked(f"series-changes/{pk}/handle/", body, 400)["errors"]
    assert (error["field"], error["message"]) == ("until", "This day is over: name today or a later one.")
    (error,) = asked(f"series-changes/{pk}/handle/", {"deed": "confirm", "reason": "a scrub"}, 400)["errors"]
    assert (error["field"], error["message"]) == ("reason", "Only an excuse has it.")


def test_the_overview_has_the_months_changes(client, ada, ours, nights, asked):
    look()
    client.force_login(ada)
    assert "ext4 on box under fileserver" in client.get("/series-changes/").content.decode()
    assert "Nothing was found." in client.get("/series-changes/?month=2020-01").content.decode()
    assert client.get("/series-changes/?month=2020").status_code == 422
    assert len(asked("series-changes/")["results"]) == 1
    assert asked("series-changes/?month=2020-01")["results"] == []
    assert asked("series-changes/?month=x", status=400)["errors"][0]["field"] == "month"


def test_strangers_find_nothing_and_are_told_nothing(client, ours, nights, told, ada):
    look()
    change = SeriesChange.objects.get()
    client.force_login(make_user(username="eve"))
    assert client.get(f"/series-changes/{change.pk}/").status_code == 404
    assert client.post(f"/series-changes/{change.pk}/", {"deed": "confirm"}).status_code == 404
    assert "Nothing was found." in client.get("/series-changes/").content.decode()
    ours.members.remove(ada)
    delivering.deliver_due(lambda done: None)
    assert Delivery.objects.get().error == "You are no member of its laboratory any more, or it is gone."


def test_the_command_prints_its_tables(capsys, monkeypatch):
    from modelling.management.commands import changes_found

    monkeypatch.setattr(changes_found, "WORLDS", changes_found.WORLDS[-1:])
    monkeypatch.setattr(changes_found, "TRIALS", 20)
    call_command("changes_found", "--share", "0.02")
    printed = capsys.readouterr().out
    assert "4 of 200: none changes, heavy tails" in printed
    assert "| 4 | 0 | 5 % |" in printed
