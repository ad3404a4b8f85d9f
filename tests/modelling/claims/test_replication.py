"""A case study that was measured again: its orders and claims beside what came out here."""

import pytest

from experiments.campaigns import replication as plans
from experiments.models import Campaign, CaseStudy, WorkloadVariant
from modelling.claims import replication
from modelling.claims.facts import PublishedFacts
from tests.factories import make_case_study, make_configuration, make_host, make_measurement, make_user, publish

pytestmark = pytest.mark.usefixtures("published_evidence")
# MiB/s of three runs each; p3 has ext4 on ext4 among the best for mail and XFS on XFS among the worst.
FASTER, SLOWER = (10.0, 10.2, 9.9), (5.0, 5.1, 4.9)


def measured(host, speeds, **fields) -> Campaign:
    """Return a campaign for p3 whose runs have these speeds, by (workload, file system)."""
    (campaign,), outline = plans.prepare(host, plans.published("p3"), workloads=["varmail", "fileserver"], **fields)
    plans.create([campaign], outline, "p3", user=None)
    for run in campaign.runs.all():
        figure = {"machine": 0, "operation": "read", "ops_per_s": 1.0, "latency_ms": 1.0, "duration_s": 60.0}
        speed = speeds[run.workload, run.host_fs][run.repetition - 1]
        run.state, run.figures = "done", [{**figure, "throughput_mib_s": speed}]
        run.save()
    return campaign


@pytest.fixture
def campaign() -> Campaign:
    speeds = {("varmail", "ext4"): FASTER, ("varmail", "xfs"): SLOWER, ("varmail", "btrfs"): (8.0, 12.5, 9.0)}
    speeds |= {("fileserver", "ext4"): SLOWER, ("fileserver", "xfs"): FASTER, ("fileserver", "btrfs"): FASTER}
    host = make_host("lab", drivers=["native"])
    return measured(host, speeds, engine="fio", personality="kdb", repetitions=3)


def test_each_order_of_the_paper_is_agreed_with_or_not_or_not_decided(campaign):
    page = replication.compare(campaign)
    lines = {
        (line.workload, str(line.first).split(", ")[1], str(line.second).split(", ")[1]): line for line in page.pairs
    }
    assert {key: line.verdict for key, line in lines.items()} == {
        ("varmail", "ext4 on ext4", "XFS on XFS"): "agrees",
        ("varmail", "ext4 on ext4", "Btrfs on Btrfs"): "too close to say",
        ("fileserver", "ext4 on ext4", "XFS on XFS"): "differs",
        ("fileserver", "Btrfs on Btrfs", "XFS on XFS"): "too close to say",
        ("fileserver", "Btrfs on Btrfs", "ext4 on ext4"): "agrees",
    }
    mail = lines["varmail", "ext4 on ext4", "XFS on XFS"]
    assert mail.middle == pytest.approx(2.006, abs=0.001)  # geometric means, by hand
    assert mail.low < mail.middle < mail.high
    assert mail.there == ""  # p3 prints lists, not numbers
    assert page.notes[0] == "Native btrfs in place of btrfs-on-btrfs, so without what the pair does."


def test_claims_are_asked_of_the_numbers_here(campaign):
    claims = {claim.code: verdict for claim, verdict in replication.compare(campaign).claims}
    best_for_mail, worst_for_files = claims["P3-C06"], claims["P3-C14"]
    assert (best_for_mail.held, best_for_mail.failed) == (1, 0)
    assert worst_for_files.failed == 1
    assert "P3-C92" not in claims  # native against virtual, and only one of both is here


def test_a_number_that_a_paper_prints_stands_beside_the_ratio_here():
    """p1, Table III, one machine: mail with XFS and with Btrfs under Proxmox VE, here under KVM."""
    (campaign,), outline = plans.prepare(make_host("lab"), plans.published("p1"), short=True)
    plans.create([campaign], outline, "p3", user=None)
    for run in campaign.runs.all():
        speed = {"ext4": 3.0, "xfs": 2.0, "btrfs": 1.0}[run.guest_fs]
        run.state, run.figures = "done", [{"machine": 1, "operation": "mixed", "throughput_mib_s": speed}]
        run.save()
    page = replication.compare(campaign)
    assert page.counts == [("agrees", 4), ("differs", 4), ("too close to say", 1)]
    mail = {
        (str(line.first), str(line.second)): (line.there, line.middle)
        for line in page.pairs
        if line.workload == "varmail"
    }
    best, worst = "Proxmox VE, Btrfs on ext4", "Proxmox VE, ext4 on ext4"
    assert mail[best, worst] == ("1.3×", pytest.approx(1 / 3))  # 3.9 / 3.0 MiB/s there
    assert page.notes == ["KVM under libvirt in place of Proxmox VE, which runs its machines by KVM."]


@pytest.mark.sqlite
def test_the_page_is_for_who_sees_the_campaign_and_leads_to_the_draft(client, campaign):
    address = f"/laboratory/campaigns/{campaign.slug}/replication/"
    assert client.get(address).status_code == 302
    client.force_login(make_user("operators"))
    assert client.get(address).status_code == 404
    client.force_login(make_user("administrators"))
    page = client.get(address).content.decode()
    assert "Agrees: 2, Differs: 1, Too close to say: 2" in " ".join(page.split())
    assert "P3-C06" in page
    assert address in client.get(f"/laboratory/campaigns/{campaign.slug}/").content.decode()


def test_what_exceeds_the_campaigns_own_reference_load_is_named_beside_the_verdicts(campaign):
    assert not any("no disk's number" in sentence for sentence in replication.compare(campaign).notes)
    campaign.calibrations = [{"read_mib_s": 6.0, "write_mib_s": 5.0}]
    named = [sentence for sentence in replication.compare(campaign).notes if "no disk's number" in sentence]
    assert len(named) == 4  # two of each load are above 1.5 times 6 MiB/s


def test_native_runs_stand_in_for_nothing_that_guests_measured_and_once_for_what_none_did(campaign):
    case_study = campaign.replicates
    before = replication.compare(campaign)
    others = [
        make_configuration(case_study, hypervisor="xen", guest_fs=fs, host_fs=fs) for fs in ("ext4", "xfs", "btrfs")
    ]
    assert replication.compare(campaign).counts == before.counts
    for row in others:
        row.delete()
    host = make_host("lab-2", drivers=["libvirt"])
    alike = {(load, fs): FASTER for load in ("varmail", "fileserver") for fs in ("ext4", "xfs", "btrfs")}
    guests = measured(host, alike, engine="fio", personality="kdb", repetitions=3, vm_counts=[1])
    Campaign.objects.filter(pk=campaign.pk).update(host=host, run_seconds=guests.run_seconds)
    page = replication.compare(guests)
    assert len(page.campaigns) == 2
    assert not any("in place of" in note for note in page.notes)
    assert len({(line.workload, line.vm_count, line.first, line.second) for line in page.pairs}) == len(page.pairs)


def test_operations_that_differ_in_the_source_decide_nothing_and_sums_of_machines_meet_sums():
    study = make_case_study(vm_counts=[2], value_scope=CaseStudy.Scope.AGGREGATE)
    variant = WorkloadVariant.objects.filter(workload__slug="varmail", benchmark__slug="filebench").first()
    speeds = {("ext4", "read"): 200.0, ("ext4", "write"): 100.0, ("xfs", "read"): 50.0, ("xfs", "write"): 180.0}
    for (fs, operation), value in speeds.items():
        of_one = {"case_study": study, "guest_fs": fs, "host_fs": fs, "variant": variant}
        make_measurement(value, operation=operation, **of_one, vm_count=2)
    publish(study)
    (campaign,), outline = plans.prepare(make_host("lab"), study, short=True)
    plans.create([campaign], outline, "p3", user=None)
    for run in campaign.runs.all():
        figures = [
            {"machine": number, "operation": "mixed", "throughput_mib_s": 8.0 if run.guest_fs == "ext4" else 4.0}
            for number in (1, 2)
        ]
        run.state, run.figures = "done", figures
        run.save()
    (line,) = replication.compare(campaign).pairs
    assert (line.there, line.verdict) == ("0.556× to 4×", "too close to say")
    parts = replication._parts(study, [campaign], PublishedFacts())
    numbers = replication._numbers(campaign, parts)
    levels = {part.host_fs: round(span.low) for part, number in numbers for span in number.readings}
    assert levels == {"ext4": 16, "xfs": 8}
