"""From a profile to advice: what is near."""

from itertools import combinations

import pytest

from modelling.ask.advice.reasoning import FAR, SharesError, neighbours, profile_from_shares
from modelling.workloads import wml
from modelling.workloads.profiles import KNOWN, Accesses, Profile, distance, known_profiles, profile
from tests.test_architecture import ROOT

DATABASE = """
set $dir=/srv/db
define file name=table,path=$dir,size=1g,prealloc
define file name=log,path=$dir,size=64m,prealloc
define process name=db,instances=1
{
  thread name=query,memsize=1m,instances=20
  {
    flowop read name=lookup,filename=table,iosize=8k,random
    flowop write name=update,filename=table,iosize=8k,random,dsync
    flowop write name=commit,filename=log,iosize=4k,dsync
  }
}
run 60
"""

STREAM = """
define file name=film,path=/srv,size=10g,prealloc
define process name=player
{
  thread name=viewer,memsize=1m { flowop read name=play,filename=film,iosize=1m }
}
run 60
"""


def of_text(text):
    return profile(wml.parse(text))


def near(load, known=None):
    return neighbours(load, known_profiles() if known is None else known, {name: name.title() for name in KNOWN})


# Near and far


@pytest.mark.parametrize("workload", KNOWN)
def test_a_known_workload_is_nearest_to_itself(workload):
    first, *others = near(known_profiles()[workload])
    assert (first.workload, first.distance, first.is_far, first.speaks) == (workload, 0.0, False, True)
    assert not any(other.speaks for other in others)
    for dialect in ("1.4", "1.5"):
        variant = near(of_text((ROOT / f"tests/data/wml/{workload}-{dialect}.f").read_text()))
        assert variant[0].workload == workload


def test_the_threshold_lies_where_the_known_workloads_leave_a_gap():
    known = known_profiles()
    between = sorted(distance(known[a], known[b]) for a, b in combinations(KNOWN, 2))
    assert between[0] == pytest.approx(0.155, abs=0.001)
    assert between[0] < FAR < between[1] == pytest.approx(0.370, abs=0.001)


def test_two_workloads_speak_where_they_are_about_as_near():
    # Filebench's webproxy lies between web server and random file access; so does the middle of the two.
    a, b = (known_profiles()[name] for name in ("webserver", "randomfileaccess"))
    middle = Profile(
        operations=between(a.operations, b.operations),
        bytes=between(a.bytes, b.bytes),
        metadata_share=(a.metadata_share + b.metadata_share) / 2,
    )
    speaking = {neighbour.workload for neighbour in near(middle) if neighbour.speaks}
    assert speaking == {"webserver", "randomfileaccess"}


def between(a, b):
    return Accesses(*((x + y) / 2 for x, y in zip(a.shares(), b.shares(), strict=True)))


# Shares by hand


def test_shares_by_hand_of_a_mail_server_are_near_it():
    stated = profile_from_shares(
        Accesses(random_read=0.154, random_write=0.154),
        metadata=0.538,
        flush=0.154,
        sync=1.0,
        threads=16,
        files=1000,
        mean_file_bytes=16384,
    )
    mail = known_profiles()["varmail"]
    assert distance(stated, mail) < 0.05  # requests all of one size make the bytes half read, half written
    assert stated.working_set_bytes == mail.working_set_bytes
    assert stated.operations.random_read == pytest.approx(2 / 13, abs=0.001)


def test_shares_that_are_rounded_are_scaled_to_one():
    stated = profile_from_shares(Accesses(0.33, 0.33, 0.33, 0.0))
    assert sum(stated.operations.shares()) == pytest.approx(1.0)
    assert sum(stated.bytes.shares()) == pytest.approx(1.0)


@pytest.mark.parametrize("total", [0.0, 0.5, 0.98, 1.02])
def test_shares_that_do_not_add_up_are_refused(total):
    with pytest.raises(SharesError) as refused:
        profile_from_shares(Accesses(random_read=total))
    assert refused.value.total == total


def test_what_is_not_given_is_said_and_not_made_up():
    stated = profile_from_shares(Accesses(random_read=1.0), sync=1.0)
    assert stated.concurrency is stated.files is stated.mean_file_bytes is stated.working_set_bytes is None
    notes = " ".join(stated.notes)
    assert "Not given, and left out of the distance: threads, number of files, mean file size." in notes
    assert "There are no writes" in notes
    assert stated.sync_share == 0.0
