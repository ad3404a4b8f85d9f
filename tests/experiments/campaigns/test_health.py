"""A host's answer is searched for what may explain an outlier, and what it does not say stays unsaid."""

import json
import subprocess

import pytest

from experiments.laboratory.transport import health, remote

NVME = {
    **{"smart_status": {"passed": True}, "power_on_time": {"hours": 12_345}, "temperature": {"current": 41}},
    "nvme_smart_health_information_log": {"percentage_used": 7},
}
SATA = {"smart_status": {"passed": False}, "endurance_used": {"current_percent": 104}}


def lines(*pairs):
    return "".join(f"{key}\t{value}\n" for key, value in pairs)


def test_everything_a_host_may_say_is_kept_with_its_unit():
    facts = health.read(
        lines(
            *(("governor", "performance"), ("turbo", "off"), ("vulnerable", "mds"), ("vulnerable", "l1tf")),
            *(
                ("mitigations", "off"),
                ("hottest_millidegrees", "86500"),
                ("io_pressure", "7.31"),
                ("used", "/srv/a 93"),
            ),
            *(
                ("made", "/srv/a 2024-02-29"),
                ("smart", f"nvme0n1 {json.dumps(NVME)}"),
                ("smart", f"sda {json.dumps(SATA)}"),
            ),
        )
    )
    assert facts == {
        **{"governor": "performance", "turbo": "off", "vulnerable": ["mds", "l1tf"], "mitigations": "off"},
        **{"celsius": 86.5, "io_pressure": 7.31, "pools": {"/srv/a": {"used_percent": 93, "made": "2024-02-29"}}},
        "disks": {
            "nvme0n1": {"passed": True, "hours": 12_345, "celsius": 41, "worn_percent": 7},
            "sda": {"passed": False, "worn_percent": 104},
        },
    }
    assert dict(health.in_words(facts)) == {
        "Processor clock": "performance, turbo off",
        "Hottest sensor": "86 °C",
        "Tasks waited for disks": "in 7.3 % of the minute before",
        "Kernel": "mitigations are off, vulnerable: mds, vulnerable: l1tf",
        "File system of /srv/a": "93 % full, made 2024-02-29",
        "Disk nvme0n1": "SMART passed, 7 % worn, 12,345 h on, 41 °C",
        "Disk sda": "SMART failed, 104 % worn",
    }
    assert health.warnings(facts) == [
        "The host was at 86 °C: it may have slowed down.",
        "Disk sda fails its own SMART check.",
        "Disk sda is worn out by its own count (104 %).",
    ]


@pytest.mark.parametrize(
    "said", ["", "nonsense", "[]", '{"smart_status": 3}', '{"temperature": {"current": "hot"}}', "[" * 99_999]
)
def test_what_smart_does_not_say_is_nothing_and_no_zero(said):
    unsaid = [("used", "/srv -"), ("hottest_millidegrees", "?"), ("io_pressure", "much")]
    assert health.read(lines(("smart", f"sda {said}"), *unsaid)) == {}
    assert health.in_words({}) == health.warnings({}) == []


def test_this_machine_answers_with_what_it_has(tmp_path):
    words = ["sh", "-c", remote.SCRIPT, "kdb-remote", "health", str(tmp_path), "/etc"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    facts = health.read(done.stdout)
    assert list(facts["pools"]) == [str(tmp_path)]  # /etc can be no pool
    assert 0 <= facts["pools"][str(tmp_path)]["used_percent"] <= 100
    assert 0 <= facts.get("io_pressure", 0) <= 100  # where the kernel counts it
