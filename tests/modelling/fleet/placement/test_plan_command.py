"""manage.py plan_placement: from a file and the published evidence to a plan, and what it refuses."""

import ctypes
import io
import json

import pytest
from django.core.management import CommandError, call_command

from experiments.case_studies import lifecycle
from modelling.fleet.placement.solver_output import on_stderr
from tests.factories import make_case_study, make_measurement

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

POOL = {"name": "slow", "host_fs": "ext4", "free_bytes": 1e12}
MACHINE = {
    "name": "mail",
    "pool": "slow",
    "guest_fs": "EXT4",
    "hypervisor": "KVM",
    "shares": {"varmail": 3},
    "size_bytes": 4e10,
}


def planned(tmp_path, fleet, *form: str) -> str:
    path, out = tmp_path / "fleet.json", io.StringIO()
    path.write_text(fleet if isinstance(fleet, str) else json.dumps(fleet))
    call_command("plan_placement", str(path), *form, stdout=out)
    return out.getvalue()


def fleet(**machine):
    return {
        "pools": [POOL, POOL | {"name": "fast", "host_fs": "xfs"}],
        "machines": [MACHINE | machine],
        "rules": {"least_strength": "very weak"},
    }


@pytest.mark.usefixtures("laboratories_alike")
def test_a_plan_rests_on_the_published_answers_and_a_pin_is_another_plan(tmp_path):
    for laboratory in ("one", "two", "three"):
        study = make_case_study(laboratory, laboratory=laboratory)
        for host_fs, value in (("ext4", 50.0), ("xfs", 150.0)):
            make_measurement(value, case_study=study, guest_fs="ext4", host_fs=host_fs, workload="varmail")
        lifecycle.publish([study], reason="measured")
    text = planned(tmp_path, fleet())
    assert text.startswith("1 of 1 machines move.")
    assert "Move from slow to fast." in text
    assert "times the throughput" in text
    document = json.loads(planned(tmp_path, fleet(), "--json"))
    assert document["machines"][0]["pool"] == "fast"
    assert document["machines"][0]["prospect"]["laboratories"] == 3
    pinned = json.loads(planned(tmp_path, fleet(is_pinned=True), "--json"))
    assert (pinned["machines"][0]["pool"], pinned["machines"][0]["why"]) == ("slow", "pinned")
    assert pinned["machines"][0]["better"] == {
        "pool": "fast",
        "gain": pytest.approx(document["machines"][0]["gain"]),
        "forbidden_by": "pinned",
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{", "no JSON"),
        ('{"pools": NaN}', "NaN is no number of JSON"),
        ("[" * 5000, "no JSON"),
        ({"pools": [POOL]}, "the file: 'machines' is a required property"),
        ({"pools": [], "machines": []}, r"pools: \[\] should be non-empty"),
        (fleet(size_bytes="40 GiB"), r"machines\[0\].size_bytes: '40 GiB' is not of type 'number'"),
        (fleet(size_bytes=True), r"machines\[0\].size_bytes: True is not of type 'number'"),
        (fleet(shares={"varmail": "all"}), r"machines\[0\].shares.varmail: 'all'"),
        (fleet(colour="red"), "'colour' was unexpected"),
        (fleet(name="a\0"), "U\\+0000"),
        (fleet(pool="none"), "machine 'mail', pool: 'none' is none of the pools"),
        (fleet(hypervisor="bhyve"), "machine 'mail', hypervisor: 'bhyve' is not known here; there are"),
        (fleet(shares={"chess": 1}), "machine 'mail', shares: 'chess' is not known here"),
        (fleet(size_bytes=-1), "machine 'mail', size_bytes: -1"),
    ],
)
def test_a_file_that_cannot_be_is_refused_by_its_place(tmp_path, given, said):
    make_measurement(50.0, workload="varmail", guest_fs="ext4", host_fs="xfs")
    with pytest.raises(CommandError, match=said):
        planned(tmp_path, given)


def test_what_a_library_prints_stays_out_of_what_a_command_prints(capfd):
    libc = ctypes.CDLL(None)
    with on_stderr():
        libc.puts(b"of the solver")
    libc.puts(b"of the command")
    libc.fflush(None)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("of the command\n", "of the solver\n")
