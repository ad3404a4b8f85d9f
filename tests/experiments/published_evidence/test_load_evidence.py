"""Loading the published evidence: once, whole or not at all, and with plain words where a file is wrong."""

import csv
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from experiments.case_studies import lifecycle, retraction
from experiments.models import (
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    FileSystem,
    KnowledgeRevision,
    Measurement,
    OrdinalFinding,
    Server,
)
from experiments.published_evidence import load as evidence
from experiments.published_evidence.files import Entry, EvidenceError, as_entries, read_csv, read_json
from experiments.published_evidence.rows import resolve, resolve_list, values_of


@pytest.fixture
def directory(tmp_path) -> Path:
    """Return a copy of the files that a test may change."""
    return Path(shutil.copytree(evidence.DIRECTORY, tmp_path / "evidence"))


def rows_in_database() -> int:
    return sum(model.objects.count() for model in apps.get_app_config("experiments").get_models())


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def change_row(path: Path, line: int, **cells: str) -> None:
    """Other cells in the row on `line` of a CSV file; line 1 is the header."""
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    for column, text in cells.items():
        table[line - 1][table[0].index(column)] = text
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)


def change_json(path: Path, change: Callable[[dict], None]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


# Once


@pytest.mark.both
@pytest.mark.django_db
def test_the_first_load_adds_everything_and_publishes_it_as_one_revision():
    report = evidence.load()

    assert "added 158 measurements" in report.lines()
    assert "added 98 derived values" in report.lines()
    assert "added 36 ordinal findings" in report.lines()
    assert "added 282 claims" in report.lines()
    assert report.lines()[-1] == "published 7 case studies as revision 1"
    revision = KnowledgeRevision.objects.get()
    assert revision.published_case_studies.count() == CaseStudy.objects.count() == 7


def test_the_second_load_adds_nothing_and_says_so(published_evidence):
    before = rows_in_database()

    report = evidence.load()

    assert report.lines() == ["nothing to add: the database holds all of the published evidence"]
    assert rows_in_database() == before
    assert KnowledgeRevision.objects.count() == 1


@pytest.mark.django_db
def test_a_load_takes_few_queries(django_assert_max_num_queries):
    # Claims that ask alike read what they can reach, and no more: a dozen small queries for each kind of question.
    with django_assert_max_num_queries(620):
        evidence.load()
    with django_assert_max_num_queries(100):
        evidence.load()


@pytest.mark.django_db(transaction=True)
def test_of_two_loads_at_once_one_adds_everything_and_the_other_nothing():
    start = threading.Barrier(2)
    lines, errors = [], []

    def load() -> None:
        try:
            start.wait()
            lines.append(evidence.load().lines())
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not errors
    assert sorted(map(len, lines))[0] == 1
    assert Measurement.objects.count() == 158
    assert KnowledgeRevision.objects.count() == 1


def test_a_retracted_case_study_stays_retracted(published_evidence):
    retraction.retract(CaseStudy.objects.get(slug="p2"), reason="The host file system is in doubt.")

    assert evidence.load().lines() == ["nothing to add: the database holds all of the published evidence"]
    assert CaseStudy.objects.get(slug="p2").status == CaseStudy.Status.RETRACTED


# What the files say differently later


def test_a_description_that_changed_is_taken_over(directory, published_evidence):
    replace(directory / "catalogue.json", "Copy-on-write trees throughout", "Trees that copy on write")
    change_row(directory / "measurements.csv", 2, note="Another note.")
    change_row(directory / "claims.csv", 2, statement="Another wording.")
    change_row(directory / "claims.csv", 3, workloads="varmail")

    assert evidence.load(directory).lines() == ["updated 1 file system", "updated 1 measurement", "updated 2 claims"]

    assert FileSystem.objects.get(slug="btrfs").description.startswith("Trees that copy on write")
    assert Claim.objects.get(code="P0-C01").statement == "Another wording."
    assert [workload.slug for workload in Claim.objects.get(code="P0-C02").workloads.all()] == ["varmail"]


def test_a_description_that_was_taken_out_becomes_empty(directory, published_evidence):
    change_json(directory / "case_studies.json", lambda content: content["servers"][0].pop("ram_gib"))

    assert evidence.load(directory).lines() == ["updated 1 server"]
    assert Server.objects.get(slug="p0").ram_gib is None


def test_a_correction_that_breaks_a_rule_is_named_with_it(directory, published_evidence):
    replace(directory / "catalogue.json", '"symbol": "Hp-proc", "position": 3', '"symbol": "Hp-proc"')

    with pytest.raises(EvidenceError, match=r"component_names 33: breaks the rule .symbol with position."):
        evidence.load(directory)


@pytest.mark.parametrize(
    ("name", "line", "cells", "message"),
    [
        ("measurements.csv", 6, {"value": "2.7"}, 'line 6, value: found "2.7", allowed is 2.6, as it was published'),
        ("measurements.csv", 6, {"repetitions": ""}, 'line 6, repetitions: found "", allowed is 3, as it was'),
        ("measurements.csv", 133, {"alternative_value": "12.05"}, "line 133, alternative_value"),
        ("derived.csv", 2, {"low": "1412.79"}, 'line 2, low: found "1412.79", allowed is 1412.78, as it was'),
        ("derived.csv", 2, {"is_evidence": "true"}, 'line 2, is_evidence: found "true", allowed is False, as it'),
        ("ordinal_findings.csv", 5, {"table_list": "worst"}, 'line 5, table_list: found "worst", allowed is best'),
        ("ordinal_findings.csv", 5, {"case_studies": "p3-cs1"}, "line 5, case_studies"),
    ],
)
def test_a_published_figure_that_changed_is_refused(directory, name, line, cells, message, published_evidence):
    change_row(directory / name, line, **cells)

    with pytest.raises(EvidenceError) as error:
        evidence.load(directory)
    assert str(error.value).startswith(f"{name}, ")
    assert message in str(error.value)


def test_a_published_configuration_keeps_what_rankings_compare(directory, published_evidence):
    replace(directory / "case_studies.json", '"host_fs": "vmfs"', '"host_fs": "ext4"')

    with pytest.raises(EvidenceError, match=r'host_fs: found "ext4", allowed is vmfs, as it was published'):
        evidence.load(directory)


def test_a_new_row_does_not_join_published_evidence(directory, published_evidence):
    change_row(directory / "measurements.csv", 6, vm_count="4")

    with pytest.raises(EvidenceError, match=r"measurements\.csv, line 6: new evidence for a stored case study"):
        evidence.load(directory)


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("measurements.csv", slice(-1, None)),
        ("measurements.csv", slice(1, 5)),  # all of one configuration
        ("derived.csv", slice(-1, None)),
        ("ordinal_findings.csv", slice(1, None)),
    ],
)
def test_rows_that_were_taken_out_are_refused(directory, name, gone, published_evidence):
    lines = (directory / name).read_text(encoding="utf-8").splitlines(keepends=True)
    del lines[gone]
    (directory / name).write_text("".join(lines), encoding="utf-8")

    with pytest.raises(EvidenceError, match="the files no longer have it"):
        evidence.load(directory)


def test_a_new_case_study_is_published_by_itself(directory, published_evidence):
    def add(content: dict) -> None:
        new = content["case_studies"][-1] | {"slug": "p4-again", "title": "The same again"}
        content["case_studies"].append(new)

    change_json(directory / "case_studies.json", add)

    assert evidence.load(directory).lines() == [
        "added 1 case study",
        "added 3 configurations",
        "published 1 case study as revision 2",
    ]
    assert CaseStudy.objects.get(slug="p4-again").published_revision_id == 2
    assert CaseStudy.objects.get(slug="p4").published_revision_id == 1


# All or nothing


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["measurements.csv", "derived.csv", "ordinal_findings.csv", "claims.csv"])
def test_a_broken_row_in_the_middle_leaves_the_database_untouched(directory, name):
    workload = "workloads" if name == "claims.csv" else "workload"
    change_row(directory / name, 20, **{workload: "database"})

    with pytest.raises(EvidenceError, match=f"{name}, line 20, {workload}"):
        evidence.load(directory)
    assert rows_in_database() == 0


@pytest.mark.both
@pytest.mark.django_db
def test_a_failed_publication_leaves_the_database_untouched(monkeypatch):
    def refuse(*args, **kwargs):
        raise lifecycle.CaseStudyError("no")

    monkeypatch.setattr(lifecycle, "publish", refuse)

    with pytest.raises(lifecycle.CaseStudyError):
        evidence.load()
    assert rows_in_database() == 0


# In plain words


CELL = {"value": "1.3", "vm_count": "2", "unit": "MiB/s", "metric": "throughput", "source": "Table III"}
BOUND = {**CELL, "route": "native_drop", "quantity": "bound", "low": "1", "is_evidence": "false", "formula": "1/x"}


@pytest.mark.parametrize(
    ("model", "fields", "changed", "message"),
    [
        (Measurement, CELL, {"value": "1,3"}, 'value: found "1,3", allowed is a finite number'),
        (Measurement, CELL, {"value": "nan"}, 'value: found "nan", allowed is a finite number'),
        (Measurement, CELL, {"value": ""}, 'value: found "", allowed is a finite number'),
        (Measurement, CELL, {"vm_count": "1.5"}, 'vm_count: found "1.5", allowed is a whole number, not negative'),
        (Measurement, CELL, {"vm_count": "-1"}, 'vm_count: found "-1", allowed is a whole number, not negative'),
        (Measurement, CELL, {"unit": "GB/s"}, 'unit: found "GB/s", allowed is one of MiB/s, MB/s, KiB/s, ops/s'),
        (Measurement, CELL, {"source": "x" * 121}, "allowed is text of 0 to 120 characters"),
        (Measurement, CELL, {"speed": "1"}, 'speed: found "1", allowed is nothing here; the fields are'),
        (DerivedValue, BOUND, {"quantity": "guess"}, "allowed is one of point, interval, bound, mean"),
        (DerivedValue, BOUND, {"is_evidence": "yes"}, 'is_evidence: found "yes", allowed is true or false'),
        (DerivedValue, BOUND, {"formula": ""}, 'formula: found "", allowed is text of 1 to any number of characters'),
    ],
)
def test_a_wrong_cell_is_named_with_what_is_allowed(model, fields, changed, message):
    def read(**changed):
        return values_of(model, Entry("a.csv, line 9", fields | changed), {}, without=("configuration", "variant"))

    assert read()["value"] == 1.3
    with pytest.raises(EvidenceError) as error:
        read(**changed)
    assert str(error.value).startswith("a.csv, line 9, ")
    assert message in str(error.value)


def test_a_name_that_no_row_has_is_named_with_those_there_are():
    entry = Entry("a.csv, line 9", {"one": "mail", "several": "varmail varmail"})
    rows = {"varmail": 1, "database": 2}
    with pytest.raises(EvidenceError, match='one: found "mail", allowed is one of database, varmail'):
        resolve(entry, "one", rows)
    with pytest.raises(EvidenceError, match=r"several: .*allowed is these with spaces between, each once: database, v"):
        resolve_list(entry, "several", rows)


@pytest.mark.both
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "line", "cells", "message"),
    [
        ("measurements.csv", 9, {"value": "0"}, 'line 9: breaks the rule "value is positive"'),
        ("measurements.csv", 9, {"alternative_value": "3"}, 'breaks the rule "ambiguous has both readings"'),
        ("derived.csv", 9, {"low": "80"}, 'line 9: breaks the rule "low is below high"'),
        ("derived.csv", 9, {"value": "80"}, 'line 9: breaks the rule "value is within its limits"'),
        ("measurements.csv", 7, {"vm_count": "1"}, "line 7 repeats measurements.csv, line 6: same configuration, v"),
        ("claims.csv", 9, {"code": "P0-C01"}, "line 9 repeats claims.csv, line 2: same code"),
    ],
)
def test_a_row_that_breaks_a_rule_is_named_with_it(directory, name, line, cells, message):
    change_row(directory / name, line, **cells)

    with pytest.raises(EvidenceError) as error:
        evidence.load(directory)
    assert str(error.value).startswith(f"{name}, line {line}")
    assert message in str(error.value)
    assert rows_in_database() == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("catalogue.json", '"kind": "disputed"', '"kind": "type-3"', 'kind: found "type-3", allowed is one of'),
        ("catalogue.json", '"operation": 1', '"operation": 1.5', "operation: found 1.5, allowed is one of 1, 2"),
        ("catalogue.json", '"slug": "kvm",', "", "slug: found nothing, allowed is text of 1 to 40"),
        ("case_studies.json", '"server": "p0"', '"server": "p9"', 'server: found "p9", allowed is one of p0, p1'),
        ("case_studies.json", '"run_seconds": 120', '"status": "draft"', 'status: found "draft", allowed is nothing'),
        ("case_studies.json", '"host_fs": "xfs"', '"host_fs": 5', "host_fs: found 5, allowed is one of btrfs, ext4"),
        ("case_studies.json", '"vm_counts": [1, 2, 3, 4]', '"vm_counts": "1-4"', "allowed is a list of whole numbers"),
        ("case_studies.json", '"workload": "webserver"', '"workload": "varmail"', "each once in a case study"),
    ],
)
@pytest.mark.sqlite
def test_a_wrong_entry_is_named_with_what_is_allowed(directory, name, old, new, message):
    replace(directory / name, old, new)

    with pytest.raises(EvidenceError) as error:
        evidence.load(directory)
    assert str(error.value).startswith(f"{name}, ")
    assert message in str(error.value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("workloads", {}, "workloads: found {}, allowed is a list of objects"),
        ("configurations", [1], "configurations: found [1], allowed is a list of objects"),
        ("shared_by_configurations", 1, "shared_by_configurations: found 1, allowed is an object"),
    ],
)
def test_a_part_of_another_shape_is_named(directory, part, value, message):
    change_json(directory / "case_studies.json", lambda content: content["case_studies"][0].update({part: value}))

    with pytest.raises(EvidenceError) as error:
        evidence.load(directory)
    assert str(error.value).startswith("case_studies.json, case_studies p0, ")
    assert str(error.value).endswith(message)


@pytest.mark.django_db
def test_findings_hold_for_case_studies_that_ran_the_same(directory):
    change_row(directory / "ordinal_findings.csv", 2, case_studies="p0 p3-cs1")

    with pytest.raises(EvidenceError, match=r"line 2, workload: found .*, allowed is one that these case studies ran"):
        evidence.load(directory)


# Files


def test_a_csv_file_may_begin_with_a_byte_order_mark_and_hold_line_breaks(tmp_path):
    (tmp_path / "a.csv").write_bytes('\ufeffone,two\n1,"a\nb"\n2,c\n'.encode())
    first, second = read_csv(tmp_path / "a.csv", ("one", "two"))
    assert first.fields == {"one": "1", "two": "a\nb"}
    assert second.place == "a.csv, line 4"


def test_a_csv_file_is_read_with_its_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('one,two\n1,"a, b"\n\n2,\n', encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"a\.csv, line 3: found 0 cells, allowed is 2"):
        read_csv(path, ("one", "two"))

    path.write_text('two,one\n1,"a, b"\n2,\n', encoding="utf-8")
    assert read_csv(path, ("one", "two")) == [
        Entry("a.csv, line 2", {"two": "1", "one": "a, b"}),
        Entry("a.csv, line 3", {"two": "2", "one": ""}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"one\n1\n", "a.csv, line 1: column two is missing"),
        (b"one,two,three\n", "a.csv, line 1: column 'three' is one too many, allowed are one, two"),
        (b"one,two,two\n", "a.csv, line 1: column 'two' is one too many, allowed are one, two"),
        (b'one,two\n1,"2\n', "a.csv, line 2: unexpected end of data"),
        (b"one,two\n1,\xff\n", "a.csv: byte 10 is not UTF-8"),
        (b"", "a.csv, line 1: column one is missing"),
    ],
)
def test_a_csv_file_of_another_shape_is_refused(tmp_path, text, message):
    (tmp_path / "a.csv").write_bytes(text)
    with pytest.raises(EvidenceError) as error:
        read_csv(tmp_path / "a.csv", ("one", "two"))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"rows": [}', "a.json, line 1: Expecting value"),
        ('{\n"rows": [],\n}', "a.json, line 3: Expecting property name enclosed in double quotes"),
        ("[]", "a.json: found no object, allowed is one with rows"),
        ("{}", "a.json: section rows is missing"),
        ('{"rows": [], "x": []}', "a.json: section 'x' is one too many, allowed are rows"),
        ('{"rows": [1]}', "a.json, rows: found [1], allowed is a list of objects"),
    ],
)
def test_a_json_file_of_another_shape_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(EvidenceError) as error:
        read_json(tmp_path / "a.json", ("rows",))
    assert str(error.value).startswith(message)


def test_json_entries_are_called_by_their_names_or_numbers(tmp_path):
    (tmp_path / "a.json").write_text('{"rows": [{"a": 1}, {"slug": "x", "b": [{"c": 2}]}]}', encoding="utf-8")

    first, second = read_json(tmp_path / "a.json", ("rows",))["rows"]

    assert (first.place, second.place) == ("a.json, rows 1", "a.json, rows x")
    assert as_entries(second, "b") == [Entry("a.json, rows x, b 1", {"c": 2})]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(EvidenceError, match=r"claims\.csv: No such file or directory"):
        read_csv(tmp_path / "claims.csv", ("code",))


# The command


def test_the_command_prints_what_it_added(capsys, published_evidence):
    call_command("load_evidence", "--papers")
    assert capsys.readouterr().out == "nothing to add: the database holds all of the published evidence\n"


@pytest.mark.django_db
def test_the_command_fails_with_the_place_of_the_fault(directory):
    change_row(directory / "claims.csv", 283, kind="opinion")

    with pytest.raises(CommandError, match=r'^claims\.csv, line 283, kind: found "opinion", allowed is one of ord'):
        call_command("load_evidence", str(directory))
    assert not Configuration.objects.exists()
    assert not OrdinalFinding.objects.exists()
