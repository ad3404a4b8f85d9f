"""Nobody finds out by asking how others call what they keep to themselves: not by an answer, and not by its cost."""

import io
import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from experiments.campaigns import control
from experiments.campaigns.deletion import remove_host
from experiments.case_studies import bundles
from experiments.models import CaseStudy, Host, ImportBatch, ObservedMachine
from modelling.models import PlacementMove, PlacementPlan
from modelling.own_lab import observed_load
from tests.factories import (
    make_campaign,
    make_case_study,
    make_host,
    make_import,
    make_measurement,
    make_output,
    make_raw_file,
    make_token,
    make_user,
    revision,
)
from tests.kdb.walk import CAMPAIGN, DRAFT, HOST
from tests.modelling.fleet.moving.fleets import shown

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]

THERE, NOT_THERE = "secret-lab", "absent-lab"
ROLES = ("reviewers", "", "researchers", "operators")
FILTERED = ("measurements", "configurations", "findings", "claims", "derived-values", "printed-ratios", "case-studies")


@pytest.fixture
def draft():
    draft = make_case_study(THERE, owner=make_user("researchers"))
    make_measurement(case_study=draft, guest_fs="xfs")
    return draft


def addresses(resolver, prefix=""):
    """Return every address with a slug in it; its other parameters are 1."""
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from addresses(pattern, path)
        elif re.search("<slug:(slug|case_study)>", path) and not path.startswith("admin"):
            yield "/" + re.sub("<(?!slug:(slug|case_study)>)[^>]*>", "1", path.replace("<slug:step>", "publish"))


def answer(client, method, address, slug, key):
    """Return everything that tells one answer from another, with its cost; the name itself is removed."""
    address = re.sub("<slug:(slug|case_study)>", slug, address)
    headers = {"authorization": f"Bearer {key}"} if key and address.startswith("/api/") else {}
    body = {"data": {"reason": "Why."}, "content_type": "application/json"} if address.startswith("/api/") else {}
    with CaptureQueriesContext(
        connection,
    ) as asked:
        response = getattr(client, method)(address, headers=headers, **(body if method == "post" else {}))
    text = b"" if response.streaming else response.content
    text = re.sub(r'csrfmiddlewaretoken" value="\w+"', "", text.decode(errors="replace"))
    place = response.headers.get("Location", "")
    return response.status_code, text.replace(slug, "SLUG"), place.replace(slug, "SLUG"), len(asked)


@pytest.mark.parametrize("roles", [1, pytest.param(len(ROLES), marks=pytest.mark.nightly)])
def test_a_draft_of_others_is_at_every_address_like_one_that_is_not_there(draft, roles):
    people = [(role, make_user(role)) for role in ROLES[:roles]]
    askers = [("anonymous", Client(), None)]
    for role, user in people:
        client = Client()
        client.force_login(user)
        askers.append((role or "nobody", client, make_token(user, ("read", "import", "review", "campaign", "notify"))))
    asked = {*addresses(get_resolver())}
    asked |= {f"/api/v1/{name}/?case_study=<slug:slug>" for name in FILTERED}
    asked |= {"/api/v1/search/?q=<slug:slug>", "/search/?q=<slug:slug>", "/case-studies/?case_study=<slug:slug>"}
    told = []
    for address in sorted(asked):
        for role, client, key in askers:
            for method in ("get", "post"):
                for _ in range(2):  # names are kept for seconds, which may end between two
                    answer(client, method, address, NOT_THERE, key)  # what is read once is read
                    answers = [answer(client, method, address, slug, key) for slug in (THERE, NOT_THERE)]
                    if answers[0] == answers[1]:
                        break
                else:
                    told.append((address, role, method, [(status, cost) for status, _, _, cost in answers]))
    assert len(asked) > 40
    assert not told


# Hosts of other operators

ABOUT_A_HOST = {  # what names a host, or what is on it, in a body
    "/api/v1/hosts/": [{"slug": "new", "runs_on": "SLUG", "name": "New", "pools": [], "port": 22, "drivers": []}],
    "/api/v1/campaigns/": [CAMPAIGN | {"host": "SLUG"}],
    "/api/v1/campaigns/estimate/": [CAMPAIGN | {"host": "SLUG"}],
    "/api/v1/placement/plans/": [{"hosts": ["SLUG"]}],
    "/api/v1/placement/moves/": [{"disk": "SLUG/undercover-vm:vda", "pool": "SLUG/srv/undercover"}],
    "/api/v1/placement/moves/empty/": [{"pool": "SLUG/srv/undercover"}],
}
SECRET = re.compile(f"{THERE}|undercover")


@pytest.fixture
def host_of_others():
    """Return a host of another operator: a campaign with an output, plan, move, machine and pool. Keys are 7."""
    owner = make_user("operators", username="owner")
    about = {"name": "Undercover host", "address": "undercover.example", "drivers": ["native", "libvirt"]}
    host = make_host(THERE, pools=("/srv/undercover",), registered_by=owner, is_observed=True, **about)
    Host.objects.filter(pk=host.pk).update(facts=host.facts | {"kernel": "6.99-undercover"})
    shown(host)
    ObservedMachine.objects.update(name="undercover-vm")
    campaign = make_campaign(host, slug=THERE, title="undercover title")
    control.create(campaign, user=owner)
    make_output(campaign.runs.get(), "undercover.txt", pk=7)
    plan = PlacementPlan.objects.get(pk=1)
    plan.pk = 7
    plan.save()
    plan.hosts.set([host])
    PlacementMove.objects.update(id=7)
    remove_host(make_host("undercover-once", registered_by=owner), "delete", user=owner)
    return host


def every_address(resolver, prefix=""):
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from every_address(pattern, path)
        elif not path.startswith(("admin", "static")):
            yield "/" + re.sub("<(?!slug:slug|int:pk)[^>]*>", "1", path)


def answer_about(client, method, address, slug, pk, body=None):
    """Return the status, the text and the number of queries; what was asked for is taken out of the text."""
    path = address.replace("<slug:slug>", slug).replace("<int:pk>", str(pk))
    options = {"data": body or {}, "content_type": "application/json"} if path.startswith("/api/") else {}
    with CaptureQueriesContext(connection) as asked:
        response = getattr(client, method)(path, **(options if method != "get" else {}))
    text = "" if response.streaming else response.content.decode(errors="replace")
    text = re.sub(r'csrfmiddlewaretoken" value="\w+"|\b(7|9999)\b', "", text.replace(slug, "SLUG"))
    return response.status_code, text, len(asked)


def test_a_host_of_others_is_at_every_address_like_one_that_is_not_there(host_of_others):
    outsider, owner = Client(), Client()
    outsider.force_login(make_user("operators"))
    owner.force_login(host_of_others.registered_by)
    told, shown_to_owner = [], set()
    addresses = sorted({a for a in every_address(get_resolver()) if "<" in a})
    for address in addresses:
        if answer_about(owner, "get", address, THERE, 7)[0] == 200:
            shown_to_owner.add(address)
        for method in ("get", "post", "put", "patch", "delete"):
            for _ in range(2):
                there = answer_about(outsider, method, address, THERE, 7)
                absent = answer_about(outsider, method, address, NOT_THERE, 9_999)
                if there == absent:
                    break
            else:
                told.append((address, method, there[::2], absent[::2]))
    assert not told
    assert len(shown_to_owner) >= 30, shown_to_owner  # of these a stranger is told nothing


def test_nobody_outside_of_its_group_finds_a_host_on_any_page_or_in_any_list(published_evidence, host_of_others):
    asked = {address for address in every_address(get_resolver()) if "<" not in address and "logout" not in address}
    asked |= {f"/?axis=hypervisor&workload=fileserver&vm_count=1&tab={tab}" for tab in ("evidence", "reasons", "")}
    asked |= {"/search/?q=underkover", "/api/v1/search/?q=underkover", "/laboratory/campaigns/new/?host=1"}
    told = []
    for role in ("operators", "researchers", "reviewers"):
        client = Client()
        client.force_login(make_user(role))
        for address in sorted(asked):
            response = client.get(address, follow=True)
            if not response.streaming and SECRET.search(response.content.decode(errors="replace")):
                told.append((role, address))
    assert not told
    client.force_login(host_of_others.registered_by)
    assert SECRET.search(client.get("/laboratory/hosts/").content.decode())


@pytest.mark.parametrize("address", ABOUT_A_HOST)
def test_a_host_of_others_is_in_every_body_like_one_that_is_not_there(host_of_others, address):
    outsider = Client()
    outsider.force_login(make_user("operators"))
    for body in ABOUT_A_HOST[address]:
        answers = []
        for slug in (THERE, NOT_THERE):
            response = outsider.post(address, json.loads(json.dumps(body).replace("SLUG", slug)), "application/json")
            answers.append((response.status_code, response.content.decode().replace(slug, "SLUG")))
        assert answers[0] == answers[1]
        assert answers[0][0] == 400


def test_an_address_that_is_taken_is_refused_without_the_name_of_who_has_it(host_of_others):
    outsider = Client()
    outsider.force_login(make_user("operators"))
    body = HOST | {"address": "undercover.example"}
    refused = outsider.post("/api/v1/hosts/", body, "application/json")
    assert refused.status_code == 400
    assert not re.search("Undercover|secret", refused.content.decode())


def test_the_load_of_a_machine_of_others_is_measured_by_nobody_else(host_of_others):
    outsider = make_user("operators")
    with pytest.raises(observed_load.Refused, match="you may see no observed machine of that name"):
        observed_load.make_load(outsider, "undercover-vm", version="")
    assert observed_load.make_load(host_of_others.registered_by, "undercover-vm", version="")


def test_a_short_name_that_is_taken_is_refused_alike_whoever_has_it(client, draft):
    make_case_study("seen-lab", status="published", published_revision=revision(1))
    headers = {"authorization": f"Bearer {make_token(make_user('researchers'))}"}
    messages = set()
    for slug in (THERE, "seen-lab"):
        refused = client.post("/api/v1/drafts/", DRAFT | {"slug": slug}, "application/json", headers=headers)
        (error,) = refused.json()["errors"]
        messages.add((refused.status_code, error["field"], re.sub(rf"{slug}(-[0-9a-f]{{4}})?", "X", error["message"])))
        suggested = re.search(rf"{slug}-[0-9a-f]{{4}}", error["message"])[0]
    assert messages == {(400, "slug", "The short name X is not available; X probably is.")}
    made = client.post("/api/v1/drafts/", DRAFT | {"slug": suggested}, "application/json", headers=headers)
    assert made.status_code == 201


def test_a_bundle_of_the_same_content_as_others_draft_is_not_known(published_evidence):
    owner, other = make_user("researchers"), make_user("researchers")
    CaseStudy.objects.filter(slug="p4").update(status="draft", published_revision=None, owner=owner)
    draft, content = CaseStudy.objects.get(slug="p4"), io.BytesIO()
    bundles.export(draft, content)
    assert bundles.import_bundle(content.getvalue(), user=owner, door=ImportBatch.Door.BROWSER) == (draft, False)
    with pytest.raises(bundles.BundleError, match="not available"):
        bundles.import_bundle(content.getvalue(), user=other, door=ImportBatch.Door.BROWSER)


def test_a_file_of_others_draft_is_like_one_that_is_not_there(draft):
    file = make_raw_file(batch=make_import(draft))
    client = Client()
    client.force_login(make_user("researchers"))
    for address in ("/files/{}/", "/api/v1/raw-files/{}/content/"):
        answers = [answer(client, "get", address.format(pk), "-", None)[::3] for pk in (file.pk, file.pk + 1)]
        assert answers[0] == answers[1]
