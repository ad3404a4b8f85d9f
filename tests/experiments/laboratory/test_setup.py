"""KDB tells what a plain host lacks, brings it, and takes it back: in an overlay on the Debian of this machine."""

import io
import subprocess
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from experiments.laboratory.transport import remote, setup
from experiments.laboratory.transport.ssh import Answer
from tests.experiments.laboratory import lab
from tests.experiments.laboratory.conftest import registered

FRESH = setup.HostState("apt-get", True, (), {}, False, ())


class Overlay:
    """A root of its own, as a machine that takes commands. It ends with its process."""

    address = "the overlay"
    via = None
    owner = ""

    def __init__(self, folder):
        for name in ("upper", "work", "root", "layer"):
            (folder / name).mkdir()
        script = (
            'mount -t tmpfs tmpfs "$1/layer" && mkdir "$1/layer/upper" "$1/layer/work" && mount -t overlay overlay '
            '-o lowerdir=/,upperdir="$1/layer/upper",workdir="$1/layer/work" "$1/root" && mount -t proc proc '
            '"$1/root/proc" && mount --bind /dev "$1/root/dev" && echo ready && exec sleep infinity'
        )
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "overlay", str(folder)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.root = folder / "root"
        self.is_ready = self.process.stdout.readline() == "ready\n"

    def run(self, words, *, given=b"", timeout=60.0, most=0):
        child = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.strip()
        inside = ["nsenter", "--target", child, "--mount", "chroot", str(self.root), *words]
        done = subprocess.run(inside, input=given, capture_output=True, timeout=timeout)
        return Answer(done.returncode, done.stdout, done.stderr.decode())

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def machine(tmp_path):
    if why := lab.missing():
        pytest.skip(f"no laboratory: {why}")
    overlay = Overlay(tmp_path)
    try:
        if not overlay.is_ready:
            pytest.skip(f"no overlay here: {overlay.process.stderr.read()}")
        yield overlay
    finally:
        overlay.close()


def has(machine, program):
    return machine.run(["sh", "-c", f"command -v {program}"]).status == 0


@pytest.mark.nightly
@pytest.mark.slow
def test_packages_come_and_go_and_what_was_there_before_stays(machine):
    assert machine.run(["dpkg", "--purge", "--force-depends", "fio"]).status == 0
    findings = setup.look(machine, with_guests=False)
    assert (findings.manager, findings.is_root, findings.lacking, findings.done) == ("apt-get", True, ("fio",), ())
    (step,) = setup.steps(findings, with_guests=False)
    assert step.words == "apt-get update; apt-get install --no-install-recommends fio"
    assert "Inst fio" in setup.simulated(machine, findings.lacking)
    assert not has(machine, "fio")
    setup.apply(machine, step)
    assert has(machine, "fio")
    after = setup.look(machine, with_guests=False)
    assert (list(setup.steps(after, with_guests=False)), after.done) == ([], ("package fio",))
    assert setup.undo(machine) == ["package fio"]
    machine.run(["apt-mark", "auto", "xfsprogs"])
    assert "xfsprogs" in setup.orphans(machine)
    assert not has(machine, "fio")
    assert has(machine, "mkfs.xfs")
    assert setup.look(machine, with_guests=False) == findings


BEFORE = 'user = "libvirt-qemu"\n#namespaces = [ "mount" ]\nmax_files = 100\n'
EARLIER = '# kdb begin\nuser = "root"\nnamespaces = []\n# kdb end\n'


@pytest.fixture
def settings_of_an_earlier_version(machine):
    write = "mkdir -p /etc/libvirt /var/lib/kdb/setup; cat >/etc/libvirt/qemu.conf; chmod 640 /etc/libvirt/qemu.conf"
    machine.run(["sh", "-c", f"{write}; echo qemu_conf >/var/lib/kdb/setup/done"], given=(BEFORE + EARLIER).encode())


def check_settings_are_gone(machine):
    assert machine.run(["cat", "/etc/libvirt/qemu.conf"]).text == BEFORE
    assert machine.run(["stat", "-c", "%a", "/etc/libvirt/qemu.conf"]).text.strip() == "640"


@pytest.mark.slow
def test_settings_of_an_earlier_version_are_offered_to_be_taken_out(machine, settings_of_an_earlier_version):
    findings = setup.look(machine, with_guests=False)
    assert findings.is_root
    (step,) = setup.steps(findings, with_guests=False)
    assert "/etc/libvirt/qemu.conf" in step.words
    setup.apply(machine, step)
    check_settings_are_gone(machine)
    assert setup.look(machine, with_guests=False) == replace(findings, has_settings=False, done=())


def test_undoing_takes_the_settings_of_an_earlier_version_out(machine, settings_of_an_earlier_version):
    assert setup.undo(machine) == ["settings of /etc/libvirt/qemu.conf"]
    check_settings_are_gone(machine)


@pytest.mark.slow
def test_what_the_package_manager_refuses_is_told_in_its_words(machine):
    step = setup.Step("", "", "", "install", ("no-such-package-anywhere",))
    with pytest.raises(remote.Refused, match="Unable to locate package no-such-package-anywhere"):
        setup.apply(machine, step)


def test_only_root_changes_anything():
    words = ["setpriv", "--reuid", "65534", "--clear-groups", "sh", "-c", setup.SCRIPT, "kdb-setup", "install", "fio"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        90,
        "only root may change that: log in as root, or let the login sudo -n\n",
    )


@pytest.mark.parametrize(
    ("found", "verbs"),
    [
        (FRESH, []),
        (replace(FRESH, lacking=("libvirt-clients",)), ["install", "enable"]),
        (replace(FRESH, lacking=("fio",), units={"libvirtd": "enabled active"}), ["install"]),
        (replace(FRESH, units={"libvirtd": "disabled inactive"}), ["enable"]),
        (replace(FRESH, units={"libvirtd": "disabled inactive", "virtqemud": "enabled active"}), []),
        (replace(FRESH, units={"libvirtd": "enabled active"}, has_settings=True), ["remove-settings"]),
    ],
)
def test_a_host_with_guests_gets_what_it_lacks_and_nothing_else(found, verbs):
    assert [step.verb for step in setup.steps(found, with_guests=True)] == verbs


def test_a_host_without_guests_keeps_its_libvirt():
    findings = replace(FRESH, units={"libvirtd": "disabled inactive"})
    assert list(setup.steps(findings, with_guests=False)) == []


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "zypper", "pacman"])
def test_every_manager_has_packages_and_words(manager):
    findings = replace(FRESH, manager=manager, lacking=tuple(setup.packages(manager, with_guests=True)))
    (step,) = setup.steps(findings, with_guests=False)
    assert step.words.startswith(manager.removesuffix("-get"))
    assert "fio" in step.arguments


@pytest.mark.django_db
def test_the_command_says_what_a_registered_host_lacks(plain_lab, keys, monkeypatch):
    keys(plain_lab)
    host = registered(plain_lab)
    assert command(host.slug) == "Nothing is lacking.\n"
    plain_lab.inside("sh", "-c", "printf '#!/bin/sh\\nexit 1\\n' >/run/none; chmod +x /run/none")
    plain_lab.inside("mount", "--bind", "/run/none", "/usr/bin/dpkg-query")
    try:
        printed = command(host.slug, dry_run=True)
    finally:
        plain_lab.inside("umount", "/usr/bin/dpkg-query")
    assert printed.startswith("1. apt-get update; apt-get install --no-install-recommends mount util-linux coreutils")
    assert "apt-get says:" in printed
    assert printed.endswith("Nothing was changed. --apply does it.\n")
    monkeypatch.setattr(setup, "undo", lambda machine: ["package fio"])
    monkeypatch.setattr(setup, "orphans", lambda machine: ["libaio1", "libnuma1"])
    *_, last = command(host.slug, undo=True).splitlines()
    assert last.endswith("until apt-get autoremove, which would remove: libaio1, libnuma1")
    with pytest.raises(CommandError, match="There is no host 'nowhere'"):
        command("nowhere")


def command(slug, **options):
    out = io.StringIO()
    call_command("host_setup", slug, stdout=out, **options)
    return out.getvalue()
