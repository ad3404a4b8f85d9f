"""From text cells to rows in the catalogue's names: nothing is guessed, and everything wrong is said."""

import pytest

from experiments.imports import normalise
from experiments.imports.normalise import CHOICES, EMPTY, LENGTHS, Normaliser, Row, Source, Unknown, source_of_reading
from experiments.models import Configuration, Measurement, WorkloadVariant
from experiments.models.fields import column
from experiments.readers import table_columns
from experiments.readers.base import Reading, Run
from experiments.readers.table import Fault, read_table
from experiments.rules.entry_names import Names, spellings
from experiments.rules.names import spelled
from tests.factories import STORAGES

KNOWN = {
    "host_storage": spelled("host_storage", ((row["slug"], row["name"], row["aliases"]) for row in STORAGES)),
    "hypervisor": spellings([("kvm", "KVM", ["qemu-kvm"]), ("proxmox", "Proxmox VE", ["pve"])]),
    "file_system": spellings([("ext4", "ext4", []), ("xfs", "XFS", []), ("btrfs", "Btrfs", [])]),
    "operating_system": spellings([("debian-12", "Debian 12", ["bookworm"])]),
    "workload": spellings([("varmail", "Mail server", ["mail"]), ("fileserver", "File server", ["file"])]),
    "benchmark": spellings([("filebench", "Filebench", [])]),
}
ROW = {
    "hypervisor": "KVM",
    "host_fs": "ext4",
    "guest_fs": "XFS",
    "workload": "mail",
    "benchmark": "filebench",
    "vm_count": "1",
    "value": "10.5",
    "unit": "MiB/s",
}


def normaliser(configurations: dict | None = None, **mapped) -> Normaliser:
    return Normaliser(Names(KNOWN, mapped, ["lvm-thin"]), configurations or {})


def read(*rows: dict, context: dict | None = None, by: Normaliser | None = None) -> list[Row | Fault | Unknown]:
    """Return the rows as a CSV with the fields of the first."""
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    table = read_table("\n".join(lines).encode())
    source = normalise.Source(table.fields, table.rows, context or {})
    return list((by or normaliser()).rows(source))


def only(*rows: dict, **options) -> Row | Fault | Unknown:
    (item,) = read(*rows, **options)
    return item


def described(**fields) -> dict:
    return {**EMPTY, **fields}


def test_a_line_becomes_a_row_in_the_catalogues_names():
    row = only(ROW)
    assert (row.line, row.configuration, row.vm_count, row.value, row.unit, row.metric) == (
        2,
        "kvm-xfs-on-ext4",
        1,
        10.5,
        "MiB/s",
        "throughput",
    )
    assert row.variant == ("varmail", "filebench", "", "{}")


@pytest.mark.parametrize("name", ["Proxmox VE", "proxmox-ve", "PROXMOX_VE", "pve", "proxmox"])
def test_case_and_punctuation_make_no_other_name(name):
    assert only(ROW | {"hypervisor": name}).configuration == "proxmox-xfs-on-ext4"


def test_an_unknown_name_is_handed_back_and_never_guessed():
    assert read(ROW | {"guest_fs": "XFS2", "workload": "mails"}) == [
        Unknown(2, "file_system", "XFS2"),
        Unknown(2, "workload", "mails"),
    ]


@pytest.mark.parametrize(
    ("changed", "field", "found"),
    [
        ({"value": "0"}, "value", "0"),
        ({"value": "-1"}, "value", "-1"),
        ({"value": "nan"}, "value", "nan"),
        ({"value": "inf"}, "value", "inf"),
        ({"value": "1_000"}, "value", "1_000"),
        ({"value": "1 000"}, "value", "1 000"),
        ({"value": ""}, "value", "nothing"),
        ({"unit": "KB/s"}, "unit", "KB/s"),
        ({"unit": "mb/s"}, "unit", "mb/s"),
        ({"unit": ""}, "unit", "nothing"),
        ({"vm_count": ""}, "vm_count", "nothing"),
        ({"vm_count": "0"}, "vm_count", "0"),
        ({"vm_count": "1.5"}, "vm_count", "1.5"),
        ({"vm_count": "99999"}, "vm_count", "99999"),
        ({"guest_fs": ""}, "guest_fs", "nothing"),
        ({"workload": ""}, "workload", "nothing"),
        ({"benchmark": ""}, "benchmark", "nothing"),
        ({"hypervisor": "", "host_fs": "", "guest_fs": ""}, "configuration", "nothing"),
        ({"hypervisor": "native"}, "guest_fs", "xfs"),
    ],
)
def test_a_wrong_cell_is_named_with_what_is_expected(changed, field, found):
    fault = only(ROW | changed)
    assert (fault.line, fault.field, fault.found) == (2, field, found)
    assert fault.expected


def test_all_that_is_wrong_with_a_line_is_said_at_once():
    faults = read(ROW | {"value": "x", "unit": "KB/s", "benchmark": ""})
    assert {fault.field for fault in faults} == {"value", "unit", "benchmark"}


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"metric": "latency"}, "unit"),
        ({"metric": "speed"}, "metric"),
        ({"repetition": "0"}, "repetition"),
        ({"quality": "guessed"}, "quality"),
        ({"quality": "ocr-ambiguous"}, "alternative_value"),
        ({"virtualisation": "none"}, "virtualisation"),
        ({"virtualisation": "some"}, "virtualisation"),
        ({"vm_ram_gib": "much"}, "vm_ram_gib"),
        ({"host_kernel": "k" * 81}, "host_kernel"),
        ({"configuration": "My Lab"}, "configuration"),
        ({"parameter:x": "y" * 5000}, "parameters"),
        ({"machine": "0"}, "machine"),
        ({"machine": "2"}, "machine"),  # of one
        ({"machine": "a"}, "machine"),
        ({"excluded_because": "busy"}, "excluded_by"),
        ({"excluded_by": "its author"}, "excluded_because"),
        ({"excluded_because": "x" * 301, "excluded_by": "its author"}, "excluded_because"),
        ({"host_io_scheduler": "x" * 41}, "host_io_scheduler"),
        ({"minimum": "11"}, "value"),
        ({"reference": "native"}, "reference"),
    ],
)
def test_a_wrong_further_cell_is_named(extra, field):
    assert only(ROW | extra).field == field


def test_native_has_no_machines_and_no_guest():
    native = ROW | {"hypervisor": "bare metal", "guest_fs": "", "vm_count": ""}
    row = only(native)
    assert (row.configuration, row.vm_count) == ("native-ext4", 0)
    assert only(native | {"vm_count": "2"}).field == "vm_count"


def test_parameters_are_numbers_where_they_read_as_such():
    row = only(ROW | {"parameter:threads": "16", "parameter:mean_file_size": "16k", "parameter:nan": "nan"})
    assert row.variant.parameters == '{"mean_file_size": "16k", "nan": "nan", "threads": 16}'


# Configurations


def test_lines_with_the_same_environment_are_one_configuration():
    by = normaliser()
    rows = read(ROW, ROW | {"guest_fs": "ext4"}, ROW | {"value": "9"}, by=by)
    assert [row.configuration for row in rows] == ["kvm-xfs-on-ext4", "kvm-ext4-on-ext4", "kvm-xfs-on-ext4"]
    assert by.new == ["kvm-xfs-on-ext4", "kvm-ext4-on-ext4"]


def test_another_environment_is_another_configuration():
    by = normaliser()
    rows = read(ROW | {"cache_mode": "none"}, ROW | {"cache_mode": "writeback"}, by=by)
    assert [row.configuration for row in rows] == ["kvm-xfs-on-ext4", "kvm-xfs-on-ext4-2"]


def test_a_configuration_of_the_case_study_is_found_by_what_the_file_says_of_it():
    there = {"main": described(hypervisor="kvm", host_fs="ext4", guest_fs="xfs", host_kernel="6.1")}
    by = normaliser(there)
    assert only(ROW, by=by).configuration == "main"
    assert by.new == []


def test_two_configurations_that_fit_must_be_told_apart():
    same = {"hypervisor": "kvm", "host_fs": "ext4", "guest_fs": "xfs"}
    by = normaliser({"a": described(**same, cache_mode="none"), "b": described(**same, cache_mode="writeback")})
    assert "one of a, b" in only(ROW, by=by).expected


def test_a_named_configuration_must_be_as_the_file_says():
    there = {"main": described(hypervisor="kvm", host_fs="ext4", guest_fs="btrfs")}
    fault = only(ROW | {"configuration": "main"}, by=normaliser(there))
    assert (fault.field, fault.found, fault.expected) == ("guest_fs", "xfs", "btrfs, as configuration main has it")


# What the user says beside the file


def test_the_context_fills_what_the_file_leaves_out():
    short = {name: ROW[name] for name in ("workload", "value", "unit")}
    context = {"hypervisor": "kvm", "host_fs": "ext4", "guest_fs": "xfs", "benchmark": "filebench", "vm_count": "2"}
    row = only(short, context=context)
    assert (row.configuration, row.vm_count) == ("kvm-xfs-on-ext4", 2)


def test_a_cell_of_the_file_stands_before_the_context():
    assert only(ROW, context={"vm_count": "4", "guest_fs": "btrfs"}).configuration == "kvm-xfs-on-ext4"


def test_a_line_that_says_native_takes_nothing_of_a_guest_from_the_context():
    native = ROW | {"hypervisor": "native", "guest_fs": "", "vm_count": "0"}
    assert only(native, context={"guest_fs": "xfs", "vm_ram_gib": "8"}).configuration == "native-ext4"


def test_a_run_becomes_a_row_a_figure():
    run = Run("Varmail", 7, throughput_mib_s=5.0, ops_per_s=100.0, latency_ms=2.0, parameters={"threads": 16})
    reading = Reading("filebench", "1.5", "filebench", runs=(run,))
    by = normaliser({"main": described(hypervisor="kvm", host_fs="ext4", guest_fs="xfs")})
    rows = list(by.rows(source_of_reading(reading, {"configuration": "main", "vm_count": "2"})))
    assert [(row.metric, row.value, row.unit, row.line) for row in rows] == [
        ("throughput", 5.0, "MiB/s", 7),
        ("operation_rate", 100.0, "ops/s", 7),
        ("latency", 2.0, "ms", 7),
    ]
    assert rows[0].variant == ("varmail", "filebench", "1.5", '{"threads": 16}')


def test_a_percentile_becomes_a_row_of_its_own_metric():
    run = Run("Varmail", 7, latency_ms=2.0, percentiles_ms={"p50": 1.5, "p95": 4.0, "p99": 9.0})
    reading = Reading("fio-json", "3.33", "filebench", runs=(run,))
    by = normaliser({"main": described(hypervisor="kvm", host_fs="ext4", guest_fs="xfs")})
    rows = list(by.rows(source_of_reading(reading, {"configuration": "main", "vm_count": "1"})))
    assert [(row.metric, row.value, row.unit) for row in rows] == [
        ("latency", 2.0, "ms"),
        ("latency_p50", 1.5, "ms"),
        ("latency_p95", 4.0, "ms"),
        ("latency_p99", 9.0, "ms"),
    ]


def test_a_run_may_have_a_context_of_its_own():
    runs = (Run("mail", 3, ops_per_s=1.0), Run("mail", 9, ops_per_s=2.0, note="Rounded."))
    reading = Reading("filebench", "1.5", "filebench", runs=runs)
    by = normaliser({"main": described(hypervisor="kvm", host_fs="ext4", guest_fs="xfs")})
    context = {"configuration": "main", "vm_count": "1"}
    run_contexts = {"9": {"vm_count": "3", "operation": "random-read", "note": "At night."}}
    first, second = by.rows(source_of_reading(reading, context, run_contexts))
    assert (first.vm_count, first.operation, first.note) == (1, "mixed", "")
    assert (second.vm_count, second.operation, second.note) == (3, "random-read", "Rounded. At night.")


def test_an_operation_that_the_file_does_not_tell_is_asked_for():
    run = Run("mail", 3, ops_per_s=1.0, operation="", could_be=("read", "random-read"))
    reading = Reading("filebench", "1.5", "filebench", runs=(run,))
    by = normaliser({"main": described(hypervisor="kvm", host_fs="ext4", guest_fs="xfs")})
    context = {"configuration": "main", "vm_count": "1"}
    (fault,) = by.rows(source_of_reading(reading, context))
    assert (fault.line, fault.field, fault.found) == (3, "operation", "nothing")
    assert fault.expected.startswith("read or random-read")
    (row,) = by.rows(source_of_reading(reading, context, {"3": {"operation": "random-read"}}))
    assert row.operation == "random-read"


def numbers(**cells) -> Row | Fault | Unknown:
    """The row of a source with these cells beside a described configuration and a load."""
    fields = ROW | {"value": 10.5} | cells
    (item,) = normaliser().rows(Source(tuple(fields), lambda: iter([(2, tuple(fields.values()))])))
    return item


def test_cells_that_are_numbers_mean_what_their_texts_mean():
    cells = {"vm_count": 3, "repetition": 4.0, "standard_deviation": 0, "vm_ram_gib": 0.5, "block_size_bytes": 2**62}
    row = numbers(**cells)
    assert row == numbers(**{name: str(cell) for name, cell in cells.items()}, value="10.5")
    assert (row.vm_count, row.repetition, row.standard_deviation, row.block_size_bytes) == (3, 4, 0.0, 2**62)
    assert type(row.repetition) is int


def test_a_zero_of_the_file_stands_before_the_context():
    source = Source(tuple(ROW), lambda: iter([(2, tuple((ROW | {"vm_count": 0}).values()))]), {"vm_count": "2"})
    assert list(normaliser().rows(source)) == [
        Fault(2, "vm_count", "0", "at least 1: the configuration has a hypervisor")
    ]


@pytest.mark.parametrize(
    ("field", "cell", "found"),
    [
        ("value", float("nan"), "nan"),
        ("value", float("inf"), "inf"),
        ("value", 0, "0"),
        ("value", -1.5, "-1.5"),
        ("value", 10**400, str(10**400)),
        ("repetition", 1.5, "1.5"),
        ("repetition", float("inf"), "inf"),
        ("repetition", 2**31, str(2**31)),
        ("vm_count", -1, "-1"),
    ],
)
def test_a_number_that_cannot_be_is_a_fault(field, cell, found):
    fault = numbers(**{field: cell})
    assert (fault.line, fault.field, fault.found) == (2, field, found)


# The same words everywhere


def test_every_column_of_the_table_is_understood():
    understood = {*normalise.CONFIGURATION, *normalise.WORKLOAD, *normalise.NUMBERS}
    assert understood == set(table_columns.FIELDS)


def test_the_lengths_are_those_of_the_models():
    models = (Configuration, WorkloadVariant, Measurement)
    fields = {field.name: field for model in models for field in model._meta.concrete_fields}
    assert {name: fields[name].max_length for name in LENGTHS} == LENGTHS


def test_what_is_known_of_a_configuration_is_what_the_model_has():
    names = {field.name for field in Configuration._meta.concrete_fields}
    assert set(EMPTY) == names - {"id", "case_study", "slug", "note"}


def test_the_choices_are_those_of_the_model():
    choices = {
        name: tuple(value for value in dict(column(Configuration, name).flatchoices) if value) for name in CHOICES
    }
    assert {name: set(allowed) for name, allowed in CHOICES.items()} == {name: set(c) for name, c in choices.items()}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"guest_fs": "", "guest_access": "raw-device"}, None),
        ({"guest_fs": "", "guest_access": "file-system"}, None),
        ({"guest_fs": "", "virtualisation": "container"}, None),
        ({"guest_fs": ""}, "guest_fs"),
        ({"guest_access": "raw-device"}, "guest_fs"),
        ({"backend": "lvm-thin"}, "host_fs"),
        ({"backend": "lvm-thin", "host_fs": ""}, None),
        ({"hypervisor": "native", "guest_fs": "", "backend": "file", "vm_count": "0"}, "backend"),
    ],
)
def test_a_guest_may_have_no_file_system_and_images_may_lie_on_a_volume(given, field):
    row_or_fault = only(ROW | given)
    assert (row_or_fault.field if isinstance(row_or_fault, Fault) else None) == field


@pytest.mark.parametrize(
    ("column", "written", "value"),
    [
        ("backend", "LVM-thin", "lvm-thin"),
        ("backend", "ZFS zvol", "zvol"),
        ("backend", "StorPool", "storpool"),
        ("backend", "Mayastor", "openebs-mayastor"),
        ("io_mode", "Sync", "sync"),
        ("io_mode", "Async", "async"),
        ("storage_kind", "NVMe", "nvme"),
        ("storage_kind", "Spinning disks", "hdd"),
        ("virtualisation", "Full virtualization", "full"),
        ("guest_access", "Not stated", "not-stated"),
        ("pool_layout", "RAID 10", "striped-mirrors"),
        ("hypervisor", "PVE", "proxmox"),
    ],
)
def test_a_name_may_be_spelled_as_people_spell_it(column, written, value):
    by = normaliser()
    given = {**ROW, **({"host_fs": ""} if column == "backend" else {}), column: written}
    row = only(given, by=by)
    assert isinstance(row, Row)
    stated = "" if value == "not-stated" else value
    assert by.configurations[row.configuration][column] == stated


def test_a_storage_that_nobody_knows_is_a_name_to_be_explained():
    assert only({**ROW, "host_fs": "", "backend": "Quokka SDS"}) == Unknown(2, "host_storage", "Quokka SDS")
    assert isinstance(only({**ROW, "host_fs": "", "backend": "qemu"}), Unknown)


def test_a_spelling_that_two_entries_share_means_neither():
    assert spellings([("a", "One", ["x"]), ("b", "Two", ["x"])]) == {"a": "a", "one": "a", "b": "b", "two": "b"}


def test_a_cache_mode_with_a_comma_is_refused_because_a_comma_parts_keys():
    with pytest.raises(Exception, match="a text without comma"):
        normaliser().configuration({"hypervisor": "kvm", "guest_fs": "xfs", "host_fs": "ext4", "cache_mode": "a, b"})
