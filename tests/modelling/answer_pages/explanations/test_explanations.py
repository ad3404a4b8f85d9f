"""Why one entry stands above another: steps that a sceptical reader can check."""

import itertools
import re
import sys
from urllib.parse import urlencode

import pytest
from django.core.cache import cache

from experiments.case_studies.retraction import retract
from experiments.models import CaseStudy
from modelling.answer_pages.explanations import Step, explain
from modelling.answer_pages.explanations.content import KINDS
from modelling.answer_pages.explanations.gather import gather
from modelling.answer_pages.explanations.selectors import explained
from modelling.answer_store.selectors import current_snapshot
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_measurement, make_storage, publish

pytestmark = pytest.mark.sqlite

WORKLOADS = ("varmail", "fileserver", "webserver", "randomfileaccess", "atto")


def steps(axis: str, workload: str, a: str, b: str, **filters) -> dict[str, Step]:
    told = explain(gather(Question(axis, workload, **filters), a, b))
    return {step.kind: step for step in reversed(told)}  # the first of a kind


def every_answer() -> list[Question]:
    questions = [Question(axis, workload) for axis, workload in itertools.product(AXES, WORKLOADS)]
    questions += [Question("fs-pair", workload, hypervisor="kvm") for workload in WORKLOADS[:4]]
    questions += [Question("guest-fs", workload, hypervisor="proxmox", vm_count=1) for workload in WORKLOADS[:3]]
    return questions


# What was compared


def test_a_direct_comparison_gives_the_ratios_of_the_table(published_evidence):
    # P1, Table III, Proxmox: btrfs 3.9, 1.9, 1.5 and ext4 3.0, 1.5, 1.1 MiB/s at 1, 2, 3 machines.
    step = steps("guest-fs", "varmail", "btrfs", "ext4", hypervisor="proxmox")["comparison"]
    ratios = {group.vm_count: group.ratio for group in step.data["groups"]}
    assert ratios == pytest.approx({1: 3.9 / 3.0, 2: 1.9 / 1.5, 3: 1.5 / 1.1})
    geometric_mean = (3.9 * 1.9 * 1.5 / (3.0 * 1.5 * 1.1)) ** (1 / 3)
    assert 1.0 < step.data["ratio"] < geometric_mean  # one laboratory's is drawn towards no difference
    assert "ran from 1.3 to 1.4" in step.text
    assert step.basis == "measured"
    assert "on an HP DL380 G7” measured Btrfs and ext4 side by side in three fair-play groups" in step.text


@pytest.mark.django_db
def test_where_less_is_better_the_ratio_of_two_side_by_side_is_that_of_speed():
    case_study = make_case_study()
    for guest_fs, value in (("ext4", 2.0), ("xfs", 4.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, metric="latency", unit="ms")
    publish(case_study)
    step = steps("guest-fs", "varmail", "ext4", "xfs", metric="latency")["comparison"]
    assert [group.ratio for group in step.data["groups"]] == [pytest.approx(2.0)]


def test_a_comparison_through_others_is_estimated_and_says_so(published_evidence):
    step = steps("hypervisor", "varmail", "hyper-v", "proxmox")["comparison"]
    assert (step.basis, step.data["direct"], step.data["groups"]) == ("estimated", False, ())
    assert "No case study measured Hyper-V and Proxmox VE side by side" in step.text


def test_lists_without_numbers_give_no_number(published_evidence):
    step = steps("fs-pair", "varmail", "btrfs-on-ext4", "xfs-on-btrfs", hypervisor="kvm")["comparison"]
    assert step.basis == "stated"
    assert "outstanding among the best" in step.text
    assert "times the throughput" not in step.text


def test_what_nobody_compared_is_open(published_evidence):
    of_kind = steps("fs-pair", "varmail", "btrfs-on-ext4", "ntfs-on-ntfs")
    assert of_kind["comparison"].basis == "open"
    assert "agreement" not in of_kind
    assert "would give a first answer" in of_kind["open"].text


# What can be the cause


@pytest.mark.parametrize(
    ("axis", "a", "b", "causes"),
    [
        ("guest-fs", "btrfs", "ext4", ["guest-fs"]),
        ("fs-pair", "btrfs-on-ext4", "xfs-on-btrfs", ["guest-fs", "host-fs"]),
        ("hypervisor", "kvm", "proxmox", ["virtual-hardware", "hypervisor", "host-kernel", "host-fs"]),
    ],
)
def test_what_differs_can_be_the_cause_and_the_rest_cannot(published_evidence, axis, a, b, causes):
    data = steps(axis, "varmail", a, b)["components"].data
    assert data["can_be_the_cause"] == list(causes)
    assert not set(causes) & set(data["excluded"])
    assert len(causes) + len(data["excluded"]) == 7


@pytest.mark.parametrize(("mode", "is_excluded"), [("", False), ("none", True)])
def test_two_hypervisors_share_the_hosts_cache_only_where_both_state_its_mode(db, mode, is_excluded):
    left_to_them = ("cache_mode", "disk_bus", "image_format", "allocation", "io_mode")
    alike = dict(zip(left_to_them, (mode, "virtio", "raw", "full", "native"), strict=True))
    study = make_case_study()
    make_measurement(200.0, configuration=make_configuration(study, hypervisor="kvm", **alike))
    make_measurement(100.0, configuration=make_configuration(study, hypervisor="xen", **alike))
    publish(study)
    of_kind = steps("hypervisor", "varmail", "kvm", "xen")
    assert ("host-fs" in of_kind["components"].data["excluded"]) == is_excluded
    assert of_kind["comparison"].data["confounded_with"] == (() if is_excluded else ("cache_mode",))
    assert ("Not both state the cache mode, of which each" in of_kind["comparison"].text) != is_excluded
    assert ("that state the same cache mode" in of_kind["open"].text) != is_excluded


def test_a_hypervisor_and_the_file_system_it_brings_are_accounted_for_together(published_evidence):
    (share,) = steps("hypervisor", "fileserver", "kvm", "esxi")["shares"].data["shares"]
    assert share["components"] == ("hypervisor", "host_fs")
    assert share["low_percent"] < share["percent"] < share["high_percent"]


def test_a_cause_that_no_numbers_reach_is_named_and_not_made_up(published_evidence):
    step = steps("host-fs", "varmail", "ext4", "btrfs")["shares"]
    assert (step.basis, step.data["shares"], step.data["untold"]) == ("open", [], ("host_fs",))


def test_mechanisms_of_a_file_system_nobody_describes_are_not_guessed(published_evidence):
    step = steps("guest-fs", "varmail", "ntfs", "ext4")["mechanisms"]
    assert (step.basis, step.data["sign"]) == ("open", None)
    assert "NTFS" in step.text


# Of many case studies


def test_many_case_studies_are_counted_and_the_first_of_them_named(db, monkeypatch):
    for number in range(9):
        study = make_case_study(f"lab{number}")
        for guest_fs, value in {"xfs": 100.0 + number, "ext4": 100.0}.items():
            make_measurement(value, case_study=study, guest_fs=guest_fs)
        publish(study)
    for module in ("comparison", "support"):  # the package names their functions alike
        monkeypatch.setattr(sys.modules[f"modelling.answer_pages.explanations.{module}"], "MOST_SHOWN", 3)
    of_kind = steps("guest-fs", "varmail", "xfs", "ext4")
    told = of_kind["comparison"]
    assert "“lab0”, “lab1” and 7 others measured" in told.text
    assert "from 1.00 to 1.1 over them" in told.text  # of all nine
    assert told.data["group_count"] == 9
    assert [group.ratio for group in told.data["groups"]] == pytest.approx([1.0, 1.01, 1.02])
    assert [reference.key for reference in told.evidence] == ["lab0", "lab1", "lab2"]
    assert "rests on nine case studies (“lab0”, “lab1” and 7 others)" in of_kind["evidence"].text
    assert len(of_kind["evidence"].evidence) == 3
    assert len(of_kind["evidence"].data["case_studies"]) == 9


# Whether the model agrees


def measured_in_fifteen_laboratories(workload: str, **throughput: float) -> None:
    """Publish measurements of fifteen laboratories on three kinds of disks, and retract all that others published."""
    for published in CaseStudy.objects.published():
        retract(published, reason="what fifteen others find is told alone")
    studies = []
    for number in range(15):
        study = make_case_study(f"lab{number}", storage=make_storage(kind=("hdd", "ssd", "nvme")[number % 3]))
        for guest_fs, value in throughput.items():
            fields = {"guest_fs": guest_fs, "host_fs": "ext4", "hypervisor": "proxmox", "workload": workload}
            make_measurement(value, case_study=study, **fields)
        studies.append(study)
    publish(*studies)


def test_a_contradiction_of_model_and_evidence_is_said_plainly(published_evidence):
    measured_in_fifteen_laboratories("fileserver", ext4=300.0, btrfs=100.0)
    step = steps("guest-fs", "fileserver", "ext4", "btrfs", hypervisor="proxmox")["agreement"]
    assert step.data == {"verdict": "contradicted", "predicted": -1, "seen": 1}
    assert "the evidence contradicts it" in step.text


# Caches and machines


def test_a_fall_with_every_machine_is_told_under_both_readings(published_evidence):
    step = steps("guest-fs", "varmail", "btrfs", "ext4", hypervisor="proxmox")["scaling"]
    assert "if that is the sum of all machines" in step.text
    assert "if that is the share of one" in step.text


# What would settle it


def test_new_evidence_changes_the_explanation(published_evidence):
    before = explained(Question("guest-fs", "varmail", hypervisor="xen"))
    assert before.a is None
    case_study = make_case_study()
    for guest_fs, value in (("ext4", 100.0), ("xfs", 200.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, hypervisor="xen")
    publish(case_study)
    cache.clear()
    told = explain(gather(Question("guest-fs", "varmail", hypervisor="xen"), "xfs", "ext4"))
    assert told[0].data["ratio"] > 1.0
    assert "It found XFS 2.0 times as fast as ext4." in told[0].text


# For every combination in the evidence


@pytest.mark.nightly
def test_every_explanation_of_the_evidence_reads_like_sentences(published_evidence):
    """Best against last of every answer, and the best against its runner-up: about fifty explanations."""
    told = 0
    for question in every_answer():
        entries = [entry["key"] for entry in current_snapshot(question).result["entries"] if entry["part"] == 1]
        for a, b in {(entries[0], entries[-1]), (entries[0], entries[1])} if len(entries) > 1 else ():
            told_of_both = explained(question, a, b).steps
            assert [step.kind for step in told_of_both] == sorted((step.kind for step in told_of_both), key=KINDS.index)
            for step in told_of_both:
                assert re.match(r"[A-ZĐαΣ“b]", step.text), step.text
                assert step.text.endswith("."), step.text
                assert not re.search(r"None|nan|inf\b|\{|\[|  |\.\.| ,| \.", step.text), step.text
            told += 1
    assert told >= 40


@pytest.mark.nightly
def test_every_reference_of_an_explanation_leads_somewhere(published_evidence, client):
    places = {
        tuple(reference.url.partition("#")[::2])
        for question in every_answer()
        for step in explained(question).steps
        for reference in step.evidence
    }
    pages = {page: client.get(page) for page in {page for page, _ in places}}
    assert {page: response.status_code for page, response in pages.items()} == dict.fromkeys(pages, 200)
    assert [(page, anchor) for page, anchor in places if anchor and f'id="{anchor}"' not in pages[page].text] == []
    assert len(places) > 10


def test_what_nothing_measured_joins_is_forecast_and_marked(published_evidence):
    # P0 compared Xen with KVM, P4 Hyper-V with KVM; on ATTO, P2 compared neither with KVM.
    steps = {step.kind: step for step in explain(gather(Question("hypervisor", "atto"), "kvm", "xen"))}
    forecast = steps["forecast"]
    assert "This is no measurement, and no ranking contains it." in forecast.text
    assert forecast.data["low"] < forecast.data["ratio"] < forecast.data["high"]
    assert (forecast.data["method"], forecast.data["since"]) == ("hierarchy", "2026-11-28")
    assert forecast.source == "docs/models/hierarchy.md"


def test_the_mechanisms_say_how_often_they_were_right(published_evidence):
    steps = {step.kind: step for step in explain(gather(Question("guest-fs", "varmail"), "xfs", "ext4"))}
    # docs/models/mechanisms.md: of 36 comparisons of mail servers they were right in 12.
    assert "in 12 of 36 comparisons on this workload it was right" in steps["mechanisms"].text
    assert (steps["mechanisms"].data["right"], steps["mechanisms"].data["compared"]) == (12, 36)


def test_an_explanation_costs_a_constant_number_of_queries(published_evidence, django_assert_max_num_queries):
    for a, b in (("kvm", "xen"), ("hyper-v", "proxmox")):
        with django_assert_max_num_queries(40):  # one for what the loads say of the length of a run
            gather(Question("hypervisor", "fileserver"), a, b)


# Page and API


def api(client, **query):
    return client.get(f"/api/v1/explanations/?{urlencode(query)}")


def test_page_and_api_say_the_same(published_evidence, client):
    query = {"axis": "hypervisor", "workload": "fileserver", "a": "kvm", "b": "xen"}
    answer = api(client, **query).json()
    page = client.get(f"/compare/?{urlencode(query)}")
    assert len(answer["steps"]) >= 7
    for step in answer["steps"]:
        assert step["text"] in page.text.replace("&#x27;", "'").replace("&quot;", '"')


def test_without_entries_the_best_is_explained_against_the_last(published_evidence, client):
    answer = api(client, axis="hypervisor", workload="fileserver").json()
    ranking = client.get("/api/v1/rankings/hypervisor/?workload=fileserver").json()
    entries = [entry["key"] for entry in ranking["entries"]]
    assert (answer["a"]["key"], answer["b"]["key"]) == (entries[0], entries[-1])


def test_a_question_without_an_answer_explains_what_is_missing(published_evidence, client):
    answer = api(client, axis="host-fs", workload="atto").json()
    assert (answer["a"], [step["basis"] for step in answer["steps"]]) == (None, ["open"])
    page = client.get("/compare/?axis=host-fs&workload=atto")
    assert page["Location"] == "/?axis=host-fs&workload=atto"  # which says what is missing


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"axis": "fs-pair", "workload": "mail", "a": "btrfs-on-ext4"}, "b"),
        ({"axis": "fs-pair", "workload": "mail", "a": "nonsense", "b": "xfs-on-ext4"}, "a"),
        ({"axis": "guest-fs", "workload": "mail", "a": "xfs", "b": "xfs"}, "b"),
        ({"axis": "guest-fs", "workload": "mail", "a": "a" * 200, "b": "xfs"}, "a"),
        ({"workload": "mail"}, "axis"),
        ({"axis": "fs-pair", "workload": "nothing"}, "workload"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_field(published_evidence, client, query, field):
    response = api(client, **query)
    assert response.status_code == 400
    assert field in {error["field"] for error in response.json()["errors"]}
    if "axis" in query:
        assert client.get(f"/compare/?{urlencode(query)}").status_code == 400
