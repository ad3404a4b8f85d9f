"""Changes are found night by night, kept once, told once, and handled by members."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from kdb.models import Job
from kdb.notifications import deliveries, subscriptions
from kdb.notifications.models import Delivery
from modelling.models import SeriesChange, Sitting
from modelling.own_lab.changes import detection
from tests.factories import make_user
from tests.modelling.own_lab.changes.conftest import make_night, reboot

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(ada, settings):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["hooks.test"]
    return subscriptions.add(ada, "webhook", "http://hooks.test/a", ["change"], "http://kdb.test")


def look():
    detection.find_changes(lambda done, total: None)


def test_a_slower_kernel_is_suspected_once_and_told_once_it_was_measured_beside_the_old_one(ours, nights, told, ada):
    stranger = make_user(username="eve")
    subscriptions.add(stranger, "webhook", "http://hooks.test/b", ["change"], "http://kdb.test")
    look()
    (change,) = SeriesChange.objects.all()
    assert change.sitting == nights[20]
    assert change.shown_by in nights[26:]
    assert change.low < 0.85 < change.high
    assert change.facts == [{"name": "kernel", "before": "6.1", "after": "6.8"}]
    assert change.confirmed_by is None
    assert not Delivery.objects.exists()
    reboot(ours)
    look()
    change.refresh_from_db()
    assert change.confirmed_by == Sitting.objects.latest("ended_at")
    assert change.ratio == pytest.approx(0.85)
    (delivery,) = Delivery.objects.all()
    assert delivery.subscription == told
    assert delivery.subject.startswith("ext4 on box under fileserver became slower: 0.85")
    assert "side by side), from 2026-11-21 on. New with it: kernel 6.8 (was 6.1)." in delivery.text
    look()
    Sitting.objects.update(looked_at=None)  # as if nobody had looked
    look()
    assert (SeriesChange.objects.count(), Delivery.objects.count()) == (1, 1)


def test_a_suspicion_leads_to_what_confirms_it_on_its_page_and_in_the_api(client, ada, ours, nights, asked):
    look()
    change = SeriesChange.objects.get()
    command = "kdb measure fileserver --laboratory ours --again"
    told = asked(f"series-changes/{change.pk}/")
    assert (told["confirmed_by"], told["command"]) == (None, command)
    assert "ext4 on box under fileserver may have become slower around 2026-11-21: 0.8" in told["sentence"]
    (plan,) = asked(f"series-changes/{change.pk}/causes/")["bisections"]
    assert command in plan["sentence"]
    client.force_login(ada)
    page = client.get(f"/series-changes/{change.pk}/").content.decode()
    assert "Perhaps slower: ext4 on box" in page
    assert f"<code>{command}</code>" in page
    assert "Nothing was measured side by side since then." in page
    assert "suspicion, new" in client.get("/series-changes/").content.decode()
    reboot(ours)
    look()
    page = client.get(f"/series-changes/{change.pk}/").content.decode()
    assert 'aria-labelledby="confirm"' not in page
    assert "Slower: ext4 on box" in page
    assert "change, new" in client.get("/series-changes/").content.decode()


def test_what_does_not_change_is_not_told(ours):
    for night in range(25):
        make_night(ours, night, [1000.0 + night % 3])
    look()
    assert not SeriesChange.objects.exists()
    assert not Sitting.objects.filter(looked_at=None).exists()


def test_killed_while_it_tells_nothing_is_kept_and_all_is_done_again(ours, nights, told, monkeypatch):
    def dies(change):
        raise KeyboardInterrupt

    reboot(ours)
    with monkeypatch.context() as patched:
        patched.setattr(detection, "_announce", dies)
        with pytest.raises(KeyboardInterrupt):
            look()
    assert SeriesChange.objects.get().confirmed_by is None
    assert not Delivery.objects.exists()
    assert 0 < Sitting.objects.filter(looked_at=None).count() < 20
    look()
    assert SeriesChange.objects.get().confirmed_by is not None
    assert Delivery.objects.count() == 1


def test_a_sitting_that_ends_asks_for_the_work_and_so_does_the_tick(ours, nights, ada):
    detection.reconcile()
    assert Job.objects.get().kind == detection.JOB
    look()
    Job.objects.all().delete()
    detection.reconcile()
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
    reboot(ours)
    look()
    change = SeriesChange.objects.get()
    client.force_login(make_user(username="eve"))
    assert client.get(f"/series-changes/{change.pk}/").status_code == 404
    assert client.post(f"/series-changes/{change.pk}/", {"deed": "confirm"}).status_code == 404
    assert "Nothing was found." in client.get("/series-changes/").content.decode()
    ours.members.remove(ada)
    deliveries.deliver_due(lambda done: None)
    assert Delivery.objects.get().error == "You are no member of its laboratory any more, or it is gone."
