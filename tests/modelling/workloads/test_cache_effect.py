"""P0's rule on P0's own cases, and what holds for any numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelling.workloads.cache_effect import (
    CACHE_DOMINATED,
    DRIVER_BOUND,
    LIMITED,
    NEAR,
    NO_LIMIT,
    UNDECIDED,
    Limits,
    cache_verdict,
    sentence,
)
from modelling.workloads.profiles import known_profiles

P0 = Limits(535, 495, 600)  # Table 1 and section 6.1
P4 = Limits(450, 450)  # Table II: one disk
MEBI = 2**20 / 1e6  # MB/s in one MiB/s


def read_share(workload: str) -> float:
    moved = known_profiles()[workload].bytes
    return moved.random_read + moved.sequential_read


# One virtual machine under KVM, Proxmox VE, ESXi and Xen, derived from the text of P0 (fixtures/derived.csv).
ONE_MACHINE = {
    "fileserver": (1429.19, 1054.75, 732.92, 607.09),
    "varmail": (68.57, 77.04, 80.69, 79.32),
    "webserver": (448.40, 452.23, 246.85, 425.76),
    "randomfileaccess": (13972.21, 13047.42, 6682.85, 13902.70),
}


@pytest.mark.parametrize(
    ("workload", "names"),
    [
        ("fileserver", [CACHE_DOMINATED] * 4),  # the least: 607.09 MiB/s = 636.6 MB/s against 600
        ("varmail", [DRIVER_BOUND] * 4),  # the most: 84.6 MB/s against 521
        ("webserver", [LIMITED, LIMITED, DRIVER_BOUND, LIMITED]),  # 0.88, 0.89, 0.49 and 0.84 of 533 MB/s
        ("randomfileaccess", [CACHE_DOMINATED] * 4),
    ],
)
@pytest.mark.parametrize("knows_mix", [True, False])
def test_the_cases_of_p0_come_out_as_p0_reads_them(workload, names, knows_mix):
    share = read_share(workload) if knows_mix else None
    assert [cache_verdict(value, "MiB/s", P0, read_share=share).name for value in ONE_MACHINE[workload]] == names


def test_the_limit_of_a_mix_adds_the_times_of_reading_and_writing():
    # A third written: 1 / (2/3 / 600 + 1/3 / 300) = 450 MB/s; 2/3 of it are 300 MB/s.
    verdict = cache_verdict(300, "MB/s", Limits(600, 300), read_share=2 / 3)
    assert (verdict.limit, verdict.limit_name) == (pytest.approx(450), "sequential limit for 67 % reads")
    assert verdict.name == DRIVER_BOUND


def test_filebench_figures_are_compared_in_bytes_and_not_as_bare_numbers():
    # 580 MiB/s are 608.2 MB/s: above an interface of 600 MB/s.
    verdict = cache_verdict(580, "MiB/s", P0, read_share=1)
    assert (verdict.name, verdict.limit, verdict.limit_name) == (CACHE_DOMINATED, 600, "interface limit")
    assert verdict.throughput == pytest.approx(608.174, abs=1e-3)
    assert cache_verdict(580, "MB/s", P0, read_share=1).name == LIMITED


def test_a_mix_that_is_not_known_decides_only_what_holds_for_every_mix():
    disk = Limits(sequential_read=500, sequential_write=100)
    names = {value: cache_verdict(value, "MB/s", disk).name for value in (50, 80, 300, 499, 501)}
    assert names == {50: DRIVER_BOUND, 80: UNDECIDED, 300: UNDECIDED, 499: UNDECIDED, 501: CACHE_DOMINATED}


def test_without_the_limit_that_fits_there_is_no_verdict():
    assert cache_verdict(500, "MiB/s", Limits()).name == NO_LIMIT
    assert cache_verdict(500, "MiB/s", Limits(sequential_read=535), read_share=0.5).name == NO_LIMIT
    assert cache_verdict(500, "MiB/s", Limits(sequential_read=535), read_share=1).name == LIMITED
    assert cache_verdict(50, "MB/s", Limits(sequential_write=535), read_share=0).name == DRIVER_BOUND
    # An interface says nothing of what is below it: the disk behind it may be slow.
    assert cache_verdict(500, "MB/s", Limits(interface=600)).name == NO_LIMIT
    assert cache_verdict(700, "MB/s", Limits(interface=600)).name == CACHE_DOMINATED


def test_numbers_of_one_machine_add_up_before_they_meet_the_disk():
    # 3 * 115.46 MiB/s = 363.2 MB/s, 0.81 of 450; the printed 121.1 MB/s are 0.27 of it.
    verdict = cache_verdict(115.46, "MiB/s", P4, read_share=0.5, vm_count=3, scope="per-vm")
    assert (verdict.name, verdict.throughput, verdict.if_per_vm) == (LIMITED, pytest.approx(363.2, abs=0.05), None)
    assert "With 363.2 MB/s (3 machines, 115.46 MiB/s each)" in sentence(verdict)
    verdict = cache_verdict(115.46, "MiB/s", P4, read_share=0.5, vm_count=3)
    assert (verdict.name, verdict.if_per_vm) == (DRIVER_BOUND, LIMITED)
    assert "does not say" in sentence(verdict)
    verdict = cache_verdict(115.46, "MiB/s", P4, read_share=0.5, vm_count=3, scope="aggregate")
    assert (verdict.name, verdict.if_per_vm) == (DRIVER_BOUND, None)


def test_the_sentence_carries_numbers_with_units_and_where_the_limit_stands():
    assert sentence(cache_verdict(425.76, "MiB/s", P0, read_share=read_share("webserver"))) == (
        "With 446.4 MB/s (425.76 MiB/s as printed) the throughput is 0.84 times the 532.9 MB/s of the sequential "
        "limit for 95 % reads, about what the storage can carry: the caches of guest "
        "and host have a limited effect, and many requests reach the drivers."
    )
    assert "the host's cache answers most requests" in sentence(cache_verdict(3885.14, "MiB/s", P0, vm_count=0))
    assert sentence(cache_verdict(500, "MB/s", P0)).startswith("With 500.0 MB/s the throughput")
    assert "states no limit" in sentence(cache_verdict(500, "MiB/s", Limits()))


values = st.floats(1, 5000)
shares = st.none() | st.floats(0, 1)


@given(values, shares)
def test_the_verdict_does_not_depend_on_the_unit(value, share):
    verdict = cache_verdict(value, "MiB/s", P0, read_share=share)
    same = cache_verdict(value * MEBI, "MB/s", P0, read_share=share)
    assert verdict.throughput == pytest.approx(same.throughput)
    if min(abs(verdict.throughput / edge - 1) for edge in (600, NEAR * verdict.limit)) > 1e-9:
        assert verdict.name == same.name


@given(st.tuples(values, values).map(sorted), shares)
def test_a_faster_result_never_shows_less_cache(pair, share):
    order = [DRIVER_BOUND, UNDECIDED, LIMITED, CACHE_DOMINATED]
    slower, faster = (order.index(cache_verdict(value, "MB/s", P0, read_share=share).name) for value in pair)
    assert slower <= faster
