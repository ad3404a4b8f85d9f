"""Hosts, campaigns and what was observed are taken away: what becomes of the evidence is said first, and comes true."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from experiments.campaigns import control, deletion, drafts, hosts
from experiments.laboratory.transport import ssh
from experiments.management import arguments
from experiments.models import (
    Campaign,
    CaseStudy,
    DiskStatistics,
    Host,
    HostAuditEntry,
    PrivateKey,
    RawFile,
    RunArtifact,
    Signature,
)
from kdb.jobs import jobs
from kdb.models import Job
from tests import factories
from tests.factories import HOST_KEY, make_campaign, make_host, make_output, make_run, make_user

pytestmark = [pytest.mark.both, pytest.mark.django_db]

FIGURE = {"machine": 0, "operation": "mixed", "throughput_mib_s": 10.0, "ops_per_s": None, "latency_ms": None}


@pytest.fixture
def owner():
    return make_user("operators", username="owner")


@pytest.fixture
def host(owner):
    return make_host("lab", registered_by=owner)


@pytest.fixture
def campaign(host, owner):
    """Finished, with one run and its raw output."""
    campaign = control.create(make_campaign(host, slug="night", title="A night"), user=owner)
    facts = {
        "tool_version": "fio-3.33",
        "working_set_bytes": 1,
        "parameters": {},
        "machines": [{"mount_options": "rw"}],
    }
    run = campaign.runs.get()
    run.state, run.figures, run.facts = "done", [FIGURE], facts
    run.save()
    make_output(run, "host.txt")
    Signature.objects.create(
        run=run, starts_after=0, workload="varmail", seconds=10, flushes=1, flush_seconds=0.1,
        **dict.fromkeys(("reads", "read_bytes", "read_seconds", "writes", "write_bytes", "write_seconds"), 1),
    )  # fmt: skip
    campaign.state = "finished"
    campaign.save()
    return campaign


def page_of(user):
    client = Client()
    client.force_login(user)
    return client


def api_of(user):
    return Client(HTTP_AUTHORIZATION=f"Bearer {factories.make_token(user, ('read', 'campaign'))}")


def posted(client, address, fields=None):
    return client.post(f"/api/v1/{address}", fields or {}, "application/json")


# Campaigns


def test_a_campaign_that_was_not_filed_is_deleted_with_its_outputs_and_the_page_says_so_before(campaign, owner):
    client = page_of(owner)
    shown = client.get("/laboratory/campaigns/night/remove/").content.decode()
    assert "Delete A night?" in shown
    assert "1 run with figures and logs are deleted for good, and so are 1 raw output" in shown
    assert "1 block statistic of its guests" in shown
    assert Campaign.objects.exists()
    assert client.post("/laboratory/campaigns/night/remove/", {"deed": "delete"}).status_code == 302
    assert Campaign.objects.count() + RunArtifact.objects.count() + Signature.objects.count() == 0
    (entry,) = HostAuditEntry.objects.all()
    assert (entry.host.slug, entry.actor, entry.action) == ("lab", owner, "campaign deleted")
    assert entry.detail.startswith("night: Nothing of it was filed")


@pytest.mark.parametrize("is_published", [False, True])
def test_a_filed_campaign_is_archived_and_its_case_study_stays_as_it_is(campaign, owner, is_published):
    draft, _ = drafts.create_draft(campaign, user=owner)
    if is_published:
        factories.publish(draft)
    kept = sorted(RawFile.objects.values_list("sha256", flat=True))
    client = api_of(owner)
    preview = client.get("/api/v1/campaigns/night/removal/").json()
    assert preview["deed"] == "archive"
    assert f"which is {'published' if is_published else 'draft'} and stays as it is" in preview["becomes"][0]
    assert posted(client, "campaigns/night/removal/", {"deed": "delete"}).status_code == 409  # not what was said
    assert posted(client, "campaigns/night/removal/", {"deed": "archive"}).json() == preview
    campaign.refresh_from_db()
    assert campaign.archived_at
    assert (RunArtifact.objects.count(), Signature.objects.count()) == (1, 1)
    assert sorted(RawFile.objects.values_list("sha256", flat=True)) == kept
    assert CaseStudy.objects.get().status == ("published" if is_published else "draft")
    with pytest.raises(control.CampaignError, match="archived: bring it back first"):
        control.top_up(campaign, 1)
    page = page_of(owner)
    assert "Archived</h2>" in page.get("/laboratory/campaigns/").content.decode()
    assert "Bring it back" in page.get("/laboratory/campaigns/night/").content.decode()
    assert posted(client, "campaigns/night/bring-back/").json()["archived_at"] is None
    assert [entry.action for entry in campaign.host.audit_entries.all()] == [
        "campaign archived",
        "campaign brought back",
    ]


def test_a_campaign_under_way_is_not_taken_away(campaign, owner):
    control.top_up(campaign, 1)
    campaign.refresh_from_db()
    control.start(campaign)
    assert "running: cancel or pause it first" in posted(api_of(owner), "campaigns/night/removal/").json()["detail"]
    control.pause(campaign)
    answer = page_of(owner).post("/laboratory/campaigns/night/remove/", {"deed": "delete"})
    assert (answer.status_code, "A run is under way" in answer.content.decode()) == (409, True)
    assert Campaign.objects.exists()


# Hosts


def test_a_host_where_nothing_was_measured_is_deleted_and_who_did_it_stays_known(host, owner):
    PrivateKey.objects.create(name="", owner=owner)
    hosts.note(host, owner, "observation on", "")
    client = page_of(owner)
    assert "Delete lab?" in client.get("/laboratory/hosts/lab/remove/").content.decode()
    assert client.post("/laboratory/hosts/lab/remove/", {"deed": "delete"})["Location"] == "/laboratory/hosts/"
    assert Host.objects.count() + PrivateKey.objects.count() == 0
    trail = HostAuditEntry.objects.values_list("host", "deleted_host", "actor__username", "action")
    assert list(trail) == [(None, "lab", "owner", "observation on"), (None, "lab", "owner", "deleted")]
    page = client.get("/laboratory/trail/?host=lab&who=owner").content.decode()
    assert ">deleted<" in page


def test_a_host_of_campaigns_is_archived_with_them_and_nothing_runs_there(campaign, host, owner):
    draft, _ = drafts.create_draft(campaign, user=owner)
    factories.publish(draft)
    client = api_of(owner)
    preview = client.get("/api/v1/hosts/lab/removal/").json()
    assert preview["deed"] == "archive"
    assert preview["becomes"][0] == "Case studies that were filed from it stay as they are: night (published)."
    assert posted(client, "hosts/lab/removal/", {"deed": "archive"}).status_code == 200
    host.refresh_from_db()
    assert CaseStudy.objects.get().status == "published"
    assert RunArtifact.objects.count() == 1
    with pytest.raises(hosts.HostError, match="archived: bring it back first"):
        hosts.request_check(host)
    with pytest.raises(control.PlanRefused, match="is archived"):
        control.create(make_campaign(host), user=owner)
    assert ">lab</option>" not in page_of(owner).get("/laboratory/campaigns/new/").content.decode()
    page = page_of(owner).get("/laboratory/hosts/lab/").content.decode()
    assert "nothing runs on it" in page
    trail = page_of(owner).get("/laboratory/trail/?host=lab").content.decode()
    assert "Case studies that were filed from it stay" in trail
    assert posted(client, "hosts/lab/bring-back/").json()["archived_at"] is None
    hosts.request_check(Host.objects.get())


def test_what_waits_for_an_archived_host_waits_no_longer(host, owner):
    """A campaign that paused because the host did not answer would go on by itself."""
    campaign = make_campaign(host, slug="waits", state="paused", look_at=now())
    campaign.save()
    host.left_overs = "guest kdb-101-1"
    host.save()
    assert deletion.host_deletion(host).becomes[-1].endswith("clean it up first: guest kdb-101-1")
    deletion.remove_host(host, "archive", user=owner)
    control.reconcile()
    control.resume(campaign)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.look_at, Job.objects.count()) == ("paused", None, 0)


def test_a_host_that_measures_is_not_taken_away(campaign, host, owner):
    control.top_up(campaign, 1)
    campaign.refresh_from_db()
    control.start(campaign)
    answer = posted(api_of(owner), "hosts/lab/removal/", {"deed": "archive"})
    assert (answer.status_code, "A campaign is running" in answer.json()["detail"]) == (409, True)


# What was observed


def test_what_was_observed_goes_where_it_is_forgotten_and_nothing_else(campaign, host, owner):
    machine = factories.make_machine(host)
    factories.make_minutes(machine, 3)
    host.is_observed = True
    host.save()
    client = page_of(owner)
    shown = client.get("/laboratory/hosts/lab/forget/").content.decode()
    assert "1 virtual machine, 1 pool, statistics of disks (3 minutes)" in shown
    assert DiskStatistics.objects.count() == 3
    assert client.post("/laboratory/hosts/lab/forget/", {"deed": "forget"}).status_code == 302
    host.refresh_from_db()
    assert not host.is_observed
    assert host.observed_machines.count() + host.observed_pools.count() + DiskStatistics.objects.count() == 0
    assert (Signature.objects.count(), RunArtifact.objects.count(), host.campaigns.count()) == (1, 1, 1)
    assert host.audit_entries.get().action == "observation forgotten"
    assert (
        api_of(owner).get("/api/v1/observed-hosts/lab/removal/").json()["becomes"][0] == "Nothing was observed there."
    )


# Who


@pytest.mark.parametrize("thing", ["hosts/lab", "campaigns/night", "observed-hosts/lab"])
@pytest.mark.parametrize(("is_member", "refused"), [(True, 403), (False, 404)])
def test_only_owners_and_administrators_take_things_away(thing, is_member, refused, campaign):
    other, administrator = make_user("operators"), make_user("administrators")
    if is_member:
        campaign.host.operators.add(other)
    assert api_of(other).get(f"/api/v1/{thing}/removal/").status_code == refused
    assert posted(api_of(other), f"{thing}/removal/", {"deed": "delete"}).status_code == refused
    assert api_of(administrator).get(f"/api/v1/{thing}/removal/").status_code == 200
    if not thing.startswith("observed"):
        assert page_of(other).post(f"/laboratory/{thing}/remove/", {"deed": "delete"}).status_code == refused
        assert posted(api_of(other), f"{thing}/bring-back/").status_code == refused
    assert Campaign.objects.exists()


def test_a_host_that_nobody_owns_is_taken_by_an_administrator_and_by_nobody_else():
    host = make_host("orphan")
    operator, administrator = make_user("operators"), make_user("administrators", username="boss")
    assert posted(api_of(operator), "hosts/orphan/take/").status_code == 404
    assert page_of(operator).get("/laboratory/hosts/orphan/").status_code == 404
    assert "Make it mine" in page_of(administrator).get("/laboratory/hosts/orphan/").content.decode()
    assert posted(api_of(administrator), "hosts/orphan/take/").json()["registered_by"] == "boss"
    host.refresh_from_db()
    assert host.registered_by == administrator
    assert host.audit_entries.get().detail == "boss took it; it was nobody's"
    assert page_of(make_user("administrators")).post("/laboratory/hosts/orphan/", {"do": "take"}).status_code == 403


# One machine is one host


def test_a_machine_is_not_registered_again_by_another_of_its_names(host, owner, monkeypatch):
    """Its key tells, whoever registers it; nothing is offered to be accepted."""
    monkeypatch.setattr(ssh, "scan", lambda address, port: HOST_KEY)
    for slug, address in (("again", "localhost"), ("third", "127.0.0.2")):
        again = hosts.register(Host(slug=slug, name=slug, address=address), [], user=owner, any_key=True)
        hosts.wait_for_job(again)
        assert again.job.error.startswith("This machine is registered already, as lab (lab): it has the same host key.")
        assert again.offered_key == ""
        Host.objects.filter(pk=again.pk).update(offered_key=HOST_KEY)
        with pytest.raises(hosts.HostError, match=r"registered already, as lab \(lab\)"):
            hosts.accept_key(again, ssh.fingerprint(HOST_KEY), any_key=True)


def test_virtual_machines_that_are_copies_of_one_another_may_share_their_key(host):
    first, second = (make_host(slug, runs_on=host) for slug in ("guest-1", "guest-2"))
    assert hosts.twin_of(second, key=HOST_KEY) is None
    assert hosts.twin_of(make_host("alone"), key=HOST_KEY) == host
    assert first.host_key == second.host_key


def test_the_machine_id_tells_a_machine_by_another_sshd(host):
    host.facts["machine_id"] = "a" * 32
    host.save()
    other = make_host("other", host_key=HOST_KEY[:-1] + "g")
    assert hosts.twin_of(other, machine_id="a" * 32) == host
    assert hosts.twin_of(other, machine_id="b" * 32) is None
    assert hosts.twin_of(other, machine_id="") is None


def test_a_run_that_waits_keeps_no_campaign(host, owner):
    campaign = make_campaign(host, slug="planned")
    campaign.save()
    make_run(campaign)
    deletion.remove_campaign(campaign, "delete", user=None)
    assert not Campaign.objects.exists()
    assert host.audit_entries.get().actor is None


def test_a_host_registered_on_the_command_line_has_the_owner_that_is_named(owner, monkeypatch):
    other_key = f"{HOST_KEY[:-1]}g"
    monkeypatch.setattr(ssh, "scan", lambda address, port: other_key)

    def checked(host):
        """Check the host as a worker would; the facts are made up."""
        if host.job.kind == hosts.CONTACT_JOB:
            jobs.run(host.job_id)
        Host.objects.filter(pk=host.pk).update(
            facts={"distribution": "Debian", "kernel": "6.1", "missing": [], "pools": {}}
        )
        host.refresh_from_db()

    monkeypatch.setattr(arguments, "finish_host_job", checked)
    asked = {"accept": ssh.fingerprint(other_key), "stdout": io.StringIO()}
    call_command("register_host", "lab-9", "192.0.2.9", owner="owner", **asked)
    assert Host.objects.get(slug="lab-9").registered_by == owner
    make_user("researchers", username="reader")
    for name in ("reader", "nobody"):
        with pytest.raises(CommandError, match=f"'{name}' is no account of an operator"):
            call_command("register_host", "lab-10", "192.0.2.10", owner=name, **asked)
