"""A personality's profile: shares by hand, the rule for random and sequential, distances."""

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelling.workloads import wml
from modelling.workloads.profiles import KNOWN, Accesses, Profile, distance, known_profiles, profile
from modelling.workloads.wml import tree

from .test_wml import mutated as damaged_personalities

DATA = Path(__file__).parents[2] / "data" / "wml"
KIB = 1024


def of_file(name: str) -> Profile:
    return profile(wml.parse((DATA / name).read_text()))


def of_thread(*flowops: str, size: str = "16k", before: str = "") -> Profile:
    files = (
        f"define fileset name=box,path=/srv,size={size},entries=10,dirwidth=5\ndefine file name=log,path=/srv,size=1g\n"
    )
    body = "\n".join(f"flowop {flowop}" for flowop in flowops)
    return profile(wml.parse(f"{files}{before}define process name=p {{ thread name=t {{\n{body}\n}} }}"))


def assert_profile(load: Profile, **wanted) -> None:
    for name, value in wanted.items():
        got = getattr(load, name)
        got, value = (got.shares(), value) if isinstance(got, Accesses) else (got, value)
        assert got == pytest.approx(value), name


# The four workloads, each in both dialects with numbers of its own. Accesses are in the order
# random read, sequential read, random write, sequential write.


def test_mail_server_by_hand():
    # A loop: delete, create, append, fsync, close, open, read, append, fsync, close, open, read, close: 13.
    # Reads: 2 whole files of 8 KiB, each a jump and below 64 KiB. Appends: 2 of 4 / 2 KiB, each followed by fsync.
    assert_profile(
        of_file("varmail-1.4.f"),
        operations=(2 / 13, 0, 2 / 13, 0),
        metadata_share=7 / 13,
        flush_share=2 / 13,
        bytes=(16 / 20, 0, 4 / 20, 0),
        sync_share=1,
        concurrency=2 * 4,
        files=500,
        mean_file_bytes=8 * KIB,
        working_set_bytes=500 * 8 * KIB,
        mean_io_bytes=20 * KIB / 4,  # 4 requests: all smaller than the 512 KiB asked for
        directory_width=5000,
    )


def test_file_server_by_hand():
    # A loop: create, write 256 KiB, close, open, append 32 / 2 KiB, close, open, read 256 KiB, close, delete,
    # stat: 11. Of 256 KiB the first 64 are random: a quarter. 256 + 16 + 256 = 528 KiB.
    assert_profile(
        of_file("fileserver-1.4.f"),
        operations=(0.25 / 11, 0.75 / 11, 1.25 / 11, 0.75 / 11),
        metadata_share=8 / 11,
        flush_share=0,
        bytes=(64 / 528, 192 / 528, 80 / 528, 192 / 528),
        sync_share=0,
        concurrency=12,
        files=2000,
        mean_file_bytes=256 * KIB,
        working_set_bytes=2000 * 256 * KIB,
        mean_io_bytes=528 * KIB / (4 + 1 + 4),  # requests of 64 KiB
        directory_width=10,
    )


@pytest.mark.parametrize("name", ["webserver-1.4.f", "webserver-1.5.f"])
def test_web_server_by_hand_in_both_dialects(name):
    # A loop: 3 times open, read 10 KiB, close, then an append of 4 / 2 KiB to the log: 10. The log stays open,
    # but the thread comes to it from a page, so each append begins with a jump. 1.5: mean of 4, 20 and 6 KiB.
    assert_profile(
        of_file(name),
        operations=(3 / 10, 0, 1 / 10, 0),
        metadata_share=6 / 10,
        bytes=(30 / 32, 0, 2 / 32, 0),
        sync_share=0,
        concurrency=30,
        files=401,
        mean_io_bytes=32 * KIB / 4,
        directory_width=8,
    )


@pytest.mark.parametrize("name", ["randomfileaccess-1.4.f", "randomfileaccess-1.5.f"])
def test_random_file_access_by_hand_in_both_dialects(name):
    # A loop: 3 opens, append 10 / 2 KiB, close, 2 whole reads, 2 closes: 9. Files in the mean:
    # .5 * 4 + .4 * 16 + .1 * 63 = 14.7 KiB, read in requests of 9 KiB.
    total = 2 * 14.7 + 5
    assert_profile(
        of_file(name),
        operations=(2 / 9, 0, 1 / 9, 0),
        metadata_share=6 / 9,
        bytes=(29.4 / total, 0, 5 / total, 0),
        sync_share=0,
        concurrency=7,
        working_set_bytes=3000 * 14.7 * KIB,
        mean_io_bytes=total * KIB / (2 * 14.7 / 9 + 1),
    )


def test_database_by_hand():
    # 3 writers: 20 writes of 4 KiB in a loop; 18 readers: a read of the table and a write to the journal, which
    # is a jump from the table. All writes open their file with O_DSYNC. 60 + 36 accesses of 4 KiB.
    load = of_file("database-1.4.f")

    assert_profile(
        load,
        operations=(18 / 96, 0, 78 / 96, 0),
        metadata_share=0,
        bytes=(18 / 96, 0, 78 / 96, 0),
        sync_share=1,
        concurrency=21,
        files=2,
        working_set_bytes=(64 + 8) * 2**20,  # the table only to its workingset
        mean_io_bytes=4 * KIB,
        directory_width=None,
    )
    assert "The rate is limited to 10 events a second; shares do not show that." in load.notes
    assert "Threads that differ are taken to repeat their lists equally often." in load.notes


@pytest.mark.parametrize(
    ("name", "threads", "files", "width", "size"),
    [  # P0 table 3; the papers give no file size for the last
        ("fileserver", 50, 10000, 20, 128 * KIB),
        ("webserver", 100, 1000 + 1, 20, 16 * KIB),  # and the log
        ("varmail", 16, 1000, 1000000, 16 * KIB),
        ("randomfileaccess", 5, 10000, 20, 26 * KIB),
    ],
)
def test_our_personalities_have_the_published_numbers(name, threads, files, width, size):
    load = known_profiles()[name]

    assert (load.concurrency, load.files, load.directory_width) == (threads, files, width)
    assert load.mean_file_bytes == pytest.approx(size)


# The rule. Bytes: random read, sequential read, random write, sequential write.

RULE = {
    "a stream goes on": (["read name=a,filename=log,iosize=1m"], (0, 1, 0, 0)),
    "a random offset jumps": (["read name=a,filename=log,iosize=8k,random"], (1, 0, 0, 0)),
    "beyond the first 64 KiB it is sequential": (["read name=a,filename=log,iosize=256k,random"], (1 / 4, 3 / 4, 0, 0)),
    "changing direction jumps": (
        ["write name=a,filename=log,iosize=8k", "read name=b,filename=log,iosize=8k"],
        (1 / 2, 0, 1 / 2, 0),
    ),
    "two writes in a row": (
        ["openfile name=o,filesetname=box,fd=1", "write name=a,fd=1,iosize=8k", "write name=b,fd=1,iosize=8k"],
        (0, 0, 1 / 2, 1 / 2),
    ),
    "another file in between": (
        ["appendfile name=a,filename=log,iosize=8k", "readwholefile name=b,filename=box,fd=1,iosize=0"],
        (16 / 24, 0, 8 / 24, 0),
    ),
    "iterations go on from themselves": (
        ["openfile name=o,filesetname=box,fd=1", "appendfile name=a,fd=1,iosize=4k,iters=8", "closefile name=c,fd=1"],
        (0, 0, 1 / 8, 7 / 8),
    ),
    "the next descriptor is another file": (["read name=a,filename=box,iosize=4k,opennext"], (1, 0, 0, 0)),
    "a copy has the size of its source": (
        ["openfile name=o,filesetname=box,fd=1", "writewholefile name=w,filename=log,srcfd=1"],
        (0, 0, 0, 1),
    ),
}


@pytest.mark.parametrize(("flowops", "shares"), RULE.values(), ids=list(RULE))
def test_the_rule_for_random_and_sequential(flowops, shares):
    assert of_thread(*flowops).bytes.shares() == pytest.approx(shares)


SYNC = {
    "fsync": (["write name=w,fd=1,iosize=1k", "fsync name=f,fd=1"], 1),
    "fsync of another file": (
        ["write name=w,fd=1,iosize=1k", "openfile name=p,filesetname=log,fd=2", "fsync name=f,fd=2"],
        0,
    ),
    "fsyncset": (["write name=w,fd=1,iosize=1k", "fsyncset name=f,filesetname=box"], 1),
    "some": (
        ["write name=w,fd=1,iosize=1k", "fsync name=f,fd=1", "write name=v,filename=log,fd=3,iosize=1k,iters=3"],
        1 / 4,
    ),
    "dsync where the write opens the file": (["write name=w,filename=log,iosize=1k,dsync"], 1),
}


@pytest.mark.parametrize(("flowops", "share"), SYNC.values(), ids=list(SYNC))
def test_what_counts_as_synchronous(flowops, share):
    assert of_thread("openfile name=o,filesetname=box,fd=1", *flowops).sync_share == pytest.approx(share)


def test_a_file_kept_open_is_synced_by_the_next_round():
    load = of_thread(
        "write name=w,filename=log,fd=1,iosize=1k", "write name=v,filename=log,fd=1,iosize=1k", "fsync name=f,fd=1"
    )
    early = of_thread("write name=w,filename=log,iosize=1k", "fsync name=f", "write name=v,filename=log,iosize=1k")

    assert (load.sync_share, early.sync_share) == (1, 1)


def test_waiting_limits_and_ends_are_no_operations_but_are_noted():
    plain = of_thread("read name=a,filename=log,iosize=4k")
    held = of_thread(
        "read name=a,filename=log,iosize=4k",
        "delay name=d,value=1",
        "bwlimit name=l,target=a",
        "finishoncount name=f,value=9",
        before="eventgen rate=5\n",
    )

    assert replace(held, notes=(), think_seconds=0.0) == replace(plain, notes=())
    assert held.think_seconds == 1.0  # for its one read
    assert len(set(held.notes) - set(plain.notes)) == 3


def test_threads_weigh_by_their_instances():
    reads, writes = "flowop read name=a,filename=log,iosize=4k", "flowop write name=b,filename=log,iosize=12k"
    text = (
        "define file name=log,path=/srv,size=1g\n"
        f"define process name=p,instances=3 {{ thread name=r,instances=2 {{ {reads} }} }}\n"
        f"define process name=q {{ thread name=w,instances=4 {{ {writes} }} }}\n"
    )
    # 6 readers of 4 KiB and 4 writers of 12 KiB
    assert_profile(
        profile(wml.parse(text)), operations=(0, 0.6, 0, 0.4), bytes=(0, 24 / 72, 0, 48 / 72), concurrency=10
    )


@pytest.mark.parametrize(
    ("flowops", "said"),
    [
        (["hog name=h,value=5"], "no flowop that runs does anything to a file"),
        (
            ["openfile name=o,filesetname=box,fd=1", "closefile name=c,fd=1", "readwholefile name=r,fd=1"],
            "the file under fd 1 is closed here",
        ),
        (["readwholefile name=r,filename=box,iters=0"], "no flowop that runs does anything"),
    ],
)
def test_what_has_no_profile_is_refused(flowops, said):
    with pytest.raises(wml.WmlError, match=said):
        of_thread(*flowops)


def nested(levels: int, iterations: str, inner: str = "statfile name=s,filesetname=box") -> str:
    first = f"define flowop name=c0 {{ flowop {inner} }}\n"
    return first + "".join(
        f"define flowop name=c{n + 1} {{ flowop c{n} name=a,iters={iterations} }}\n" for n in range(levels)
    )


def test_nested_iterations_are_bounded():
    assert of_thread("c3 name=x", before=nested(3, "4")).metadata_share == 1
    with pytest.raises(wml.WmlError, match="line 5, column 32: the text takes more than 50,000 steps"):
        of_thread("c19 name=x", before=nested(19, "2"))


def test_a_sync_of_a_set_costs_a_step_for_each_open_file():
    opens = [f"openfile name=o,filename=box,fd={n + 1}" for n in range(1_000)]
    sync = "fsyncset name=s,filename=box"
    assert of_thread(*opens, *[sync] * 5).flush_share == pytest.approx(5 / 1_005)
    with pytest.raises(wml.WmlError, match="more than 50,000 steps"):
        of_thread(*opens, *[sync] * 20)


def test_numbers_too_large_for_shares_are_refused(monkeypatch):
    monkeypatch.setattr(tree, "MOST_STEPS", 500_000)  # so that nothing else ends it
    # 8.6e18 bytes, multiplied by 8.6e18 at each of 15 levels and by the iterations of the write itself
    write = "write name=w,filename=box,iosize=8000000000g,iters=8000000000g"
    with pytest.raises(wml.WmlError, match="more than a number can hold"):
        of_thread("c15 name=x", before=nested(15, "8000000000g", write))


@pytest.mark.slow
@given(damaged_personalities())
def test_the_shares_of_any_profile_add_up(text):
    load = None
    with suppress(wml.WmlError):
        load = profile(wml.parse(text))
    if load is None:
        return

    assert sum(load.operations.shares()) + load.metadata_share + load.flush_share == pytest.approx(1)
    assert sum(load.bytes.shares()) == pytest.approx(1) or load.bytes == Accesses()
    assert 0 <= load.sync_share <= 1 + 1e-9


def test_the_documented_distances_are_the_computed_ones():
    page = (DATA.parents[2] / "docs" / "models" / "profiles.md").read_text()
    known = known_profiles()

    for name in KNOWN:
        cells = [f"{distance(known[name], known[other]):.3f}" if other != name else "0" for other in KNOWN]
        assert f"| {name} | {' | '.join(cells)} |" in page


# Distances.

shares = st.floats(0, 1)
sizes = st.none() | st.floats(1, 1e15)


@st.composite
def profiles(draw, complete: bool = False) -> Profile:
    parts = [draw(shares) + 1e-9 for _ in range(6)]
    moved = [draw(shares) for _ in range(4)]
    total, total_moved = sum(parts), sum(moved)
    size = st.floats(1, 1e15) if complete else sizes
    return Profile(
        operations=Accesses(*(part / total for part in parts[:4])),
        bytes=Accesses(*(part / total_moved for part in moved)) if total_moved > 1e-6 else Accesses(),
        metadata_share=parts[4] / total,
        flush_share=parts[5] / total,
        sync_share=draw(shares),
        concurrency=draw(size),
        mean_file_bytes=draw(size),
        working_set_bytes=draw(size),
        mean_io_bytes=draw(size),
    )


@given(profiles(), profiles())
def test_distance_is_symmetric_bounded_and_zero_for_equals(a, b):
    assert distance(a, a) == pytest.approx(0, abs=1e-6)
    assert 0 <= distance(a, b) <= 1
    assert distance(a, b) == distance(b, a)


def test_distance_by_hand():
    reads = Profile(operations=Accesses(random_read=1), bytes=Accesses(random_read=1), concurrency=1)
    writes = Profile(operations=Accesses(random_write=1), bytes=Accesses(random_write=1), sync_share=1, concurrency=10)

    assert distance(reads, writes) == pytest.approx(0.3 + 0.3 + 0.2 + 0.2 * 0.5)  # a factor of ten counts one half
    # Half of each against one alone: the divergence is 1 - 0.75 log2(3) + 0.5 = 0.3113 bit.
    half = replace(reads, operations=Accesses(0.5, 0, 0.5, 0), bytes=Accesses(0.5, 0, 0.5, 0))
    assert distance(reads, half) == pytest.approx(0.6 * math.sqrt(1.5 - 0.75 * math.log2(3)))


@pytest.mark.parametrize("difference", [1e-16, 1e-12, 1e-8])
def test_nearly_equal_profiles_are_next_to_each_other(difference):
    """Where rounding may leave a divergence just below zero."""
    shares = (0.1, 0.2, 0.3, 0.4)
    for low in shares:
        one = Profile(operations=Accesses(*shares), bytes=Accesses(low, low, 1 - 2 * low, 0))
        other = replace(one, bytes=Accesses(low * (1 + difference), low * (1 - difference), 1 - 2 * low, 0))
        assert 0 <= distance(one, other) < 1e-6


def test_sizes_that_are_not_known_are_left_out():
    reads = Profile(operations=Accesses(random_read=1), bytes=Accesses(random_read=1))
    writes = Profile(operations=Accesses(random_write=1), bytes=Accesses(random_write=1), concurrency=5)

    assert distance(reads, writes) == pytest.approx(0.6 / 0.8)
