"""Releases that regressed, in the tables of others: effects of a release, of the sign and size that were printed."""

import json
import re
from math import sqrt

import pytest

from experiments.published_evidence import load
from modelling.evidence import choices, names

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite, pytest.mark.slow]
DRIVER, ZFS = "rankings/disk-driver-release/?workload=", "rankings/host-fs-release/?hypervisor=native&workload="


@pytest.fixture
def answered(client, published_evidence):
    load.load_outside(load.DIRECTORY / "outside")
    names.clear_cache()
    choices.clear_cache()
    return lambda address: json.loads(client.get(f"/api/v1/{address}").content)


def measured(answer, other):
    """Return the ratios of the first entry to another that were measured, by their values as printed."""
    rows = [row for row in answer["differences"] if row["other"] == other]
    return {(row["first_value"], row["other_value"]): row["first_value"] / row["other_value"] for row in rows}


def test_the_releases_that_regressed_come_out_as_effects_of_a_release(answered, client):
    """By hand: the mean ratio of two is the root of their product.

    viostor, MB/s of 0.1.74 against 0.1.110 (virtio-win, issue 42): random writes 9.606 / 0.543 = 17.69 and
    11.88 / 0.109 = 108.99, mean 43.9; sequential writes 120.9 / 41.78 = 2.894 and 112.8 / 38.8 = 2.907, mean 2.90.
    Random reads became faster: 64.08 / 58.04 = 1.104 and 7.474 / 5.697 = 1.312, mean 1.20. ZFS (gists of trenb), KB/s:
    168858 / 50341 = 3.35, and 1.89 with the pull request that mended half of it: 168858 / 89136.
    """
    written = answered(f"{DRIVER}random-write")
    assert [entry["key"] for entry in written["entries"]] == ["virtio:viostor 0.1.74", "virtio:viostor 0.1.110"]
    ratios = measured(written, "virtio:viostor 0.1.110")
    assert ratios == pytest.approx({(9.606, 0.543): 17.69, (11.88, 0.109): 108.99}, rel=1e-3)
    assert sqrt(17.69 * 108.99) == pytest.approx(43.9, rel=1e-3)
    assert "virtio-blk viostor 0.1.74 44 times as fast as release" in written["verdict"]["measured"]
    in_order = answered(f"{DRIVER}sequential-write")["verdict"]["measured"]
    assert "viostor 0.1.74 2.9 times as fast as release" in in_order
    shown = client.get("/?axis=disk-driver-release&workload=random-write").content.decode()
    assert not re.search(r"\de\+\d", shown)
    read = answered(f"{DRIVER}random-read")["verdict"]["measured"]
    assert "viostor 0.1.74 0.83 times as fast as release" in read

    zfs = answered(f"{ZFS}random-write")
    assert zfs["entries"][0]["key"] == "zfs:0.6.4.2"
    assert zfs["entries"][-1]["key"] == "zfs:0.7.0-rc4-92"
    slowed = {(168858.0, 50341.0): 3.354, (42214.0, 12585.0): 3.354}
    assert measured(zfs, "zfs:0.7.0-rc4-92") == pytest.approx(slowed, rel=1e-3)
    half_mended = {(168858.0, 89136.0): 1.894, (42214.0, 22284.0): 1.894}
    assert measured(zfs, "zfs:0.7.0-rc4-92 with PR 6294") == pytest.approx(half_mended, rel=1e-3)
    assert "ZFS dataset 0.6.4.2 1.9 times as fast" in zfs["verdict"]["measured"]
