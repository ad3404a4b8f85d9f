"""An operator's machines on a stock Debian, from the browser alone, while workers and the clock are killed.

The host is registered and watched; a disk is moved by hand, planned for, and moved again; what the plan lacks is
measured; the disk is moved back, and the host is archived, with what was measured and moved there.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page

from tests.experiments.fleet.driver.machines import Machine, mount_pool
from tests.experiments.laboratory.conftest import stock_lab  # noqa: F401 - a fixture
from tests.kdb.jobs.test_serve import ROOT, Server, start  # noqa: F401 - a fixture
from tests.laboratory.stock_host import StockHost

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]

PASSWORD = "correct horse 7"
PREPARE = """
import django; django.setup()
from experiments.models import FileSystem, Hypervisor, Workload
from tests.factories import entry
from tests.modelling.fleet.moving.fleets import numbers_for_xfs
for slug in ("kvm", "qemu-tcg"):
    entry(Hypervisor, slug)
entry(FileSystem, "btrfs")
numbers_for_xfs()
"""
CAMPAIGN = {
    "title": "Mail on Btrfs",
    "slug": "mail",
    "run_seconds": "2",
    "repetitions": "1",
    "disk_mib": "320",
    "scale_percent": "10",
    "vm_ram_mib": "512",
}


def run(data_dir: Path, *words: str, said: str | None = None) -> None:
    places = {"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=places, input=said, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def mail(stock_lab):  # noqa: F811
    """Give a machine on ext4 that writes records, in one of three pools that libvirt knows."""
    points = {host_fs: mount_pool(stock_lab, host_fs) for host_fs in ("ext4", "xfs", "btrfs")}
    mail = Machine(stock_lab, "mail-1", points["ext4"])
    for host_fs, point in points.items():
        mail.virsh("pool-define-as", host_fs, "dir", "--target", str(point))
        mail.virsh("pool-start", host_fs)
    mail.start()
    yield mail
    mail.forget()
    for host_fs, point in points.items():
        mail.virsh("pool-destroy", host_fs)
        stock_lab.inside("umount", str(point))


@pytest.fixture
def server(start, tmp_path, migrated_sqlite, stock_lab, request) -> Server:  # noqa: F811
    """Start KDB as its operator ada does, on a database that the test module's PREPARE has filled."""
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    shutil.copy(migrated_sqlite, data_dir / "kdb.sqlite3")
    words = ("create_user", "ada", "--role", "operators", "--password-stdin")
    run(data_dir, "manage.py", *words, said=PASSWORD)
    run(data_dir, "-c", request.module.PREPARE)
    server = start(KEYS_DIR=str(stock_lab.folder / "keys"), JOB_LEASE_SECONDS="5")
    server.wait_until_ready()
    return server


def kill_workers(server: Server) -> None:
    """Kill every process that does jobs, and the clock; the supervisor starts them anew."""
    for child in psutil.Process(server.process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "work" in child.cmdline():
                for process in (child, *child.children(recursive=True)):
                    process.send_signal(signal.SIGKILL)


class Operator:
    """Somebody at a browser, who looks again until it is there."""

    def __init__(self, page: Page, site: str) -> None:
        self.page, self.site = page, site

    def goes(self, address: str) -> None:
        self.page.goto(f"{self.site}{address}")

    def follows(self, name: str | re.Pattern[str]) -> None:
        self.page.get_by_role("main").get_by_role("link", name=name).first.click()

    def presses(self, name: str) -> None:
        self.page.get_by_role("main").get_by_role("button", name=name, exact=True).first.click()

    def sees(self, text: str | re.Pattern[str]) -> None:
        self.page.get_by_role("main").get_by_text(text).first.wait_for()

    def looks_until(self, text: str) -> None:
        """Load the page again until it says this."""
        for _ in range(300):
            if self.page.get_by_role("main").get_by_text(text).count():
                return
            self.page.wait_for_timeout(1000)
            self.page.reload()
        raise AssertionError(self.page.get_by_role("main").inner_text())

    def registers_host(self, lab: StockHost, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Sign in, register the host, and accept its key. meanwhile : what happens before that"""
        page = self.page
        self.goes("/accounts/login/?next=/laboratory/hosts/new/")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        self.presses("Sign in")
        fields = {"name": "Lab", "slug": "lab", "address": "127.0.0.1", "port": str(lab.port), "key_name": "lab"}
        fields |= {"login": lab.login, "pools": f"{lab.pool} image", "guest_image": str(lab.image)}
        for name, text in fields.items():
            page.fill(f"[name={name}]", text)
        kvm = page.locator("[name=hypervisor] option", has_text="kvm").get_attribute("value")
        page.select_option("[name=hypervisor]", kvm)  # a check would find that this machine emulates it
        page.check("[name=uses_sudo]")
        page.check("[name=drivers][value=libvirt]")
        self.presses("Register")
        self.sees("Is this the host?")
        meanwhile()
        self.presses("Accept this key")
        self.sees("Processor")

    def turns_observation_on(self, pools: tuple[str, ...]) -> None:
        """Turn observation of the host on, and let machines be moved to these pools."""
        self.follows("Observe them")
        self.presses("Observe")
        self.looks_until("Machines may be moved here")
        for name in pools:
            pool = self.page.get_by_role("article", name=name)
            pool.get_by_label("Machines may be moved here").check()
            pool.get_by_role("button").click()
            self.page.wait_for_load_state()

    def moves_while_all_workers_are_killed(self, server: Server) -> str:
        """Follow a move whose worker is killed in the midst of the copy, and return its address."""
        self.page.locator("progress").wait_for()
        kill_workers(server)
        self.sees("Moved, its old image is kept")
        return self.page.url.removeprefix(self.site)

    def moves_back(self) -> None:
        """Take the move back whose page this is, and see its disk where it was."""
        self.presses("Move back")
        self.sees("It takes back")
        self.sees("Moved, its old image is kept")


def disk_of(machine: Machine) -> str:
    """Return the path of the image that the machine runs from."""
    listed = machine.virsh("domblklist", machine.name).splitlines()
    return next(line.split()[1] for line in listed if line.split()[:1] == ["vdb"])


def test_an_operator_needs_nothing_but_a_browser(page, server, stock_lab, mail):  # noqa: F811
    ada = Operator(page, f"http://127.0.0.1:{server.port}")

    ada.registers_host(stock_lab, meanwhile=lambda: kill_workers(server))
    ada.turns_observation_on(pools=("xfs", "btrfs"))
    ada.follows("mail-1")
    page.get_by_label("File system inside").select_option("ext4")
    ada.presses("Save")
    machine = page.url.removeprefix(ada.site)
    ada.goes("/placement/")
    ada.follows("Policy of lab")
    page.get_by_label("A copy takes at most, MiB/s").fill("12")
    ada.presses("Save")

    # Move by hand, and back
    ada.goes(machine)
    ada.follows("Move a disk to another pool")
    pool = page.get_by_label("To the pool")
    pool.select_option(pool.locator("option", has_text="btrfs").get_attribute("value"))
    ada.presses("Move it")
    ada.moves_while_all_workers_are_killed(server)
    mail.writes_on()
    ada.moves_back()
    mail.writes_on()

    # Plan, and move
    ada.goes(machine)
    ada.looks_until("The numbers, latest first")
    ada.goes("/placement/")
    ada.follows("State the mix of mail-1")
    page.get_by_label("Workload and share").fill("varmail 1")
    ada.presses("Save")
    page.get_by_role("checkbox", name="Lab").check()
    ada.presses("Plan")
    ada.sees("Move 1 of 1.")
    plan = page.url.removeprefix(ada.site)
    ada.presses("Move what is ticked")
    ada.follows("being copied")
    moved = ada.moves_while_all_workers_are_killed(server)
    mail.writes_on()

    # Measure what the plan lacks
    ada.goes(plan)
    ada.follows(re.compile("Plan the campaign: .*btrfs", re.IGNORECASE))
    for name, text in CAMPAIGN.items():
        page.fill(f"[name={name}]", text)
    page.select_option("[name=pool]", index=1)
    page.select_option("[name=engine]", "fio")
    page.uncheck("[name=follows_protocol]")  # whose files would be larger than the disk
    ada.presses("Check and estimate")
    ada.presses("Plan it")
    ada.presses("Start")
    page.get_by_role("heading", name="Now", exact=True).wait_for()
    kill_workers(server)
    ada.sees(re.compile(r"Finished: \d+ of \d+ runs"))

    # Take back, and remove the host
    ada.goes(moved)
    ada.moves_back()
    mail.writes_on()
    ada.goes("/laboratory/hosts/lab/")
    ada.follows("Remove this host")
    ada.presses("Archive it")
    ada.sees("Archived since")
    mail.virsh("suspend", "mail-1")
    assert mail.lost(disk_of(mail)) == []
