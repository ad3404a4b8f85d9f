"""The releases that an answer rests on, beside the newest that its reader may see here."""

import json

import pytest
from django.core.cache import caches
from django.utils.timezone import now

from experiments.case_studies import lifecycle
from modelling.answer_store import releases
from modelling.answer_store.releases import _numbered_release
from modelling.answer_store.selectors import current_snapshot
from modelling.evidence import names
from modelling.evidence.question import Question
from modelling.models import Sitting
from tests.factories import make_case_study, make_configuration, make_host, make_measurement, make_sitting, make_user

pytestmark = pytest.mark.django_db
ANSWER = "/api/v1/rankings/guest-fs/?workload=varmail&hypervisor=kvm"
PAGE = "/?axis=guest-fs&workload=varmail&hypervisor=kvm"


def make_study(slug, *, publish=True, hypervisor="kvm", **stated):
    study = make_case_study(slug)
    for guest_fs, value in (("ext4", 100.0), ("xfs", 200.0)):
        of_host = make_configuration(study, hypervisor=hypervisor, guest_fs=guest_fs, host_fs="zfs", **stated)
        make_measurement(value, configuration=of_host, workload="varmail")
    if publish:
        lifecycle.publish([study], reason="measured")
    return study


@pytest.fixture
def told(client):
    """Give a function that asks an answer what it tells of releases, keyed by the kind of fact and what it is of."""

    def ask(address=ANSWER):
        return {(line["fact"], line["of"]): line for line in json.loads(client.get(address).content)["releases"]}

    ask.page = lambda: client.get(f"{PAGE}&tab=evidence").content.decode()
    return ask


def test_what_the_evidence_states_stands_beside_the_newest_that_was_published(told):
    make_study("old", hypervisor_release="qemu-kvm 1.5.3", host_kernel="3.10.0")
    make_study("older", hypervisor_release="QEMU 1.4.2", host_fs_release="0.6.4.2")
    make_study("new", hypervisor="qemu-tcg", host_kernel="6.10.1")
    of_kvm = told()["hypervisor_release", "kvm"]
    assert of_kvm["stated"] == ["QEMU 1.4.2", "qemu-kvm 1.5.3"]  # oldest first, by QEMU's own number
    assert (of_kvm["not_stated_by"], of_kvm["newest"], of_kvm["is_behind"]) == (0, "qemu-kvm 1.5.3", False)
    kernel = told()["host_kernel", ""]
    assert (kernel["stated"], kernel["not_stated_by"]) == (["3.10.0"], 1)
    assert (kernel["newest"], kernel["seen_in"], kernel["is_behind"]) == ("6.10.1", "case study new", True)
    assert kernel["case_study"] == "new"
    assert '<a class="small" href="/case-studies/new/">case study new</a>' in told.page()
    zfs = told()["host_fs_release", "zfs"]
    assert (zfs["label"], zfs["stated"]) == ("Release of the host's file system: ZFS dataset", ["0.6.4.2"])


def test_of_many_case_studies_the_newest_count(told, monkeypatch):
    monkeypatch.setattr(releases, "_MOST_STUDIES", 2)
    for slug, kernel in (("a", "6.1"), ("b", "6.2"), ("c", "")):
        make_study(slug, host_kernel=kernel)
    assert (told()["host_kernel", ""]["stated"], told()["host_kernel", ""]["not_stated_by"]) == (["6.2"], 1)


def test_what_nobody_states_is_said_to_be_not_stated(told, client):
    make_study("silent")
    assert {place: (line["stated"], line["newest"]) for place, line in told().items()} == {
        (fact, ""): ([], "")
        for fact in ("hypervisor_release", "host_kernel", "host_fs_release", "guest_kernel", "guest_fs_release")
    }
    page = client.get(f"{PAGE}&tab=evidence").content.decode()
    assert "Releases, then and now" in page
    assert page.count('<span class="muted">not stated</span>') >= 5


def test_only_what_the_question_is_about_counts(told):
    study = make_study("two", host_kernel="5.15")
    make_measurement(
        configuration=make_configuration(study, hypervisor="xen", host_kernel="6.12", hypervisor_release="4.17"),
        workload="varmail",
    )
    assert told()["host_kernel", ""]["stated"] == ["5.15"]
    assert ("hypervisor_release", "xen") not in told()


def test_a_draft_is_not_seen_and_a_publication_is_seen_at_once(told, client):
    make_study("known", host_kernel="5.15")
    draft = make_study("draft", publish=False, hypervisor="qemu-tcg", host_kernel="6.12")
    before = client.get(ANSWER)
    assert told()["host_kernel", ""]["newest"] == "5.15"
    lifecycle.publish([draft], reason="measured")
    assert told()["host_kernel", ""]["newest"] == "6.12"
    assert client.get(ANSWER)["ETag"] != before["ETag"]


def test_an_answer_keeps_its_tag_where_no_newer_release_was_published(client):
    for hypervisor in ("kvm", "xen"):  # so that it matters which one is asked for, and the answer is kept
        make_study(hypervisor, hypervisor=hypervisor, host_kernel="5.15")
    before = client.get(ANSWER)
    natively = make_case_study("natively")  # which bears on no answer under a hypervisor
    make_measurement(configuration=make_configuration(natively, hypervisor=None, host_kernel="4.4"))
    lifecycle.publish([natively], reason="measured")
    assert client.get(ANSWER, headers={"if-none-match": before["ETag"]}).status_code == 304


def test_a_permanent_address_tells_no_releases(told, client):
    make_study("known", host_kernel="5.15")
    permanent = json.loads(client.get(ANSWER).content)["permanent"]
    before = client.get(permanent).content
    make_study("new", hypervisor="qemu-tcg", host_kernel="6.12")
    assert told(permanent) == {}
    assert client.get(permanent).content == before


def test_members_see_what_their_laboratory_measured_and_others_only_what_it_shared(told, client):
    make_study("known", guest_kernel="5.15", guest_fs_release="e2fsprogs 1.46.2")
    ada = make_user(username="ada")
    facts = {"virtual": "yes", "kernel": "6.12.3", "e2fsprogs": "1.47.1"}
    sitting = make_sitting(ada, facts=facts, workload="varmail")
    Sitting.objects.filter(pk=sitting.pk).update(ended_at=now())
    assert told()["guest_kernel", ""]["newest"] == "5.15"
    client.force_login(ada)
    assert told()["guest_kernel", ""]["newest"] == "5.15"
    kernel = told(f"{ANSWER}&here=ours")["guest_kernel", ""]
    assert (kernel["newest"], kernel["is_behind"]) == ("6.12.3", True)
    assert kernel["seen_in"] == f"laboratory {sitting.laboratory.name}"
    tools = told(f"{ANSWER}&here=ours")["guest_fs_release", "ext4"]
    assert (tools["stated"], tools["newest"]) == (["e2fsprogs 1.46.2"], "e2fsprogs 1.47.1")
    assert "6.12.3" in client.get(f"{PAGE}&here=ours&tab=evidence").content.decode()
    client.logout()
    assert "6.12.3" not in client.get(f"{PAGE}&tab=evidence").content.decode()
    Sitting.objects.filter(pk=sitting.pk).update(case_study=make_study("shared", hypervisor="qemu-tcg"))
    releases.forget()
    assert told()["guest_kernel", ""]["newest"] == "6.12.3"


def test_operators_see_what_their_hosts_run(client):
    make_study("known", host_kernel="5.15")
    olga = make_user("operators", username="olga")
    make_host("tower", name="Tower", facts={"kernel": "6.8.12", "running": "QEMU 9.0.2"}, registered_by=olga)
    make_host("gone", facts={"kernel": "7.0.1"}, archived_at=now(), registered_by=olga)
    make_host("theirs", facts={"kernel": "6.9.7"}, registered_by=make_user("operators"))
    address = f"{PAGE}&tab=evidence"
    assert "6.8.12" not in client.get(address).content.decode()
    client.force_login(olga)
    page = client.get(address).content.decode()
    assert "6.8.12" in page
    assert "host Tower" in page
    assert "7.0.1" not in page
    assert "6.9.7" not in page
    client.force_login(make_user("operators"))
    assert "6.8.12" not in client.get(address).content.decode()  # a rendered answer is kept for each operator alone
    client.logout()
    assert "6.8.12" not in client.get(address).content.decode()


def test_more_configurations_and_sittings_take_no_more_queries(django_assert_num_queries):
    """Two for what is published, and one for the configurations behind the answer."""
    question = Question("guest-fs", "varmail", hypervisor="kvm")
    make_study("one", host_kernel="5.15")
    for more in (("two",), ("three", "four", "five")):
        for slug in more:
            make_study(slug, host_kernel="6.1", hypervisor_release="QEMU 8.2")
        result = current_snapshot(question).result
        names.names()
        caches["worked-out"].clear()
        with django_assert_num_queries(3):
            releases.releases(question, result)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("6.9.1", "6.10.0"),
        ("0.6.4.2", "0.7.0-rc4-92"),
        ("0.7.0-rc4-92", "0.7.0"),
        ("qemu-kvm 1.5.3", "QEMU 10.1.3"),
        ("Kata 2.3.0, QEMU 6.2.0", "QEMU 7.0.0, libvirt 9.0"),
    ],
)
def test_releases_are_ordered_by_their_numbers(earlier, later):
    assert _numbered_release(earlier, "").number < _numbered_release(later, "").number


def test_what_has_no_number_is_the_newest_of_nothing():
    assert _numbered_release("VMkernel", "") is None
