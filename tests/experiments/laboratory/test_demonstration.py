"""manage.py demo_campaign: from nothing to a draft on this machine, and nothing is left but the draft."""

import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from experiments.campaigns import demonstration
from experiments.models import Campaign, CaseStudy, Host, Measurement
from tests.experiments.laboratory import lab
from tests.factories import make_host

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.sqlite]


@pytest.fixture
def place(settings, tmp_path):
    settings.KDB_KEYS_DIR = tmp_path / "keys"
    return tmp_path / "pool"


def demonstrate(folder: Path) -> str:
    out = io.StringIO()
    call_command("demo_campaign", folder=folder, seconds=1, repetitions=1, stdout=out)
    return out.getvalue()


def listeners() -> list[str]:
    """List what listens for this process alone: the same test may run beside it."""
    mine = ["pgrep", "-P", str(os.getpid()), "-af", "kdb-demo-"]
    return subprocess.run(mine, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.nightly
@pytest.mark.skipif(bool(lab.missing()), reason="no laboratory here")
def test_a_stranger_gets_a_paper_again_and_a_draft_as_often_as_asked_and_nothing_else_is_left(
    place, published_evidence
):
    for number in (1, 2):
        printed = demonstrate(place)
        campaign = Campaign.objects.latest("pk")
        assert campaign.slug == ("p3-cs1-on-demo-native", "p3-cs1-on-demo-native-2")[number - 1]
        assert f"/drafts/{campaign.slug}/" in printed
        assert f"/laboratory/campaigns/{campaign.slug}/replication/" in printed
        kinds = ["ext4", "xfs", *(["btrfs"] if shutil.which("mkfs.btrfs") else [])]
        assert set(campaign.runs.values_list("host_fs", "workload", "state")) == {
            (file_system, workload, "done") for file_system in kinds for workload in demonstration.WORKLOADS
        }
        assert campaign.case_study.status == CaseStudy.Status.DRAFT
        assert Measurement.objects.filter(configuration__case_study=campaign.case_study).exists()
    assert Host.objects.get().host_key == ""  # of an sshd that is no more
    assert (place.exists(), list((place.parent / "keys").iterdir())) == (False, [])
    assert [line for line in lab.loops() if str(place) in line] + listeners() == []


@pytest.mark.parametrize(
    ("folder", "words"),
    [("/etc/kdb", "belongs to the system"), ("/sys/x/kdb", "belongs to"), ("/dev/null/kdb", "belongs")],
)
def test_a_folder_of_the_system_is_refused_and_nothing_is_left(folder, words, settings, tmp_path):
    settings.KDB_KEYS_DIR = tmp_path / "keys"
    with pytest.raises(CommandError, match=words):
        demonstrate(Path(folder))
    assert not Path(folder).exists()
    assert not listeners()
    assert not Host.objects.exists()


def test_a_host_of_somebody_that_has_the_name_is_left_alone(place):
    theirs = make_host("demo", address="192.0.2.9")
    with pytest.raises(CommandError, match=r"registered at 192\.0\.2\.9"):
        demonstrate(place)
    assert Host.objects.get().port == theirs.port
    assert not listeners()


def test_a_machine_that_lacks_programs_is_told_their_packages(monkeypatch, place):
    monkeypatch.setattr(demonstration, "_PATH", str(place))
    with pytest.raises(CommandError, match=r"apt-get install .*fio .*openssh-server"):
        demonstrate(place)
    assert not place.exists()
