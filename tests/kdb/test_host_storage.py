"""The key of a host storage: one word for what disk images lie on."""

import pytest

from kdb.host_storage import host_storage_key, host_storages


@pytest.mark.parametrize(
    ("backend", "host_fs", "key"),
    [
        ("file", "ext4", "dir-ext4"),
        ("", "xfs", "dir-xfs"),
        ("file", "zfs", "zfs"),
        ("file", None, "dir"),
        ("lvm-thin", None, "lvm-thin"),
        ("virtiofs", "ext4", "virtiofs"),
        ("", None, None),
    ],
)
def test_only_a_file_is_named_for_its_file_system(backend, host_fs, key):
    assert host_storage_key(backend, host_fs) == key


def test_every_key_that_facts_can_make_has_a_label():
    storages = {"file": "File on a file system", "lvm": "LVM volume", "nfs": "NFS"}
    keys = {host_storage_key(backend, host_fs) for backend in storages for host_fs in ("ext4", "zfs", None)}

    assert keys == host_storages({"ext4": "ext4", "zfs": "ZFS"}, storages).keys()
