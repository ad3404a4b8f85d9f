"""The trail of deeds, for administrators: to be looked through, never changed. Slugs of the catalogue: given once."""

import pytest

from experiments.case_studies.lifecycle import audit
from experiments.models import AuditEntry, Benchmark, FileSystem, HostStorage, Hypervisor, OperatingSystem, Workload
from tests.factories import make_case_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
TRAIL = "/admin/experiments/auditentry/"


@pytest.fixture
def trail():
    """Make two audit entries, of two people on two case studies."""
    for slug, name, action in (("night", "ada", "submitted"), ("dawn", "grace", "returned")):
        audit(make_case_study(slug), make_user(username=name), AuditEntry.Action(action), f"because of {slug}")


def test_administrators_look_through_the_trail_by_deed_person_and_word(client, trail):
    client.force_login(make_user("administrators", username="adm", is_staff=True))
    ada = AuditEntry.objects.get(actor__username="ada").actor_id
    everything = client.get(TRAIL).content.decode()
    assert everything.index("because of dawn") < everything.index("because of night")  # newest first
    for query in ("action__exact=submitted", f"actor__id__exact={ada}", "q=night", "q=ada"):
        page = client.get(f"{TRAIL}?{query}").content.decode()
        assert "because of night" in page, query
        assert "because of dawn" not in page, query


def test_nobody_changes_the_trail_and_only_administrators_see_it(client, trail):
    entry = AuditEntry.objects.first()
    client.force_login(make_user("", username="root", is_staff=True, is_superuser=True))
    assert client.get(f"{TRAIL}add/").status_code == 403
    assert client.post(f"{TRAIL}{entry.pk}/change/", {"detail": "nothing"}).status_code == 403
    assert client.post(f"{TRAIL}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    client.force_login(make_user("reviewers", username="rev", is_staff=True))
    assert client.get(TRAIL).status_code == 403


@pytest.mark.parametrize("model", [Hypervisor, HostStorage, FileSystem, OperatingSystem, Benchmark, Workload])
def test_a_slug_of_the_catalogue_is_given_once(client, model):
    """Addresses that were cited are spelled with it."""
    client.force_login(make_user("", username="root", is_staff=True, is_superuser=True))
    entries = f"/admin/experiments/{model._meta.model_name}/"
    assert 'name="slug"' in client.get(f"{entries}add/").content.decode()
    entry = model.objects.create(slug="quokka", name="Quokka")
    page = client.get(f"{entries}{entry.pk}/change/").content.decode()
    assert ('name="name"' in page, 'name="slug"' in page) == (True, False)


def test_an_entry_of_the_catalogue_keeps_its_slug_whatever_is_posted(client):
    client.force_login(make_user("", username="root", is_staff=True, is_superuser=True))
    entry = Benchmark.objects.create(slug="quokka", name="Quokka")
    form = {"slug": "wombat", "name": "Wombat", "aliases": "[]"}
    assert client.post(f"/admin/experiments/benchmark/{entry.pk}/change/", form).status_code == 302
    entry.refresh_from_db()
    assert (entry.slug, entry.name) == ("quokka", "Wombat")
