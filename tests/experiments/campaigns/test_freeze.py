"""A freeze of all hosts: no run and no move begins, whoever asks; what is under way ends; a thaw lets all go on."""

import pytest
from django.test import Client
from django.utils.timezone import now

from experiments.campaigns import control, hosts
from experiments.campaigns.runs import sequence
from experiments.models import CampaignRun, Freeze, HostAuditEntry
from kdb.jobs import jobs
from kdb.models import Job
from modelling.fleet.moving import execution, manual, moves
from modelling.fleet.moving.plans import PlacementError
from modelling.models import PlacementMove
from tests.factories import make_campaign, make_host, make_token, make_user
from tests.modelling.fleet.moving.fleets import mail_server, moved, observed_host

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
WHY = "The storage network is repaired"
FREEZE = "/api/v1/freeze/"


@pytest.fixture
def root():
    return make_user("administrators", username="root")


@pytest.fixture
def owner():
    return make_user("operators", username="owner")


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def api_of(user) -> Client:
    return Client(HTTP_AUTHORIZATION=f"Bearer {make_token(user, ('read', 'campaign'))}")


def test_no_campaign_starts_and_a_running_one_begins_no_further_run_until_the_thaw(root, owner):
    host = make_host(registered_by=owner)
    plans = (make_campaign(host, slug=slug, repetitions=2) for slug in ("a", "b"))
    campaign, other = (control.create(plan, user=owner) for plan in plans)
    control.start(campaign)
    active = CampaignRun.objects.get(state="active")
    hosts.freeze_all(WHY, user=root)
    with pytest.raises(control.CampaignError, match=f"frozen since .* by root: {WHY}"):
        control.start(other)
    CampaignRun.objects.filter(pk=active.pk).update(state="failed", reason="x", finished_at=now())  # it ends
    assert control.next_run(host.pk) is None
    assert control.why_no_run(host) == "all hosts are frozen"
    hosts.thaw_all(user=root)
    control.reconcile()
    assert CampaignRun.objects.filter(state="active").count() == 1


def test_a_worker_does_not_begin_a_run_that_was_handed_out_before_the_freeze(root, owner, monkeypatch):
    host = make_host(registered_by=owner)
    control.start(control.create(make_campaign(host), user=owner))
    run = CampaignRun.objects.get(state="active")
    hosts.freeze_all(WHY, user=root)
    monkeypatch.setattr(sequence, "measure", lambda *_: pytest.fail("the host was asked"))
    jobs.run(run.job_id)
    run.refresh_from_db()
    assert (run.state, run.attempt) == ("waiting", 0)
    assert WHY in run.lines.last().text


def test_no_move_is_asked_for_or_begun_and_no_image_removed(root, owner, monkeypatch):
    host = observed_host(registered_by=owner)
    disk, pool = mail_server(host).disks.get(), host.observed_pools.get(path="/srv/xfs")
    kept = moved(mail_server(host, "mail-2"))
    move = manual.move_disk(disk, pool, user=owner)
    assert PlacementMove.objects.get(pk=move.pk).state == "copying"
    hosts.freeze_all(WHY, user=root)
    monkeypatch.setattr(execution.hosts, "connect", lambda _: pytest.fail("the host was asked"))
    jobs.run(Job.objects.get(kind=moves.MOVE_JOB).pk)
    move.refresh_from_db()
    assert (move.state, moves.start_next(host.pk)) == ("waiting", None)
    with pytest.raises(PlacementError, match=WHY):
        manual.move_disk(mail_server(host, "mail-3").disks.get(), pool, user=owner)
    with pytest.raises(PlacementError, match=WHY):
        moves.remove_old(kept, user=owner)
    hosts.thaw_all(user=root)
    moves.resume()
    move.refresh_from_db()
    assert move.state == "copying"


def test_a_copy_under_way_goes_on_to_its_end(root, owner):
    host = observed_host(registered_by=owner)
    move = manual.move_disk(mail_server(host).disks.get(), host.observed_pools.get(path="/srv/xfs"), user=owner)
    PlacementMove.objects.update(attempt=1)
    hosts.freeze_all(WHY, user=root)
    assert not moves.put_back(move)
    assert PlacementMove.objects.get().state == "copying"


def test_administrators_freeze_and_thaw_and_others_read_why(root, owner):
    host = make_host("lab-1", registered_by=owner)
    control.create(make_campaign(host, slug="night"), user=owner)
    places = [
        "/laboratory/hosts/",
        "/laboratory/hosts/lab-1/",
        "/laboratory/campaigns/",
        "/laboratory/campaigns/night/",
    ]
    places += ["/placement/", "/laboratory/trail/"]
    for body in ({"do": "freeze", "reason": WHY}, {"do": "thaw"}):
        assert client_of(owner).post("/laboratory/hosts/", body).status_code == 403
    assert client_of(root).post("/laboratory/hosts/", {"do": "freeze", "reason": " "}).status_code == 409
    assert client_of(root).post("/laboratory/hosts/", {"do": "freeze", "reason": WHY}).status_code == 302
    again = client_of(root).post("/laboratory/hosts/", {"do": "freeze", "reason": "x"})
    assert (again.status_code, Freeze.objects.get().reason) == (409, WHY)
    for place in places:
        text = client_of(owner).get(place).content.decode()
        assert WHY in text, place
        assert "by root" in text
        assert "Thaw all hosts" not in text
    assert "Thaw all hosts" in client_of(root).get("/placement/").content.decode()
    assert client_of(root).post("/laboratory/hosts/", {"do": "thaw"}).status_code == 302
    assert client_of(root).post("/laboratory/hosts/", {"do": "thaw"}).status_code == 409
    assert WHY not in client_of(owner).get("/laboratory/hosts/").content.decode()
    trail = HostAuditEntry.objects.filter(host=None).values_list("action", "actor__username")
    assert list(trail) == [("all hosts are frozen", "root"), ("all hosts are thawed", "root")]


def test_programs_of_administrators_freeze_and_thaw_and_those_of_operators_read_why(root, owner):
    of_root, of_owner = api_of(root), api_of(owner)
    nothing = {"reason": None, "by": None, "since": None}
    assert of_owner.get(FREEZE).json() == nothing
    assert of_owner.put(FREEZE, {"reason": WHY}, content_type="application/json").status_code == 403
    assert of_root.put(FREEZE, {"reason": " "}, content_type="application/json").status_code == 400
    assert of_root.put(FREEZE, {"reason": WHY}, content_type="application/json").status_code == 200
    assert of_root.put(FREEZE, {"reason": "x"}, content_type="application/json").status_code == 409
    shown = of_owner.get(FREEZE).json()
    assert (shown["reason"], shown["by"]) == (WHY, "root")
    assert of_owner.delete(FREEZE).status_code == 403
    assert of_root.delete(FREEZE).status_code == 204
    assert of_root.delete(FREEZE).status_code == 409
    assert of_owner.get(FREEZE).json() == nothing
    assert api_of(make_user("researchers")).get(FREEZE).status_code == 403
