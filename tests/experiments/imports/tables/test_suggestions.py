"""Each heading and each cell gives a suggestion of what it seems to say, which the form fills in."""

import pytest

from experiments.imports.tables.parsing import PlainTable
from experiments.imports.tables.suggestions import (
    close_entry,
    column_of,
    number_facts,
    parameter_in,
    sections,
    unit_in,
)
from experiments.rules.entry_names import Names

NAMES = Names(
    {
        "hypervisor": {"kvm": "kvm", "proxmoxve": "proxmox"},
        "file_system": {"ext4": "ext4", "zfs": "zfs"},
        "operating_system": {},
        "host_storage": {"lvmthin": "lvm-thin", "zfszvol": "zvol"},
        "workload": {"randomread": "random-read", "sequentialwrite": "sequential-write"},
        "benchmark": {"fio": "fio"},
    }
)


@pytest.mark.parametrize(
    ("heading", "cells", "column"),
    [
        ("Hypervisor", ["KVM", "Xen"], "hypervisor"),
        ("Cache", ["none", "writeback"], "cache_mode"),
        ("Caching", ["none", "writeback"], "cache_mode"),
        ("whatever", ["write-back", "none"], "cache_mode"),
        ("I/O mode", ["Sync", "Async"], "io_mode"),
        ("Way", ["Sync", "Async", "io_uring"], "io_mode"),
        ("Setup", ["ext4", "zfs", "other"], "host_fs"),
        ("Tool", ["fio"], "benchmark"),
        ("VMs", ["1", "2", "4"], "vm_count"),
        ("Queue depth", ["1", "32"], "parameter:queue depth"),
        ("IOPS", ["145K", "12.5k"], "value"),
        ("Latency (ms)", ["0.3", "n/a"], "value"),
        ("ext4", ["120-140", "1.2 GB/s"], "value"),
        ("Std dev", ["3", "4"], "standard_deviation"),
        ("Remarks", ["slow", "fast"], ""),
    ],
)
def test_a_heading_and_its_cells_fit_a_column(heading, cells, column):
    assert column_of(heading, cells, NAMES) == column


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("4K rand read (kIOPS)", {"unit": "kIOPS", "block_size_bytes": "4K", "workload": "random-read"}),
        ("Seq write [GB/s]", {"unit": "GB/s", "workload": "sequential-write"}),
        ("Random write IOPS", {"unit": "IOPS", "operation": "random-write"}),
        ("p99 read latency, ms", {"unit": "ms", "operation": "read", "metric": "latency_p99"}),
        ("ext4", {}),
    ],
)
def test_a_heading_says_of_its_numbers(heading, said):
    assert number_facts(heading, NAMES) == said


def test_units_stand_in_brackets_or_at_the_end():
    units = [unit_in(heading) for heading in ("Rate (MiB/s)", "write, GB/s", "IOPS", "change (%)", "Setup (old)")]
    assert units == ["MiB/s", "GB/s", "IOPS", "%", ""]


def test_no_column_is_suggested_twice():
    table = PlainTable(["FS", "Setup", "IOPS"], [["ext4", "zfs", "12"]], [2])
    assert sections(table, NAMES) == {"columns": {"FS": "host_fs"}, "values": {"IOPS": {"unit": "IOPS"}}}


@pytest.mark.parametrize(("word", "slug"), [("Promox VE", "proxmox"), ("ZFS 2.1", "zfs"), ("Quokka", "")])
def test_a_word_is_matched_by_its_spelling(word, slug):
    assert close_entry(word, {"proxmoxve": "proxmox", "zfs": "zfs", "ext4": "ext4"}) == slug


def test_a_heading_may_state_a_parameter_of_the_load():
    headings = ["8 threads", "QD32 IOPS", "1 client", "numjobs = 4", "4 VMs", "4K IOPS"]
    assert [parameter_in(heading) for heading in headings] == [
        *(("threads", "8"), ("iodepth", "32"), ("clients", "1"), ("numjobs", "4"), None, None)
    ]
    assert number_facts("8 threads", NAMES) == {"parameter:threads": "8"}
