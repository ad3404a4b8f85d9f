"""Further spellings of catalogue entries and of closed lists, beside slug, name and alias. No Django.

Imports, tables, forms and questions share this table. Words for settings are in kdb.disk_path.
"""

from collections.abc import Iterable, Mapping

from experiments.rules.entry_names import Spelled, fold, spellings


def _words(text: str) -> tuple[str, ...]:
    """Return the phrases between semicolons."""
    return tuple(text.split("; "))


# Kind of name, or column with a closed list, to slug to other words for it, which files may use.
WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "hypervisor": {
        "kvm": _words("qemu kvm; libvirt kvm; linux kvm; kvm/qemu; qemu/kvm"),
        "proxmox": ("proxmox virtual environment",),
        "esxi": _words("vmware esxi; vsphere; vmware vsphere; esx; vmware esx"),
        "hyper-v": ("microsoft hyper-v", "ms hyper-v", "hyper v server"),
        "xen": ("xcp-ng", "xcpng", "xen project", "citrix xenserver"),
        "virtualbox": ("vbox", "oracle virtualbox"),
        "lxc": ("lxc container", "lxc containers"),
    },
    "file_system": {
        "zfs": _words("openzfs; zol; zfs on linux"),
        "ext4": ("ext 4", "ext4fs"),
        "btrfs": ("btr fs", "butter fs", "btrfs subvolume"),
    },
    "storage": {
        "hdd": _words(
            "disk drive; hard disk; hard disks; hard drive; hard drives; hdds; spinning disk; spinning disks; "
            "spinning rust; rotating disks; magnetic disks; spinning drives; sas hdd; sata hdd"
        ),
        "ssd": _words("ssds; solid state; sata ssd; sata ssds; sas ssd; solid state drive; solid state drives"),
        "nvme": _words("nvme ssd; nvme ssds; nvme drive; nvme drives; nvmes; nvme disk; nvme disks; pcie ssd"),
    },
    "virtualisation": {
        "full": _words("full virtualisation; full virtualization; hvm; hardware-assisted"),
        "para": _words("paravirtualised; paravirtualized; paravirtualisation; paravirtualization; pv"),
        "emulated": ("emulation", "software emulation"),
        "container": ("containers", "os-level"),
    },
    "guest_access": {"raw-device": ("raw", "raw disk", "block device"), "file-system": ("filesystem", "files")},
}
# Words that only questions may use: in a file they may mean something else ("qemu" without KVM).
ASKED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "hypervisor": {
        "kvm": _words(
            "qemu; libvirt; virt manager; unraid; ovirt; rhv; openstack; kubevirt; harvester; opennebula; cloudstack"
        ),
        "esxi": ("vcenter",),
        "hyper-v": ("azure stack hci",),
        "lxc": _words("lxd; incus; system containers; container; containers"),
        "docker": ("podman",),
        "vmware-workstation": ("workstation", "vmware player"),
        "native": _words(
            "bare metal; bare-metal; physical server; physical machine; without hypervisor; without "
            "virtualisation; ohne hypervisor; on the metal; without virtualization; ohne virtualisierung"
        ),
    },
    "file_system": {"zfs": ("zpool", "zfs pool"), "ext4": ("ext", "ext3/4"), "vmfs": ("vmfs5", "vmfs6")},
    "host_storage": {
        "dir": _words(
            "directory; dir; directory storage; folder; verzeichnis; ordner; plain directory; plain files; "
            "plain file; image file; image files; raw file; file; files; file based; file storage"
        ),
        "zfs": _words("zfs dataset; dataset; zfs dir; zfs directory; zfs filesystem; zfs file system; datasets"),
        "rbd": ("ceph", "ceph storage"),
        "nvme-tcp": _words("nvme-of; nvmeof; nvme over fabrics; nvme of"),
        "raw": _words("partition; block device; durchreichen; durchgereicht; pass through; passed through; rdm"),
        "openebs-local": _words("openebs; localpv; local pv; local path; local path provisioner; hostpath"),
        "linstor": ("drbd",),
        "s2d": ("azure stack hci",),
    },
    "storage": {
        "hdd": _words("rust; sas disks; sata disks; 7200 rpm; festplatten; spinners"),
        "ssd": _words("flash; enterprise ssd; consumer ssd"),
        "nvme": _words("m.2; optane; nvme platte; nvme storage; nvme pool"),
        "network": _words("network storage; san; storage area network; nas storage; netzwerkspeicher; fibre channel"),
    },
    "guest_os_family": {
        "windows": _words(
            "windows server; win; win10; win11; windows 10; windows 11; win server; windows server 2022; "
            "windows server 2019; windows server 2025; windows server 2016; windows vm; windows vms; windows "
            "guest; windows guests; windows gast; windows gaeste; windows desktop; windows client"
        ),
        "linux": _words(
            "debian; ubuntu; centos; rhel; red hat; rocky; rocky linux; alma; almalinux; fedora; suse; "
            "opensuse; sles; arch linux; alpine; linux vm; linux vms; linux guest; linux guests; ubuntu "
            "server; nixos"
        ),
    },
    "workload": {
        "random-write": _words(
            "random writes; random write; 4k random write; 4k random writes; random 4k writes; zufaellige "
            "schreibzugriffe; random writing; zufaelliges schreiben; random 4k write; 4k writes; small random "
            "writes; random write iops"
        ),
        "random-read": _words(
            "random reads; random read; 4k random read; 4k random reads; random 4k reads; zufaelliges lesen; "
            "random reading; random 4k read; 4k reads; zufaellige lesezugriffe; random read iops"
        ),
        "random-mixed": _words(
            "random io; random i/o; 4k random; random reads and writes; random read write; random 4k; mixed "
            "random; random access; random workload; small random io"
        ),
        "sequential-write": _words(
            "sequential writes; large writes; streaming writes; sequenzielles schreiben; seq write; "
            "sequential writing; big sequential writes"
        ),
        "sequential-read": _words(
            "sequential reads; large reads; streaming reads; sequenzielles lesen; seq read; sequential "
            "reading; big sequential reads"
        ),
        "sequential-mixed": _words(
            "sequential io; sequential i/o; large files; copying large files; big files; grosse dateien; file "
            "copy; copy of large files; large file copies; large sequential files"
        ),
        "sync-write": _words(
            "sync writes; synchronous write; synchronous writes; synchronous; sync; o_sync; o_dsync; fsync "
            "heavy; fsyncs; fdatasync; fsync bound; synchrone schreibzugriffe; fsync latency; commit latency; "
            "synchronous small writes; sync heavy"
        ),
        "small-files": _words(
            "small files; many small files; lots of small files; kleine dateien; viele kleine dateien; "
            "millions of small files; tiny files; millions of files; many files"
        ),
        "metadata": _words(
            "metadata operations; file creation; file creates; metadaten; metadata heavy; metadata workload; "
            "creating files; deleting files"
        ),
    },
}


def spelled(kind: str, entries: Iterable[Spelled], *, in_question: bool = False) -> dict[str, str]:
    """Return folded spelling to slug for the entries of a kind: their own names, then the words of this table.

    In a question ASKED goes first: "podman" is answered from Docker, of which there is evidence.
    """
    entries = list(entries)
    slugs = {slug for slug, _, _ in entries}
    words, asked = (
        {fold(word): slug for slug, phrases in table.get(kind, {}).items() if slug in slugs for word in phrases}
        for table in (WORDS, ASKED if in_question else {})
    )
    return {**words, **spellings(entries), **asked}
