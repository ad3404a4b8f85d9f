"""`manage.py foretell`: pairs of a file in, what another laboratory will measure out."""

import csv
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from modelling.prediction.contrasts import ACTUAL, COLUMNS, ContrastsError, UnknownNameError, contrast_of, rows

EXT4 = {"host_storage_a": "ext4", "host_storage_b": "ext4"}
KVM = {"workload": "Mail server", "hypervisor_a": "KVM", "hypervisor_b": "kvm"}

NOTHING = SimpleNamespace(containers=set(), networked=())  # known


def text(*asked: dict[str, str]) -> str:
    out = StringIO()
    writer = csv.DictWriter(out, [*COLUMNS, ACTUAL], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({"id": str(number), **row} for number, row in enumerate(asked, 1))
    return out.getvalue()


def asked(**cells: str) -> dict[str, str]:
    return next(rows(text(cells)))


def test_columns_that_are_missing_or_unknown_are_named_with_those_allowed():
    with pytest.raises(ContrastsError, match=r"line 1: the columns vm_count, .* are missing; allowed are id, workload"):
        list(rows("id,workload,operation,block_size,storage\n"))
    with pytest.raises(ContrastsError, match="line 1: 'colour' is no column"):
        list(rows(",".join([*COLUMNS, "colour"])))


def test_a_row_of_another_length_is_named_by_its_line():
    with pytest.raises(ContrastsError, match=f"line 3: {len(COLUMNS) + 1} cells are expected"):
        list(rows(text(KVM) + "2,varmail\n"))


def test_what_was_measured_need_not_be_told_but_is_a_number():
    assert [row["id"] for row in rows(f"{','.join(COLUMNS)}\n1{',' * (len(COLUMNS) - 1)}\n")] == ["1"]
    with pytest.raises(ContrastsError, match="line 2: actual_ln_ratio: 'fast' is no number"):
        list(rows(text({ACTUAL: "fast"})))


def test_names_are_read_as_imports_read_them(published_evidence):
    contrast = contrast_of(asked(**KVM, guest_fs_a="Ext4", host_storage_a="EXT4", host_storage_b="zvol"), NOTHING)

    assert contrast.where == {"workload": "varmail", "load": "synchronous", "storage": ""}
    assert contrast.a | {"hypervisor": "kvm", "guest_fs": "ext4", "backend": "file", "host_fs": "ext4"} == contrast.a
    assert (contrast.a["pair"], contrast.b["backend"], contrast.b["host_fs"]) == ("ext4-on-ext4", "zvol", "")


def test_an_unknown_name_is_told_with_its_column(published_evidence):
    with pytest.raises(UnknownNameError, match="guest_fs_b: 'reiser5' is no file system of the catalogue"):
        contrast_of(asked(**KVM, guest_fs_b="reiser5"), NOTHING)


@pytest.mark.slow
def test_every_row_with_known_names_is_answered_and_honestly_wide(published_evidence, tmp_path: Path):
    (tmp_path / "asked.csv").write_text(
        text(
            KVM | EXT4 | {"guest_fs_a": "ext4", "guest_fs_b": "xfs", ACTUAL: "0.2"},
            KVM | EXT4 | {"guest_fs_a": "xfs", "guest_fs_b": "ext4", ACTUAL: "-0.2"},
            KVM | {"disk_bus_a": "nvme", "disk_bus_b": "sata", "io_mode_a": "io_uring", "io_mode_b": "threads"},
            KVM | {"guest_fs_a": "reiser5"},
        )
    )

    call_command("foretell", str(tmp_path / "asked.csv"), out=str(tmp_path / "out.csv"))

    there, back, unknown, wrong = csv.DictReader(StringIO((tmp_path / "out.csv").read_text()))
    assert [row["answered"] for row in (there, back, unknown)] == ["yes"] * 3
    assert wrong["answered"] == "guest_fs_a: 'reiser5' is no file system of the catalogue"
    assert wrong["ratio"] == ""
    assert float(there["ratio"]) * float(back["ratio"]) == pytest.approx(1.0, abs=1e-3)
    assert float(there["high"]) == pytest.approx(1 / float(back["low"]), rel=1e-3)
    assert float(there["probability_a_faster"]) == pytest.approx(1 - float(back["probability_a_faster"]), abs=1e-4)
    quantiles = [float(there[name]) for name in ("q2.5", "q10", "q25", "q50", "q75", "q90", "q97.5")]
    assert quantiles == sorted(quantiles)
    ends = [float(there[name]) for name in ("low", "ratio", "high")]
    assert np.log(ends) == pytest.approx([quantiles[0], quantiles[3], quantiles[6]], abs=1e-4)
    # As dense one way as the other, and in the middle at least about as dense as on average over the central 80 %.
    assert float(there["log_density"]) == pytest.approx(float(back["log_density"]), abs=1e-3)
    assert float(there["log_density"]) > np.log(0.6 / (quantiles[5] - quantiles[1]))
    assert (unknown["log_density"], wrong["log_density"]) == ("", "")
    # P0 to P4 measured both under mail, and they are one group; nobody compared an NVMe bus.
    assert (there["groups"], there["strength"]) == ("1", "very weak")
    assert (unknown["laboratories"], unknown["strength"]) == ("0", "not known")
    assert float(unknown["ratio"]) == pytest.approx(1.0, abs=0.15)
    assert float(unknown["high"]) > float(there["high"])


def test_a_file_that_cannot_be_read_is_refused(db, tmp_path: Path):
    with pytest.raises(CommandError, match=r"nowhere\.csv"):
        call_command("foretell", str(tmp_path / "nowhere.csv"), out=str(tmp_path / "out.csv"))
    (tmp_path / "asked.csv").write_text(text(KVM))
    with pytest.raises(CommandError, match="nothing is published"):
        call_command("foretell", str(tmp_path / "asked.csv"), out=str(tmp_path / "out.csv"))
