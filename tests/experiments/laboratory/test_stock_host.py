"""The steps that the documentation tells a user, on a Debian as its installer and its packages leave it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from experiments.campaigns import plans
from experiments.laboratory.transport import ssh
from tests.experiments.laboratory.test_hypervisors import TestLibvirt as OnLibvirt
from tests.laboratory.stock_host import LOGIN, PACKAGES

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.server]

PLAN = {
    **{
        "format": plans.FORMAT,
        "title": "Mail",
        "slug": "mail",
        "driver": "libvirt",
        "engine": "fio",
        "host_file_systems": ["xfs"],
    },
    **{"guest_file_systems": ["ext4"], "workloads": ["varmail"], "vm_counts": [1], "repetitions": 1},
    **{"run_seconds": 3, "disk_mib": 320, "scale_percent": 10, "vm_ram_mib": 512},
}


class TestStockLibvirt(OnLibvirt):
    """The contract of what makes guests."""

    @pytest.fixture
    def lab(self, stock_lab):
        return stock_lab

    def leave(self, lab):
        lab.stop_libvirt()

    def come_back(self, lab):
        lab.start_libvirt()

    def guest(self, lab, area, number=1):
        if self.place:
            area.call("make-fs", self.place, 320, self.host_storage, timeout=60)
        return super().guest(lab, area, number)

    @pytest.mark.parametrize("setting", ["", "dynamic_ownership = 0"])
    @pytest.mark.parametrize(("place", "host_storage"), [("", "raw"), ("fs", "xfs")])
    def test_libvirts_user_gets_what_was_made_for_it_and_nothing_else_changes_hands(
        self, lab, host, setting, place, host_storage
    ):
        self.place, self.host_storage = place, host_storage
        lab.inside("sh", "-c", f"echo '{setting}' >>/etc/libvirt/qemu.conf; systemctl restart libvirtd")
        owners = ["sh", "-c", f"stat -c '%n %U %G' {lab.image}/* {lab.pool} /dev/loop*"]
        before = lab.inside(*owners)
        with self.made(lab, host, 100):
            assert set(lab.inside("ps", "-C", "qemu-system-x86_64", "-o", "user=").split()) == {"libvirt-qemu"}
            others = lab.inside("find", f"{lab.pool}/.kdb", "-perm", "/o=rw", "-o", "-perm", "/g=rw")
            assert others == ""
        assert lab.inside(*owners) == before


class Kdb:
    """KDB as script/server prepares it: a folder of data, and the commands of its operators."""

    def __init__(self, folder: Path, key: Path) -> None:
        self.folder = folder
        (folder / "keys").mkdir(mode=0o700)
        shutil.copy(key, folder / "keys/lab")
        self.manage("prepare")

    def manage(self, *words: str, status: int = 0) -> str:
        kept = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=settings.BASE_DIR,
            env=kept | {"DJANGO_SETTINGS_MODULE": "kdb.settings.local", "DATA_DIR": str(self.folder)},
        )
        assert done.returncode == status, done.stdout
        return done.stdout


@pytest.fixture
def kdb(tmp_path):
    return lambda host: Kdb(tmp_path, host.folder / "keys/lab")


@pytest.mark.parametrize("login", [("root",), (LOGIN, "--sudo")])
def test_a_bare_debian_becomes_a_host_whose_guests_are_measured_and_filed(bare_host, kdb, login, tmp_path):
    kdb = kdb(bare_host)
    pool = f"{bare_host.folder}/pool"
    words = ["--port", str(bare_host.port), "--key", "lab", "--pool", pool, "--driver", "libvirt", "--login", *login]
    words += ["--guest-image", str(bare_host.image), "--accept", ssh.fingerprint(bare_host.host_key)]
    printed = kdb.manage("register_host", "lab-1", "127.0.0.1", *words, "--pool", "/srv/kdb")
    assert "not there: /srv/kdb, a storage pool (/srv/kdb is not a folder of this machine)" in printed

    documented = (settings.BASE_DIR / "docs/campaigns.md").read_text()
    for packages in PACKAGES:
        assert f"apt-get install --no-install-recommends {packages}\n" in documented
        bare_host.inside(*["apt-get", "-qq", "-y", "--no-install-recommends", "install"], *packages.split())

    kdb.manage("check_host", "lab-1")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(PLAN))
    printed = kdb.manage("run_campaign", str(plan), "--host", "lab-1", "--draft")
    assert "filed as mail: in the case study" in printed
    assert bare_host.left_overs() == []
    assert bare_host.inside("sh", "-c", "grep -c '^[^#]' /etc/libvirt/qemu.conf").strip() == "0"
