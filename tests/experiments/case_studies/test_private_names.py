"""Nobody finds out by asking how others call what they keep to themselves: not by an answer, and not by its cost."""

import io
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from experiments.case_studies import bundles
from experiments.models import CaseStudy, ImportBatch
from tests.factories import (
    make_case_study,
    make_import,
    make_measurement,
    make_raw_file,
    make_token,
    make_user,
    revision,
)
from tests.kdb.walk import DRAFT

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


def test_a_short_name_that_is_taken_is_refused_alike_whoever_has_it(client, draft):
    make_case_study("seen-lab", status="published", published_revision=revision(1))
    headers = {"authorization": f"Bearer {make_token(make_user('researchers'))}"}
    messages = set()
    for slug in (THERE, "seen-lab"):
        refused = client.post("/api/v1/drafts/", DRAFT | {"slug": slug}, "application/json", headers=headers)
        (error,) = refused.json()["errors"]
        messages.add((refused.status_code, error["field"], re.sub(rf"{slug}(-[0-9a-f]{{4}})?", "X", error["message"])))
        suggested = re.search(rf"{slug}-[0-9a-f]{{4}}", error["message"])[0]
    assert messages == {(400, "slug", "The short name X is not to be had; X is likely to be.")}
    made = client.post("/api/v1/drafts/", DRAFT | {"slug": suggested}, "application/json", headers=headers)
    assert made.status_code == 201


def test_a_bundle_of_the_same_content_as_others_draft_is_not_known(published_evidence):
    owner, other = make_user("researchers"), make_user("researchers")
    CaseStudy.objects.filter(slug="p4").update(status="draft", published_revision=None, owner=owner)
    draft, content = CaseStudy.objects.get(slug="p4"), io.BytesIO()
    bundles.export(draft, content)
    assert bundles.take_in(content.getvalue(), user=owner, door=ImportBatch.Door.BROWSER) == (draft, False)
    with pytest.raises(bundles.BundleError, match="not to be had"):
        bundles.take_in(content.getvalue(), user=other, door=ImportBatch.Door.BROWSER)


def test_a_file_of_others_draft_is_like_one_that_is_not_there(draft):
    file = make_raw_file(batch=make_import(draft))
    client = Client()
    client.force_login(make_user("researchers"))
    for address in ("/files/{}/", "/api/v1/raw-files/{}/content/"):
        answers = [answer(client, "get", address.format(pk), "-", None)[::3] for pk in (file.pk, file.pk + 1)]
        assert answers[0] == answers[1]
