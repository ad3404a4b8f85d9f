"""The meaning of an answer: in units, in machines that a host carries, and how the entry to use was set up."""

import html
import re

import pytest

from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.evidence.question import Question
from modelling.workloads.curves import MachineCount, count_machines
from tests.factories import make_case_study, make_configuration, make_measurement, publish

GUESTS = Question(axis="guest-fs", workload="fileserver")


@pytest.mark.parametrize(
    ("rate", "aggregate", "found"),
    [
        (100, False, MachineCount(1)),  # at two machines 75
        (60, False, MachineCount(2)),  # 75 at two, 50 at three
        (42, False, MachineCount(4)),  # 45 at four, between 50 and 40
        (20, False, MachineCount(5, at_least=True)),
        (120, False, MachineCount(1, fewer_than=True)),
        (30, True, MachineCount(2)),  # 100 / 1, 75 / 2 = 37.5, 50 / 3 = 16.7
    ],
)
def test_machines_are_read_off_between_what_was_measured_and_never_beyond(rate, aggregate, found):
    assert count_machines([(1, 100.0), (3, 50.0), (5, 40.0)], rate, aggregate=aggregate) == found


def test_a_rate_that_recovers_with_more_machines_does_not_count():
    assert count_machines([(1, 100.0), (2, 40.0), (3, 90.0)], 50, aggregate=False) == MachineCount(1)


@pytest.mark.django_db
@pytest.mark.sqlite
class TestPublished:
    def study(self, slug, first="ext4", **facts):
        """Return a published laboratory where `first` reaches 300 MiB/s with one machine and 200 with two, XFS half."""
        study = make_case_study(slug)
        for guest_fs, value in ((first, 300.0), ("xfs", 150.0)):
            configuration = make_configuration(study, guest_fs=guest_fs, **facts)
            for vm_count, share in ((1, 1.0), (2, 2 / 3)):
                make_measurement(
                    value * share,
                    configuration=configuration,
                    workload="fileserver",
                    vm_count=vm_count,
                    source="Table II",
                )
        publish(study)
        return study

    def test_the_difference_is_what_was_measured_side_by_side(self, client):
        self.study("lab")
        rows = [(d["other"], d["vm_count"], d["first_value"], d["other_value"]) for d in self.result()["differences"]]
        assert rows == [("xfs", 1, 300.0, 150.0), ("xfs", 2, 200.0, 100.0)]
        page = client.get("/?axis=guest-fs&workload=fileserver&tab=set-up").content.decode()
        assert "ext4 reached 300 MiB/s, xfs 150 MiB/s: 150 MiB/s more (“lab”, one virtual machine)." in page
        assert 'href="/case-studies/lab/#table-ii"' in page

    def test_differences_come_by_case_study_and_number_of_machines_as_far_as_there_is_room(self, monkeypatch):
        self.study("lab-b")
        self.study("lab-a")  # later, and first by name
        monkeypatch.setattr("modelling.answers.differences.MOST", 3)
        rows = [(d["case_study"], d["vm_count"]) for d in self.result()["differences"]]
        assert rows == [("lab-a", 1), ("lab-a", 2), ("lab-b", 1)]

    def result(self):
        return current_snapshot(GUESTS).result

    def test_machines_at_a_rate_stand_at_an_address_of_their_own(self, client):
        self.study("lab")
        page = client.get("/capacity/?axis=guest-fs&workload=fileserver&rate=140").content.decode()
        ext4 = re.search(r'<th scope="row">ext4</th>(.*?)</tr>', page, re.S)[1]
        # For each machine 200 at two, the most that were measured; together 200 / 2 = 100 is too little.
        assert [cell.strip() for cell in re.findall(r"<td>([^<]*)</td>", ext4)] == ["at least 2", "1"]

    @pytest.mark.parametrize("rate", ["", "-1", "many", "nan"])
    def test_a_rate_that_is_none_is_refused_by_its_field(self, client, rate):
        response = client.get(f"/capacity/?axis=guest-fs&workload=fileserver&rate={rate}")
        assert (response.status_code, 'id="id_rate_error"' in response.content.decode()) == (400, True)

    def test_machines_of_no_answer_lead_to_where_answers_are_asked_for(self, client):
        response = client.get("/capacity/")
        assert (response.status_code, response["Location"]) == (302, "/")
        assert client.get("/capacity/", headers={"HX-Request": "true"})["HX-Redirect"] == "/"

    def set_up(self):
        return answer_in(current_snapshot(GUESTS)).set_ups[0]

    def test_commands_are_composed_of_stated_facts_alone(self):
        self.study(
            "lab",
            guest_mount_options="rw,noatime",
            image_format="raw",
            allocation="falloc",
            cache_mode="writeback",
        )
        assert [line.text for line in self.set_up().lines] == [
            'mkfs.ext4 "$HOST_DEVICE"',
            "# host mount options: not stated",
            'mount -t ext4 "$HOST_DEVICE" "$HOST_FOLDER"',
            '# Proxmox VE: pvesm add dir "$STORAGE" --path "$HOST_FOLDER" --preallocation falloc --content images',
            'qemu-img create -f raw -o preallocation=falloc "$HOST_FOLDER/$IMAGE" "$DISK_SIZE"',
            '# libvirt: <driver name="qemu" type="raw" cache="writeback"/>',
            '# Proxmox VE: qm set "$VM" "--$BUS$NUMBER" "$STORAGE:$GIB,format=raw,cache=writeback"',
            'mkfs.ext4 "$GUEST_DEVICE"',
            'mount -t ext4 -o rw,noatime "$GUEST_DEVICE" "$GUEST_FOLDER"',
        ]
        facts = {fact.fact: fact for fact in self.set_up().facts}
        assert facts["Cache mode"].not_tried == ("none", "writethrough", "directsync")
        assert (facts["Disk bus"].not_stated_by, facts["Disk bus"].not_tried) == (("lab",), ())
        assert facts["Host I/O scheduler"].not_stated_by == ("lab",)

    @pytest.mark.parametrize(
        ("hypervisor", "facts", "lines"),
        [
            (
                "kvm",
                {"cache_mode": "none", "io_mode": "native", "disk_bus": "virtio", "iothread": "yes"},
                [
                    "# libvirt: <iothreads>1</iothreads>",
                    '# libvirt: <driver name="qemu" cache="none" io="native" iothread="1"/>'
                    '<target dev="$DISK" bus="virtio"/>',
                    '# Proxmox VE: qm set "$VM" "--virtio$NUMBER" "$STORAGE:$GIB,cache=none,aio=native,iothread=1"',
                ],
            ),
            (
                "qemu-tcg",
                {"cache_mode": "none", "disk_bus": "scsi", "iothread": "yes", "discard": "unmap"},
                [
                    "# libvirt: <iothreads>1</iothreads>",
                    '# libvirt: <controller type="scsi" model="virtio-scsi"><driver iothread="1"/></controller>',
                    '# libvirt: <driver name="qemu" cache="none" discard="unmap"/><target dev="$DISK" bus="scsi"/>',
                ],
            ),
            (
                "proxmox",
                {"cache_mode": "none", "disk_bus": "scsi", "discard": "unmap", "image_format": "qcow2"},
                [
                    'pvesm add dir "$STORAGE" --path "$HOST_FOLDER" --content images',
                    'qm set "$VM" --scsihw virtio-scsi-single "--scsi$NUMBER" '
                    '"$STORAGE:$GIB,format=qcow2,cache=none,discard=on"',
                ],
            ),
            (
                "proxmox",
                {"backend": "zvol", "host_fs": None, "volume_block_bytes": 16384, "allocation": "sparse"},
                ['pvesm add zfspool "$STORAGE" --pool "$ZFS_POOL" --blocksize 16k --sparse 1 --content images'],
            ),
            ("xen", {"cache_mode": "none", "disk_bus": "xen"}, ["# virtual disk: cache=none"]),
            # QEMU starts no disk whose requests go past a cache that it has.
            ("kvm", {"cache_mode": "writeback", "io_mode": "native"}, ["# I/O mode: see the facts"]),
            ("kvm", {"cache_mode": "none", "iothread": "yes"}, ["# I/O thread: see the facts"]),
        ],
    )
    def test_a_virtual_disk_is_told_in_the_words_of_what_manages_it(self, hypervisor, facts, lines):
        self.study("lab", hypervisor=hypervisor, **facts)
        told = [line.text for line in self.set_up().lines]
        assert [line for line in told if line in lines] == lines
        assert any("libvirt" in line for line in told) == (hypervisor in ("kvm", "qemu-tcg"))
        assert any("qm set" in line for line in told) == (hypervisor in ("kvm", "proxmox") and "cache_mode" in facts)

    def test_options_of_mkfs_stand_in_its_command_where_they_are_plain(self):
        self.study("lab", host_mkfs_options="-m reflink=0", guest_mkfs_options="-L $(reboot) /dev/sda")
        lines = [line.text for line in self.set_up().lines]
        assert 'mkfs.ext4 -m reflink=0 "$HOST_DEVICE"' in lines
        assert lines[lines.index('mkfs.ext4 "$GUEST_DEVICE"') + 1] == "# guest mkfs options: see the facts"

    @pytest.mark.parametrize(
        "hostile", ["noatime; rm -rf /", "noatime\nrm -rf /", "noatime rm", "$(reboot)", "`id`", "a'b"]
    )
    def test_no_text_of_a_source_becomes_part_of_a_command(self, hostile, client):
        self.study("lab", guest_mount_options=hostile, image_format=hostile, cache_mode=hostile[:40])
        page = client.get("/?axis=guest-fs&workload=fileserver&tab=set-up").content.decode()
        script = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.S)[-1])
        assert script.splitlines() == [
            'mkfs.ext4 "$HOST_DEVICE"',
            'mount -t ext4 "$HOST_DEVICE" "$HOST_FOLDER"',
            '# Proxmox VE: pvesm add dir "$STORAGE" --path "$HOST_FOLDER" --content images',
            "# image format: see the facts",
            "# cache mode: see the facts",
            'mkfs.ext4 "$GUEST_DEVICE"',
            "# guest mount options: see the facts",
            'mount -t ext4 "$GUEST_DEVICE" "$GUEST_FOLDER"',
            "# not stated: host mount options",
        ]

    def test_what_can_lose_writes_is_shown_and_left_out_of_the_commands(self):
        self.study("lab", cache_mode="none")
        self.study("other", cache_mode="unsafe", host_mount_options="noatime,nobarrier")
        set_up = self.set_up()
        assert set_up.durability.startswith("Some of its numbers were measured with cache mode unsafe and host mount")
        lines = [line.text for line in set_up.lines]
        assert '# libvirt: <driver name="qemu" cache="none"/>' in lines
        assert 'mount -t ext4 -o noatime "$HOST_DEVICE" "$HOST_FOLDER"' in lines
        assert not [line for line in lines if "unsafe" in line or "nobarrier" in line]
        modes = next(fact for fact in set_up.facts if fact.fact == "Cache mode").stated
        assert [(mode.value, mode.loses_writes, mode.case_studies) for mode in modes] == [
            ("none", False, ("lab",)),
            ("unsafe", True, ("other",)),
        ]
