"""One page says who did what, when, on which machine; everybody sees what concerns their hosts and themselves."""

import pytest
from django.test import Client

from experiments.campaigns import control, groups, hosts
from experiments.models import Host, HostAuditEntry
from kdb.accounts import tokens
from modelling.fleet.moving import manual, trail
from tests.factories import make_campaign, make_token, make_user
from tests.modelling.fleet.moving.fleets import mail_server, observed_host

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.fixture
def ada():
    return make_user("operators", username="ada")


@pytest.fixture
def host(ada):
    return observed_host(registered_by=ada)


def seen_by(user, **filters) -> list[tuple[str, str, str]]:
    return [(entry["who"], entry["what"], entry["where"]) for entry in trail.entries(user, **filters)]


def api_of(user) -> Client:
    return Client(HTTP_AUTHORIZATION=f"Bearer {make_token(user, ('read',))}")


def test_the_latest_stands_first_with_its_machine_and_its_move(ada, host):
    groups.choose_operators(host, [], user=ada)
    move = manual.move_disk(mail_server(host).disks.get(), host.observed_pools.get(path="/srv/xfs"), user=ada)
    entries = list(trail.entries(ada))
    assert (entries[0]["who"], entries[0]["what"], entries[0]["where"]) == ("ada", "confirmed", "kvm-1")
    assert (entries[0]["machine"], entries[0]["move_number"]) == ("mail-1, vda", move.pk)
    assert entries[-1]["what"] == "group"
    assert [entry["at"] for entry in entries] == sorted((entry["at"] for entry in entries), reverse=True)


def test_registration_trust_and_campaigns_are_in_it(ada):
    host = hosts.register(Host(slug="lab", name="Lab", address="192.0.2.7", drivers=["native"]), [], user=ada)
    Host.objects.filter(pk=host.pk).update(offered_key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5")
    fingerprint = hosts.fingerprint("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5")
    hosts.accept_key(host, fingerprint, user=ada)
    host.refresh_from_db()
    host.login = "kdb"
    hosts.edit(host, ["login"], [], user=ada)
    details = HostAuditEntry.objects.values_list("action", "detail", "actor__username")
    assert list(details) == [
        ("registered", "192.0.2.7; native", "ada"),
        ("key accepted", fingerprint, "ada"),
        ("changed", "login", "ada"),
    ]


def test_whoever_starts_pauses_or_cancels_a_campaign_is_named(ada, host):
    bob = make_user("operators", username="bob")
    groups.choose_operators(host, [bob], user=ada)
    control.create(make_campaign(host, slug="night"), user=ada)
    for user, step in ((ada, "start"), (bob, "pause"), (bob, "cancel")):
        client = Client()
        client.force_login(user)
        assert client.post("/laboratory/campaigns/night/", {"do": step}).status_code == 302
    told = HostAuditEntry.objects.filter(detail="night").values_list("action", "actor__username")
    assert list(told) == [("campaign started", "ada"), ("campaign paused", "bob"), ("campaign cancelled", "bob")]


def test_tokens_are_seen_by_who_made_them_and_by_administrators_alone(ada, host):
    token, key = tokens.make(ada, "laptop", ["read"], actor=ada)
    tokens.revoke(token, actor=ada)
    tokens.revoke(token, actor=ada)
    told = [("ada", "token revoked", ""), ("ada", "token made", "")]
    assert seen_by(ada, text="laptop") == seen_by(make_user("administrators"), text="laptop") == told
    assert seen_by(make_user("operators"), text="laptop") == []
    assert key not in "".join(entry.detail for entry in HostAuditEntry.objects.all())


def test_others_hosts_are_not_in_it_and_a_freeze_is_for_all(ada, host):
    groups.choose_operators(host, [], user=ada)
    root, stranger = make_user("administrators", username="root"), make_user("operators")
    hosts.freeze_all("Works.", user=root)
    assert seen_by(stranger) == [("root", "all hosts are frozen", "")]
    assert {entry[2] for entry in seen_by(root)} == {"", "kvm-1"}


def test_the_page_is_filtered_and_paged_and_for_operators_alone(client, ada, host, django_assert_max_num_queries):
    HostAuditEntry.objects.bulk_create(
        HostAuditEntry(host=host, actor=ada, action="group", detail=f"change {number}") for number in range(70)
    )
    assert client.get("/laboratory/trail/").status_code == 302
    client.force_login(make_user("researchers"))
    assert client.get("/laboratory/trail/").status_code == 403
    client.force_login(ada)
    with django_assert_max_num_queries(15):
        text = client.get("/laboratory/trail/").content.decode()
    assert text.count("<tr>") == 51
    assert "Page 1 of 2" in text
    assert client.get("/laboratory/trail/?page=2&who=ada&host=kvm-1").content.decode().count("<tr>") == 21
    assert client.get("/laboratory/trail/?text=change+69").content.decode().count("<tr>") == 2
    assert "Nothing that fits." in client.get("/laboratory/trail/?until=2020-01-01").content.decode()
    assert client.get("/laboratory/trail/?since=yesterday").status_code == 400


def test_programs_read_it_in_pages(ada, host):
    HostAuditEntry.objects.bulk_create(
        HostAuditEntry(host=host, actor=ada, action="group", detail=f"change {number}") for number in range(110)
    )
    manual.move_disk(mail_server(host).disks.get(), host.observed_pools.get(path="/srv/xfs"), user=ada)
    first = api_of(ada).get("/api/v1/audit-trail/", {"host": "kvm-1"}).json()
    latest = first["results"][0]
    assert (latest["who"], latest["what"], latest["host"], latest["machine"]) == (
        "ada",
        "move confirmed",
        "kvm-1",
        "mail-1, vda",
    )
    assert len(first["results"] + api_of(ada).get(first["next"]).json()["results"]) == first["count"] == 112
    assert api_of(make_user("operators")).get("/api/v1/audit-trail/").json()["results"] == []
    for faulty in ("since=yesterday", "user=ada", "page=9"):
        assert api_of(ada).get(f"/api/v1/audit-trail/?{faulty}").status_code in (400, 404), faulty
    assert api_of(make_user("researchers")).get("/api/v1/audit-trail/").status_code == 403
