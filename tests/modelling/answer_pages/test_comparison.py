"""Two to six entries side by side: may they be compared, and why."""

import pytest

from modelling.answer_pages import comparison
from modelling.answer_pages.comparison import compute_comparison
from modelling.answer_pages.content import EnvironmentFact
from modelling.answers import configurations
from modelling.evidence.question import Question
from tests.factories import (
    make_case_study,
    make_configuration,
    make_finding,
    make_measurement,
    make_publication,
    make_variant,
    publish,
)

pytestmark = pytest.mark.django_db

QUESTION = Question("fs-pair", "varmail", hypervisor="kvm")
ADDRESS = "/api/v1/comparisons/?axis=fs-pair&workload=varmail&hypervisor=kvm&entries="


def study(slug: str, *, also=(), **values: float):
    case_study = make_case_study(slug)
    for pair, value in values.items():
        guest, host = pair.split("_on_")
        make_measurement(value, case_study=case_study, guest_fs=guest, host_fs=host, **dict(also))
    publish(case_study)
    return case_study


def pair(a: str, b: str, question: Question = QUESTION):
    (compared,) = compute_comparison(question, [a, b], 1)[0].pairs
    return compared


def test_what_one_case_study_measured_side_by_side_may_be_compared():
    study("lab", ext4_on_ext4=200.0, xfs_on_ext4=100.0)
    compared = pair("ext4-on-ext4", "xfs-on-ext4")
    assert compared.basis == "side by side"
    assert 1.0 < compared.ratio < 2.0  # what one laboratory measured is drawn towards no difference
    assert compared.low < 1.0 < 2.0 < compared.high
    assert compared.why.startswith("“lab” measured both in one fair-play group: same benchmark version and workload")


def test_what_was_measured_beside_the_same_third_is_compared_through_it():
    study("one", ext4_on_ext4=200.0, xfs_on_ext4=100.0)
    study("two", xfs_on_ext4=50.0, btrfs_on_ext4=10.0)
    compared = pair("ext4-on-ext4", "btrfs-on-ext4")
    assert compared.basis == "through others"
    assert 1.0 < compared.ratio < 10.0  # 200 / 100 * 50 / 10, drawn towards no difference
    assert compared.ratio > pair("ext4-on-ext4", "xfs-on-ext4").ratio
    assert "each was measured beside xfs on ext4" in compared.why


def test_the_environment_is_told_of_the_newest_case_studies_and_says_so(monkeypatch):
    for number, cache_mode in enumerate(("none", "writeback", "directsync")):
        case_study = make_case_study(f"lab{number}")
        configuration = make_configuration(case_study, guest_fs="xfs", cache_mode=cache_mode)
        make_measurement(1.0, configuration=configuration)
        publish(case_study)

    def cache_modes():
        compared, _ = compute_comparison(QUESTION, ["xfs-on-ext4", "ext4-on-ext4"], 1)
        (fact,) = (fact for fact in compared.environment if fact.fact == "Cache mode")
        return compared.environment_of, fact.values[0]

    assert cache_modes() == ("all configurations behind each entry", ("directsync", "none", "writeback"))
    monkeypatch.setattr(configurations, "MOST_STUDIES", 2)
    monkeypatch.setattr(comparison, "MOST_STUDIES", 2)
    assert cache_modes() == ("the 2 newest case studies behind each entry", ("directsync", "writeback"))


def test_numbers_of_two_case_studies_that_nothing_joins_are_not_compared():
    study("one", ext4_on_ext4=200.0, xfs_on_ext4=100.0)
    study("two", btrfs_on_ext4=50.0, btrfs_on_xfs=10.0)
    compared = pair("ext4-on-ext4", "btrfs-on-ext4")
    assert (compared.basis, compared.ratio) == ("not at all", None)
    assert (
        "ext4 on ext4 was measured in “one”, btrfs on ext4 in “two”: server, disk and protocol differ" in compared.why
    )


def test_what_differs_inside_one_case_study_is_named():
    case_study = make_case_study("lab")
    make_measurement(200.0, case_study=case_study, guest_fs="ext4", host_fs="ext4", vm_count=1)
    make_measurement(100.0, case_study=case_study, guest_fs="xfs", host_fs="ext4", vm_count=3)
    publish(case_study)
    compared = pair("ext4-on-ext4", "xfs-on-ext4")
    assert (compared.basis, compared.why) == (
        "not at all",
        "“lab” measured both, but not with the same number of virtual machines.",
    )


def test_lists_give_an_order_and_no_ratio():
    case_study = make_case_study("lab")
    paper, variant = make_publication(), make_variant("varmail")
    for guest_fs, tier in (("ext4", "best"), ("xfs", "worst")):
        make_finding(tier, guest_fs=guest_fs, case_studies=[case_study], publication=paper, variant=variant)
    publish(case_study)
    compared = pair("ext4-on-ext4", "xfs-on-ext4")
    assert (compared.basis, compared.ratio) == ("lists", None)
    assert "they give an order and no ratio" in compared.why


def test_what_nobody_measured_is_said_to_be_so():
    study("lab", ext4_on_ext4=200.0, xfs_on_ext4=100.0)
    compared = pair("ext4-on-ext4", "ntfs-on-ext4")
    assert (compared.basis, compared.why) == (
        "not at all",
        "No published case study has numbers of ntfs on ext4 here.",
    )


def test_what_comes_along_is_named_where_it_differs():
    case_study = make_case_study("lab")
    make_measurement(200.0, case_study=case_study, hypervisor="kvm", host_fs="ext4")
    make_measurement(100.0, case_study=case_study, hypervisor="esxi", host_fs="vmfs")
    publish(case_study)
    why = pair("kvm", "esxi", Question("hypervisor", "varmail")).why
    assert "The host file system differs as well" in why
    assert "Not both state the cache mode, disk bus, image format, allocation of the image or I/O mode" in why


def test_the_environment_lists_what_differs_first_and_leaves_open_what_is_not_stated():
    case_study = make_case_study("lab")
    variant = make_variant("varmail")
    for value, guest_fs, kernel in ((200.0, "ext4", "6.1"), (100.0, "xfs", "")):
        configuration = make_configuration(case_study, guest_fs=guest_fs, cache_mode="none", guest_kernel=kernel)
        make_measurement(value, configuration=configuration, variant=variant)
    publish(case_study)
    rows = compute_comparison(QUESTION, ["ext4-on-ext4", "xfs-on-ext4"], 1)[0].environment
    facts = {row.fact: row for row in rows}
    assert facts["Guest file system"] == EnvironmentFact("Guest file system", True, (("ext4",), ("xfs",)))
    assert facts["Guest kernel"].values == (("6.1",), ())
    assert not facts["Guest kernel"].differs
    assert [row.differs for row in rows] == sorted((row.differs for row in rows), reverse=True)


def test_the_number_of_queries_does_not_grow_with_what_is_compared(published_evidence, django_assert_max_num_queries):
    keys = ["ext4-on-ext4", "xfs-on-ext4", "btrfs-on-ext4", "ext4-on-xfs", "xfs-on-xfs", "btrfs-on-btrfs"]
    with django_assert_max_num_queries(50):  # what to choose among them takes half
        assert len(compute_comparison(QUESTION, keys, 1)[0].pairs) == 15


def test_an_entry_agrees_with_the_ranking(published_evidence, client):
    ranked = client.get("/api/v1/rankings/hypervisor/?workload=fileserver").json()["entries"]
    keys = [entry["key"] for entry in ranked]
    asked = f"/api/v1/comparisons/?axis=hypervisor&workload=fileserver&entries={','.join(keys)}"
    compared = client.get(asked).json()["entries"]
    for mine, theirs in zip(compared, ranked, strict=True):
        assert {name: theirs[name] for name in mine if name != "case_studies"} == {
            name: value for name, value in mine.items() if name != "case_studies"
        }


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("ext4-on-ext4", "two to 6"),
        ("ext4-on-ext4,ext4-on-ext4", "different entries"),
        ("ext4-on-ext4,nonsense", "not an entry of this axis"),
        ("ext4-on-ext4,zfs-on-ext4", "'zfs' in 'zfs-on-ext4' is not known"),
        (",".join(f"{a}-on-{b}" for a in ("ext4", "xfs", "btrfs") for b in ("ext4", "xfs", "btrfs")), "two to 6"),
    ],
)
def test_entries_that_cannot_be_compared_are_refused(entries, message, published_evidence, client):
    response = client.get(f"{ADDRESS}{entries}")
    assert response.status_code == 400
    assert message in response.json()["detail"]
