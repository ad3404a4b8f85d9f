"""manage.py import_table: published tables with their conditions into drafts, and what is said of wrong ones."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from experiments.models import CaseStudy, Measurement
from tests.experiments.imports.tables.test_names import CONDITIONS, PROPOSED, TABLE

pytestmark = pytest.mark.django_db

LEFT_OUT = """
[[leave_out]]
lines = [6]
reason = "measured twice"
"""


@pytest.fixture
def files(tmp_path, published_evidence):
    """Return a function that writes a pair of files, of a study of this name, and gives their paths."""

    def write(name: str = "quokka-storage", table: str = TABLE, conditions: str = CONDITIONS + PROPOSED) -> list[str]:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "table.md").write_text(table)
        (folder / "conditions.toml").write_text(conditions.replace('"quokka-storage"', f'"{name}"'))
        return [str(folder / "table.md"), str(folder / "conditions.toml")]

    return write


def test_a_study_comes_in_and_is_published(files, capsys):
    call_command("import_table", *files(conditions=CONDITIONS + PROPOSED + LEFT_OUT), "--publish")

    study = CaseStudy.objects.get(slug="quokka-storage")
    assert (study.status, study.storage.description) == ("published", "Two SSDs")
    assert "Left out of the table, line 6: measured twice." in study.notes
    stdout = capsys.readouterr().out
    assert "line 6: left out, measured twice" in stdout
    assert "9 measurements from 1 file: in the case study quokka-storage." in stdout
    assert "  Mail server 9" in stdout
    rows = Measurement.objects.filter(configuration__case_study=study, operation="read")
    assert list(rows.order_by("line").values_list("line", "configuration__backend", "value", "unit")) == [
        (3, "lvm-thin", 100.0, "MB/s"),
        (4, "zvol", 80.0, "MB/s"),
        (5, "quokka", 60.0, "MB/s"),
    ]


def test_one_bad_study_stops_no_other_and_each_error_has_line_and_column(files, capsys):
    unknown = CONDITIONS.replace("Proxmox VE", "Kwm") + PROPOSED
    paths = [
        *files("wrong", TABLE.replace("| 100 ", "| many ").replace("| 70 ", "| 70 GX/s ")),
        *files("unknown", conditions=unknown),
        *files("odd", conditions='kdb = "no"'),
    ]

    with pytest.raises(CommandError, match="3 of 4 tables were not taken in"):
        call_command("import_table", *paths, *files())

    studies = CaseStudy.objects.filter(slug__in=["quokka-storage", "wrong", "unknown"])
    assert list(studies.values_list("slug", "status")) == [("quokka-storage", "draft")]
    stderr = capsys.readouterr().err
    assert "wrong/table.md, line 3, read MB/s: found many, allowed is a number such as" in stderr
    assert "wrong/table.md, line 4, unit: found GX/s, allowed is one of MiB/s" in stderr
    assert "unknown/table.md, line 3, hypervisor: found Kwm" in stderr
    assert "allowed is a name of the catalogue (nearest are" in stderr
    assert "odd/conditions.toml: the file: found the key 'kdb', allowed are case_study" in stderr


def test_a_folder_of_folders_is_taken_in_and_a_file_alone_is_not(files, tmp_path):
    with pytest.raises(CommandError, match="found no conditions behind it"):
        call_command("import_table", files()[0])
    call_command("import_table", str(tmp_path), "--submit")
    assert CaseStudy.objects.get(slug="quokka-storage").status == "submitted"


def test_somebody_who_may_not_create_is_refused(files):
    User.objects.create_user("reader")
    with pytest.raises(CommandError, match="may not create"):
        call_command("import_table", *files(), "--user", "reader")
    with pytest.raises(CommandError, match="no user"):
        call_command("import_table", *files(), "--user", "nobody")
    assert not CaseStudy.objects.filter(slug="quokka-storage").exists()


def test_a_corrected_table_replaces_its_draft_unless_somebody_changed_that(files, capsys):
    call_command("import_table", *files())
    call_command("import_table", *files(table=TABLE.replace("| 100 ", "| 101 ")))
    assert "draft quokka-storage, in place of the earlier draft" in capsys.readouterr().out
    rows = Measurement.objects.filter(configuration__case_study__slug="quokka-storage", operation="read")
    assert sorted(rows.values_list("value", flat=True))[-1] == 101.0

    with pytest.raises(CommandError):  # what cannot be read replaces nothing
        call_command("import_table", *files(table=TABLE.replace("| 100 ", "| many ")))
    assert rows.count() == 4

    study = CaseStudy.objects.get(slug="quokka-storage")
    study.audit_entries.create(action="edited")
    with pytest.raises(CommandError):
        call_command("import_table", *files())
    assert "The short name quokka-storage is not available" in capsys.readouterr().err
