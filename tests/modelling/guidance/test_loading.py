"""manage.py import_guidance: the files of makers' advice into the database."""

import csv
import shutil

import pytest
from django.core.management import CommandError, call_command

from kdb.signals import database_prepared
from modelling.estimation.ranking import METHOD
from modelling.guidance import loading, selectors
from modelling.guidance.content import Statement
from modelling.models import Advice, Contradiction, RankingSnapshot

pytestmark = pytest.mark.django_db

NAMES = ("guidance.csv", "guidance_defaults.csv", "guidance_contradictions.csv")


@pytest.fixture
def files(tmp_path):
    for name in NAMES:
        shutil.copy(loading.PATH.with_name(name), tmp_path)
    return tmp_path


def entry_rows(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def rewrite(path, change) -> None:
    rows = entry_rows(path)
    change(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def stored_rows():
    return [*Advice.objects.order_by("code").values()], [*Contradiction.objects.values()]


def test_every_row_of_the_fixtures_is_loaded_and_passes_full_clean():
    call_command("import_guidance", verbosity=0)
    statements = [row for name in NAMES[:2] for row in entry_rows(loading.PATH.with_name(name))]
    assert {row["id"] for row in statements} == set(Advice.objects.values_list("code", flat=True))
    assert (len(statements), Contradiction.objects.count()) == (413 + 73, 31)
    for row in (*Advice.objects.all(), *Contradiction.objects.all()):
        row.full_clean()
    for statement in selectors.plain(Statement, Advice.objects.all()):
        assert statement.summary
        assert len(statement.statement.split()) <= 25


def test_importing_again_changes_nothing(files, capsys):
    call_command("import_guidance", files / NAMES[0])
    before = stored_rows()
    call_command("import_guidance", files / NAMES[0])
    assert stored_rows() == before
    assert "guidance.csv: 413 rows" in capsys.readouterr().out


def test_importing_a_changed_file_updates_by_id_and_deletes_what_is_gone(files):
    loading.load(files / NAMES[0])
    pk = Advice.objects.get(code="pve-qm-01").pk
    rewrite(files / NAMES[0], lambda rows: (rows[0].update(statement="Use virtio."), rows.pop(1)))
    loading.load(files / NAMES[0])
    assert Advice.objects.get(code="pve-qm-01").statement == "Use virtio."
    assert Advice.objects.get(code="pve-qm-01").pk == pk
    assert not Advice.objects.filter(code="pve-qm-02").exists()


@pytest.mark.parametrize(
    ("name", "field", "value", "allowed"),
    [
        (NAMES[0], "axis", "cash-mode", "cache-mode"),
        (NAMES[0], "hypervisor", "kvm|kmv", "proxmox"),
        (NAMES[0], "recommended", "skuzzy", "virtio"),
        (NAMES[0], "discouraged", "ide|ide", "sata"),
        (NAMES[0], "address", "", "https://"),
        (NAMES[0], "title", "", "cannot be blank"),
        (NAMES[2], "one_side", "nobody-01", "pve-qm-10"),
        (NAMES[2], "other_side", "", "one id or several"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_half_done(files, name, field, value, allowed):
    loading.load(files / NAMES[0])
    before = stored_rows()
    rewrite(files / NAMES[0], lambda rows: rows[5].update(statement="Changed."))
    rewrite(files / name, lambda rows: rows[0].update({field: value}))
    with pytest.raises(CommandError) as refused:
        call_command("import_guidance", files / NAMES[0])
    found = f'"{value}"'
    assert f"{name}, line 2, {field}: found {found}, allowed is " in str(refused.value)
    assert allowed in str(refused.value)
    assert stored_rows() == before


def test_an_id_that_is_there_twice_is_refused(files):
    rewrite(files / NAMES[1], lambda rows: rows[0].update(id="pve-qm-01"))
    with pytest.raises(CommandError, match=r"guidance_defaults.csv, line 2, id: .* guidance.csv, line 2 "):
        call_command("import_guidance", files / NAMES[0])


def test_a_first_start_loads_it_and_a_later_one_brings_what_changed(settings):
    database_prepared.send_robust(sender=None)
    assert Advice.objects.count() == 486
    Advice.objects.filter(code="pve-qm-01").update(statement="Old.")
    settings.KDB_RELEASE_EVIDENCE = False
    loading.load_bundled_advice()
    assert Advice.objects.get(code="pve-qm-01").statement == "Old."
    settings.KDB_RELEASE_EVIDENCE = True
    loading.load_bundled_advice()
    assert Advice.objects.get(code="pve-qm-01").statement != "Old."


def test_what_was_answered_by_other_advice_is_answered_anew(files):
    call_command("import_guidance", str(files / "guidance.csv"), verbosity=0)
    kept = RankingSnapshot.objects.create(question="q", method=METHOD, revision=1, workload="varmail", result={})
    call_command("import_guidance", str(files / "guidance.csv"), verbosity=0)
    assert RankingSnapshot.objects.filter(pk=kept.pk).exists()
    rewrite(files / "guidance.csv", lambda rows: rows[0].update(statement="Another."))
    call_command("import_guidance", str(files / "guidance.csv"), verbosity=0)
    assert not RankingSnapshot.objects.filter(pk=kept.pk).exists()
