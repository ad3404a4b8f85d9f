"""Measurements on a machine become a draft case study: its numbers, its configurations, its protocol."""

import numpy as np
import pytest

from experiments.case_studies import lifecycle
from experiments.models import CaseStudy, ImportBatch, Measurement, Workload
from experiments.records.checklist import protocol_of
from modelling.answers.estimate import ranking_of
from modelling.evidence.question import Question
from modelling.models import Sitting
from modelling.own_lab import laboratories, sessions, sharing
from modelling.own_lab.content import Choice
from modelling.own_lab.prior import knowledge_for, prior_in_laboratory
from tests.factories import entry, make_token, make_user, publish

pytestmark = pytest.mark.django_db

SPEED = {"ssd": 900.0, "hdd": 300.0}
HOST = {
    **{"kernel": "6.1.0-18", "virtual": "no", "cpu": "A processor", "cores": "8", "ram_gib": "32.0"},
    **{"fio": "3.33", "quiet_host": "yes", "storage_kind": "ssd"},
}
GUEST = {**HOST, "virtual": "yes", "hypervisor": "kvm"}


@pytest.fixture(autouse=True)
def _catalogue(published_evidence):
    """The names that measurements are filed under."""


def measured(user, facts, settings=None, **more):
    """A sitting that has ended."""
    settings = settings or {name: {"host_fs": "ext4"} for name in SPEED}
    choices = [Choice(name, name, given) for name, given in settings.items()]
    told = {"machine": "box", "workload": "varmail", "engine": "fio", "seconds": 30, "most_runs": 12, **more}
    sitting = sessions.begin_session(user.laboratories.get(), user, choices=choices, facts=facts, **told)
    while runs := sessions.planned_runs(sitting):
        for run in runs:
            sessions.report_run(sitting, run.number, SPEED.get(run.choice, 500.0) + run.number)
        sitting.refresh_from_db()
    return sitting


@pytest.fixture
def shared(client):
    def share(user, sitting, status: int = 200):
        headers = {"authorization": f"Bearer {make_token(user)}"}
        answer = client.post(f"/api/v1/sittings/{sitting.pk}/share/", headers=headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return share


def test_what_dies_before_the_sitting_knows_its_draft_leaves_none(ada, monkeypatch):
    sitting = measured(ada, HOST)

    def die(*args, **kwargs):
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr(Sitting, "save", die)
        with pytest.raises(SystemExit):
            sharing.share_session(sitting, ada, ImportBatch.Door.API)
    assert not CaseStudy.objects.filter(laboratory="ours").exists()
    assert sharing.share_session(sitting, ada, ImportBatch.Door.API) == CaseStudy.objects.get(laboratory="ours")


def test_its_runs_are_measurements_under_the_conditions_that_are_known(ada, shared):
    sitting = measured(ada, HOST)
    draft = CaseStudy.objects.get(slug=shared(ada, sitting)["case_study"])
    rows = Measurement.objects.filter(configuration__case_study=draft).select_related("configuration", "variant")
    runs = {
        (run.value, f"{'ssd' if run.choice == 0 else 'hdd'}-{run.choice + 1}")
        for run in sitting.runs.filter(disturbed="")
    }
    assert {(row.value, row.configuration.slug) for row in rows} == runs
    row = rows[0]
    assert (row.metric, row.unit, row.vm_count) == ("operation_rate", "ops/s", 0)
    assert (row.variant.benchmark.slug, row.variant.benchmark_version) == ("fio", "3.33")
    assert row.variant.parameters["direct"] == 1
    assert (row.configuration.host_fs.slug, row.configuration.host_kernel) == ("ext4", "6.1.0-18")
    assert (draft.status, draft.owner, draft.laboratory, draft.run_seconds) == ("draft", ada, "ours", 30)
    assert draft.server.ram_gib == 32.0
    assert "box" not in draft.title


def test_of_a_host_that_was_quiet_every_tick_is_met(ada, shared):
    alike = {name: {"host_fs": "ext4"} for name in ("one", "two")}  # so that each is run several times
    draft = CaseStudy.objects.get(slug=shared(ada, measured(ada, HOST, alike))["case_study"])
    assert [tick.name for tick in protocol_of(draft).ticks if tick.state != "met"] == []


def test_of_a_guest_it_says_what_the_guest_cannot_know(ada, shared):
    settings = {name: {"guest_fs": name, "backend": "zvol"} for name in ("ext4", "xfs")}
    facts = {name: text for name, text in GUEST.items() if name not in ("quiet_host", "storage_kind")}
    draft = CaseStudy.objects.get(slug=shared(ada, measured(ada, facts, settings))["case_study"])
    configuration = draft.configurations.get(guest_fs__slug="xfs")
    assert (configuration.backend, configuration.hypervisor.slug, configuration.vm_ram_gib) == ("zvol", "kvm", 32.0)
    ticks = {tick.name: tick for tick in protocol_of(draft).ticks}
    assert [name for name, tick in ticks.items() if tick.state != "met"] == [
        *("cache mode", "memory", "settings", "quiet host")
    ]
    assert "disk bus" in ticks["settings"].remedy


def test_shared_twice_it_is_one_draft_and_deleted_it_can_be_shared_again(ada, shared):
    sitting = measured(ada, HOST)
    assert shared(ada, sitting)["case_study"] == shared(ada, sitting)["case_study"]
    assert CaseStudy.objects.filter(owner=ada).count() == 1
    lifecycle.delete_draft(CaseStudy.objects.get(owner=ada))
    sitting.refresh_from_db()
    assert shared(ada, sitting)["case_study"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"facts": {"virtual": "yes"}}, "measure with --hypervisor NAME"),
        ({"settings": {name: {"host_fs": "strangefs"} for name in SPEED}}, "strangefs"),
        ({"facts": {**GUEST, "hypervisor": "bochs"}, "settings": {n: {"guest_fs": "xfs"} for n in SPEED}}, "bochs"),
    ],
)
def test_what_cannot_be_filed_is_said_and_leaves_no_draft(ada, shared, change, said):
    sitting = measured(ada, **{"facts": HOST, **change})
    assert said in shared(ada, sitting, 409)["detail"]
    assert not CaseStudy.objects.filter(owner=ada).exists()


def test_an_open_sitting_is_not_shared(ada, shared):
    choices = [Choice(name, name, {"host_fs": "ext4"}) for name in SPEED]
    told = {"machine": "box", "workload": "varmail", "engine": "fio", "seconds": 30, "most_runs": 12, "facts": HOST}
    assert (
        "is open"
        in shared(ada, sessions.begin_session(ada.laboratories.get(), ada, choices=choices, **told), 409)["detail"]
    )


def test_only_members_who_may_begin_a_draft_share(client, ada, shared):
    sitting = measured(ada, HOST)
    bob, eve = make_user("", username="bob"), make_user(username="eve")
    laboratories.add_member(ada.laboratories.get(), "bob")
    shared(bob, sitting, 403)
    shared(eve, sitting, 404)
    page = f"/laboratories/sittings/{sitting.pk}/"
    for user, status in ((bob, 403), (eve, 404)):
        client.force_login(user)
        assert client.post(page).status_code == status
    assert not CaseStudy.objects.filter(laboratory="ours").exists()


def test_the_page_shares_by_a_button_and_leads_to_the_draft(client, ada):
    sitting = measured(ada, HOST)
    page = f"/laboratories/sittings/{sitting.pk}/"
    client.force_login(ada)
    assert "Share it" in client.get(page).content.decode()
    answer = client.post(page)
    sitting.refresh_from_db()
    assert answer.url == f"/drafts/{sitting.case_study.slug}/"
    assert answer.url in client.get(page).content.decode()


def test_a_decision_says_how_the_one_to_use_is_made(ada):
    guests = {name: {"guest_fs": "xfs", "backend": "zvol", "cache_mode": "none"} for name in SPEED}
    lines = sessions.decide(measured(ada, GUEST, guests)).set_up
    assert lines == (
        '# Proxmox VE: pvesm add zfspool "$STORAGE" --pool "$ZFS_POOL" --content images',
        '# libvirt: <driver name="qemu" cache="none"/>',
        '# Proxmox VE: qm set "$VM" "--$BUS$NUMBER" "$STORAGE:$GIB,cache=none"',
        'mkfs.xfs "$GUEST_DEVICE"',
        'mount -t xfs "$GUEST_DEVICE" "$GUEST_FOLDER"',
    )
    lines = sessions.decide(measured(ada, HOST)).set_up
    made = ('mkfs.ext4 "$HOST_DEVICE"', 'mount -t ext4 "$HOST_DEVICE" "$HOST_FOLDER"')
    assert lines == made
    lines = sessions.decide(measured(ada, {**HOST, "kernel": "6.8.12-4-pve"})).set_up
    assert lines == (*made, 'pvesm add dir "$STORAGE" --path "$HOST_FOLDER" --content images')


def test_what_a_choice_states_in_words_that_nobody_knows_is_in_no_command(ada):
    strange = {"image_format": "raw", "allocation": "heaps", "volume_block_bytes": "big", "cache_mode": "$(reboot)"}
    guests = {name: {"guest_fs": "xfs", "backend": "file", **strange} for name in SPEED}
    lines = sessions.decide(measured(ada, GUEST, guests)).set_up
    assert 'qemu-img create -f raw "$HOST_FOLDER/$IMAGE" "$DISK_SIZE"' in lines
    assert not [line for line in lines if "reboot" in line or "heaps" in line or "big" in line]


def test_what_was_shared_and_published_is_told_once(ada):
    """Its cells are left out of what is known, for its sittings tell it; what else it published is its own."""
    sitting = measured(ada, GUEST, {name: {"guest_fs": name, "backend": "dir-ext4"} for name in ("ext4", "xfs")})
    question, own = Question("guest-fs", "varmail"), [("varmail", "ext4"), ("varmail", "xfs")]

    def known():
        public = knowledge_for(question, {"varmail": ranking_of(question)})
        return public, prior_in_laboratory(question, public, own, sitting.laboratory)

    _, before = known()
    draft = sharing.share_session(sitting, ada, ImportBatch.Door.API)
    publish(draft)
    public, told = known()
    assert draft.slug in set(public.cells["case_study"])
    assert spread(told) > 0.9 * spread(before)  # draws that had seen it are weighted, so it is nearly the same
    sitting.delete()
    _, published = known()
    assert spread(published) < 0.7 * spread(before)


def spread(known) -> float:
    """Return the standard deviation of the difference between two entries."""
    whole = known.covariances + known.extras
    apart = known.means[:, 1] - known.means[:, 0]
    inside = whole[:, 0, 0] + whole[:, 1, 1] - 2 * whole[:, 0, 1]
    return float(np.sqrt(known.weights @ (inside + (apart - known.weights @ apart) ** 2)))


def test_a_database_that_ran_is_filed_by_its_program(ada, shared):
    entry(Workload, "database")
    sitting = measured(ada, {**HOST, "pgbench": "15.8"}, workload="pgbench", engine="pgbench")
    draft = CaseStudy.objects.get(slug=shared(ada, sitting)["case_study"])
    variant = Measurement.objects.filter(configuration__case_study=draft)[0].variant
    assert (variant.workload.slug, variant.benchmark.slug, variant.benchmark_version) == ("database", "pgbench", "15.8")
    sqlite = measured(ada, {**HOST, "sqlite": "3.40.1"}, workload="sqlite", engine="sqlite")
    assert "sqlite" in shared(ada, sqlite, 409)["detail"]  # no benchmark of the catalogue yet
