"""An answer on the machine of a laboratory: what was measured there rules, published evidence fills in."""

import re
from dataclasses import replace
from html import unescape

import pytest
from django.test import Client

from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers import knowledge
from modelling.estimation.machine import ALIKE
from modelling.evidence.question import Question
from modelling.models import Sitting
from modelling.own_lab import sessions
from modelling.own_lab.content import Choice
from modelling.own_lab.prior import prior_of_choices
from modelling.own_lab.selectors import answer_here, laboratories_on
from tests.factories import make_sitting, make_user
from tests.modelling.answer_pages.test_pages import text_of, words_before_tabs

pytestmark = pytest.mark.django_db

SPEED = {"ext4": 1000.0, "xfs": 1500.0, "btrfs": 600.0}
GUEST_FS = Question("guest-fs", "fileserver")
CHOICES = [Choice(name, "vdb", {"guest_fs": name}) for name in SPEED]


@pytest.fixture
def ada():
    return make_user(username="ada")


def measured(user, speed=SPEED, choices=CHOICES, **fields):
    """Return a laboratory of the user's in which these choices were measured to the end."""
    laboratory = user.laboratories.first()
    if laboratory is None:
        laboratory = make_sitting(user).laboratory
    told = {"machine": "box", "workload": "fileserver", "engine": "fio", "seconds": 30, "most_runs": 12, "facts": {}}
    sitting = sessions.begin_session(laboratory, user, choices=choices, **told | fields)
    while runs := sessions.planned_runs(sitting):
        for run in runs:
            sessions.report_run(sitting, run.number, speed[run.choice])
    return laboratory


def test_what_was_measured_here_rules_and_elsewhere_is_what_the_answer_says(ada, published_evidence):
    here = answer_here(GUEST_FS, measured(ada))
    assert (here.kind, here.entries[0].key, here.machine, here.place) == ("use", "xfs", "box", "vdb")
    assert here.sentence.startswith("Use XFS: 1.5 times as fast as ext4, the next best")
    published = {entry.key: entry for entry in answer_in(current_snapshot(GUEST_FS)).entries}
    ext4 = next(row for row in here.entries if row.key == "ext4")
    assert ext4.high < 0.95 < ext4.elsewhere_ratio
    elsewhere = published["ext4"].ratio / published["xfs"].ratio
    assert ext4.elsewhere_ratio == pytest.approx(elsewhere, rel=0.1)
    on_its_page = sessions.decide(Sitting.objects.get(pk=here.sittings[0]))
    began = next(row for row in on_its_page.choices if row.name == "ext4")
    for end in ("ratio", "low", "high"):  # one word for one thing: the sitting's page says the same
        assert getattr(began, f"elsewhere_{end}") == pytest.approx(getattr(ext4, f"elsewhere_{end}"), rel=0.1)


def blocks(*rows):
    """Return the runs of blocks, each told as the speeds of ext4 and xfs."""
    return [
        {"block": block, "choice": name, "value": value}
        for block, row in enumerate(rows, start=1)
        for name, value in zip(("ext4", "xfs"), row, strict=True)
    ]


@pytest.mark.parametrize(
    ("runs", "kind", "first"),
    [
        (blocks((1000, 1500)), "not yet", "xfs"),
        (blocks((1000, 1100), (1000, 1095), (1000, 1105)), "not yet", "xfs"),
        (blocks((1000, 1500), (1000, 1510), (1010, 1500)), "use", "xfs"),
        (blocks((1000, 1500), (1000, 700), (1000, 1400)), "not yet", "xfs"),
        (blocks(*[(1000, 1010), (1010, 1000)] * 4), "no difference", None),
        (blocks((1000, 2000), (1000, 2000), *[(1000, 700)] * 4), "use", "ext4"),
    ],
    ids=["one run each", "perhaps as good", "clear", "runs vary much", "alike", "fast for its first runs only"],
)
def test_the_same_runs_have_the_same_verdict_on_the_sittings_page_and_in_the_answer(ada, runs, kind, first):
    laboratory = make_sitting(ada).laboratory
    box = {"machine": "box", "workload": "fileserver", "engine": "fio", "seconds": 30, "most_runs": 12, "facts": {}}
    sitting = sessions.begin_session(laboratory, ada, choices=CHOICES[:2], runs=runs, **box)
    on_its_page, here = sessions.decide(sitting), answer_here(GUEST_FS, laboratory)
    assert on_its_page.kind == kind
    assert here.kind == {"not yet": "not known"}.get(kind, kind)
    assert first in (None, here.entries[0].key)
    assert [row.key for row in here.entries] == [row.name for row in on_its_page.choices]
    for row, of_page in zip(here.entries, on_its_page.choices, strict=True):
        assert row.within == pytest.approx(of_page.within, abs=0.03)
        assert row.loss == pytest.approx(of_page.loss, abs=0.5)


def test_choices_that_differ_in_more_than_what_was_published_begin_farther_apart(published_evidence):
    def width(*settings):
        known = prior_of_choices("fileserver", [Choice(str(n), "vdb", own) for n, own in enumerate(settings)])
        spread = known.components.covariances + known.components.extras
        differences = spread[:, 0, 0] + spread[:, 1, 1] - 2 * spread[:, 0, 1]
        return float(known.components.weights @ differences)

    alike = width({"guest_fs": "ext4"}, {"guest_fs": "xfs"})
    other_cache = width({"guest_fs": "ext4", "cache_mode": "none"}, {"guest_fs": "xfs", "cache_mode": "writeback"})
    assert other_cache == pytest.approx(alike + 2 * ALIKE**2)


def test_what_nobody_measured_there_keeps_the_answer_from_saying_use(ada, published_evidence):
    question = Question("fs-pair", "varmail", hypervisor="kvm")
    choices = [Choice(name, name, {"guest_fs": name, "backend": "dir-ext4"}) for name in ("ext4", "xfs")]
    here = answer_here(question, measured(ada, choices=choices, workload="varmail"))
    assert (here.kind, here.entries[0].key) == ("leads", "xfs-on-ext4")
    assert here.sentence.startswith("Start with XFS on ext4: ")
    assert "Not measured there, and perhaps faster: " in here.sentence
    assert {row.runs > 0 for row in here.entries} == {True, False}


def test_the_newest_sitting_rules_and_earlier_ones_follow_at_a_distance(ada):
    alone = answer_here(GUEST_FS, measured(ada))
    contrary = {"ext4": 1500.0, "xfs": 1000.0, "btrfs": 600.0}
    both = answer_here(GUEST_FS, measured(ada, contrary, machine="other"))
    assert (both.machine, both.entries[0].key, len(both.sittings)) == ("other", "ext4", 2)
    again = answer_here(GUEST_FS, measured(ada, machine="third"))
    assert again.entries[0].key == alone.entries[0].key == "xfs"


def test_a_machine_that_was_measured_again_is_told_of_by_its_newest_sitting(ada):
    measured(ada)
    again = answer_here(GUEST_FS, measured(ada, {"ext4": 1500.0, "xfs": 1000.0, "btrfs": 600.0}))
    assert again.entries[0].key == "ext4"
    assert list(again.sittings) == sorted(again.sittings, reverse=True)


def test_an_earlier_sitting_tells_of_what_the_newest_did_not_measure(ada, published_evidence):
    slow = {"ext4": 1000.0, "xfs": 1500.0, "btrfs": 100.0}
    laboratory = measured(ada, slow, machine="other")
    both = answer_here(GUEST_FS, measured(ada, slow, CHOICES[:2]))
    btrfs = next(row for row in both.entries if row.key == "btrfs")
    assert (btrfs.runs, both.kind) == (0, "use")
    assert btrfs.high < 0.5 < btrfs.elsewhere_ratio  # run twice there, and perhaps early
    assert laboratory.sittings.count() == 3


@pytest.mark.parametrize(
    "question",
    [
        Question("hypervisor", "fileserver"),
        Question("guest-fs", "fileserver", vm_count=3),
        Question("guest-fs", "fileserver", metric="latency"),
        Question("guest-fs", "fileserver", host_fs="xfs"),
        Question("guest-fs", "fileserver", hypervisor="native"),
        Question("guest-fs", "fileserver", guest_os_family="windows"),
    ],
    ids=lambda question: question.key,
)
def test_runs_do_not_count_for_a_question_of_something_else(ada, question):
    choices = [Choice(name, "vdb", {"guest_fs": name, "backend": "dir-ext4"}) for name in SPEED]
    laboratory = measured(ada, choices=choices, facts={"virtual": "yes"})
    assert answer_here(question, laboratory) is None
    assert laboratories_on(question, ada) == []
    assert laboratories_on(Question("guest-fs", "fileserver", host_fs="ext4", hypervisor="kvm"), ada) == [laboratory]


@pytest.mark.parametrize("first", [1.5, 1 / 1.5])
def test_what_was_measured_under_one_workload_moves_the_answer_under_another(ada, published_evidence, first):
    bob = make_user(username="bob")
    make_sitting(bob, "theirs", machine="theirs")
    theirs, varmail = measured(bob, workload="webserver"), replace(GUEST_FS, workload="varmail")
    public, before = answer_in(current_snapshot(varmail)), answer_here(varmail, theirs)

    ours = measured(ada, {"ext4": 1000.0, "xfs": 1000.0 * first}, CHOICES[:2])  # under a file server's load

    here = answer_here(varmail, ours)
    ratios = {row.key: row.ratio for row in here.entries}
    assert here.entries[0].key == ("xfs" if first > 1 else "ext4")
    assert (ratios["xfs"] > ratios["ext4"]) == (first > 1)
    assert (here.machine, here.missing, {row.runs for row in here.entries}) == ("box", ("varmail",), {0})
    assert here.sentence.endswith("Nothing was measured there under Mail server: runs under File server say this.")
    # Nobody else is told of it: neither in public nor in another laboratory, from a cache or worked out anew.
    knowledge._load_knowledge.cache_clear()
    assert answer_here(varmail, theirs) == before
    assert answer_in(current_snapshot(varmail)) == public


def test_what_lies_on_two_disks_is_not_compared_by_its_file_system(ada):
    choices = [Choice(name, place, {"guest_fs": name}) for place, name in (("ssd", "ext4"), ("hdd", "xfs"))]
    assert answer_here(GUEST_FS, measured(ada, choices=choices)) is None


def test_options_that_can_lose_writes_are_not_recommended(ada):
    fast = Choice("xfs", "vdb", {"guest_fs": "xfs", "cache_mode": "unsafe"})
    assert answer_here(GUEST_FS, measured(ada, choices=[CHOICES[0], fast])) is None


# The page


def test_the_page_shows_here_beside_elsewhere_in_few_words(client: Client, ada, published_evidence):
    measured(ada)
    client.force_login(ada)
    plain = "/?axis=guest-fs&workload=fileserver"
    assert f"{plain}&here=ours" in unescape(client.get(plain).content.decode())
    page = client.get(f"{plain}&here=ours")
    text = text_of(page)
    assert page["Cache-Control"] == "private, no-store"
    assert text.index("On your machine Use XFS") < text.index("Elsewhere Start with")
    assert "kdb measure" not in text
    assert "Test it" not in text
    assert len(words_before_tabs(page)) <= 250
    assert "here=ours" in page.content.decode()  # tabs stay here
    assert "here=ours" in client.get("/?axis=guest-fs&workload=varmail").content.decode()  # it tells of this load, too
    assert "here=ours" not in client.get("/?axis=hypervisor&workload=varmail").content.decode()


def test_what_is_still_open_there_has_the_command_in_few_words(client: Client, ada, published_evidence):
    pairs = [
        Choice(f"{on} {fs}", on, {"guest_fs": fs, "backend": on}) for on in ("dir-ext4", "dir-xfs") for fs in SPEED
    ]
    measured(ada, {choice.name: 1000.0 for choice in pairs}, pairs, workload="varmail")
    client.force_login(ada)
    page = client.get("/?axis=fs-pair&workload=varmail&hypervisor=kvm&here=ours")
    assert "kdb measure varmail --laboratory ours --disk" in text_of(page)
    assert len(words_before_tabs(page)) <= 250


def test_the_api_says_the_same(client: Client, ada, published_evidence):
    laboratory = measured(ada)
    client.force_login(ada)
    address = "/api/v1/rankings/guest-fs/?workload=fileserver"
    data = client.get(f"{address}&here=ours")
    assert data["Cache-Control"] == "private, no-store"
    assert "ETag" not in data
    assert data.json()["here"]["sentence"] == answer_here(GUEST_FS, laboratory).sentence
    assert {**data.json(), "here": None} == client.get(address).json()
    assert client.get(f"{address}&here=ours&as_of=1").json()["errors"][0]["field"] == "here"
    assert client.get(f"{address}&here=ours&format=csv").status_code == 400


def test_a_comparison_shows_what_it_compares_on_the_machine(client: Client, ada, published_evidence):
    measured(ada)
    client.force_login(ada)
    asked = "axis=guest-fs&workload=fileserver"
    answer = unescape(client.get(f"/?{asked}&here=ours").content.decode())
    assert re.search(rf"(?s)Compare with</summary>.*/compare/\?{asked}&a=[a-z0-9]+&b=[a-z0-9]+&here=ours", answer)
    page = client.get(f"/compare/?{asked}&here=ours&a=ext4&b=btrfs")
    assert page["Cache-Control"] == "private, no-store"
    # What it compares, beside the choice to use, as a multiple of whose speed all are told.
    assert [row.key for row in page.context["here"].entries] == ["xfs", "ext4", "btrfs"]
    text = page.content.decode()
    assert "On your machine" in text
    assert '<input type="hidden" name="here" value="ours">' in text
    assert "On your machine" not in client.get(f"/compare/?{asked}&a=ext4&b=btrfs").content.decode()
    address = f"/api/v1/comparisons/?{asked}&entries=ext4,btrfs"
    data = client.get(f"{address}&here=ours")
    assert (data["Cache-Control"], "ETag" in data) == ("private, no-store", False)
    assert [row["key"] for row in data.json()["here"]["entries"]] == ["xfs", "ext4", "btrfs"]
    assert data.json()["here"]["sentence"] == page.context["here"].sentence
    assert {**data.json(), "here": None} == client.get(address).json()
    assert client.get(f"{address}&here=ours&as_of=1").json()["errors"][0]["field"] == "here"


def test_what_a_page_asks_of_laboratories_does_not_grow_with_them(ada, django_assert_num_queries):
    for slug in ("one", "two", "three"):
        make_sitting(ada, slug, machine=slug)
    ours = measured(ada)
    with django_assert_num_queries(3):
        assert laboratories_on(GUEST_FS, ada) == [ours]


def test_what_a_member_was_told_is_told_to_nobody_else(ada, published_evidence):
    measured(ada)
    member, stranger = Client(), Client()
    member.force_login(ada)
    addresses = [*("/?axis=guest-fs&workload=fileserver", "/api/v1/rankings/guest-fs/?workload=fileserver")]
    before = [stranger.get(address).content for address in addresses]
    for address in addresses:
        assert b"box" in member.get(f"{address}&here=ours").content
    assert [stranger.get(address).content for address in addresses] == before
