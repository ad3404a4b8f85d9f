"""A release leaves names, addresses, serial numbers and the like out of texts."""

import pytest

from experiments.published_evidence.releases.redaction import Redaction

KNOWN = {"node7.lab.example": "host", "pve-3": "host"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Ran on node7.lab.example and PVE-3.", "Ran on [host 1] and [host 2]."),
        ("Asked ann@lab.example", "Asked [mail address 1]"),
        ("192.168.1.17 to 192.168.1.18, 192.168.1.17", "[address 1] to [address 2], [address 1]"),
        ("target fe80::1ff:fe23:4567:890a", "target [address 1]"),
        ("NIC 52:54:00:12:34:56", "NIC [address 1]"),
        ("filename=/dev/disk/by-id/ata-WDC_WD40-0001", "filename=[disk 1]"),
        ("Samsung PM9A3, serial: S64HNE0R123456, 3.84 TB", "Samsung PM9A3, serial: [serial number 1], 3.84 TB"),
        ("volume 0f7e4b5e-4c53-4f0e-9d9a-3a0f5f4a1a11", "volume [identifier 1]"),
    ],
)
def test_names_addresses_and_serials_are_dropped(text, told):
    assert Redaction(KNOWN).redact(text) == told


@pytest.mark.parametrize(
    "text",
    [
        "Filebench 1.4.9.1 at 12:30:15 on kernel 5.15.0.91, ZFS 0.6.5.6, ESXi 6.7.0",
        "std::vector, a serial console, spve-3x, pve-33",
        "rw=randread:bs=4k:iodepth=32, listens on 127.0.0.1",
    ],
)
def test_versions_times_and_other_names_stay(text):
    assert Redaction(KNOWN).redact(text) == text


def test_hostile_texts_take_no_time():
    """A text of the longest kind in each alphabet that the patterns know."""
    for piece in ("a:", "1.", "a@a.", "serial ", "0a-", "pve-", "::", "f" * 8 + "-"):
        Redaction(KNOWN).redact(piece * 20_000)
