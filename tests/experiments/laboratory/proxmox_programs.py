#!/usr/bin/python3
"""qm, pvesh and pveversion as far as a campaign asks them: answers in the words of Proxmox VE, machines of a real QEMU.

What they take, refuse and print was read in the sources of Proxmox VE 9:
    https://git.proxmox.com/?p=qemu-server.git at e6352be67f70 (2026-08-17): src/PVE/CLI/qm.pm, src/PVE/API2/Qemu.pm,
        src/PVE/QemuServer.pm, src/PVE/QemuServer/Drive.pm, src/PVE/QemuServer/PCI.pm, and src/test/cfg2cmd, which has
        configurations with the command of QEMU that each becomes
    https://git.proxmox.com/?p=pve-storage.git at 0c56bad8b2a7 (2026-07-24): src/PVE/API2/Storage/Status.pm
    what is said of a machine that is not there: load_config of PVE::AbstractConfig (pve-guest-common), as quoted in
        https://github.com/The-Network-Crew/Proxmox-VE-for-WHMCS/issues/145 from release 8.4.0
    pveversion: https://github.com/luchina-gabriel/OSX-PROXMOX/pull/30
An option that Proxmox VE does not have is refused as there. It runs by itself on the test's host, without the project.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

_WHERE = Path(__file__).resolve().with_name("state")  # beside the installed programs
STATE = Path(_WHERE.read_text() if _WHERE.exists() else "/nonexistent")
NODE = os.uname().nodename.partition(".")[0]
# PVE::QemuServer, $confdesc; PVE::QemuServer::Drive, %drivedesc_base and those of the buses
OPTIONS = {
    *(
        "acpi",
        "affinity",
        "agent",
        "args",
        "balloon",
        "bios",
        "boot",
        "cores",
        "cpu",
        "cpulimit",
        "cpuunits",
        "description",
    ),
    *("hotplug", "hugepages", "kvm", "machine", "memory", "name", "numa", "onboot", "ostype", "protection", "reboot"),
    *("scsihw", "smbios1", "sockets", "startup", "tablet", "tags", "template", "vcpus", "vga"),
}
DRIVE = {
    *(
        "aio",
        "backup",
        "cache",
        "detect_zeroes",
        "discard",
        "format",
        "media",
        "replicate",
        "rerror",
        "serial",
        "shared",
    ),
    *("size", "snapshot", "ssd", "werror", "iothread", "ro", "queues"),
}
BUSES = ("virtio", "scsi", "sata", "ide")
IOTHREAD_BUSES = ("virtio", "scsi")


def fail(text: str, status: int = 255) -> None:
    print(text, file=sys.stderr)
    sys.exit(status)


def missing(number: str) -> str:
    return f"Configuration file 'nodes/{NODE}/qemu-server/{number}.conf' does not exist"


def config_file(number: str) -> Path:
    return STATE / f"{number}.json"


def config_of(number: str) -> dict[str, str]:
    if not config_file(number).exists():
        fail(missing(number), 2)
    return json.loads(config_file(number).read_text())


def save(number: str, config: dict[str, str]) -> None:
    config_file(number).write_text(json.dumps(config))


def storages() -> dict[str, dict]:
    return json.loads((STATE / "storages.json").read_text())


def volume_file(volume: str) -> Path:
    storage, _, name = volume.partition(":")
    about = storages()[storage]
    if about["type"] == "dir":
        return Path(about["path"]) / "images" / name
    return STATE / "volumes" / name  # in place of a block device


def options(words: list[str]) -> dict[str, str]:
    """--name value pairs, as PVE::JSONSchema::get_options takes them."""
    if len(words) % 2 or not all(word.startswith("--") for word in words[::2]):
        fail("400 unable to parse option")
    return {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}


def is_drive(name: str) -> bool:
    return name.rstrip("0123456789") in BUSES and name[-1].isdigit()


def drive_of(text: str) -> tuple[str, dict[str, str]]:
    volume, *rest = text.split(",")
    settings = dict(part.partition("=")[::2] for part in rest)
    return volume, settings


def create(number: str, words: list[str]) -> None:
    if config_file(number).exists():  # PVE::Cluster::check_vmid_unused
        fail(f"unable to create VM {number} - VM {number} already exists on node '{NODE}'")
    settings = options(words)
    for name, value in settings.items():
        if not is_drive(name) and name not in OPTIONS:
            fail(f"Unknown option: {name}\n400 unable to parse option")
        if is_drive(name):
            unknown = set(drive_of(value)[1]) - DRIVE
            if unknown or ("iothread" in value and name.rstrip("0123456789") not in IOTHREAD_BUSES):
                fail(f"400 Parameter verification failed.\n{name}: invalid format - format error")
    save(number, {"lock": "create"})
    if (STATE / "dies-while-creating").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    config = {}
    for name, value in settings.items():
        config[name] = value
        if is_drive(name):
            volume, about = drive_of(value)
            storage, _, gib = volume.partition(":")
            if storage not in storages():
                config_file(number).unlink()
                fail(f"storage '{storage}' does not exist")
            made = f"vm-{number}-disk-0"
            if storages()[storage]["type"] == "dir":
                made = f"{number}/{made}.{about.get('format', 'raw')}"
            path = volume_file(f"{storage}:{made}")
            path.parent.mkdir(parents=True, exist_ok=True)
            size = int(float(gib) * 2**30)
            kind = about.pop("format", "raw")
            subprocess.run(["qemu-img", "create", "-q", "-f", kind, path, str(size)], check=True)
            kept = ",".join(f"{key}={about[key]}" for key in sorted(about))
            config[name] = f"{storage}:{made},{kept},size={size // 1024}K"
            print(f"{name}: successfully created disk '{config[name]}'")  # PVE::API2::Qemu, create_disks
    save(number, config)


def pid_of(number: str) -> int | None:
    try:
        pid = int((STATE / f"{number}.pid").read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def start(number: str) -> None:
    """Start QEMU as src/test/cfg2cmd does: bridges at 0x1e, 0x1f, a virtio disk at 0xa, SCSI behind a bridge at 0x5."""
    config = config_of(number)
    command = ["qemu-system-x86_64", "-name", config["name"], "-daemonize", "-pidfile", str(STATE / f"{number}.pid")]
    command += ["-qmp", f"unix:{STATE}/{number}.qmp,server=on,wait=off", "-nodefaults", "-display", "none"]
    command += ["-no-shutdown", "-m", config["memory"], "-smp", config["cores"], "-machine", "pc"]
    command += ["-accel", "kvm" if config.get("kvm") == "1" else "tcg,thread=multi", "-cpu", config["cpu"]]
    command += ["-device", "pci-bridge,id=pci.1,chassis_nr=1,bus=pci.0,addr=0x1e"]
    command += ["-device", "pci-bridge,id=pci.2,chassis_nr=2,bus=pci.0,addr=0x1f"]
    if config.get("reboot") == "0":
        command.append("-no-reboot")
    for name, value in config.items():
        if is_drive(name):
            command += drive_words(name, value)
    command += shlex.split(config.get("args", ""))  # PVE::Tools::split_args
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        fail(f"start failed: QEMU exited with code {done.returncode}: {done.stderr.strip()}")


def drive_words(name: str, value: str) -> list[str]:
    volume, settings = drive_of(value)
    path = volume_file(volume)
    kind = "qcow2" if path.suffix == ".qcow2" else "raw"
    drive = f"file={path},if=none,id=drive-{name},format={kind},cache={settings['cache']},aio={settings['aio']}"
    drive += (
        f",discard={'unmap' if settings['discard'] == 'on' else 'ignore'}"
        f",rerror={settings['rerror']},werror={settings['werror']}"
    )
    words, thread, device = ["-drive", drive], "", f"drive=drive-{name},id={name},serial={settings['serial']}"
    if settings.get("iothread") == "1":
        words, thread = [*words, "-object", f"iothread,id=iothread-{name}"], f",iothread=iothread-{name}"
    match name.rstrip("0123456789"):
        case "virtio":
            return [*words, "-device", f"virtio-blk-pci,{device},bus=pci.0,addr=0xa{thread}"]
        case "scsi":
            controller = f"virtio-scsi-pci,id=virtioscsi0,bus=pci.3,addr=0x1{thread}"
            bridge = "pci-bridge,id=pci.3,chassis_nr=3,bus=pci.0,addr=0x5"
            disk = f"scsi-hd,bus=virtioscsi0.0,scsi-id=0,{device}"
            return [*words, "-device", bridge, "-device", controller, "-device", disk]
        case "ide":
            return [*words, "-device", f"ide-hd,bus=ide.0,unit=0,{device}"]
    raise SystemExit(f"a {name} disk has no place here")


def qmp(number: str, command: str, **arguments: str) -> object:
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(STATE / f"{number}.qmp"))
        lines = wire.makefile("rw")
        lines.readline()
        for asked in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
            lines.write(json.dumps(asked) + "\n")
            lines.flush()
            while "event" in (reply := json.loads(lines.readline())):
                pass
        return reply["return"]


def status(number: str) -> str:
    config_of(number)
    return qmp(number, "query-status")["status"] if pid_of(number) else "stopped"


def qm(words: list[str]) -> None:
    verb, *rest = words
    if (STATE / "is-away").exists():  # pmxcfs, from which all of them read (PVE::IPCC)
        fail("ipcc_send_rec[1] failed: Connection refused\nUnable to load access control list: Connection refused")
    match verb, rest:
        case "list", []:
            print("      VMID NAME                 STATUS     MEM(MB)    BOOTDISK(GB) PID       ")
            for path in sorted(STATE.glob("[1-9]*.json")):
                about, pid = json.loads(path.read_text()), pid_of(path.stem)
                state = "running" if pid else "stopped"
                name = about.get("name", f"VM {path.stem}")
                print(
                    f"{path.stem:>10} {name:<20} {state:<10} {about.get('memory', 512):<10} {0.0:>12.2f} {pid or 0:<10}"
                )
        case "create", [number, *more]:
            create(number, more)
        case "config", [number]:
            for name, value in sorted(config_of(number).items()):
                print(f"{name}: {value}")
        case "status", [number]:
            print(f"status: {status(number)}")  # it prints the state of QMP: PVE::CLI::qm, status
        case "start", [number]:
            start(number)
        case "suspend" | "resume", [number]:
            qmp(number, "stop" if verb == "suspend" else "cont")
        case "unlock", [number]:
            config = config_of(number)
            config.pop("lock", None)
            save(number, config)
        case "stop", [number]:
            config_of(number)
            if pid := pid_of(number):
                os.kill(pid, signal.SIGKILL)
                while pid_of(number):
                    pass
        case "destroy", [number, *more]:
            if set(options(more)) - {"purge", "skiplock", "destroy-unreferenced-disks"}:
                fail("400 unable to parse option")
            config = config_of(number)
            if "lock" in config:
                fail(f"VM is locked ({config['lock']})")
            if pid_of(number):
                fail(f"VM {number} is running - destroy failed")
            for name, value in config.items():
                if is_drive(name):
                    volume_file(drive_of(value)[0]).unlink()
            for left in STATE.glob(f"{number}.*"):
                left.unlink()
        case _:
            fail(f"ERROR: unknown command 'qm {verb}'")


def pvesh(words: list[str]) -> None:
    *words, form, kind = words
    if (form, kind) != ("--output-format", "json"):
        fail("400 unable to parse option")
    match words:
        case ["get", place] if place == f"/nodes/{NODE}/storage":
            fields = ("type", "content", "active", "avail")
            answer = [{"storage": name} | {key: about[key] for key in fields} for name, about in storages().items()]
        case ["get", place] if place.startswith("/storage/"):
            hidden = ("active", "avail")
            name = place.removeprefix("/storage/")
            answer = {key: value for key, value in storages()[name].items() if key not in hidden} | {"storage": name}
        case ["create", place, "--command", command] if place.startswith(f"/nodes/{NODE}/qemu/"):
            answer = qmp(place.split("/")[4], "human-monitor-command", **{"command-line": command})
        case _:
            fail("no 'get' handler defined")
    print(json.dumps(answer))


if __name__ == "__main__":
    match Path(sys.argv[0]).name:
        case "qm":
            qm(sys.argv[1:])
        case "pvesh":
            pvesh(sys.argv[1:])
        case "pveversion":
            print("pve-manager/8.0.3/bbf3993334bfa916 (running kernel: 6.2.16-3-pve)")
