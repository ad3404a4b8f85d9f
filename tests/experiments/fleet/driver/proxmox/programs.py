"""qm, pvesh, pvesm, findmnt and lsblk of a node of Proxmox VE, as far as listing and moving ask them, with a state.

What they take, refuse, print and leave was read in the sources and the published API of Proxmox VE 9:
    https://pve.proxmox.com/pve-docs/api-viewer/ and qm(1), pvesm(1), pvesh(1) of https://pve.proxmox.com/pve-docs/
    https://git.proxmox.com/?p=qemu-server.git at e6352be67f70: src/PVE/API2/Qemu.pm (move_vm_disk, update_vm, vmlist,
        vm_status), src/PVE/QemuServer.pm (clone_disk, vmstatus, try_deallocate_drive), src/PVE/QemuServer/BlockJob.pm
    https://git.proxmox.com/?p=pve-common.git at f665029eac78: src/PVE/RESTEnvironment.pm (fork_worker)
    https://git.proxmox.com/?p=pve-storage.git at 0c56bad8b2a7: API2/Storage/Status.pm, Content.pm, CLI/pvesm.pm,
        API2/Disks/Directory.pm
    QEMU's monitor: https://www.qemu.org/docs/master/system/monitor.html (info block, info block-jobs)

Below ROOT lie the files of the node under their own names, and state.json: storages, ha, replication, faults, and
whether this release says which volume it allocated. A disk in qcow2 holds the same bytes as a raw one here.
It runs by itself: ROOT is KDB_ROOT, the name of the program its first argument.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import sys
import termios
import time
from pathlib import Path

ROOT = Path(os.environ.get("KDB_ROOT", "/nonexistent"))
NODE = "pve-1"
FILES = ROOT / "etc/pve/qemu-server"
TICK = 0.05  # s between two looks at a block job; Proxmox VE takes 1 s
FOLDERS = ("dir", "nfs", "btrfs")


class FailedError(Exception):
    """Raised with what a program prints before it ends with 255."""


def state() -> dict:
    return json.loads((ROOT / "state.json").read_text())


# Machines


def config_file(number: str) -> Path:
    return FILES / f"{number}.conf"


def read(number: str) -> tuple[dict[str, str], list[str], str]:
    """The options of the file's first part, the lines below it, and the digest."""
    if not config_file(number).exists():
        raise FailedError(f"Configuration file 'nodes/{NODE}/qemu-server/{number}.conf' does not exist")
    text = config_file(number).read_text()
    lines = text.splitlines()
    below = next((at for at, line in enumerate(lines) if line.startswith("[")), len(lines))
    config = dict(line.split(": ", 1) for line in lines[:below] if line and not line.startswith("#"))
    return config, lines[below:], hashlib.sha1(text.encode()).hexdigest()


def snapshots(number: str) -> dict[str, dict[str, str]]:
    """The options of each snapshot by its name; what is pending and special is none."""
    parts: dict[str, dict[str, str]] = {}
    part: dict[str, str] = {}
    for line in read(number)[1]:
        if line.startswith("["):
            part = parts.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, value = line.split(": ", 1)
            part[name] = value
    return {name: part for name, part in parts.items() if name != "PENDING" and not name.startswith("special:")}


def typed(config: dict[str, str]) -> dict[str, object]:
    """Return a configuration as the API's JSON has it, where whole numbers are numbers and not texts."""
    return {name: int(value) if value.isdecimal() else value for name, value in config.items()}


def write(number: str, config: dict[str, str], below: list[str]) -> None:
    lines = [f"{name}: {config[name]}" for name in sorted(config)]
    new = config_file(number).with_suffix(".tmp")
    new.write_text("\n".join([*lines, *([""] if below else []), *below]) + "\n")
    new.rename(config_file(number))


def drive_of(value: str) -> tuple[str, dict[str, str]]:
    volume, *rest = value.split(",")
    return volume, dict(part.split("=", 1) for part in rest)


def pid_of(number: str) -> int | None:
    try:
        pid = int((ROOT / f"run/qemu-server/{number}.pid").read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def qmp(number: str, **asked: object) -> dict:
    try:
        with socket.socket(socket.AF_UNIX) as wire:
            wire.settimeout(120)  # of a busy machine; a process that is gone is told at once
            wire.connect(str(ROOT / f"run/qemu-server/{number}.qmp"))
            wire.sendall(json.dumps(asked).encode() + b"\n")
            return json.loads(wire.makefile().readline())
    except (OSError, ValueError):
        raise FailedError(f"VM {number} qmp command failed - VM {number} not running") from None


# Storages


def place_of(volume: str) -> Path:
    """Where a volume lies: /srv/slow/images/100/vm-100-disk-0.raw, /dev/fast/vm-100-disk-0."""
    storage, _, name = volume.partition(":")
    about = state()["storages"][storage]
    return ROOT / (f"{about['path'][1:]}/images/{name}" if about["type"] in FOLDERS else f"dev/{storage}/{name}")


def volumes_on(storage: str) -> dict[str, Path]:
    about = state()["storages"][storage]
    if about["type"] in FOLDERS:
        folder = ROOT / about["path"][1:] / "images"
        return {f"{storage}:{path.relative_to(folder)}": path for path in sorted(folder.glob("*/*"))}
    return {f"{storage}:{path.name}": path for path in sorted((ROOT / "dev" / storage).glob("*"))}


def free_on(storage: str) -> int:
    taken = sum(path.stat().st_size for path in volumes_on(storage).values())
    return state()["storages"][storage]["total"] - taken


def enabled(storage: str) -> dict:
    about = state()["storages"].get(storage)
    if about is None:
        raise FailedError(f"storage '{storage}' does not exist")
    if not about.get("active", 1):
        raise FailedError(f"storage '{storage}' is not available on node '{NODE}'")
    return about


def allocate(storage: str, number: str, wanted: str, size: int) -> str:
    about = enabled(storage)
    kind = wanted if about["type"] in FOLDERS else "raw"
    if size > free_on(storage):
        raise FailedError(f"zfs error: cannot create '{storage}/vm-{number}-disk-0': out of space")
    at = 0
    while True:
        name = f"vm-{number}-disk-{at}"
        volume = f"{storage}:{number}/{name}.{kind}" if about["type"] in FOLDERS else f"{storage}:{name}"
        if not place_of(volume).exists():
            break
        at += 1
    place_of(volume).parent.mkdir(parents=True, exist_ok=True)
    with place_of(volume).open("wb") as file:
        file.truncate(size)
    return volume


# qm


def options(words: list[str], known: set[str]) -> dict[str, str]:
    if len(words) % 2 or not all(word.startswith("--") for word in words[::2]):
        raise FailedError("400 unable to parse option")
    given = {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}
    if unknown := given.keys() - known:
        raise FailedError(f"Unknown option: {unknown.pop()}\n400 unable to parse option")
    return given


def locked(number: str):
    """The lock that all who change a machine take: lock_config, with a shorter patience."""
    path = ROOT / f"run/lock/lock-{number}.conf"
    file = path.open("a")
    deadline = time.monotonic() + 0.5
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(file.fileno(), False)
            return file
        except OSError:
            if time.monotonic() > deadline:
                raise FailedError(f"can't lock file '/var/lock/qemu-server/lock-{number}.conf' - got timeout") from None
            time.sleep(TICK)


def dies(step: str) -> None:
    """End this task, its parent too, as by SIGKILL, where a test wants it to, once the parent has printed its lines."""
    faults = state()["faults"]
    if step not in (faults.get("task dies"), faults.get("parent dies")):
        return
    while struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, bytes(4)))[0]:
        time.sleep(TICK)
    time.sleep(2 * TICK)
    if faults.get("task dies") == step:
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)  # what it prints next ends the worker by SIGPIPE
    while os.getppid() == parent:
        time.sleep(TICK)


def check_move(number: str, disk: str, storage: str, given: dict[str, str]) -> None:
    config, _, digest = read(number)
    if "lock" in config:
        raise FailedError(f"VM is locked ({config['lock']})")
    if given.get("digest") not in (None, digest):
        raise FailedError("detected modified configuration - file changed by other user? Try again.")
    if disk not in config:
        raise FailedError(f"disk '{disk}' does not exist")
    volume, _ = drive_of(config[disk])
    if volume.partition(":")[0] == storage:
        raise FailedError("you can't move to the same storage with same format")
    if "images" not in enabled(storage)["content"].split(","):
        raise FailedError(
            f"400 Parameter verification failed.\nstorage: storage '{storage}' does not support vm images"
        )


def move(number: str, disk: str, storage: str, given: dict[str, str]) -> None:
    held = locked(number)
    dies("locked")
    check_move(number, disk, storage, given)
    config, below, _ = read(number)
    old, about = drive_of(config[disk])
    say(f"copying volume '{old}' from current storage '{old.partition(':')[0]}' to target storage '{storage}'")
    new = ""
    try:
        say(f"create full clone of drive {disk} ({old})")
        size = place_of(old).stat().st_size
        new = allocate(storage, number, given.get("format", "raw"), size)
        if state()["says_allocated"]:
            say(f"allocated target volume '{new}'")
        dies("allocated")
        if pid_of(number):
            mirror(number, disk, new, int(given.get("bwlimit", 0)))
        else:
            shutil.copyfile(place_of(old), place_of(new))
        dies("switched")
        if state()["faults"].get("no quorum after the copy"):
            raise FailedError("unable to open file '/etc/pve/nodes/pve-1/qemu-server/100.conf.tmp' - Permission denied")
        about["size"] = f"{size // 1024}K"
        config[disk] = ",".join([new, *(f"{name}={about[name]}" for name in sorted(about))])
        free = next(f"unused{at}" for at in range(256) if f"unused{at}" not in config)
        config[free] = old
        say(f"adding source volume '{old}' as '{free}' to config")
        write(number, config, below)
        dies("written")
    except (FailedError, InterruptedError) as error:
        if new:
            place_of(new).unlink(missing_ok=True)
        raise FailedError(f"storage migration failed: {error}") from None
    finally:
        held.close()


def mirror(number: str, disk: str, new: str, kibs: int) -> None:
    job = f"mirror-{disk}"
    if not qmp(number, do="mirror", disk=disk, target=str(place_of(new)), speed=kibs * 1024)["done"]:
        raise FailedError(f"error starting blockdev mirrror - a job of {disk} runs already")
    say(f"drive mirror is starting for drive-{disk}")
    began = time.monotonic()
    try:
        while True:
            jobs = qmp(number, do="jobs")["jobs"]
            if disk not in jobs:
                raise FailedError(f"{job}: 'mirror' has been cancelled")
            done, total = jobs[disk]["done"], jobs[disk]["total"]
            passed = f"{time.monotonic() - began:.0f}s"
            say(
                f"{job}: transferred {done / 2**20:.1f} MiB of {total / 2**20:.1f} MiB "
                f"({100 * done / total:.2f}%) in {passed}{', ready' if done == total else ''}"
            )
            dies("copying")
            if done == total:
                break
            time.sleep(TICK)
        say("all 'mirror' jobs are ready")
        dies("ready")
        say(f"{job}: Completing block job...")
        qmp(number, do="complete", disk=disk)
        say(f"{job}: Completed successfully.")
    except (FailedError, InterruptedError) as error:
        say(f"{job}: Cancelling block job")
        if pid_of(number):
            qmp(number, do="cancel", disk=disk)
        raise FailedError(f"block job (mirror) error: {error}") from None


def say(text: str) -> None:
    print(text, flush=True)


def interrupted(*_: object) -> None:
    raise InterruptedError("interrupted by signal")


def worker(task, *words: object) -> int:
    """Run a task as fork_worker does from a command: a child of its own session, whose lines the parent prints."""
    inside, outside = os.pipe()
    pid = os.fork()
    if not pid:
        os.setsid()
        os.close(inside)
        os.dup2(outside, 1)
        os.dup2(outside, 2)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, interrupted)
        status = 0
        try:
            task(*words)
        except (FailedError, InterruptedError) as error:
            say(str(error))
            status = 255
        os._exit(status)
    os.close(outside)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    with os.fdopen(inside) as lines:
        for line in lines:
            print(line, end="", flush=True)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def qm(words: list[str]) -> int:
    match words:
        case ["disk", "move", number, disk, storage, *more]:
            given = options(more, {"format", "digest", "bwlimit", "delete"})
            check_move(number, disk, storage, given)
            return worker(move, number, disk, storage, given)
        case ["set", number, "--delete", key, "--digest", digest]:
            held = locked(number)
            config, below, now = read(number)
            if digest != now:
                raise FailedError("detected modified configuration - file changed by other user? Try again.")
            if "lock" in config:
                raise FailedError(f"VM is locked ({config['lock']})")
            if not key.startswith("unused"):
                raise FailedError("this stand-in removes unused disks only")
            volume = config[key]
            if config.get("protection") == "1":
                raise FailedError(f"can't remove unused disk '{volume}' - protection mode enabled")
            if any(line.partition(": ")[2].split(",")[0] == volume for line in below):
                raise FailedError(f"unable to delete '{volume}' - volume is still in use (snapshot?)")
            place_of(volume).unlink()
            del config[key]
            write(number, config, below)
            held.close()
        case _:
            raise FailedError(f"ERROR: unknown command 'qm {' '.join(words[:2])}'")
    return 0


# pvesm, pvesh


def pvesm(words: list[str]) -> int:
    match words:
        case ["list", storage, "--vmid", number, "--content", "images"]:
            enabled(storage)
            print("Volid Format Type Size VMID")
            for volume, path in volumes_on(storage).items():
                if f"vm-{number}-" in volume:
                    print(f"{volume} {path.suffix[1:] or 'raw'} images {path.stat().st_size} {number}")
        case ["path", volume]:
            print(state()["faults"].get("odd path") or place_of(volume))
        case ["free", volume]:
            if not place_of(volume).exists():
                raise FailedError(f"volume '{volume}' does not exist")
            place_of(volume).unlink()
            print(f"Removed volume '{volume}'")
        case _:
            raise FailedError(f"ERROR: unknown command 'pvesm {' '.join(words)}'")
    return 0


def machine(number: str, full: bool) -> dict:
    config, _, _ = read(number)
    pid = pid_of(number)
    told = {"vmid": int(number), "name": config.get("name", f"VM {number}"), "status": "running" if pid else "stopped"}
    if pid and full:
        stats = qmp(number, do="stats")["stats"]
        told |= {"pid": pid, "qmpstatus": "running", "blockstat": stats}
        told |= {"diskread": sum(counters["rd_bytes"] for counters in stats.values())}
        told |= {"diskwrite": sum(counters["wr_bytes"] for counters in stats.values())}
    return told | ({"lock": config["lock"]} if "lock" in config else {})


def hmp(number: str, command: str) -> str:
    match command.split():
        case ["info", "block"]:
            opened = qmp(number, do="opened")["opened"]
            below = '{{"driver": "throttle", "file": {{"driver": "raw", "filename": "{}"}}}}'
            return "".join(
                f"drive-{disk}: json:{below.format(path)} (throttle)\r\n"
                f"    Attached to:      {disk}\r\n    Cache mode:       writeback, direct\r\n"
                for disk, path in opened.items()
            )
        case ["info", "block-jobs"]:
            jobs = qmp(number, do="jobs")["jobs"]
            lines = [
                f"Type mirror, device mirror-{disk}: Completed {job['done']} of {job['total']} bytes, "
                "speed limit 0 bytes/s"
                for disk, job in jobs.items()
            ]
            return "\r\n".join(lines or ["No active jobs"])
        case ["block_job_cancel", "-f", job]:
            qmp(number, do="cancel", disk=job.removeprefix("mirror-"))
            return ""
    raise FailedError(f"unknown command: '{command}'")


def storage_status(name: str, about: dict) -> dict:
    told = {"storage": name, "type": about["type"], "content": about["content"], "active": about.get("active", 1)}
    told |= {"enabled": 1, "shared": about.get("shared", 0)}
    if about.get("active", 1):
        told |= {"total": about["total"], "avail": free_on(name), "used": about["total"] - free_on(name)}
    return told


def settings(name: str, about: dict) -> dict:
    kept = {
        key: value for key, value in about.items() if key in ("type", "content", "path", "vgname", "pool", "sparse")
    }
    return {"storage": name} | kept


def volume_about(volume: str, path: Path) -> dict:
    number = re.search(r"(?:vm|base)-(\d+)-", volume)
    told = {"volid": volume, "format": path.suffix[1:] or "raw", "size": path.stat().st_size, "content": "images"}
    is_file = state()["storages"][volume.partition(":")[0]]["type"] in FOLDERS
    return told | {"vmid": int(number[1])} | ({"used": path.stat().st_blocks * 512} if is_file else {})


def pvesh(words: list[str]) -> int:
    *words, form, kind = words
    if (form, kind) != ("--output-format", "json"):
        raise FailedError("400 unable to parse option")
    if state()["faults"].get("pvesh hangs"):
        time.sleep(60)
    print(json.dumps(answered(words)))
    return 0


def answered(words: list[str]) -> object:
    """Return what the API answers, by pvesh (words: get PATH --name value) and by HTTPS (door.py)."""
    now = state()
    if now["faults"].get("pmxcfs is away"):
        raise FailedError("ipcc_send_rec[1] failed: Connection refused\nUnable to load access control list")
    numbers = sorted(path.stem for path in FILES.glob("*.conf"))
    match words[0], words[1].split("/")[1:], words[2:]:
        case "get", ["cluster", "status"], []:
            answer = [{"type": "node", "name": NODE, "local": 1, "online": 1}]
            answer += [{"type": "cluster", "name": "pve", "quorate": int(not now["faults"].get("no quorum"))}]
        case "get", ["cluster", "replication"], []:
            answer = now["replication"]
        case "get", ["storage"], []:
            answer = [settings(name, about) for name, about in now["storages"].items()]
        case "get", ["storage", name], []:
            answer = settings(name, now["storages"][name])
        case "get", ["nodes", "localhost", "storage"], []:
            answer = [storage_status(name, about) for name, about in now["storages"].items()]
        case "get", ["nodes", "localhost", "storage", name, "content"], ["--content", "images"]:
            enabled(name)
            answer = [volume_about(volume, path) for volume, path in volumes_on(name).items()]
        case "get", ["nodes", "localhost", "qemu"], more:
            answer = [machine(number, more == ["--full", "1"]) for number in numbers]
        case "get", ["nodes", "localhost", "qemu", number, "status", "current"], []:
            answer = machine(number, full=True) | {"ha": now["ha"].get(number, {"managed": 0})}
        case "get", ["nodes", "localhost", "qemu", number, "config"], ["--current", "1"]:
            config, _, digest = read(number)
            answer = typed(config) | {"digest": digest}
        case "get", ["nodes", "localhost", "qemu", number, "config"], ["--snapshot", name]:
            if name not in snapshots(number):
                raise FailedError(f"snapshot '{name}' does not exist")
            answer = typed(snapshots(number)[name])
        case "get", ["nodes", "localhost", "qemu", number, "snapshot"], []:
            read(number)
            answer = [{"name": name} for name in [*snapshots(number), "current"]]
        case "get", ["nodes", "localhost", "disks", "directory"], []:
            answer = [{"path": path, "type": kind} for path, kind in now.get("directories", {}).items()]
        case "get", ["version"], []:
            answer = {"version": "9.1.4", "release": "9.1", "repoid": "14a22df35955d97d"}
        case "get", ["nodes", "localhost", "qemu", number, "agent", "get-fsinfo"], []:
            if number not in now["agents"]:
                raise FailedError("QEMU guest agent is not running")
            answer = {"result": now["agents"][number]}
        case "create", ["nodes", "localhost", "qemu", number, "monitor"], ["--command", command]:
            answer = hmp(number, command)
        case _:
            raise FailedError(f"No '{words[0]}' handler defined for '{words[1]}'")
    return answer


def main(name: str, words: list[str]) -> int:
    try:
        match name:
            case "qm":
                return qm(words)
            case "pvesm":
                return pvesm(words)
            case "pvesh":
                return pvesh(words)
        print(json.dumps(state()[name]))  # findmnt, lsblk
    except FailedError as error:
        print(error, file=sys.stderr)
        return 255
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
