"""manage.py import_table: published tables with their conditions into drafts, and what is said of wrong ones."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from experiments.models import CaseStudy, FileSystem, Hypervisor, Measurement
from tests.factories import entry

pytestmark = pytest.mark.django_db

# Four names that the catalogue lacks, GB/s, IOPS in k, a range, a deviation and percentages.
TABLE = """Setup;4K rand read (kIOPS);1M seq read;p99;Against raw
raw on xfs;145;1.2 GB/s;900 us;100 MB/s
qcow2 on xfs;120-140;900 MB/s;1.5 ms ± 0.2;85 %
qcow2, write-back;n/a;~1.1 GB/s;2 ms;+12 %
hyper thing;x;1;1;1
"""
CONDITIONS = """
[case_study]
slug = "made-up"
title = "A made-up table"

[source]
authors = ["Ada"]
title = "Disks of Somehost"
year = 2026
address = "https://example.org/somehost"

[storage]
description = "One NVMe disk"
kind = "nvme"

[everywhere]
hypervisor = "Somehost"
guest_os = "someos-9"
guest_access = "raw-device"
backend = "file"
vm_count = 1
benchmark = "somebench"
"parameter job" = "default"

[values."4K rand read (kIOPS)"]
workload = "random-read"
block_size_bytes = "4K"
unit = "kIOPS"

[values."1M seq read"]
workload = "streaming"
block_size_bytes = "1M"

[values.p99]
workload = "random-read"
unit = "ms p99"
metric = "latency_p99"

[values."Against raw"]
workload = "streaming"
operation = "write"
unit = "%"
percent_of = { Setup = "raw on xfs" }

[words.Setup]
"raw on xfs" = { image_format = "raw", host_fs = "xfs" }
"qcow2 on xfs" = { image_format = "qcow2", host_fs = "xfs" }
"qcow2, write-back" = { image_format = "qcow2", host_fs = "xfs", cache_mode = "write-back" }

[[leave_out]]
where = { Setup = "hyper thing" }
reason = "its numbers have no unit"

[[new]]
is_a = "hypervisor"
slug = "somehost"
name = "Somehost"
kind = "type-2"
kernel_origin = "Linux (KVM)"
virtual_device_origin = "its own"

[[new]]
is_a = "operating_system"
slug = "someos-9"
name = "SomeOS 9"
family = "linux"
version = "9"

[[new]]
is_a = "benchmark"
slug = "somebench"
name = "Somebench"

[[new]]
is_a = "workload"
slug = "streaming"
name = "Streaming"

[[new]]
is_a = "workload"
slug = "random-read"
name = "Random reads"
"""


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a pair of files and gives their paths; the catalogue has KVM and XFS."""
    entry(Hypervisor, "kvm")
    entry(FileSystem, "xfs")

    def write(table: str = TABLE, conditions: str = CONDITIONS, *, name: str = "made-up") -> list[str]:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "table.csv").write_text(table)
        (folder / "conditions.toml").write_text(conditions)
        return [str(folder / "table.csv"), str(folder / "conditions.toml")]

    return write


def test_a_made_up_study_comes_in_and_is_published(files, capsys):
    call_command("import_table", *files(), "--publish")

    study = CaseStudy.objects.get(slug="made-up")
    assert (study.status, study.publication.authors, study.storage.kind) == ("published", ["Ada"], "nvme")
    assert "Left out of the table, line 5: its numbers have no unit." in study.notes
    assert not Hypervisor.objects.get(slug="somehost").is_draft
    rows = Measurement.objects.filter(configuration__case_study=study)
    numbers = {
        (row.configuration.slug, row.metric, row.operation): (row.value, row.unit, row.minimum, row.standard_deviation)
        for row in rows
    }
    raw, qcow2, cached = "somehost-file-xfs-raw", "somehost-file-xfs-qcow2", "somehost-file-xfs-write-back-qcow2"
    assert {name for name, *_ in numbers} == {raw, qcow2, cached}
    assert numbers[raw, "operation_rate", "mixed"] == (145_000, "ops/s", None, None)
    assert numbers[qcow2, "operation_rate", "mixed"] == (130_000, "ops/s", 120_000, None)
    assert numbers[raw, "throughput", "mixed"] == (1200, "MB/s", None, None)
    assert numbers[raw, "latency_p99", "mixed"] == (900, "us", None, None)
    assert numbers[qcow2, "latency_p99", "mixed"] == (1.5, "ms", None, 0.2)
    assert numbers[qcow2, "throughput", "write"] == (85, "MB/s", None, None)
    assert numbers[cached, "throughput", "write"] == (112, "MB/s", None, None)
    assert len(numbers) == 11
    assert "line 5: left out, its numbers have no unit" in capsys.readouterr().out


def test_one_bad_study_stops_no_other_and_each_error_has_line_and_column(files, capsys):
    unknown = CONDITIONS.replace('hypervisor = "Somehost"', 'hypervisor = "Kwm"').replace('"made-up"', '"unknown"')
    bad = TABLE.replace("145;1.2 GB/s", "many;1.2 GX/s")
    wrong = CONDITIONS.replace('"made-up"', '"wrong"')
    paths = [
        *files(bad, wrong, name="wrong"),
        *files(TABLE, unknown, name="unknown"),
        *files(TABLE, 'kdb = "no"', name="odd"),
    ]

    with pytest.raises(CommandError, match="3 of 4 tables were not taken in"):
        call_command("import_table", *paths, *files())

    assert list(CaseStudy.objects.filter(slug__in=["made-up", "wrong", "unknown"]).values_list("slug", "status")) == [
        ("made-up", "draft")
    ]
    stderr = capsys.readouterr().err
    assert "wrong/table.csv, line 2, 4K rand read (kIOPS): found many, allowed is a number such as" in stderr
    assert "wrong/table.csv, line 2, unit: found GX/s, allowed is one of MiB/s" in stderr
    assert (
        "unknown/table.csv, line 2, hypervisor: found Kwm, allowed is a name of the catalogue (nearest are kvm"
        in stderr
    )
    assert "odd/conditions.toml: the file: found the key 'kdb', allowed are case_study" in stderr


def test_a_folder_of_folders_is_taken_in_and_a_file_alone_is_not(files, tmp_path):
    with pytest.raises(CommandError, match="found no conditions behind it"):
        call_command("import_table", files()[0])
    call_command("import_table", str(tmp_path), "--submit")
    assert CaseStudy.objects.get().status == "submitted"


def test_somebody_who_may_not_create_is_refused(files):
    User.objects.create_user("reader")
    with pytest.raises(CommandError, match="may not create"):
        call_command("import_table", *files(), "--user", "reader")
    with pytest.raises(CommandError, match="no user"):
        call_command("import_table", *files(), "--user", "nobody")
    assert not CaseStudy.objects.exists()
