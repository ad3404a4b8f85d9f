"""From a profile to advice: which known workloads are near, and whose answers carry over."""

from itertools import combinations

import pytest

from modelling.ask.advice.gather import FAR, nearest_workloads
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


def carried_over(load):
    """Return the workloads whose answers carry over."""
    return {near.workload for near in nearest_workloads(load, None, None) if near.verdict}


@pytest.mark.sqlite
@pytest.mark.django_db
def test_a_known_workload_is_nearest_to_itself(published_evidence):
    for workload in KNOWN:
        first, *_ = nearest_workloads(known_profiles()[workload], None, None)
        assert (first.workload, first.distance, first.is_far) == (workload, 0.0, False)
        assert carried_over(known_profiles()[workload]) == {workload}
        for dialect in ("1.4", "1.5"):
            variant = of_text((ROOT / f"tests/data/wml/{workload}-{dialect}.f").read_text())
            assert next(nearest_workloads(variant, None, None)).workload == workload


def test_the_threshold_lies_where_the_known_workloads_leave_a_gap():
    known = known_profiles()
    between = sorted(distance(known[a], known[b]) for a, b in combinations(KNOWN, 2))
    assert between[0] == pytest.approx(0.155, abs=0.001)
    assert between[0] < FAR < between[1] == pytest.approx(0.370, abs=0.001)


@pytest.mark.sqlite
@pytest.mark.django_db
def test_the_answers_of_two_workloads_carry_over_where_they_are_about_as_near(published_evidence):
    # Filebench's webproxy lies between web server and random file access; so does the middle of the two.
    a, b = (known_profiles()[name] for name in ("webserver", "randomfileaccess"))
    middle = Profile(
        operations=between(a.operations, b.operations),
        bytes=between(a.bytes, b.bytes),
        metadata_share=(a.metadata_share + b.metadata_share) / 2,
    )
    assert carried_over(middle) == {"webserver", "randomfileaccess"}


def between(a, b):
    return Accesses(*((x + y) / 2 for x, y in zip(a.shares(), b.shares(), strict=True)))
