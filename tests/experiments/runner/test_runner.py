"""A host that nobody can log in to, by its own runner: what is asked, done, refused, and done once whoever dies."""

import os
import signal
import subprocess
import threading

import pytest
from django.db import transaction
from django.utils.timezone import now

from experiments.campaigns import hosts
from experiments.laboratory.transport import remote, ssh
from experiments.models import AskedCommand, Host
from experiments.runner import queue
from kdb.jobs import jobs

from .conftest import wait_until

pytestmark = pytest.mark.server


def in_thread(work) -> tuple[threading.Thread, list]:
    """Do something beside the test, as a worker does; returns what comes of it."""
    came = []

    def do() -> None:
        try:
            came.append(work())
        except Exception as error:
            came.append(error)

    thread = threading.Thread(target=do)
    thread.start()
    return thread, came


def test_a_host_is_checked_through_its_runner_and_what_is_not_allowed_is_refused(runner, client):
    host = runner.start().host
    hosts.request_check(host)
    jobs.run(Host.objects.get(pk=host.pk).job_id)
    host.refresh_from_db()
    assert (host.job.state, host.facts["root"]) == ("done", str(os.getuid()))
    with hosts.connect(host) as machine:
        assert (
            machine.run(["uname", "-r"]).text == subprocess.run(["uname", "-r"], capture_output=True, text=True).stdout
        )
        with pytest.raises(ssh.TooMuch, match="sent more than 10 bytes"):
            machine.run(["cat", "/proc/uptime"], most=10)
        with pytest.raises(ssh.NotAllowed, match="refuses: no command takes standard input"):
            machine.run(["uname", "-r"], given=b"x")
        with pytest.raises(ssh.NotAllowed, match=r"The runner of .* refuses: id -u is not in the list"):
            machine.run(["id", "-u"])
        with pytest.raises(ssh.NotAllowed, match="the verb clear is not in the list"):
            remote.call(machine, "clear", "/srv/pool")
        with pytest.raises(ssh.NotAllowed, match="'/etc/shadow' is in no pool of the list"):
            remote.call(machine, "health", "/etc/shadow")
    hosts.request_check(host)
    runner.allow(verbs=("facts",))
    runner.kill(signal.SIGTERM)
    runner.start()
    jobs.run(Host.objects.get(pk=host.pk).job_id)
    client.force_login(host.registered_by)
    page = client.get(f"/laboratory/hosts/{host.slug}/").content.decode()
    assert "refuses: the verb left is not in the list" in page
    assert "its runner" in page.lower()
    assert AskedCommand.objects.count() == 0
    assert "asked: remote.sh facts /srv/pool" in runner.log
    assert runner.key not in runner.log


def test_who_trusts_the_server_says_so_and_is_asked_for_anything(runner):
    runner.allow(trusts=True)
    with hosts.connect(runner.start().host) as machine:
        assert machine.run(["sh", "-c", "cat; exit 7"], given=b"\0\xff").status == 7
        assert machine.run(["sh", "-c", "cat"], given=b"\0\xff").output == b"\0\xff"


def test_a_command_is_done_once_whoever_dies_between_lease_and_answer(runner, tmp_path, monkeypatch):
    """The runner is killed after a command began, and after it was done while the server was away."""
    runner.allow(trusts=True)
    host, done = runner.start().host, tmp_path / "done"
    with hosts.connect(host) as machine:
        worker, came = in_thread(lambda: machine.run(["sh", "-c", f"echo once >>{done}; sleep 600"], timeout=600))
        wait_until(done.exists)
        (number,) = AskedCommand.objects.values_list("pk", flat=True)
        runner.kill()
        assert runner.journal == [f"{number}.begun"]
        runner.start()
        worker.join()
        assert isinstance(came[0], ssh.Unreachable)
        assert "whether it is done is not known" in str(came[0])
        assert done.read_text() == "once\n"

        # The server takes no answer: as if it was killed. What it comes back with is what was done before.
        monkeypatch.setattr("experiments.runner.api.AnswerView.host", lambda view: 1 / 0)
        worker, came = in_thread(lambda: machine.run(["sh", "-c", f"echo twice >>{done}"], timeout=600))
        wait_until(lambda: any(name.endswith(".answer") for name in runner.journal))
        runner.kill()
        monkeypatch.undo()
        runner.start()
        worker.join()
    assert came[0].status == 0
    assert done.read_text() == "once\ntwice\n"
    wait_until(lambda: runner.journal == [])


@pytest.mark.nightly
def test_sigterm_lets_what_is_under_way_end(runner, tmp_path):
    runner.allow(trusts=True)
    host, go = runner.start().host, tmp_path / "go"
    with hosts.connect(host) as machine:
        worker, came = in_thread(
            lambda: machine.run(["sh", "-c", f"echo >{go}; while [ -e {go} ]; do sleep 0.05; done"], timeout=600)
        )
        wait_until(go.exists)
        runner.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "ends" in runner.log or go.unlink(missing_ok=True) is None)
        worker.join()
    assert came[0].status == 0
    assert runner.process.wait(60) == 0


@pytest.mark.nightly
def test_a_second_runner_with_the_same_files_is_refused(runner):
    runner.start()
    done = subprocess.run(runner.command(), env=runner.environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "Another runner works with" in done.stderr) == (2, True)


def test_the_list_to_begin_with_allows_what_checks_and_a_campaign_on_the_host_need(runner):
    done = subprocess.run(
        runner.command("--print-allow"), env=runner.environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    runner.list.write_text(done.stdout)
    unit = subprocess.run(
        runner.command("--install"), env=runner.environment, capture_output=True, text=True, timeout=60
    ).stdout
    assert "NoNewPrivileges=yes" in unit
    assert "ProtectSystem" not in unit  # mounts of a campaign are the host's
    runner.allow(verbs=("facts",))
    unit = subprocess.run(
        runner.command("--install"), env=runner.environment, capture_output=True, text=True, timeout=60
    ).stdout
    assert "ProtectSystem=strict" in unit


def test_no_command_is_asked_inside_a_transaction(runner):
    Host.objects.update(runner_heard_at=now())
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        queue.ask(runner.host.pk, ["true"], script="", name="", given=b"", seconds=1, most=1)


def test_a_silent_runner_is_a_host_out_of_reach(runner):
    with hosts.connect(runner.host) as machine, pytest.raises(ssh.Unreachable, match="was not heard yet"):
        machine.run(["true"])
    assert AskedCommand.objects.count() == 0
