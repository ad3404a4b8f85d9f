"""What a plain host lacks is told, brought there, and taken back: in an overlay on the Debian of this machine."""

import io
import subprocess
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from experiments.campaigns.laboratory import remote, setup
from experiments.campaigns.laboratory.ssh import Answer

from . import lab
from .conftest import registered

FRESH = setup.Found("apt-get", True, (), {}, None, False, ())
OURS = {name: value for name, (value, _) in setup.SETTINGS.items()}


class Overlay:
    """A root of its own, as a machine that takes commands. It ends with its process."""

    address = "the overlay"

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


@pytest.mark.slow
def test_packages_come_and_go_and_what_was_there_before_stays(machine):
    assert machine.run(["dpkg", "--purge", "--force-depends", "fio"]).status == 0
    found = setup.look(machine, with_guests=False)
    assert (found.manager, found.is_root, found.lacking, found.done) == ("apt-get", True, ("fio",), ())
    (step,) = setup.steps(found, with_guests=False)
    assert step.words == "apt-get install --no-install-recommends fio"
    assert "Inst fio" in setup.simulated(machine, found.lacking)
    assert not has(machine, "fio")
    setup.apply(machine, step)
    assert has(machine, "fio")
    after = setup.look(machine, with_guests=False)
    assert (list(setup.steps(after, with_guests=False)), after.done) == ([], ("package fio",))
    assert setup.undo(machine) == ["package fio"]
    assert not has(machine, "fio")
    assert has(machine, "mkfs.xfs")
    assert setup.look(machine, with_guests=False) == found


def test_settings_of_libvirt_come_between_two_lines_and_go_again(machine):
    machine.run(["mkdir", "-p", "/etc/libvirt"])
    before = 'user = "libvirt-qemu"\n#namespaces = [ "mount" ]\nmax_files = 100\n'
    machine.run(["sh", "-c", "cat >/etc/libvirt/qemu.conf; chmod 640 /etc/libvirt/qemu.conf"], given=before.encode())
    found = setup.look(machine, with_guests=True)
    assert found.settings == dict.fromkeys(setup.SETTINGS, "") | {"user": '"libvirt-qemu"'}
    (step,) = (step for step in setup.steps(found, with_guests=True) if step.verb == "set-qemu")
    setup.apply(machine, step)
    setup.apply(machine, step)  # a second time adds nothing
    written = machine.run(["cat", "/etc/libvirt/qemu.conf"]).text
    assert written.startswith(before)
    assert written.removeprefix(before).splitlines() == [
        *("# kdb begin", 'user = "root"', 'group = "root"', "namespaces = []", "dynamic_ownership = 0"),
        *("remember_owner = 0", "# kdb end"),
    ]
    assert setup.look(machine, with_guests=True).has_ours
    assert machine.run(["stat", "-c", "%a", "/etc/libvirt/qemu.conf"]).text.strip() == "640"
    assert setup.undo(machine) == ["settings of /etc/libvirt/qemu.conf"]
    assert machine.run(["cat", "/etc/libvirt/qemu.conf"]).text == before


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
        (replace(FRESH, lacking=("libvirt-clients",)), ["install"]),
        (replace(FRESH, units={"libvirtd": "disabled inactive"}, settings=OURS), ["enable"]),
        (replace(FRESH, units={"libvirtd": "disabled inactive", "virtqemud": "enabled active"}, settings=OURS), []),
        (replace(FRESH, units={"libvirtd": "enabled active"}, settings=OURS | {"user": ""}), ["set-qemu"]),
        (replace(FRESH, settings=OURS | {"user": ""}, has_ours=True), []),
    ],
)
def test_a_host_with_guests_gets_what_it_lacks_and_nothing_else(found, verbs):
    assert [step.verb for step in setup.steps(found, with_guests=True)] == verbs


def test_a_host_without_guests_keeps_its_libvirt():
    found = replace(FRESH, units={"libvirtd": "disabled inactive"}, settings=dict.fromkeys(setup.SETTINGS, ""))
    assert list(setup.steps(found, with_guests=False)) == []


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "zypper", "pacman"])
def test_every_manager_has_packages_and_words(manager):
    found = replace(FRESH, manager=manager, lacking=tuple(setup.packages(manager, with_guests=True)))
    (step,) = setup.steps(found, with_guests=False)
    assert step.words.startswith(manager.removesuffix("-get"))
    assert "fio" in step.arguments


@pytest.mark.django_db
def test_the_command_says_what_a_registered_host_lacks(plain_lab, keys):
    keys(plain_lab)
    host = registered(plain_lab)
    assert command(host.slug) == "Nothing is lacking.\n"
    plain_lab.inside("sh", "-c", "printf '#!/bin/sh\\nexit 1\\n' >/run/none; chmod +x /run/none")
    plain_lab.inside("mount", "--bind", "/run/none", "/usr/bin/dpkg-query")
    try:
        printed = command(host.slug, dry_run=True)
    finally:
        plain_lab.inside("umount", "/usr/bin/dpkg-query")
    assert printed.startswith("1. apt-get install --no-install-recommends mount util-linux coreutils")
    assert "apt-get says:" in printed
    assert printed.endswith("Nothing was changed. --apply does it.\n")
    with pytest.raises(CommandError, match="There is no host 'nowhere'"):
        command("nowhere")


def command(slug, **options):
    out = io.StringIO()
    call_command("host_setup", slug, stdout=out, **options)
    return out.getvalue()
