"""From a published table and what is said beside it to rows of the template."""

import re
from textwrap import dedent

import pytest

from experiments.imports.tables.conditions import (
    FACTS,
    Conditions,
    ConditionsError,
    as_toml,
    conditions_of,
    read_conditions,
)
from experiments.imports.tables.conversion import convert
from experiments.imports.tables.parsing import PlainTable, tables_in
from experiments.models import CaseStudy, Publication, Server, Storage
from kdb.units import UNITS, spelled_unit
from tests.test_architecture import ROOT

NUMBERS = Conditions({"slug": "a", "title": "A"}, everywhere={"hypervisor": "kvm"})


def one(cell: str, unit: str = "MB/s", *, decimal: str = ".") -> dict[str, str] | str:
    """Return the row that a cell of numbers becomes, or what is wrong with it."""
    conditions = Conditions({}, everywhere={"unit": unit}, decimal=decimal)
    converted = convert(PlainTable(["value"], [[cell]], [2]), conditions)
    if converted.errors:
        return str(converted.errors[0])
    assert len(converted.rows) == 1
    return {name: text for name, text in converted.rows[0].items() if name != "line"}


@pytest.mark.parametrize(
    ("cell", "unit", "value", "more"),
    [
        ("123.40", "MB/s", "123.40", {}),  # as it was printed
        ("145K", "IOPS", "145000", {"unit": "ops/s"}),
        ("145 k", "IOPS", "145000", {"unit": "ops/s"}),
        ("2.2M", "IOPS", "2200000", {"unit": "ops/s"}),
        ("1.2 GB/s", "", "1200", {"unit": "MB/s"}),
        ("1.2GiB/s", "", "1228.8", {"unit": "MiB/s"}),
        ("800 Mbit/s", "", "100", {"unit": "MB/s"}),
        ("12", "KB/s", "12", {"unit": "KiB/s"}),
        ("12", "kB/s", "0.012", {"unit": "MB/s"}),
        ("1,234.5", "MB/s", "1234.5", {}),
        ("1'234", "MB/s", "1234", {}),
        ("3 min", "", "180", {"unit": "s"}),
        ("350ns", "", "0.35", {"unit": "us"}),
        ("4.95", "ms p99", "4.95", {"unit": "ms", "metric": "latency_p99"}),
        ("120-140", "MB/s", "130", {"minimum": "120", "maximum": "140", "note": "The middle of the printed range."}),
        ("600–700K", "IOPS", "650000", {"minimum": "600000", "maximum": "700000"}),
        ("120 ± 5", "MB/s", "120", {"standard_deviation": "5"}),
        ("200 ± 5 %", "MB/s", "200", {"standard_deviation": "10"}),
        ("1.5 ms ± 0.2", "", "1.5", {"standard_deviation": "0.2", "unit": "ms"}),
        ("~500", "MB/s", "500", {"note": "Printed as about that."}),
        ("1,251,093 KiB/s (~1.28 GB/s)", "", "1251093", {"unit": "KiB/s"}),
        ("10.2k IOPS (40 MiB/s)", "", "10200", {"unit": "ops/s", "note": "Printed beside it: 40 MiB/s."}),
    ],
)
def test_a_cell_of_numbers_is_read(cell, unit, value, more):
    row = one(cell, unit)
    assert isinstance(row, dict), row
    assert row["value"] == value
    assert {name: row.get(name) for name in more} == more


def test_a_comma_may_stand_before_the_decimals():
    assert one("1.234,5", decimal=",")["value"] == "1234.5"


@pytest.mark.parametrize(
    ("cell", "unit", "found"),
    [
        ("fast", "MB/s", "value: found fast, allowed is a number"),
        (">500", "MB/s", "a bound is no value"),
        ("10 MiB/s (40 MiB/s)", "", "the same value in brackets"),
        ("-4", "MB/s", "above zero"),
        ("0", "MB/s", "above zero"),
        ("12,5", "MB/s", 'decimal = ","'),
        ("1,23,456", "MB/s", "a number with"),
        ("4", "furlongs", "unit: found furlongs, allowed is one of MiB/s"),
        ("4 GB/s - 5 MB/s ", "", "found"),
        ("85 %", "MB/s", "percent_of"),
        ("1" * 500, "MB/s", "a number"),
    ],
)
def test_a_cell_that_is_no_number_is_an_error_with_line_and_column(cell, unit, found):
    told = one(cell, unit)
    assert isinstance(told, str), told
    assert told.startswith("line 2, ")
    assert found in told


@pytest.mark.parametrize("cell", ["", "-", "–", "n/a"])
def test_what_was_not_measured_is_no_row_and_no_error(cell):
    converted = convert(PlainTable(["value"], [[cell]], [2]), NUMBERS)
    assert (converted.rows, converted.errors, [row.reason for row in converted.left_out]) == ([], [], ["not measured"])


def test_a_percentage_without_a_base_row_is_a_ratio_to_what_is_said():
    conditions = Conditions({}, values={"Speed": {"unit": "%", "reference": "native"}})
    (row,) = convert(PlainTable(["Speed"], [["85"]], [2]), conditions).rows
    assert (row["value"], row["unit"], row["reference"]) == ("0.85", "ratio", "native")


def test_a_time_is_brought_into_the_unit_of_its_metric():
    conditions = Conditions({}, everywhere={"metric": "duration"})
    (row,) = convert(PlainTable(["value"], [["1500 ms"]], [2]), conditions).rows
    assert (row["value"], row["unit"]) == ("1.5", "s")


def test_what_holds_of_machines_does_not_reach_native_and_columns_may_not_contradict_each_other():
    conditions = Conditions(
        {},
        everywhere={"cache_mode": "none", "host_fs": "xfs", "unit": "MB/s"},
        words={"Setup": {"bare": {"hypervisor": "native"}, "guest": {"hypervisor": "kvm", "host_fs": "ext4"}}},
    )
    table = PlainTable(["Setup", "host_fs", "value"], [["bare", "", "1"], ["guest", "xfs", "2"]], [2, 3])
    converted = convert(table, conditions)
    assert ["cache_mode" in row for row in converted.rows] == [False]
    assert str(converted.errors[0]) == "line 3, host_fs: found xfs, allowed is ext4, as another column says of host_fs"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("case_study = 3", "case_study: found 3, allowed is a table"),
        ('[case_study]\nslug = "a"', "case_study.title: found nothing, allowed is a text"),
        ('[case_study]\nslug = "A b"\ntitle = "A"', "case_study.slug: found A b, allowed is small letters"),
        ("[everywhere]\nhypervizor = 1", "case_study.slug: found nothing"),
        (
            '[source]\nyears = 3\n[case_study]\nslug = "a"\ntitle = "A"',
            "source: found the key 'years', allowed are slug",
        ),
        (
            '[columns]\nA = "nothing"\n[case_study]\nslug = "a"\ntitle = "A"',
            'columns."A": found nothing, allowed is ignore',
        ),
        ('[[leave_out]]\nlines = [2]\n[case_study]\nslug = "a"\ntitle = "A"', "leave_out 1.reason: found nothing"),
        (
            '[[new]]\nis_a = "disk"\n[case_study]\nslug = "a"\ntitle = "A"',
            "new 1.is_a: found disk, allowed is one of hyp",
        ),
        ("not toml", "no TOML"),
    ],
)
def test_conditions_that_cannot_be_used_name_the_key(given, told):
    with pytest.raises(ConditionsError) as error:
        read_conditions(given)
    assert told in str(error.value)


def test_what_is_said_of_a_heading_that_the_table_lacks_is_an_error():
    conditions = conditions_of(
        {
            "case_study": {"slug": "a", "title": "A"},
            "columns": {"Cash": "cache_mode"},
            "leave_out": [{"lines": [9], "reason": "no"}],
        }
    )
    (error,) = convert(PlainTable(["Cache", "value"], [], []), conditions).errors[:1]
    assert str(error) == "columns: found Cash, allowed is a heading of the table: Cache, value"


def test_conditions_name_fields_of_the_models():
    models = {"case_study": CaseStudy, "source": Publication, "server": Server, "storage": Storage}
    for section, model in models.items():
        assert {*FACTS[section]} - {"made_on"} <= {field.name for field in model._meta.get_fields()}


def test_the_example_of_the_documentation_is_read_as_it_says():
    section = (ROOT / "docs" / "imports.md").read_text().partition("## You found a table on the web")[2]
    blocks = [dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", section, re.MULTILINE) if block.strip()]
    (table,) = tables_in(next(block for block in blocks if block.strip().startswith("Disk,")).strip())
    conditions = read_conditions(next(block for block in blocks if block.strip().startswith("[case_study]")))
    assert read_conditions(as_toml(conditions)) == conditions

    converted = convert(table, conditions)

    assert not converted.errors
    assert [row.reason for row in converted.left_out] == ["only a lower bound is printed"]
    assert [(row["configuration"], row["value"], row["unit"]) for row in converted.rows] == [
        ("kvm-none-raw", "29400", "ops/s"),
        ("kvm-none-raw", "2100", "MB/s"),
        ("kvm-none-raw", "820", "MB/s"),
        ("kvm-writeback-qcow2-64k", "29000", "ops/s"),
        ("kvm-writeback-qcow2-64k", "1900", "MB/s"),
        ("kvm-writeback-qcow2-64k", "762.6", "MB/s"),
    ]


def test_every_unit_is_spelled_as_itself():
    assert {unit: (spelled_unit(unit).unit, spelled_unit(unit).factor) for unit in UNITS} == {
        unit: (unit, 1.0) for unit in UNITS
    }
    assert [spelled_unit(text) for text in ("", "K", "furlongs", "GX/s", "%")] == [None] * 5


# What tells one number from another

SWEEP = PlainTable(["System", "1 thread", "8 threads"], [["KVM", "803", "1575"], ["Xen", "814", "1543"]], [2, 3])


def sweep(**fields: dict[str, str]) -> list[str]:
    """Return the errors of converting SWEEP. fields : more conditions of a column, by the first sign of its heading"""
    values = {"1 thread": {"workload": "varmail"}, "8 threads": {"workload": "varmail"}}
    values = {heading: {**said_of, **fields.get(heading[0], {})} for heading, said_of in values.items()}
    conditions = Conditions({}, columns={"System": "hypervisor"}, values=values, everywhere={"unit": "MiB/s"})
    return [str(error) for error in convert(SWEEP, conditions).errors]


def test_a_sweep_over_columns_is_no_repetition():
    assert sweep() == [
        'line 2, 8 threads: found the same settings, allowed is what tells it from "1 thread": '
        '"parameter threads" = "8" or repetition = "2" under [values]',
        'line 3, 8 threads: found the same settings, allowed is what tells it from "1 thread": '
        '"parameter threads" = "8" or repetition = "2" under [values]',
    ]
    assert not sweep(**{"1": {"parameter:threads": "1"}, "8": {"parameter:threads": "8"}})
    assert not sweep(**{"1": {"repetition": "1"}, "8": {"repetition": "2"}})


def test_a_sweep_over_rows_is_no_repetition():
    """A column that is left out must not be what tells rows apart; rows that differ in nothing are repetitions."""
    table = PlainTable(["Clients", "value"], [["1", "5"], ["8", "9"]], [2, 3])
    ignored = Conditions({}, columns={"Clients": "ignore"}, everywhere={"unit": "MiB/s", "hypervisor": "kvm"})
    assert [error.field for error in convert(table, ignored).errors] == ["Clients"]
    assert not convert(PlainTable(table.header, [["8", "5"], ["8", "9"]], [2, 3]), ignored).errors


def test_a_unit_at_the_end_of_a_heading_holds_for_its_numbers():
    table = PlainTable(["Read IOPS", "Write MB/s", "Latency min"], [["5", "6", "7"]], [2])
    values = {heading: {"operation": heading.split()[0].lower()} for heading in table.header}
    converted = convert(table, Conditions({}, values=values, everywhere={"hypervisor": "kvm"}))
    assert [row["unit"] for row in converted.rows] == ["ops/s", "MB/s"]
    assert "unit" in str(converted.errors[0])  # the least, not minutes
