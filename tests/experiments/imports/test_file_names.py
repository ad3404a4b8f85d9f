"""Names of files hint at the configuration, as far as the catalogue knows their words."""

import pytest

from experiments.imports.file_names import MAX_HINTS, hints

SPELLINGS = {
    "hypervisor": {"kvm": "kvm", "proxmox": "proxmox", "proxmoxve": "proxmox", "hyperv": "hyper-v"},
    "file_system": {"xfs": "xfs", "ext4": "ext4"},
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kvm_xfs_run1.json", {"kvm": ({"hypervisor": "kvm"},), "xfs": ({"guest_fs": "xfs"}, {"host_fs": "xfs"})}),
        ("XFS-on-ext4.txt", {"xfs-on-ext4": ({"guest_fs": "xfs", "host_fs": "ext4"},)}),
        ("all.zip/Proxmox VE/3vms.txt", {"proxmox-ve": ({"hypervisor": "proxmox"},), "3vms": ({"vm_count": "3"},)}),
        (
            "hyper-v.qcow2.writeback.txt",
            {
                "hyper-v": ({"hypervisor": "hyper-v"},),
                "qcow2": ({"image_format": "qcow2"},),
                "writeback": ({"cache_mode": "writeback"},),
            },
        ),
        ("bare-metal raid10 ssd.csv", {"bare-metal": ({"hypervisor": "native"},), "raid10": (), "ssd": ()}),
        ("vm3_run2_none_mykvmtest.xfs", {}),  # the third machine is no count; an ending is no file system
        ("_.._", {}),
    ],
)
def test_a_file_name_says_what_its_words_mean(name, said):
    assert {hint.word: hint.uses for hint in hints([name], SPELLINGS)} == said


def test_what_several_names_say_is_one_hint_with_all_of_them():
    (hint,) = hints(["a_kvm_kvm.txt", "b.txt", "c-KVM.txt"], SPELLINGS)
    assert hint.files == ("a_kvm_kvm.txt", "c-KVM.txt")


def test_an_import_has_so_many_hints_at_most():
    assert len(hints([f"{count}vms" for count in range(1, 2 * MAX_HINTS)], SPELLINGS)) == MAX_HINTS
