"""A host that nobody logs in to: its runner, inside the laboratory, does what campaigns and observation ask."""

import os
import signal
import subprocess
import sys

import pytest

from experiments.campaigns import hosts
from experiments.models import FileSystem, ObservedPool
from tests import factories
from tests.experiments.fleet.visits import watch_for
from tests.experiments.laboratory.conftest import SHORT, begun, do, said, started, wait_for_end
from tests.experiments.runner import conftest as runners

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]


class Inside(runners.Runner):
    """A runner inside the laboratory, with the list to begin with and the laboratory's pool."""

    def __init__(self, lab, folder, url: str, host) -> None:
        self.lab = lab
        super().__init__(folder, url, host)
        words = super().command("--print-allow")
        listed = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True).stdout
        self.list.write_text(listed.replace("/srv/kdb", str(lab.pool)))

    def command(self, *more: str) -> list[str]:
        return ["nsenter", "--target", self.lab.leader(), "--mount", "--pid", *super().command(*more)]

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signal the runner, and nothing that it began: the process that the test started is only its parent."""
        if self.process is None:
            return
        for process in self.lab.inside("pgrep", "-f", f"{sys.executable} -m kdb_client runner").split():
            self.lab.inside("kill", f"-{int(number)}", process)
        self.process.wait(60)
        self.process.stderr.close()
        self.process = None


def inside(lab, folder, url: str, **fields):
    for slug in ("ext4", "xfs", "btrfs"):
        factories.entry(FileSystem, slug)
    return Inside(lab, folder, url, runners.make_host(pools=(str(lab.pool),), facts={}, **fields)).start()


def test_a_native_campaign_is_measured_though_the_runner_is_killed_meanwhile(
    transactional_db, live_server, tmp_path, plain_lab, measuring
):
    runner = inside(plain_lab, tmp_path, live_server.url, drivers=["native"])
    host = runner.host
    try:
        hosts.request_check(host)
        do(host.job)
        host.refresh_from_db()
        assert host.facts["fio"].startswith("fio-")
        campaign = started(host, host_file_systems=["ext4"], **SHORT | {"run_seconds": 20})
        run, worker = begun(campaign, measuring)
        runner.kill()
        runner.start()
        wait_for_end(run, worker)
        assert run.state == "done", said(run)
        assert plain_lab.left_overs() == []
    finally:
        runner.kill(signal.SIGTERM)


def test_pools_of_libvirt_are_listed_through_a_runner(transactional_db, live_server, tmp_path, qemu_lab):
    runner = inside(qemu_lab, tmp_path, live_server.url, drivers=["libvirt"], is_observed=True)
    (qemu_lab.pool / "libvirt").mkdir(exist_ok=True)
    words = ("pool-create-as", "images", "dir", "--target", str(qemu_lab.pool / "libvirt"))
    qemu_lab.inside("virsh", "-c", "qemu:///system", *words)
    try:
        assert watch_for(runner.host, 1), runner.host.observation_error
        assert ObservedPool.objects.filter(host=runner.host, name="images").exists()
        assert "refused" not in runner.log
    finally:
        qemu_lab.inside("virsh", "-c", "qemu:///system", "pool-destroy", "images")
        os.rmdir(qemu_lab.pool / "libvirt")
        runner.kill(signal.SIGTERM)
