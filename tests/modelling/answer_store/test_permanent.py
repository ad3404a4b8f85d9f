"""A permanent address names revision and method, and gives the answer that it gave, whatever comes later."""

import re

import cattrs
import pytest
from django.core.cache import caches
from django.utils.html import escape

from experiments.case_studies import lifecycle, retraction
from experiments.models import CaseStudy
from modelling.answer_store import history, permalinks, selectors, snapshots, versions, views
from modelling.answer_store.selectors import current_snapshot
from modelling.answer_store.subscriptions import followers
from modelling.answers.content import TierList
from modelling.estimation.ranking import METHOD
from modelling.evidence.question import Question
from modelling.models import PinnedAnswer, RankingSnapshot
from tests import factories
from tests.modelling.answer_store.subscriptions.test_feed import entries, publish

pytestmark = pytest.mark.django_db

QUESTION = Question("fs-pair", "fileserver")
PAGE = "/?axis=fs-pair&workload=fileserver"
ADDRESS = "/api/v1/rankings/fs-pair/?workload=fileserver"
LATER = METHOD + 1
MODULES = (followers, history, permalinks, selectors, snapshots, versions, views)


@pytest.fixture
def upgrade(monkeypatch, settings):
    """Have a later method come, by which nothing is far enough ahead of anything to be told apart."""

    def come() -> None:
        for module in MODULES:
            monkeypatch.setattr(module, "METHOD", LATER)
        settings.KDB_MARGIN = 0.95

    return come


def test_a_permanent_address_gives_what_it_gave_whatever_a_later_method_says(client, upgrade):
    publish("first", 300.0, 100.0)
    address = client.get(ADDRESS).json()["permanent"]
    assert address == f"{ADDRESS}&as_of=1&method={METHOD}"
    then = client.get(address)
    assert (then.json()["method"], then.json()["pinned"]) == (METHOD, True)

    upgrade()
    now = client.get(ADDRESS).json()
    assert now["verdict"] != then.json()["verdict"]
    assert now["permanent"] == f"{ADDRESS}&as_of=1&method={LATER}"
    assert client.get(address).content == then.content
    assert client.get(now["permanent"]).json()["verdict"] == now["verdict"]


@pytest.mark.sqlite
def test_the_page_of_an_earlier_method_says_so_and_leads_to_what_is_known_now(client, upgrade):
    publish("first", 300.0, 100.0)
    permanent = f"{PAGE}&as_of=1&method={METHOD}"
    first = client.get(f"{PAGE}&tab=history").content.decode()
    assert f'href="{escape(permanent)}">Permanent address' in first
    assert "This is what method" not in client.get(permanent).content.decode()
    upgrade()
    page = client.get(permanent).content.decode()
    then = client.get(f"{ADDRESS}&as_of=1&method={METHOD}").json()["verdict"]
    assert escape(then["sentence"]) in page
    assert f"This is what method {METHOD} said" in page
    assert f'href="{escape(PAGE)}">The answer now' in page
    assert "This is what method" not in client.get(f"{PAGE}&as_of=1&method={LATER}").content.decode()


@pytest.mark.sqlite
def test_grid_table_and_capacity_of_an_earlier_method_are_of_its_answer(client, upgrade):
    publish("first", 300.0, 100.0)
    then = f"as_of=1&method={METHOD}"
    grid = client.get(f"/api/v1/heat-maps/?workload=fileserver&{then}").json()
    csv = client.get(f"{ADDRESS}&{then}&format=csv").content
    upgrade()
    assert client.get(f"/api/v1/heat-maps/?workload=fileserver&{then}").json() == grid
    assert (grid["permanent"], grid["pinned"]) == (f"/api/v1/heat-maps/?workload=fileserver&{then}", True)
    later = client.get(f"/api/v1/heat-maps/?workload=fileserver&as_of=1&method={LATER}").json()
    assert (later["method"], later["permanent"] != grid["permanent"]) == (LATER, True)
    assert client.get(f"{ADDRESS}&{then}&format=csv").content == csv
    assert client.get(f"/capacity/{PAGE[1:]}&rate=1&{then}").status_code == 200


def failing(*question, **asked):
    raise ValueError("no number")


def test_what_was_given_is_given_again_without_working_out_anything(client, upgrade, monkeypatch):
    publish("first", 300.0, 100.0)
    then = f"as_of=1&method={METHOD}"
    addresses = (f"{ADDRESS}&{then}", f"{ADDRESS}&{then}&format=csv", f"/api/v1/heat-maps/?workload=fileserver&{then}")
    before = [client.get(address).content for address in addresses]
    upgrade()
    monkeypatch.setattr(snapshots, "_answer", failing)
    assert [client.get(address).content for address in addresses] == before
    assert client.get(f"{PAGE}&{then}").status_code == 200
    assert client.get(f"/capacity/{PAGE[1:]}&rate=1&{then}").status_code == 200


def test_a_comparison_that_was_given_is_shown_though_todays_explanation_fails(client, upgrade, monkeypatch):
    publish("first", 300.0, 100.0)
    permanent = f"{PAGES[0]}&as_of=1&method={METHOD}"
    client.get(permanent)
    upgrade()
    monkeypatch.setattr("modelling.answer_pages.compare.explained", failing)
    assert client.get(permanent).status_code == 200


@pytest.mark.sqlite
def test_a_cache_keeps_for_good_what_is_pinned_and_named_whole_alone(client, settings):
    publish("first", 300.0, 100.0)

    def is_final(address: str) -> bool:
        return "immutable" in client.get(address)["Cache-Control"]

    whole = f"as_of=1&method={METHOD}"
    bases = (ADDRESS, "/api/v1/heat-maps/?workload=fileserver", *(address for address, _ in COMBINED))
    for base in bases:
        assert [is_final(f"{base}&{end}") for end in (whole, "as_of=1", "")] == [True, False, False], base
    PinnedAnswer.objects.all().delete()
    settings.KDB_PINNED_ANSWERS = 0
    assert not any(is_final(f"{base}&{whole}") for base in bases)


def test_an_address_with_a_revision_alone_is_that_of_todays_method(client, upgrade):
    publish("first", 300.0, 100.0)
    then = client.get(f"{ADDRESS}&as_of=1").json()
    assert (then["method"], then["pinned"]) == (METHOD, True)
    upgrade()
    now = client.get(f"{ADDRESS}&as_of=1").json()
    assert (now["method"], now["pinned"], now["verdict"] != then["verdict"]) == (LATER, True, True)
    for page in (PAGE, f"/capacity/{PAGE[1:]}&rate=1", *PAGES):
        assert client.get(f"{page}&as_of=1")["Location"] == f"{page}&as_of=1&method={LATER}"


@pytest.mark.sqlite
@pytest.mark.parametrize(("method", "status"), [(METHOD, 410), (LATER + 1, 404)])
def test_an_answer_that_is_not_there_is_told_apart_from_a_method_that_never_was(client, upgrade, method, status):
    publish("first", 300.0, 100.0)
    upgrade()
    answer = client.get(f"{ADDRESS}&as_of=1&method={method}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (status, "method")
    assert answer["Content-Type"] == "application/problem+json"
    assert f"the method of today is {LATER}" in answer.json()["detail"]
    page = client.get(f"{PAGE}&as_of=1&method={method}")
    assert page.status_code == status
    assert f'href="{escape(PAGE)}&amp;as_of=1"' in page.content.decode()


@pytest.mark.sqlite
@pytest.mark.parametrize("end", ["&as_of=1&method=0", "&as_of=1&method=x", "&as_of=1&method=", "&method=1"])
def test_a_method_that_cannot_be_is_refused(client, end):
    publish("first", 300.0, 100.0)
    answer = client.get(f"{ADDRESS}{end}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "method")


def test_a_later_publication_is_no_part_of_an_earlier_method(client, upgrade):
    publish("first", 300.0, 100.0)
    client.get(ADDRESS)
    upgrade()
    publish("second", 100.0, 300.0)
    assert client.get(f"{ADDRESS}&as_of=1&method={METHOD}").status_code == 200
    assert client.get(f"{ADDRESS}&as_of=2&method={METHOD}").status_code == 410
    assert client.get(f"{ADDRESS}&as_of=2").json()["method"] == LATER


def test_earlier_answers_of_an_earlier_method_are_linked_where_they_are_kept(client, upgrade):
    publish("first", 300.0, 100.0)
    client.get(ADDRESS)
    publish("second", 100.0, 300.0)
    upgrade()
    address = f"{PAGE}&as_of=1&method={METHOD}"
    linked = f'<a href="{escape(address)}">Revision 1,'
    assert linked in client.get(f"{PAGE}&tab=history").content.decode()
    PinnedAnswer.objects.all().delete()
    caches["bodies"].clear()
    page = client.get(f"{PAGE}&tab=history").content.decode()
    assert ("Revision 1," in page, linked in page) == (True, False)
    assert client.get(address).status_code == 410


# What is pinned


def test_what_was_answered_before_a_retraction_is_pinned_when_first_asked_for_after_it(client):
    """Without the case studies that are gone the filter changes nothing any more."""
    publish("first", 300.0, 100.0)
    study = factories.make_case_study("windows", publication=factories.make_publication("windows"))
    for guest_fs, value in (("ext4", 100.0), ("xfs", 300.0)):
        factories.make_measurement(value, case_study=study, guest_fs=guest_fs, workload="fileserver", hypervisor="xen")
    lifecycle.publish([study], reason="new")
    retraction.retract(CaseStudy.objects.get(slug="windows"), reason="wrong disk")
    answer = client.get(f"{ADDRESS}&hypervisor=kvm&as_of=2&method={METHOD}").json()
    assert answer["pinned"] is True


def test_neither_other_settings_nor_a_mended_answer_changes_what_an_address_gave(client, settings):
    publish("first", 300.0, 100.0)
    permanent = f"{ADDRESS}&as_of=1&method={METHOD}"
    then = client.get(permanent).json()
    client.get(ADDRESS)
    settings.KDB_MARGIN = 0.95
    assert [*snapshots.check_answers().differing] == [QUESTION.key]
    snapshots.delete_answers([QUESTION.key])
    caches["worked-out"].clear()
    assert client.get(ADDRESS).json()["verdict"] != then["verdict"]
    assert client.get(permanent).json() == then


def test_a_pin_outlives_that_kept_answers_are_forgotten(client, upgrade, settings):
    publish("first", 300.0, 100.0)
    then = client.get(f"{ADDRESS}&as_of=1&method={METHOD}").json()
    upgrade()
    settings.KDB_KEPT_ANSWERS = 0
    snapshots.delete_least_asked()
    assert not RankingSnapshot.objects.exists()
    assert client.get(f"{ADDRESS}&as_of=1&method={METHOD}").json() == then


def test_showing_an_address_pins_its_answer(client):
    publish("first", 300.0, 100.0)
    assert not PinnedAnswer.objects.exists()
    client.get(PAGE)
    assert PinnedAnswer.objects.get().is_visitors


def test_an_answer_renewed_by_a_worker_is_pinned_when_it_is_shown(client):
    publish("first", 300.0, 100.0)
    client.get(PAGE)
    publish("second", 100.0, 300.0)
    client.get(PAGE)
    assert sorted(PinnedAnswer.objects.values_list("revision", flat=True)) == [1, 2]


def test_showing_takes_half_of_the_room_and_asking_the_rest(client, settings, upgrade):
    publish("first", 300.0, 100.0)
    settings.KDB_PINNED_ANSWERS = 2
    for axis in ("fs-pair", "guest-fs", "configuration"):
        client.get(f"/api/v1/rankings/{axis}/?workload=fileserver")
    assert PinnedAnswer.objects.count() == 1
    asked = [
        client.get(f"/api/v1/rankings/{axis}/?workload=fileserver&as_of=1") for axis in ("guest-fs", "configuration")
    ]
    assert [answer.json()["pinned"] for answer in asked] == [True, False]
    page = client.get(f"/?axis=configuration&workload=fileserver&as_of=1&method={METHOD}").content.decode()
    assert "This answer is not kept for good" in page
    upgrade()
    RankingSnapshot.objects.all().delete()
    gone = client.get(f"/api/v1/rankings/configuration/?workload=fileserver&as_of=1&method={METHOD}")
    assert (gone.status_code, "was not kept" in gone.json()["detail"]) == (410, True)


def test_what_users_ask_for_and_followers_are_told_needs_no_room(client, settings):
    publish("first", 300.0, 100.0)
    settings.KDB_PINNED_ANSWERS = 0
    user = factories.make_user()
    followers.follow(user, QUESTION)
    publish("second", 100.0, 300.0)
    followers.tell_followers(lambda done, total: None)
    assert list(PinnedAnswer.objects.values_list("revision", "is_visitors")) == [(2, False)]
    client.force_login(user)
    client.get(f"{PAGE}&as_of=1&method={METHOD}")
    assert sorted(PinnedAnswer.objects.values_list("revision", "is_visitors")) == [(1, False), (2, False)]


def test_what_a_feed_lists_is_pinned(client, settings):
    publish("first", 300.0, 100.0)
    current_snapshot(QUESTION)
    publish("second", 100.0, 300.0)
    PinnedAnswer.objects.all().delete()
    assert len(entries(client)) == 2
    assert sorted(PinnedAnswer.objects.values_list("revision", flat=True)) == [1, 2]
    assert "not kept for good" not in client.get(f"/feed{PAGE}").content.decode()
    PinnedAnswer.objects.all().delete()
    settings.KDB_PINNED_ANSWERS = 1  # newest first
    assert client.get(f"/feed{PAGE}").content.decode().count("This answer is not kept for good.") == 1


@pytest.mark.sqlite
def test_a_feed_stays_as_it_was_fed_when_a_method_comes(client, upgrade):
    publish("first", 300.0, 100.0)
    before = entries(client)
    upgrade()
    client.get(ADDRESS)
    assert entries(client) == before
    publish("second", 100.0, 300.0)
    assert entries(client)[1:] == before
    assert entries(client)[0][0].endswith(f"&as_of=2&method={LATER}")


@pytest.mark.sqlite
def test_what_anybody_can_make_up_is_not_pinned(client):
    publish("first", 300.0, 100.0)
    for end in ("&hypervisor=kvm", "&vm_count=77"):
        answer = client.get(f"{ADDRESS}{end}&as_of=1").json()
        assert answer["pinned"] is False
    assert not PinnedAnswer.objects.exists()


# Comparisons and mixes

COMBINED = [
    ("/api/v1/comparisons/?axis=fs-pair&workload=fileserver&entries=ext4-on-ext4,xfs-on-ext4", "pairs"),
    ("/api/v1/mixes/?axis=fs-pair&weights=fileserver:100", "entries"),
]
PAGES = ["/compare/?axis=fs-pair&workload=fileserver&a=ext4-on-ext4&b=xfs-on-ext4", "/mix/?axis=fs-pair&fileserver=100"]


@pytest.mark.parametrize(("address", "name"), COMBINED)
def test_comparisons_and_mixes_are_pinned_from_when_their_permanent_address_is_opened(client, upgrade, address, name):
    publish("first", 300.0, 100.0)
    first = client.get(address).json()
    assert first["pinned"] is None
    assert first["permanent"] == f"{address}&as_of=1&method={METHOD}"
    assert PinnedAnswer.objects.count() <= 1  # the ranking behind it
    then = client.get(first["permanent"]).json()
    assert (then["pinned"], then[name]) == (True, first[name])
    upgrade()
    assert client.get(first["permanent"]).json() == then
    assert client.get(f"{address}&as_of=1").json()["method"] == LATER


@pytest.mark.sqlite
@pytest.mark.parametrize("address", PAGES)
def test_pages_of_an_earlier_method_say_so_and_lead_to_what_is_known_now(client, upgrade, address):
    publish("first", 300.0, 100.0)
    permanent = f"{address}&as_of=1&method={METHOD}"
    about = client.get(f"{address}&tab=history").content.decode()
    assert f'href="{escape(permanent)}">Permanent address' in about
    assert "This is what method" not in client.get(permanent).content.decode()
    upgrade()
    page = client.get(permanent).content.decode()
    assert f"This is what method {METHOD} said" in page
    assert re.search(rf'href="{re.escape(escape(address))}">The (comparison|mix) now', page)
    PinnedAnswer.objects.all().delete()
    assert client.get(permanent).status_code == 410


def test_what_visitors_combine_takes_a_quarter_of_the_room(client, settings):
    publish("first", 300.0, 100.0)
    settings.KDB_PINNED_ANSWERS = 4
    (comparison, _), (mix, _) = COMBINED
    assert client.get(f"{comparison}&as_of=1").json()["pinned"] is True
    assert client.get(f"{mix}&as_of=1").json()["pinned"] is False
    assert client.get(f"{ADDRESS}&as_of=1").json()["pinned"] is True


def test_rankings_leave_combinations_their_quarter_but_no_more_than_there_is(client, settings):
    publish("first", 300.0, 100.0)
    settings.KDB_PINNED_ANSWERS = 8
    for axis in ("fs-pair", "guest-fs", "configuration"):
        assert client.get(f"/api/v1/rankings/{axis}/?workload=fileserver&as_of=1").json()["pinned"] is True
    mix, _ = COMBINED[1]
    for room, is_pinned in ((permalinks.count_visitors_pins(), False), (8, True)):
        settings.KDB_PINNED_ANSWERS = room
        assert client.get(f"{mix}&as_of=1").json()["pinned"] is is_pinned


def test_an_answer_from_before_lists_named_the_other_side_is_still_read():
    stored = {"case_studies": ["study"], "best": ["xfs"], "middle": [], "worst": ["ext4"]}
    assert cattrs.structure(stored, TierList) == TierList(("study",), ("xfs",), (), ("ext4",), "")
