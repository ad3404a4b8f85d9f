"""A case study that was measured again: its orders and claims beside what came out here."""

import pytest

from experiments.campaigns import replication as plans
from experiments.models import Campaign
from modelling.claims import replication
from tests.factories import make_host, make_user

pytestmark = pytest.mark.usefixtures("published_evidence")
# MiB/s of three runs each; p3 has ext4 on ext4 among the best for mail and XFS on XFS among the worst.
FASTER, SLOWER = (10.0, 10.2, 9.9), (5.0, 5.1, 4.9)


def measured(host, speeds, **fields) -> Campaign:
    """Return a native campaign for p3 whose runs have these speeds, by (workload, file system)."""
    (campaign,), outline = plans.prepare(host, plans.published("p3"), workloads=["varmail", "fileserver"], **fields)
    plans.create([campaign], outline, user=None)
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
    plans.create([campaign], outline, user=None)
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
