"""A user stops libvirt or sshd of a host, or removes KDB's folder, in the midst of a campaign."""

import time

import pytest

from tests.experiments.laboratory.conftest import (
    LONG,
    begun,
    registered,
    said,
    started,
    wait_for_end,
    wait_until,
)

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.server, pytest.mark.django_db(transaction=True)]

SHORT = {
    **{"driver": "libvirt", "engine": "fio", "run_seconds": 3, "disk_mib": 320, "scale_percent": 10},
    **{"vm_ram_mib": 512, "guest_file_systems": ["ext4"], "vm_counts": [1]},
}
AWAY_SECONDS = 36


@pytest.fixture
def host(stock_lab, keys):
    keys(stock_lab)
    return registered(stock_lab, drivers=["libvirt", "native"], guest_image=str(stock_lab.image))


def waits_for(run, worker, who: str) -> None:
    """Wait until the run says that it waits, and as long as it then does."""
    missed = run.lines.filter(text__contains=f"{who} does not answer, and the run waits for it")
    wait_until(lambda: missed.exists() or not worker.is_alive(), LONG)
    time.sleep(AWAY_SECONDS)


def test_libvirtd_that_is_stopped_under_a_run_costs_nothing(host, stock_lab, measuring):
    campaign = started(host, **SHORT | {"run_seconds": 60})
    run, worker = begun(campaign, measuring)
    stock_lab.stop_libvirt()
    waits_for(run, worker, "the host")
    stock_lab.start_libvirt()
    wait_for_end(run, worker)
    assert (run.state, run.attempt, run.lost_attempts, len(run.figures)) == ("done", 1, 0, 1), said(run)
    assert run.lines.filter(text__startswith="the host answers again, after").exists(), said(run)
    assert any("did not answer for" in warning for warning in run.warnings)
    assert stock_lab.left_overs() == []


@pytest.mark.parametrize("driver", ["native", "libvirt"])
def test_sshd_that_is_stopped_under_a_run_costs_nothing(host, stock_lab, measuring, driver):
    plan = SHORT if driver == "libvirt" else {"run_seconds": 3, "disk_mib": 320, "scale_percent": 10}
    campaign = started(host, **plan | {"run_seconds": 60})
    run, worker = begun(campaign, measuring)
    stock_lab.inside("systemctl", "stop", "ssh")
    stock_lab.inside("pkill", "-KILL", "sshd")  # who was logged in stays so otherwise
    waits_for(run, worker, "host")
    stock_lab.inside("systemctl", "start", "ssh")
    wait_for_end(run, worker)
    assert (run.state, run.attempt, run.lost_attempts, len(run.figures)) == ("done", 1, 0, 1), said(run)
    assert stock_lab.left_overs() == []
