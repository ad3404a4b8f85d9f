#!/usr/bin/python3
"""xl and xenstore-write as far as a campaign asks them: answers in the words of Xen, machines of a real QEMU.

What they take, refuse and print was read in the sources of Xen, https://github.com/xen-project/xen at c447b7308b13
(2026-08-20):
    docs/man/xl.1.pod.in, xl.cfg.5.pod.in, xl-disk-configuration.5.pod.in, xl-network-configuration.5.pod.in
    tools/xl/xl_info.c (info, list, vm-list, domid), xl_vmcontrol.c (create, destroy), xl_utils.c (find_domain),
        xl_parse.c (the keys of a configuration and of an interface)
    tools/libs/util/libxlu_disk_l.l (the words of a disk); tools/libs/light/libxl_device.c (disk_try_backend),
        libxl_dm.c (what becomes of disks, serial ports and kernels), libxl_linux.c (how an interface's script is run),
        libxl_domain.c (a name that is taken)
and of QEMU: xen_block_drive_create of hw/block/xen-block.c.

A key that Xen does not have is refused here; the real xl passes over it. A machine is its QEMU here: it has virtio in
place of Xen's own disks and network, the disk under test has a serial number in place of its place, and it is gone when
QEMU is. It runs by itself on the test's host, without the project.
"""

import ast
import contextlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

_WHERE = Path(__file__).resolve().with_name("state")  # beside the installed programs
STATE = Path(_WHERE.read_text() if _WHERE.exists() else "/nonexistent")
LOGS = Path("/var/log/xen")
KEYS = {  # xl_parse.c
    *("acpi", "bios", "boot", "builder", "cmdline", "cpus", "cpus_soft", "cpu_weight", "device_model_args", "disk"),
    *("extra", "hap", "kernel", "maxmem", "maxvcpus", "memory", "name", "nographic", "on_crash", "on_poweroff"),
    *("on_reboot", "on_soft_reset", "on_watchdog", "pool", "ramdisk", "root", "sdl", "serial", "type", "usb", "uuid"),
    *("vcpus", "vga", "videoram", "vif", "vnc", "xen_platform_pci"),
}
FLAGS = {"cdrom", "direct-io-safe", "discard", "no-discard", "trusted", "untrusted"}
VALUES = {  # None: any
    "format": ("raw", "qcow", "qcow2", "vhd", "qed"),
    "access": ("ro", "r", "rw", "w"),
    "backendtype": ("phy", "tap", "qdisk"),
    **dict.fromkeys(("vdev", "script", "backend", "devtype", "target")),
}
INTERFACE = {"type", "mac", "bridge", "ip", "script", "backend", "vifname", "model", "rate", "mtu", "vlan"}
ABOUT = """host                   : xen-1
release                : 6.1.0-50-amd64
machine                : x86_64
nr_cpus                : 8
max_cpu_id             : 7
nr_nodes               : 1
cores_per_socket       : 4
threads_per_core       : 2
cpu_mhz                : 3392.292
virt_caps              : pv hvm hvm_directio pv_directio hap iommu_hap_pt_share vmtrace gnttab-v1 gnttab-v2
total_memory           : 32613
free_memory            : 24190
free_cpus              : 0
xen_major              : 4
xen_minor              : 17
xen_extra              : .6-pre
xen_version            : 4.17.6-pre
xen_caps               : xen-3.0-x86_64 hvm-3.0-x86_32 hvm-3.0-x86_32p hvm-3.0-x86_64
xen_scheduler          : credit2
xen_pagesize           : 4096
xend_config_format     : 4"""


def fail(text: str, status: int = 1) -> None:
    print(text, file=sys.stderr)
    sys.exit(status)


def error(text: str) -> None:
    """Fail as libxl does; create_domain returns ERROR_FAIL."""
    fail(f"libxl: error: {text}", 3)


def path_of(number: int) -> Path:
    return STATE / f"{number}.json"


def domains() -> dict[int, dict]:
    """Return the domains that exist, by number; what a domain's QEMU left is gone."""
    existing = {}
    for path in sorted(STATE.glob("*.json")):
        about = json.loads(path.read_text())
        if about.get("pid") and not run_state(about):
            path.unlink()
        else:
            existing[int(path.stem)] = about
    return existing


def run_state(about: dict) -> str:
    """Return the state of its QEMU as the kernel has it; "T" where it was stopped, "" where it is gone."""
    try:
        letter = Path(f"/proc/{about['pid']}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return ""
    return "" if letter == "Z" else letter


def domain(name_or_number: str) -> int:
    """find_domain: by name, or by number."""
    for number, about in domains().items():
        if name_or_number in (about["name"], str(number)):
            return number
    fail(f"{name_or_number} is an invalid domain identifier (rc=-6)")
    raise AssertionError


def parsed(path: str) -> dict:
    if not stat.S_ISREG(os.stat(path).st_mode):
        error(f"{path} is not a plain file")
    config = {}
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition("=")
        config[name.strip()] = ast.literal_eval(value.strip())
    if unknown := config.keys() - KEYS:
        error(f"no key of Xen: {', '.join(sorted(unknown))}")
    return config


def disk_of(text: str) -> dict[str, str]:
    disk: dict[str, str] = {}
    while text:
        if text.startswith("target="):
            disk["target"], text = text.removeprefix("target="), ""
            continue
        word, _, text = text.partition(",")
        name, is_value, value = word.partition("=")
        if name not in (VALUES if is_value else FLAGS):
            error(f"config parsing error in disk specification: unknown parameter: near `{word}'")
        if is_value and VALUES[name] and value not in VALUES[name]:
            error(f"config parsing error in disk specification: unknown value for {name}: near `{word}'")
        disk[name] = value
    is_device = stat.S_ISBLK(os.stat(disk["target"]).st_mode)
    if disk.get("backendtype") == "phy" and (disk["format"] != "raw" or not is_device):
        error(f"no suitable backend for disk {disk['vdev']}")
    if disk["vdev"] in ("xvda", "xvdb", "xvdc", "xvdd", "hda", "hdb", "hdc", "hdd") and disk["access"] in ("ro", "r"):
        error("qemu-xen doesn't support read-only IDE disk drivers")
    return disk


def is_served(disk: dict[str, str]) -> bool:
    """Tell whether QEMU makes the device: it opens a read-only file and writes to what lies over it (seen with 7.2)."""
    return disk["backendtype"] == "phy" or disk["access"] not in ("ro", "r")


def drive_words(disk: dict[str, str], place: int, serial: str) -> list[str]:
    """Open an image as xen_block_drive_create does for QEMU's backend, and a device as the kernel's backend does."""
    is_direct = "direct-io-safe" in disk or disk["backendtype"] == "phy"
    drive = f"file={disk['target']},if=none,id=d{place},format={disk['format']},file.locking=off"
    drive += ",cache=none,aio=native" if is_direct else ",cache=writeback,aio=threads"
    drive += ",discard=ignore" if "no-discard" in disk else ",discard=unmap"
    drive += ",readonly=on" if disk["access"] in ("ro", "r") else ""
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive=d{place},serial={serial},bus=pci.0,addr={place}"]


def create(path: str) -> None:
    config = parsed(path)
    identity, name = config["uuid"], config["name"]
    disks = [disk_of(text) for text in config["disk"]]
    interface = dict(part.split("=") for part in config["vif"][0].split(","))
    if interface.keys() - INTERFACE:
        error(f"unrecognized argument in vif: {interface}")
    taken = domains()
    number = next(candidate for candidate in iter(lambda: random.randrange(1000, 30_000), 0) if candidate not in taken)
    path_of(number).write_text(json.dumps({"name": "", "uuid": identity}))  # the hypervisor knows it, xenstore not yet
    if (STATE / "dies-while-creating").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if (STATE / "hangs-while-creating").exists():
        time.sleep(60)
    if name in [about["name"] for about in taken.values()]:
        path_of(number).unlink()
        error(f'libxl_domain.c:81:libxl__domain_rename: Domain {number}:Domain with name "{name}" already exists.')
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / f"xl-{name}.log").write_text(f"Waiting for domain {name} (domid {number}) to die\n")
    with (LOGS / f"qemu-dm-{name}.log").open("w") as log:
        for disk in disks:
            if not is_served(disk):  # and `xl create` succeeds all the same
                print(
                    f"failed to create 'qdisk' device '{disk['vdev']}': Block node is read-only", file=log, flush=True
                )
        disks = [disk for disk in disks if is_served(disk)]
        done = subprocess.run(qemu(number, config, disks, interface), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if done.returncode:
        path_of(number).unlink()
        error(f"libxl_dm.c:3081:device_model_spawn_outcome: Domain {number}:domain {number} device model: spawn failed")
    pid_file = STATE / f"{number}.pid"
    pid = int(pid_file.read_text())
    pid_file.unlink()
    path_of(number).write_text(
        json.dumps({"name": name, "uuid": identity, "pid": pid, "memory": config["memory"], "disks": disks})
    )
    plug(number, interface)


def qemu(number: int, config: dict, disks: list[dict[str, str]], interface: dict[str, str]) -> list[str]:
    words = ["qemu-system-x86_64", "-name", config["name"], "-nodefaults", "-display", "none", "-no-reboot"]
    words += ["-daemonize", "-pidfile", str(STATE / f"{number}.pid"), "-m", str(config["memory"])]
    words += ["-smp", str(config["vcpus"]), "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max"]
    words += [
        "-kernel",
        config["kernel"],
        "-initrd",
        config["ramdisk"],
        "-append",
        config["cmdline"].replace("hvc0", "ttyS0"),
    ]
    words += ["-serial", f"file:{STATE}/console-{number}"]
    words += ["-netdev", f"tap,id=n,ifname=vif{number}.0,script=no,downscript=no"]
    words += ["-device", f"virtio-net-pci,netdev=n,mac={interface['mac']},romfile="]
    for place, disk in enumerate(disks, start=4):
        words += drive_words(disk, place, "kdb-under-test" if disk["vdev"] == "xvdf" else "")
    return words


def plug(number: int, interface: dict[str, str]) -> None:
    """Run the interface's script and see that it says that it is connected."""
    place = f"backend/vif/{number}/0"
    about = {"script": interface["script"], "XENBUS_TYPE": "vif", "XENBUS_PATH": place, "XENBUS_BASE_PATH": "backend"}
    about |= {"netdev": "", "vif": f"vif{number}.0"}
    done = subprocess.run([interface["script"], "online", "type_if=vif"], env=os.environ | about, capture_output=True)
    connected = STATE / f"{place}/hotplug-status".replace("/", "!")
    if done.returncode or not connected.exists() or connected.read_text() != "connected":
        destroy(number)
        error(f"libxl_exec.c:117:libxl_report_child_exitstatus: {interface['script']} online [{number}] exited")
    connected.unlink()


def console(number: int) -> None:
    """Print what the machine says on its console, until it ends."""
    about = domains()[number]
    with (STATE / f"console-{number}").open("rb") as log:
        while run_state(about):
            sys.stdout.buffer.write(log.read())
            sys.stdout.flush()
            time.sleep(0.05)


def destroy(number: int) -> None:
    about = json.loads(path_of(number).read_text())
    if "pid" in about:
        with contextlib.suppress(ProcessLookupError):
            os.kill(about["pid"], signal.SIGKILL)
        while run_state(about):
            time.sleep(0.05)
    path_of(number).unlink(missing_ok=True)
    (STATE / f"console-{number}").unlink(missing_ok=True)


def listed(number: int, about: dict) -> str:
    """Return a line of list_domains."""
    state = "--p---" if run_state(about) == "T" else "-b----"
    return f"{about['name'] or '(null)':<40} {number:>5} {about.get('memory', 0):>5} {1:>5}     {state}  {1.5:>8.1f}"


def xl(words: list[str]) -> None:
    if (STATE / "is-away").exists():
        fail("cannot init xl context")  # xl.c, where it is not booted under Xen
    match words:
        case ["info"]:
            print(ABOUT)
        case ["create", "-q", path]:
            create(path)
        case ["vm-list"]:
            print("UUID                                  ID    name")
            print("00000000-0000-0000-0000-000000000000  0    Domain-0                      ")
            for number, about in domains().items():
                print(f"{about['uuid']}  {number}    {about['name'] or '(null)':<30}")
        case ["list", "-l", said]:  # list_domains_details
            about = domains()[domain(said)]
            config = {"c_info": {"type": "pvh", "name": about["name"], "uuid": about["uuid"]}}
            config["disks"] = [{"pdev_path": disk["target"], "vdev": disk["vdev"]} for disk in about.get("disks", [])]
            print(json.dumps([{"domid": domain(said), "config": config}], indent=4))
        case ["list", said]:
            number = domain(said)
            print("Name                                        ID   Mem VCPUs\tState\tTime(s)")
            print(listed(number, domains()[number]))
        case ["domid", said]:
            numbers = [number for number, about in domains().items() if about["name"] == said]
            if not numbers:
                fail(f"Can't get domid of domain name '{said}', maybe this domain does not exist.")
            print(numbers[0])
        case ["pause" | "unpause" as verb, said]:
            os.kill(domains()[domain(said)]["pid"], signal.SIGSTOP if verb == "pause" else signal.SIGCONT)
        case ["console", said]:
            console(domain(said))
        case ["destroy", said]:
            destroy(domain(said))
        case _:
            fail(f"xl {' '.join(words)} is not played")


if __name__ == "__main__":
    if Path(sys.argv[0]).name == "xl":
        xl(sys.argv[1:])
    else:  # xenstore-write PATH VALUE
        (STATE / sys.argv[1].replace("/", "!")).write_text(sys.argv[2])
