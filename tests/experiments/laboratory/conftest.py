"""Laboratories for tests, and the campaigns that run in them."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils.timezone import now

from experiments.campaigns import control, hosts
from experiments.laboratory.benchmarks import background, bench
from experiments.models import Campaign, CampaignRun, FileSystem, HostStorage, Hypervisor
from kdb.jobs import jobs
from kdb.models import Job
from tests import factories, made_once
from tests.experiments.laboratory import lab as laboratories
from tests.experiments.laboratory.lab import Lab, laboratory
from tests.laboratory import stock_host as stock_hosts
from tests.laboratory.stock_host import StockHost, stock_host

NO_LAB = laboratories.missing()
NO_QEMU = NO_LAB or laboratories.missing((*laboratories.PROGRAMS, *laboratories.QEMU_PROGRAMS))
NO_STOCK_HOST = stock_hosts.missing()
LONG = 600  # s: however busy this machine is, what is waited for comes before
SHORT = {"run_seconds": 2, "disk_mib": 320, "scale_percent": 10}  # of a campaign


@pytest.fixture(autouse=True)
def _others_may_do_anything(monkeypatch):
    """Let nothing else that this machine does have runs repeated; a test that wants that sets its own limits."""
    for name in ("CPU_LIMIT", "STEAL_LIMIT", "IO_LIMIT"):
        monkeypatch.setattr(background, name, float("inf"))


@pytest.fixture(scope="session")
def plain_lab() -> Iterator[Lab]:
    """Give a host with sshd and nothing else."""
    if NO_LAB:
        pytest.skip(f"no laboratory: {NO_LAB}")
    with laboratory() as lab:
        yield lab


@pytest.fixture(scope="session")
def qemu_lab(pytestconfig) -> Iterator[Lab]:
    """Give a host with libvirt, and a guest image that lets its login key in."""
    if NO_QEMU:
        pytest.skip(f"no virtual machines: {NO_QEMU}")
    image = guest_image(pytestconfig.cache.mkdir("kdb"))
    with laboratory(with_libvirt=True, prepare=lambda lab: lab.take_image(image)) as lab:
        yield lab


@pytest.fixture
def stock_lab(pytestconfig) -> Iterator[StockHost]:
    """Give a Debian with libvirt as its distribution has it, and a guest image; for tests marked `nightly`."""
    with stock(pytestconfig) as host:
        yield host


@pytest.fixture
def bare_host(pytestconfig) -> Iterator[StockHost]:
    """Give a Debian with sshd and nothing that campaigns need but a guest image; for tests marked `nightly`."""
    with stock(pytestconfig, with_libvirt=False) as host:
        yield host


@contextmanager
def stock(pytestconfig, **choices: bool) -> Iterator[StockHost]:
    """Give a stock host with a guest image; skips the test where there can be none."""
    if NO_STOCK_HOST:
        pytest.skip(f"no stock host: {NO_STOCK_HOST}")
    cache = pytestconfig.cache.mkdir("kdb")
    with stock_host(cache, image=guest_image(cache), **choices) as host:
        yield host


def guest_image(cache: Path) -> Path:
    """Return the guest image and the key of its login, with Filebench where its source is at hand."""
    filebench = () if laboratories.no_filebench() else ("--filebench", str(built_filebench(cache)))

    def build(folder: Path) -> None:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "login_key"], check=True)
        manage("build_guest_image", str(folder), "--authorized-key", f"{folder}/login_key.pub", *filebench)

    recipe = made_once.digest(
        *(f"experiments/laboratory/images/{files}" for files in ("guest_image.py", "debian.py", "guest/*"))
    )
    return made_once.made_once(cache, "guest-image", f"{recipe}{'-filebench' * bool(filebench)}", build)


def built_filebench(cache: Path) -> Path:
    """Return Filebench 1.5-alpha3 from KDB_FILEBENCH_SOURCE."""

    def build(folder: Path) -> None:
        manage("build_filebench", "--source", laboratories.FILEBENCH_SOURCE, "--out", str(folder / "tree"))

    rooms = ("images/filebench_build.py", "images/filebench_tree.py", "images/debian.py", "benchmarks/engines.py")
    recipe = made_once.digest(*(f"experiments/laboratory/{name}" for name in rooms))
    return made_once.made_once(cache, "filebench", recipe, build) / "tree"


def manage(*words: str) -> None:
    """The command that operators use."""
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        capture_output=True,
        text=True,
        cwd=settings.BASE_DIR,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "kdb.settings.test"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def keys(settings):
    """Point KDB at a laboratory's keys."""

    def use(lab: Lab) -> None:
        settings.KDB_KEYS_DIR = lab.folder / "keys"

    return use


@pytest.fixture
def host(plain_lab, keys):
    """The plain laboratory's; a module with another laboratory has its own."""
    keys(plain_lab)
    return registered(plain_lab)


def registered(lab: Lab, **fields):
    """Return the laboratory's host as an operator leaves it: registered, its key accepted, checked."""
    for slug in ("ext4", "xfs", "btrfs"):
        factories.entry(FileSystem, slug)
    for slug in ("kvm", "qemu-tcg"):
        factories.entry(Hypervisor, slug)
    for storage in factories.STORAGES:
        factories.entry(HostStorage, storage["slug"])
    host = factories.make_host(
        **{"pools": (str(lab.pool),), "address": "127.0.0.1", "port": lab.port, "key_name": "lab", "facts": {}}
        | {"host_key": "", "drivers": ["native"], "login": "root"}
        | fields
    )
    if lab.facts:  # what the first check found
        host.host_key, host.facts = lab.host_key, lab.facts
        host.save()
        return host
    hosts.request_contact(host)
    do(host.job)
    host.refresh_from_db()
    hosts.accept_key(host, hosts.ssh.fingerprint(lab.host_key))
    host.refresh_from_db()
    do(host.job)
    host.refresh_from_db()
    lab.facts = host.facts
    return host


def do(job: Job) -> Job:
    """Do a job here, as a worker would; fails with its error."""
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
    return job


def started(host, **fields) -> Campaign:
    campaign = control.create(factories.make_campaign(host, **fields), user=None)
    control.start(campaign)
    return campaign


def work_off(campaign: Campaign) -> None:
    """Do all runs of a campaign here, one after another."""
    while (run := CampaignRun.objects.filter(host=campaign.host, state="active").first()) is not None:
        jobs.run(run.job_id)
    campaign.refresh_from_db()


@pytest.fixture
def measuring(monkeypatch) -> threading.Event:
    """Set when a run has passed the barrier: its machines measure, and nothing else tells it of them but looks."""
    event, wait = threading.Event(), bench._wait

    def measure(*arguments) -> None:
        event.set()
        wait(*arguments)

    monkeypatch.setattr(bench, "_wait", measure)
    return event


def begun(campaign: Campaign, measuring: threading.Event) -> tuple[CampaignRun, threading.Thread]:
    """Begin the active run in a thread, as a worker; returns when it measures, however long that takes."""
    run = campaign.runs.get(state="active")
    worker = threading.Thread(target=jobs.run, args=[run.job_id])
    worker.start()
    wait_until(lambda: measuring.is_set() or not worker.is_alive(), LONG)
    run.refresh_from_db()
    assert measuring.is_set(), said(run)
    return run, worker


def wait_for_end(run: CampaignRun, worker: threading.Thread) -> None:
    """Wait until the worker has ended, and read the run anew; fails where the worker is still at work."""
    worker.join(LONG)
    assert not worker.is_alive(), f"the worker is still at work\n{said(run)}"
    run.refresh_from_db()


def looked_at(campaign: Campaign) -> Campaign:
    """Have a worker look at a paused campaign's host, as if the time for it had come."""
    Campaign.objects.filter(pk=campaign.pk, look_at__isnull=False).update(look_at=now() - timedelta(seconds=1))
    control.reconcile()
    do(Job.objects.filter(kind=control.LOOK_JOB).latest("pk"))
    campaign.refresh_from_db()
    return campaign


def said(run: CampaignRun) -> str:
    """Return all that is known about a run, for the message of a failed test."""
    return "\n".join([str(run), run.state, run.reason, *run.lines.values_list("text", flat=True)])


def wait_until(condition, seconds: float = 30, every: float = 0.05):
    deadline = time.monotonic() + seconds
    while not (outcome := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(every)
    return outcome
