"""Others' load and the course of a run are read from what a machine wrote down."""

import random
import subprocess
from dataclasses import replace

import pytest

from experiments.laboratory.benchmarks import background, calibration, curves
from experiments.laboratory.benchmarks.background import Usage, between
from experiments.laboratory.transport import remote

BEFORE = {
    **{"hz": "100", "up": "1000.00", "cpu": "10000 500 2000 90000 700 1 2 30 5 0", "ours": "4000", "kernel": "1000"},
    **{"read_bytes": "1048576", "write_bytes": "2097152"},
}


def test_what_others_used_is_all_less_the_benchmarks_and_the_kernels_threads():
    """Worked by hand, over 10 s: busy 2500 ticks, ours 1500, kernel 400, so others 600 ticks of 10 ms; 50 stolen."""
    after = {
        **{
            "hz": "100",
            "up": "1010.00",
            "cpu": "12000 600 2400 91000 900 1 2 80 9 0",
            "ours": "5500",
            "kernel": "1400",
        },
        **{"read_bytes": str(2**20 * 21), "write_bytes": str(2**20 * 12)},
    }
    did = between(Usage.of(BEFORE), Usage.of(after))
    assert (did.cpu, did.steal, did.read_mib_s, did.write_mib_s) == pytest.approx((0.6, 0.05, 2.0, 1.0))
    assert did.beyond_limits("the host") == [
        "Others used 0.60 CPU-seconds a second on the host; 0.5 are allowed.",
    ]


def test_each_limit_has_its_sentence():
    did = background.Background(cpu=0.1, steal=0.2, read_mib_s=6.0, write_mib_s=5.0)
    assert [sentence.partition(" on ")[0].partition(" from ")[0] for sentence in did.beyond_limits("machine-1")] == [
        "Others took 0.20 CPU-seconds a second",
        "Others read 6.0 MiB/s and wrote 5.0 MiB/s",
    ]


def test_what_a_plain_login_cannot_see_is_not_known_and_not_zero():
    readings = {name: value for name, value in BEFORE.items() if "bytes" not in name}
    first = Usage.of(readings)
    did = between(first, replace(first, up=1001.0))
    assert (did.read_mib_s, did.write_mib_s, did.cpu) == (None, None, 0)
    assert did.beyond_limits("host") == []


def test_counts_that_went_back_are_nothing():
    first = Usage.of(BEFORE)
    did = between(first, replace(first, up=1001.0, ours=5000, read_bytes=0))
    assert (did.cpu, did.read_mib_s) == (0, 0)


BUSY = """
import sys, time
end = time.process_time() + 1
while time.process_time() < end:
    pass
print("busy for a second", flush=True)
time.sleep(60)
"""


def usage(area) -> Usage:
    """Return what remote.sh says of this machine."""
    functions = remote.SCRIPT.partition("\nclean_area() {")[0]
    script = f"{functions}\nAREA={area}\nusage\n"
    printed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    return Usage.of(dict(remote.facts(printed)))


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["the benchmark's", "a guest's", "somebody else's"])
def test_a_machine_tells_whose_processor_time_it_was(tmp_path, whose):
    """A process of ours works in the area, or is a QEMU of its machines; what it used is ours as long as it lives."""
    area = tmp_path / ".kdb"
    (area / "fs").mkdir(parents=True)
    (area / "domains").write_text("kdb-7-1\nkdb-7-2\n")
    folder = area / "fs" if whose == "the benchmark's" else tmp_path
    name = "guest=kdb-7-2,debug-threads=on" if whose == "a guest's" else "guest=kdb-7-22,debug-threads=on"
    before = usage(area)
    work = ["python3", "-c", BUSY, "-name", name]
    with subprocess.Popen(work, cwd=folder, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout.readline() == "busy for a second\n"
        after = usage(area)
        worker.kill()
    ours = (after.ours - before.ours) / after.hz
    if whose == "somebody else's":
        assert ours == 0
        assert between(before, after).cpu * (after.up - before.up) >= 0.9
    else:
        assert ours == pytest.approx(1, abs=0.3)


def test_a_machine_tells_what_others_write(tmp_path):
    before = usage(tmp_path)
    if before.write_bytes is None:
        pytest.skip("only root sees what others write")
    written = f"open({str(tmp_path / 'data')!r}, 'wb').write(bytes(2**23))"
    subprocess.run(["python3", "-c", written], check=True)
    after = usage(tmp_path)
    assert between(before, after).write_mib_s * (after.up - before.up) >= 8 - 1e-6  # what was divided by the seconds


# Curves

SAMPLES = b"""at 100.00
/proc/7/io:rchar: 1000
at 101.00
/proc/7/io:rchar: 1000
/proc/8/io:rchar: 1048576
/proc/8/io:wchar: 1048576
at 102.00
/proc/7/io:rchar: 1000
/proc/8/io:rchar: 2097152
/proc/8/io:wchar: 3145728
at 103.00
/proc/7/io:rchar: 1000
/proc/8/io:rchar: 2097152
/proc/8/io:wchar: 3145728
at 105.00
/proc/7/io:rchar: 1000
/proc/8/io:rchar: 2097152
/proc/8/io:wchar: 7340032
/proc/9/io:wchar: 999999999
at 106.00
/proc/7/io:rchar: 1000
"""


def test_intervals_are_what_the_processes_moved_between_two_looks():
    intervals = curves.read(SAMPLES, began=100.0, seconds=10)
    assert [(interval.until, interval.mib_s) for interval in intervals] == [(1, 2), (2, 3), (3, 0)]


def test_only_whole_intervals_inside_the_measurement_count():
    """Filebench starts its threads for a second after the barrier, and ends before its processes do."""
    assert [interval.until for interval in curves.read(SAMPLES, began=100.5, seconds=1.6)] == [1.5]
    assert curves.read(b"", began=100.0, seconds=10) == []


def test_looks_are_a_second_apart_at_least_and_sixty_at_most():
    assert [curves.every(seconds) for seconds in (2, 60, 61, 120, 3600)] == [1, 1, 2, 2, 60]


def test_the_warm_up_is_what_differs_from_the_rest():
    noise = random.Random(1)
    values = [20, 50, 80, *(100 + noise.gauss(0, 2) for _ in range(57))]
    assert 3 <= curves.warm_up(values) <= 6  # a few more may look better by chance
    assert curves.warm_up(values[3:]) <= 3


def test_the_rule_is_the_one_of_the_paper_by_hand():
    """1, 5, 5, ...: with the first sum 12.5 * .. / 12^2, without it zero."""
    assert curves.warm_up([1.0, *[5.0] * 11]) == 1
    assert curves.warm_up([5.0] * 12) == 0


def test_no_steady_part_is_seen_where_there_is_none_or_too_little():
    assert curves.warm_up([float(value) ** 2 for value in range(40)]) is None
    assert curves.warm_up([1.0, 5.0, 5.0]) is None


# Reference loads


def test_a_reference_load_is_the_median_of_its_rounds_and_what_is_missing_is_missing():
    rounds = [("hash_mib_s", "100.00"), ("hash_mib_s", "900.00"), ("hash_mib_s", "110.00"), ("other", "x")]
    assert calibration.medians(rounds) == {"hash_mib_s": 110.0}


def test_drift_is_told_against_the_first_in_both_directions_and_by_figure():
    first = {"before": "repetition 1", "write_mib_s": 200.0, "hash_mib_s": 400.0, "read_mib_s": 100.0}
    second = {"before": "repetition 2", "write_mib_s": 120.0, "hash_mib_s": 390.0}
    third = {"before": "repetition 3", "write_mib_s": 210.0, "hash_mib_s": 640.0, "read_mib_s": 101.0}
    calibrations = [first, second, third]
    assert calibration.drift(calibrations, "repetition 1") == []
    assert calibration.drift(calibrations, "repetition 2") == [
        "The reference load before repetition 2: 120 MiB/s written past the caches, 200 before repetition 1 (-40%); "
        "25% are allowed."
    ]
    assert len(calibration.drift(calibrations, "repetition 3")) == 1
    assert calibration.drift(calibrations, "the repeats") == []
