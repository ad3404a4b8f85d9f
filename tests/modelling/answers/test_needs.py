"""An entry that lacks a need is listed with the reason and never recommended; page and API say the same of it."""

import pytest

from modelling.answer_store.selectors import current_snapshot
from modelling.estimation.arms import Spread
from modelling.estimation.ranking import Assumptions, rank
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from tests.factories import make_case_study, make_configuration, make_measurement, publish
from tests.modelling.estimation.test_durable_verdicts import said
from tests.modelling.frames import arm, arms, findings, having
from tests.modelling.scales import ALIKE

TAKEN = Assumptions(Spread(0.02, 1e9, 1e9), 0.087, tier_doubt=0.5, scales=ALIKE)
MAIL = {"axis": "guest-fs", "workload": "varmail"}


def ranked(lacking):
    values = {"xen": 300, "kvm": 200, "esxi": 100}
    rows = [arm(value, case_study=study, hypervisor=key) for study in ("a", "b", "c") for key, value in values.items()]
    return rank(arms(*rows), findings(), AXES["hypervisor"], TAKEN, lacking=lambda key: lacking.get(key, ())).parts[0]


def test_the_fastest_is_passed_over_where_it_lacks_a_need():
    part = ranked({"xen": ("snapshot",)})
    assert [(entry.key, entry.verdict, entry.lacks) for entry in part.entries] == [
        ("xen", "unknown", ("snapshot",)),
        ("kvm", "use", ()),
        ("esxi", "avoid", ()),
    ]
    assert (part.reference, having(part, "use"), part.entries[0].expected_loss) == ("kvm", ("kvm",), None)
    assert said(part).sentence.startswith("Use KVM.")
    assert "XEN comes before, but has not all that was asked for." in said(part).measured


def test_the_estimates_do_not_depend_on_needs():
    free, bound = ranked({}), ranked({"xen": ("snapshot",)})
    assert free.difference("xen", "esxi") == bound.difference("xen", "esxi")
    assert [entry.p_score for entry in free.entries] == [entry.p_score for entry in bound.entries]


def test_one_that_has_everything_is_named_and_not_recommended_for_its_speed():
    part = ranked({"xen": ("snapshot",), "kvm": ("snapshot", "trim")})
    assert (having(part, "use"), having(part, "avoid"), said(part).kind) == ((), (), "not known")
    assert said(part).sentence == "Start with ESXI."
    assert said(part).measured.startswith(
        "Only ESXI is known to have all that was asked for (snapshots and trim). XEN and KVM come before, but"
    )


def test_nothing_is_recommended_where_nothing_has_everything():
    part = ranked(dict.fromkeys(("xen", "kvm", "esxi"), ("trim",)))
    assert (having(part, "use"), having(part, "avoid"), said(part).kind) == ((), (), "not known")
    assert said(part).sentence == (
        "Keep what you have: nothing that was measured is known to have all that was asked for (trim)."
    )


@pytest.fixture
def guests(db, laboratories_alike):
    """XFS three times as fast as Btrfs, that as ext4, in three laboratories; and GFS2, of which nothing is known."""
    for _ in range(3):
        study = make_case_study()
        for guest_fs, value in (("xfs", 900.0), ("gfs2", 600.0), ("btrfs", 300.0), ("zfs", 100.0)):
            make_measurement(value, configuration=make_configuration(study, guest_fs=guest_fs, host_fs="ext4"))
        publish(study)


def answered(client, **asked):
    return client.get("/api/v1/rankings/guest-fs/", {"workload": "varmail", **asked}).json()


def test_a_need_takes_away_what_lacks_it_with_reason_and_source(client, guests):
    free, bound = answered(client), answered(client, needs="checksums")
    assert [entry["key"] for entry in free["entries"]] == ["xfs", "gfs2", "btrfs", "zfs"]
    assert [entry["key"] for entry in bound["entries"]] == ["btrfs", "xfs", "gfs2", "zfs"]  # what to choose is first
    assert (free["best"], free["abilities"]) == (["xfs"], [])
    assert bound["best"] == ["btrfs"]
    assert {told["key"]: told["found"] for told in bound["abilities"]} == {
        "xfs": "no",
        "gfs2": "not known",
        "btrfs": "with limits",
        "zfs": "yes",
    }
    reasons = {told["key"]: told["grounds"] for told in bound["abilities"]}
    assert reasons["xfs"][0]["text"] == "XFS: no. Of metadata alone."
    assert reasons["xfs"][0]["source"].startswith("https://")
    assert reasons["gfs2"] == [{"text": "gfs2: not known.", "source": "", "read_on": ""}]
    assert "xfs and gfs2 come before, but have not all that was asked for." in bound["verdict"]["measured"]


def test_the_page_lists_below_the_ranking_what_the_api_says_is_lacking(client, guests):
    bound = answered(client, needs="checksums")
    page = client.get("/", {**MAIL, "needs": "checksums", "tab": "ranking"}).content.decode()
    table, _, below = page.partition('id="abilities-heading"')
    rows = table[table.index('<table class="ranking">') :].replace('<th scope="row"> ', '<th scope="row">')
    for told in bound["abilities"]:
        is_lacking = told["found"] in ("no", "not known")
        assert (f'<th scope="row">{told["label"]}' in rows) is not is_lacking
        assert (f"<strong>{told['label']}</strong>: " in below) is (told["found"] != "yes")
        for ground in told["grounds"]:
            assert told["found"] == "yes" or (ground["text"] in below and ground["source"] in below)
    assert "Not recommended: without what you need" in below


def test_a_need_that_rests_on_what_nobody_names_takes_nothing_away(client, guests):
    bound = answered(client, needs="shared-access")
    assert bound["best"] == ["xfs"]
    assert {told["found"] for told in bound["abilities"]} == {"left open"}
    page = client.get("/", {**MAIL, "needs": "shared-access", "tab": "ranking"}).content.decode()
    assert "Shared access: it rests on host storage, and the question names none of these" in page


def test_needs_are_asked_by_ticks_or_by_commas_and_have_one_address(client, guests):
    by_ticks = client.get("/?axis=guest-fs&workload=varmail&needs=trim&needs=checksums")
    assert by_ticks.status_code == 302
    assert by_ticks["Location"] == "/?axis=guest-fs&workload=varmail&needs=checksums%2Ctrim"
    page = client.get(by_ticks["Location"]).content.decode()
    assert "must have checksums of data and trim: which guest file system?" in page
    assert page.count("checked") == 2
    told = client.get("/api/v1/rankings/guest-fs/?workload=varmail&needs=trim&needs=checksums").json()
    assert told["question"]["needs"] == ["checksums", "trim"]
    assert told == answered(client, needs="checksums,trim,checksums")


@pytest.mark.parametrize("needs", ["speed", "checksums,speed", "<script>"])
def test_a_need_that_there_is_not_is_named_with_those_there_are(client, guests, needs):
    wrong = needs.rpartition(",")[2]
    response = client.get("/api/v1/rankings/guest-fs/", {"workload": "varmail", "needs": needs})
    (error,) = response.json()["errors"]
    assert (response.status_code, error["field"]) == (400, "needs")
    assert error["message"].startswith(f"'{wrong}' is not an ability; allowed are snapshot, live-migration,")
    page = client.get("/", {**MAIL, "needs": needs})
    assert page.status_code == 400
    assert "is not an ability; allowed are snapshot" in page.content.decode()
    assert "<script>'" not in page.content.decode()


def test_other_parameters_are_still_given_once(client, guests):
    response = client.get("/api/v1/rankings/guest-fs/?workload=varmail&needs=trim&vm_count=1&vm_count=2")
    assert [error["field"] for error in response.json()["errors"]] == ["vm_count"]


def test_answers_with_needs_are_not_kept(client, guests):
    """There are thousands of combinations, and another version may know more of them."""
    current_snapshot(Question("guest-fs", "varmail", needs=("checksums",)))
    assert not RankingSnapshot.objects.filter(question__contains="needs").exists()
    current_snapshot(Question("guest-fs", "varmail"))
    assert RankingSnapshot.objects.count() == 1


def test_a_mix_recommends_nothing_that_lacks_a_need(client, guests):
    asked = {"axis": "guest-fs", "weights": "varmail:1"}
    assert client.get("/api/v1/mixes/", asked).json()["entries"][0]["key"] == "xfs"
    told = client.get("/api/v1/mixes/", {**asked, "needs": "checksums"}).json()
    assert [entry["key"] for entry in told["entries"]] == ["btrfs", "zfs"]
    assert (
        "Without all that was asked for, or not known to have it, and so not recommended: xfs and gfs2."
        in told["notes"]
    )
