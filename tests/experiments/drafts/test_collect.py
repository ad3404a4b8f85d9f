"""collect.sh: what it packs is what the readers read, with the tools and without them."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.urls import reverse

from experiments import readers
from experiments.drafts.import_views import COLLECT_SCRIPT
from experiments.readers import archives

DATA = Path(__file__).parents[2] / "data"
RESULT = DATA / "sysbench/sysbench-1.0.txt"
NEEDED = ("sh", "sed", "grep", "date", "mkdir", "rm", "cp", "cat", "basename")
SAYS = {"lsblk": "lsblk.json", "findmnt": "findmnt.json", "zpool": "zpool.txt", "qm": "qm.txt", "virsh": "virsh.xml"}


@pytest.fixture
def collect(tmp_path):
    """Run the script in an empty folder, where nothing but the needed tools and the named ones is found."""
    tools, folder = tmp_path / "bin", tmp_path / "work"
    tools.mkdir()
    folder.mkdir()

    def run(*arguments: str, with_tools: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        for tool in NEEDED:
            (tools / tool).symlink_to(shutil.which(tool) or "")
        for tool in with_tools:
            says = f'exec {sys.executable} "$@"' if tool == "python3" else f"cat {DATA / 'facts' / SAYS[tool]}"
            (tools / tool).write_text(f"#!/bin/sh\n{says}\n")
            (tools / tool).chmod(0o755)
        return subprocess.run(
            ["sh", COLLECT_SCRIPT, *arguments], cwd=folder, env={"PATH": str(tools)}, capture_output=True, text=True
        )

    run.folder = folder
    return run


def test_it_packs_what_the_readers_read(collect):
    done = collect("-m", "100", "-m", "bench", str(RESULT), str(RESULT), with_tools=(*SAYS, "python3"))
    assert done.returncode == 0, done.stderr
    (packed,) = collect.folder.iterdir()
    assert done.stdout == f"{packed.name}\n"
    assert packed.stat().st_mode & 0o077 == 0
    members = {member.name.partition("/")[2]: member.data for member in archives.members("a.zip", packed.read_bytes())}
    assert {name: readers.read(data).format for name, data in members.items()} == {
        "host/lsblk.json": "lsblk",
        "host/findmnt.json": "findmnt",
        "host/zpool.txt": "zpool",
        "host/qm-100.txt": "qm-config",
        "host/virsh-bench.xml": "virsh-dumpxml",
        "results/1-sysbench-1.0.txt": "sysbench",
        "results/2-sysbench-1.0.txt": "sysbench",
    }
    assert all(not readers.read(data).refused for data in members.values())
    assert members["results/1-sysbench-1.0.txt"] == RESULT.read_bytes()


def test_names_addresses_and_identifiers_of_machines_stay_where_they_are(collect):
    collect("-m", "100", "-m", "bench", with_tools=("qm", "virsh", "python3"))
    (packed,) = collect.folder.glob("*.zip")
    with zipfile.ZipFile(packed) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert "writeback" in text
    assert not any(secret in text for secret in ("BC:24:11", "uuid", "<name>", "name: bench", "/srv/bench"))


def test_without_tools_it_says_so_and_leaves_the_folder(collect):
    done = collect("-s", "guest", str(RESULT), with_tools=())
    assert done.returncode == 0
    assert "not here: lsblk" in done.stderr
    assert "pack the folder" in done.stderr
    (left,) = collect.folder.iterdir()
    assert sorted(path.relative_to(left).as_posix() for path in left.rglob("*")) == [
        *("guest", "results", "results/1-sysbench-1.0.txt"),
    ]


@pytest.mark.parametrize(
    "arguments", [["-s", "elsewhere"], ["-x"], ["-d", "/nowhere"], ["-m", "a;rm -r b"], ["missing.txt"]]
)
def test_what_it_does_not_understand_leaves_nothing(collect, arguments):
    done = collect(*arguments, with_tools=())
    assert (done.returncode, list(collect.folder.iterdir())) == (2, [])
    assert done.stderr


def test_a_program_that_fails_is_not_packed(collect):
    (collect.folder.parent / "bin/lsblk").write_text("#!/bin/sh\necho half\nexit 1\n")
    (collect.folder.parent / "bin/lsblk").chmod(0o755)
    done = collect(with_tools=())
    assert "said nothing, or needs root: lsblk" in done.stderr
    assert not list(collect.folder.rglob("lsblk.json"))


def test_it_is_there_for_everybody(client):
    response = client.get(reverse("collect-script"))
    assert response.content == COLLECT_SCRIPT.read_bytes()
    assert response["Content-Type"] == "text/x-shellscript; charset=utf-8"


def test_it_reaches_for_no_network():
    text = COLLECT_SCRIPT.read_text()
    assert not any(word in text.split() for word in ("curl", "wget", "nc", "ssh", "scp", "sudo"))
