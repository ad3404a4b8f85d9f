"""QEMU's part of a machine on the stand-in: it writes numbered records to its disk, and copies it to another if asked.

    machine.py ROOT NUMBER DISK PATH

A record is acknowledged, in run/qemu-server/NUMBER.acks, once it is in the image that the machine runs from and, while
a copy is under way, in the copy too. It answers one line of JSON on its socket with another.
"""

import json
import os
import select
import socket
import sys
import time
from pathlib import Path

SLOT = 4096  # bytes of a record
SLOTS = 1024  # of the disk, from its start
TICK = 0.01  # s between two records
CHUNK = 256 * 1024


def record(number: int) -> bytes:
    return number.to_bytes(8, "big") * (SLOT // 8)


def lost(path: Path, acknowledged: int) -> list[str]:
    """Say which acknowledged records an image lacks."""
    newest = {number % SLOTS: number for number in range(max(1, acknowledged - SLOTS + 1), acknowledged + 1)}
    faults = []
    with path.open("rb") as image:
        for slot, number in newest.items():
            image.seek(slot * SLOT)
            data = image.read(SLOT)
            stored = int.from_bytes(data[:8], "big")
            if data != record(stored) or stored < number:
                faults.append(f"record {number}: {stored} is there")
    return faults


class Machine:
    def __init__(self, root: Path, number: str, disk: str, path: str) -> None:
        self.disk, self.path, self.job = disk, path, None
        self.image = os.open(path, os.O_RDWR)
        self.total = os.fstat(self.image).st_size
        run = root / "run/qemu-server"
        self.acks = (run / f"{number}.acks").open("a+")
        self.acks.seek(0)
        self.number = int(([0, *self.acks.read().split()])[-1])
        self.writes = self.reads = 0
        self.socket = socket.socket(socket.AF_UNIX)
        (run / f"{number}.qmp").unlink(missing_ok=True)
        self.socket.bind(str(run / f"{number}.qmp"))
        self.socket.listen(8)
        (run / f"{number}.pid").write_text(str(os.getpid()))

    def go_on(self) -> None:
        before = time.monotonic()
        while True:
            if select.select([self.socket], [], [], TICK)[0]:
                self.answer()
            self.write()
            now = time.monotonic()
            if self.job:
                self.copy(now - before)
            before = now

    def write(self) -> None:
        number = self.number + 1
        for image in [self.image, *([self.job["image"]] if self.job else [])]:
            os.pwrite(image, record(number), number % SLOTS * SLOT)
        self.number, self.writes = number, self.writes + 1
        self.acks.write(f"{number}\n")
        self.acks.flush()

    def copy(self, seconds: float) -> None:
        job = self.job
        job["may"] = min(job["may"] + job["speed"] * seconds, self.total) if job["speed"] else self.total
        while job["done"] < self.total and job["may"] >= CHUNK:
            data = os.pread(self.image, CHUNK, job["done"])
            os.pwrite(job["image"], data, job["done"])
            job["done"] += len(data)
            job["may"] -= len(data)
            if not job["speed"]:
                break  # the next record first

    def answer(self) -> None:
        wire, _ = self.socket.accept()
        with wire:
            asked = json.loads(wire.makefile().readline())
            wire.sendall(json.dumps({"done": True} | self.do(asked)).encode() + b"\n")

    def do(self, asked: dict) -> dict:
        match asked["do"]:
            case "mirror" if self.job:
                return {"done": False}
            case "mirror":
                image = os.open(asked["target"], os.O_RDWR)
                self.job = {"image": image, "path": asked["target"], "speed": asked["speed"], "done": 0, "may": 0}
            case "complete":
                os.close(self.image)
                self.image, self.path, self.job = self.job["image"], self.job["path"], None
            case "cancel" if self.job:
                os.close(self.job["image"])
                self.job = None
            case "jobs":
                return {"jobs": {self.disk: {"done": self.job["done"], "total": self.total}} if self.job else {}}
            case "opened":
                return {"opened": {self.disk: self.path}}
            case "stats":
                counted = {"wr_operations": self.writes, "wr_bytes": self.writes * SLOT, "wr_total_time_ns": 7_000}
                counted |= {"rd_operations": 5, "rd_bytes": 5 * SLOT, "rd_total_time_ns": 2_000_000_000}
                return {"stats": {self.disk: counted | {"flush_operations": 3, "flush_total_time_ns": 4}}}
        return {}


if __name__ == "__main__":
    Machine(Path(sys.argv[1]), *sys.argv[2:]).go_on()
