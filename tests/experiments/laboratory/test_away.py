"""A host that cannot be used for a while: its campaign pauses and goes on by itself, and no run fails by it."""

import shutil
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from experiments.campaigns import cleanup, control, hosts
from experiments.campaigns.runs import causes
from experiments.laboratory.benchmarks import engines
from experiments.laboratory.transport.remote import Area
from experiments.models import Campaign
from kdb.models import Installation
from tests.experiments.laboratory.conftest import SHORT, begun, do, looked_at, said, started, wait_for_end, work_off
from tests.factories import make_token, make_user

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_a_full_disk_pauses_the_campaign_says_how_much_is_missing_and_goes_on_when_there_is_room(host, plain_lab):
    campaign = started(host, repetitions=2, **SHORT)
    Campaign.objects.filter(pk=campaign.pk).update(disk_mib=10**9)
    work_off(campaign)
    first = campaign.runs.get(position=1)
    assert (campaign.state, first.state, first.lost_attempts) == ("paused", "waiting", 0), said(first)
    assert f"no space: {plain_lab.pool}" in campaign.state_reason
    assert campaign.state_reason.endswith("MiB are missing")
    assert looked_at(campaign).state == "paused"
    assert f"no space: {plain_lab.pool} has" in campaign.state_reason
    Campaign.objects.filter(pk=campaign.pk).update(disk_mib=320)
    assert looked_at(campaign).state == "running"
    work_off(campaign)
    assert campaign.state == "finished"
    assert [run.state for run in campaign.runs.all()] == ["done", "done"]
    assert plain_lab.left_overs() == []


@pytest.mark.nightly
def test_a_disk_that_fills_up_under_a_run_is_told_from_a_run_that_fails(host, plain_lab, monkeypatch):
    """The benchmark fails either way: what the host says of its disk decides."""
    monkeypatch.setattr(engines, "fio_job", lambda *_: "[global]\nrw=read\n")
    campaign = started(host, **SHORT)
    monkeypatch.setattr(causes, "FULL_MIB", 10**9)
    work_off(campaign)
    run = campaign.runs.get()
    assert (campaign.state, run.state, "MiB are missing" in campaign.state_reason) == ("paused", "waiting", True)
    monkeypatch.setattr(causes, "FULL_MIB", 16)
    assert looked_at(campaign).state == "running"
    work_off(campaign)
    run.refresh_from_db()
    assert run.state == "failed", said(run)


@pytest.mark.nightly
def test_a_pool_that_another_kdb_uses_is_left_alone_until_it_is_free_or_given_away(host, plain_lab):
    """Numbers of attempts are those of one database: of another KDB's nobody can say which is the later one."""
    mark = plain_lab.pool / ".kdb/kdb"
    for another in (1, 10**9):
        with hosts.connect(host) as machine:
            theirs = Area(machine, str(plain_lab.pool), another)
            theirs.call("begin")
            theirs.call("make-fs", "fs", 64, "ext4")
        Installation.objects.update(identity=uuid4())
        campaign = started(host, slug=f"ours-{another}", **SHORT)
        work_off(campaign)
        run = campaign.runs.get()
        assert (campaign.state, run.state, run.lost_attempts) == ("paused", "waiting", 0), said(run)
        assert "This pool is used by another KDB" in campaign.state_reason
        assert campaign.state_reason.endswith(f"give each its own pool. If that KDB is gone for good, remove {mark}")
        assert looked_at(campaign).state == "paused"
        assert "This pool is used by another KDB" in campaign.state_reason
        with pytest.raises(CommandError, match="used by another KDB"):
            call_command("clear_host", host.slug)
        assert (plain_lab.pool / ".kdb/token").read_text() == f"{another}\n"
        assert f"{plain_lab.pool}/.kdb/fs" in plain_lab.inside("cat", "/proc/self/mounts")

        mark.unlink()  # as an area of an earlier version is
        assert looked_at(campaign).state == "running"
        work_off(campaign)
        run.refresh_from_db()
        assert run.state == "done", said(run)
        assert plain_lab.left_overs() == []


@pytest.mark.nightly
def test_an_area_that_is_removed_under_a_run_is_told_with_what_it_leaves_and_cleared_on_order(
    host, plain_lab, client, measuring
):
    """`rm -rf` of KDB's folder: the file system stays mounted on its loop device, and a benchmark may work there."""
    campaign = started(host, repetitions=2, **SHORT | {"run_seconds": 300})
    run, worker = begun(campaign, measuring)
    plain_lab.inside("rm", "-rf", f"{plain_lab.pool}/.kdb")
    wait_for_end(run, worker)
    campaign.refresh_from_db()
    assert (campaign.state, run.state, run.lost_attempts) == ("paused", "waiting", 0), said(run)
    for words in (f"mount {plain_lab.pool}/.kdb/fs", "loop device /dev/loop"):
        assert words in campaign.state_reason
    assert looked_at(campaign).state == "paused"
    assert f"mount {plain_lab.pool}/.kdb/fs" in campaign.state_reason
    with pytest.raises(
        control.CampaignError, match=f"Earlier runs left on .*: .*mount {plain_lab.pool}/.kdb/fs.*loop device"
    ):
        control.start(campaign)

    owner, other = make_user("operators"), make_user("operators")
    type(host).objects.filter(pk=host.pk).update(registered_by=owner)
    client.force_login(other)
    assert client.post(f"/laboratory/hosts/{host.slug}/", {"do": "clear"}).status_code == 404
    client.force_login(owner)
    page = client.get(f"/laboratory/hosts/{host.slug}/").content.decode()
    assert f"mount {plain_lab.pool}/.kdb/fs" in page
    assert 'value="clear"' in page
    assert client.post(f"/laboratory/hosts/{host.slug}/", {"do": "clear"}).status_code == 302
    host.refresh_from_db()
    do(host.job)
    assert plain_lab.left_overs() == []
    type(campaign).objects.filter(pk=campaign.pk).update(run_seconds=2)
    assert looked_at(campaign).state == "running"
    work_off(campaign)
    assert [run.state for run in campaign.runs.all()] == ["done", "done"]


@pytest.mark.nightly
@pytest.mark.parametrize("door", ["api", "command"])
def test_left_overs_are_cleared_by_api_and_command_and_never_under_a_run(host, plain_lab, door):
    owner = make_user("operators")
    type(host).objects.filter(pk=host.pk).update(registered_by=owner)
    campaign = started(host, **SHORT)
    headers = {"authorization": f"Bearer {make_token(owner, ('read', 'campaign'))}"}

    def clear() -> str:
        """Clear the host; return the sentence that refuses it, or ""."""
        if door == "command":
            try:
                call_command("clear_host", host.slug)
            except CommandError as error:
                return str(error)
            return ""
        answer = Client().post(f"/api/v1/hosts/{host.slug}/clear/", headers=headers)
        if answer.status_code == 202:
            host.refresh_from_db()
            do(host.job)
        return "" if answer.status_code == 202 else answer.json()["detail"]

    assert "A run is under way" in clear()
    control.cancel(campaign)
    work_off(campaign)
    with left_over(host, plain_lab):
        assert clear() == ""
    assert plain_lab.left_overs() == []
    host.refresh_from_db()
    assert host.left_overs == ""


@contextmanager
def left_over(host, lab):
    """Give a file system that is mounted on a loop device, in an area that was removed."""
    with hosts.connect(host) as machine:
        area = Area(machine, str(lab.pool), 10**9)
        area.call("begin")
        area.call("make-fs", "fs", 64, "ext4")
        lab.inside("rm", "-rf", str(lab.pool / ".kdb"))
        assert cleanup.find_leftovers(machine, host)
    host.refresh_from_db()
    assert "mount" in host.left_overs
    yield


@pytest.mark.nightly
def test_a_check_of_the_host_sees_that_somebody_took_the_left_overs_away(host, plain_lab):
    with left_over(host, plain_lab):
        plain_lab.inside("umount", f"{plain_lab.pool}/.kdb/fs")
        plain_lab.forget_loops()
        shutil.rmtree(plain_lab.pool / ".kdb")
    hosts.request_check(host)
    do(host.job)
    host.refresh_from_db()
    assert host.left_overs == ""
