"""Nights that a program adds to series: what it is told, who may, and who sees a series that is shared."""

from datetime import timedelta
from xml.etree import ElementTree

import numpy as np
import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from modelling.models import SeriesChange, SharedSeries, Sitting
from modelling.own_lab import laboratories, rechecks
from modelling.own_lab.changes import detection, gather, presentation, selectors
from tests.factories import make_token, make_user
from tests.modelling.own_lab.changes.conftest import make_night

pytestmark = pytest.mark.django_db

BOTH = {"disk": 1000.0, "reference": 1400.0}


def night(speeds=BOTH, number=0, **fields):
    """Return a night of four runs of each place."""
    return {
        "machine": "box",
        "workload": "varmail",
        "choices": [{"name": name, "place": name, "settings": {}} for name in speeds],
        "facts": {"measured_at": f"night {number}", "kernel": "6.8"},
        "runs": [
            {"block": block, "choice": name, "value": value} for block in (1, 2, 3, 4) for name, value in speeds.items()
        ],
        **fields,
    }


@pytest.fixture
def add(client, ours, ada):
    """Add a night as a program with a token that may do nothing else."""
    key = make_token(ada, ("measure",), laboratory="ours")

    def add(body, status=201, key=key, laboratory="ours"):
        headers = {"authorization": f"Bearer {key}"} if key else {}
        address = f"/api/v1/laboratories/{laboratory}/series/"
        answer = client.post(address, body, content_type="application/json", headers=headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return add


@pytest.fixture
def shared(client, ada, add):
    """The address of the page of a series that Ada shared."""
    (told,) = add(night({"disk": 1000.0}))["series"]
    client.force_login(ada)
    assert client.post(f"/laboratories/ours/series/{told['key']}/", {"do": "share"}).status_code == 302
    client.logout()
    return f"/series/{SharedSeries.objects.get().address}/"


def test_a_place_that_became_slower_beside_its_neighbour_is_suspected_then_sure_until_somebody_says_so(
    add, asked, django_capture_on_commit_callbacks
):
    noise, states, is_new = np.random.default_rng(3), [], []
    for number in range(40):
        speeds = {"disk": 1000.0 * (0.8 if number >= 20 else 1), "reference": 1400.0}
        speeds = {name: value * noise.normal(1, 0.02) for name, value in speeds.items()}
        Sitting.objects.update(ended_at=F("ended_at") - timedelta(days=1))
        disk, reference = add(night(speeds, number))["series"]
        assert (reference["state"], reference["not_known"]) == (
            ("steady", "") if number >= 16 else ("not known", f"{number + 1} of 17 nights")
        )
        states.append(disk["state"])
        is_new.append(disk["is_new"])
    assert list(dict.fromkeys(states)) == ["not known", "steady", "perhaps slower", "slower"]
    assert is_new == [state == "slower" for state in states]
    assert "0.77 times as fast as before" in disk["sentence"]
    asked(f"series-changes/{disk['change']}/handle/", {"deed": "acknowledge"})
    disk, _ = add(night(speeds, 40))["series"]
    assert (disk["state"], disk["is_new"]) == ("slower", False)


def test_a_night_of_one_place_is_told_at_once_and_sent_again_the_same_night(add, client, ada):
    told = add(night({"disk": 1000.0}))
    assert told["series"][0]["sentence"].startswith("1,000 ops/s (1,000 to 1,000) on 20")
    assert add(night({"disk": 1000.0}))["sitting"] == told["sitting"]
    sitting = Sitting.objects.get()
    assert (sitting.state, sitting.looked_at is None, sitting.runs.count()) == ("spent", False, 4)
    client.force_login(ada)
    assert "nothing to decide" in client.get(f"/laboratories/sittings/{sitting.pk}/").content.decode()
    assert client.get(f"/api/v1/sittings/{sitting.pk}/").json()["decision"]["runs"] == 0


def test_a_night_decides_nothing_so_nothing_is_measured_again_for_it(add, ours):
    add(night())
    assert rechecks.last_decision(ours, "box", "varmail") is None


def test_nobody_else_adds_a_night(add, ada):
    eve = make_user(username="eve")
    laboratories.create_laboratory(eve, "theirs", "Theirs")
    add(night(), 404, make_token(eve, ("measure",), laboratory="theirs"))
    add(night(), 404, make_token(ada, ("measure",), laboratory="theirs"))
    add(night(), 404, laboratory="theirs")
    add(night(), 403, make_token(ada, ("read",)))
    add(night(), 401, "visit_" + "a" * 43)
    add(night(), 401, "")
    assert not Sitting.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"runs": []}, "runs"),
        ({"runs": [{"block": 1, "choice": "disk", "value": 1.0}] * 201}, "runs"),
        ({"runs": [{"block": 1, "choice": "disk", "value": 1.0}] * 2}, "runs"),
        ({"runs": [{"block": 1, "choice": "other", "value": 1.0}]}, "runs[0].choice"),
        ({"runs": [{"block": 1, "choice": "disk"}]}, "runs[0].value"),
        ({"workload": "chess"}, "workload"),
        ({"machine": "box\x1b[2J"}, "machine"),
        ({"facts": {str(number): "" for number in range(99)}}, "facts"),
    ],
)
def test_a_night_that_cannot_be_is_refused_by_field(add, change, field):
    assert add(night(**change), 400)["errors"][0]["field"].startswith(field)
    assert not Sitting.objects.exists()


def test_a_full_laboratory_takes_no_further_night(add, monkeypatch):
    monkeypatch.setattr(laboratories, "MOST_SITTINGS", 1)
    told = add(night())
    assert add(night()) == told
    assert "as many as it may" in add(night(number=1), 409)["detail"]


def test_a_night_costs_the_same_queries_after_a_year(add, ours, django_assert_max_num_queries):
    for number in range(365):
        make_night(ours, number - 400, [1000.0], choices=night()["choices"][:1], workload="varmail", looked_at=None)
    with django_assert_max_num_queries(33):
        add(night({"disk": 1000.0}))


def test_a_shared_series_is_seen_by_whoever_knows_its_address_without_its_machine(client, add, shared):
    first = Sitting.objects.get().pk
    add(night({"disk": 1100.0}, 1))
    page = client.get(shared)
    text = page.content.decode()
    assert page["X-Robots-Tag"] == "noindex"
    assert "Our laboratory" in text
    assert "box" not in text.replace("viewBox", "")
    assert "/laboratories/" not in text
    assert f"{shared}badge.svg" in text
    cited = client.get(f"{shared}{first}/").content.decode()
    assert "1,100" in text
    assert "1,100" not in cited
    drawn = client.get(f"{shared}badge.svg")
    assert (drawn["Content-Type"], drawn["Cache-Control"]) == ("image/svg+xml", "public, max-age=600")
    assert "1,100 ops/s, 2 of 17 nights" in "".join(ElementTree.fromstring(drawn.content).itertext())


def test_a_series_that_got_no_night_for_long_says_since_when_and_nothing_of_now(client, add, shared):
    Sitting.objects.update(ended_at=F("ended_at") - timedelta(days=15))
    last = Sitting.objects.get().ended_at
    for address in (shared, f"{shared}badge.svg"):
        assert f"no night since {last:%Y-%m-%d}" in client.get(address).content.decode()
    assert "1 of 17 nights" in client.get(f"{shared}{Sitting.objects.get().pk}/").content.decode()  # as of then


def test_nights_of_other_places_hide_none_of_a_series(client, add, shared):
    for number in range(1, 12):
        add(night({"reference": 1400.0}, number))
    assert "1,000 ops/s" in client.get(f"{shared}badge.svg").content.decode()


def test_the_page_of_a_shared_series_is_bounded_and_may_be_cached(client, ours, ada, shared, django_assert_num_queries):
    with CaptureQueriesContext(connection) as first:
        client.get(shared)
    for number in range(120):
        make_night(ours, number - 400, [1000.0], choices=night()["choices"][:1], workload="varmail")
    with django_assert_num_queries(len(first)):
        page = client.get(shared)
    assert page["Cache-Control"] == "max-age=600, public"
    assert page.content.decode().count('data-label="Runs"') == presentation.LISTED
    assert "The newest 100 of 121 sittings" in page.content.decode()
    client.force_login(ada)
    assert "private" in client.get(shared)["Cache-Control"]


def test_only_members_share_a_series_and_take_it_back(client, ada, ours, add, shared):
    key = SharedSeries.objects.get().series
    address = reverse("my-one-series", args=["ours", key])
    client.force_login(make_user(username="eve"))
    assert client.post(address, {"do": "stop"}).status_code == 404
    assert client.get(shared).status_code == 200
    client.force_login(ada)
    client.post(address, {"do": "stop"})
    assert [client.get(f"{shared}{end}").status_code for end in ("", "badge.svg")] == [404, 404]
    assert ours.audit_entries.filter(action__contains="series").count() == 2
    client.post(address, {"do": "share"})
    assert client.get(shared).status_code == 404  # another address
    laboratories.remove_laboratory(ours, user=ada)
    assert not SharedSeries.objects.exists()


def test_a_sitting_of_another_laboratory_is_none_of_a_shared_series(client, shared):
    theirs = laboratories.create_laboratory(make_user(username="eve"), "theirs", "Theirs")
    other = make_night(theirs, 3, [1.0])
    assert client.get(f"{shared}{other.pk}/").status_code == 404


def test_the_load_of_an_observed_machine_is_shared_with_nobody(client, ada, ours):
    make_night(ours, 0, [1000.0], workload="", like={"machine": "lab-1/vm", "job": "[job]"})
    (line,) = gather.series_lines(ours)
    client.force_login(ada)
    client.post(f"/laboratories/ours/series/{line.key}/", {"do": "share"})
    assert not SharedSeries.objects.exists()


def test_markup_in_names_is_text_on_page_and_badge(client, ada, add):
    name = '<script>alert(1)</script>"&'
    (told,) = add(night({name: 1000.0}, machine=name))["series"]
    client.force_login(ada)
    client.post(f"/laboratories/ours/series/{told['key']}/", {"do": "share"})
    shared = f"/series/{SharedSeries.objects.get().address}/"
    for address in (f"/laboratories/ours/series/{told['key']}/", shared):
        assert "<script>alert" not in client.get(address).content.decode()
    drawn = ElementTree.fromstring(client.get(f"{shared}badge.svg").content)
    assert not [part for part in drawn.iter() if part.tag.endswith("script")]
    assert "varmail on <script>" in "".join(drawn.itertext())


def test_a_suspicion_that_somebody_looked_into_is_no_news(ours, ada, nights):
    detection.find_changes(lambda done, total: None)

    def state():
        return selectors.history(ours, *gather.series_of(nights[-1])[0], nights[-1]).current.state

    assert state() == "perhaps slower"
    detection.handle(SeriesChange.objects.get(), ada, "acknowledge")
    assert state() == "not known"  # eight nights since then tell nothing yet


def test_nights_on_files_of_another_size_are_another_series(add):
    (small,), (large,) = (add(night({"disk": 1000.0}, number, set_mib=number * 1024))["series"] for number in (0, 1))
    assert small["key"] != large["key"]
    assert selectors.history_of(Sitting.objects.first().laboratory, large["key"]).series.set_mib == 1024


def test_a_night_is_not_taken_for_the_last_measurement_of_a_machine(add, ours):
    decided = make_night(ours, 0, [1000.0])
    add(night(machine=decided.machine, workload=decided.workload))
    assert rechecks.find_unchanged(decided, [], {}) == decided
