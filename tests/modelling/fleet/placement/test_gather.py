"""What plans know of a load: what is published, as sure as the mix of the same workloads."""

import pytest

from experiments.case_studies import lifecycle
from modelling.answer_pages.mix import mix_answer
from modelling.evidence.question import Question
from modelling.fleet.placement.expected_gain import prospect
from modelling.fleet.placement.gather import load_knowledge
from modelling.fleet.placement.selectors import Machine, Pool, Rules, compute_plan
from tests.factories import make_case_study, make_measurement

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
LOADS = {"varmail": 0.75, "webserver": 0.25}


@pytest.fixture
def known():
    for slug, faster in (("one", 1.5), ("two", 1.2)):
        study = make_case_study(slug)
        for host_fs, of_mail, of_web in (("ext4", 100.0, 50.0), ("xfs", 100.0 / faster, 50.0 / faster)):
            for workload, value in (("varmail", of_mail), ("webserver", of_web)):
                make_measurement(value, case_study=study, guest_fs="ext4", host_fs=host_fs, workload=workload)
        lifecycle.publish([study], reason="measured")
    return load_knowledge([*LOADS], ["kvm"])


def test_a_placement_is_as_sure_as_the_mix_of_its_loads(known):
    best, other = mix_answer(Question("fs-pair", "", hypervisor="kvm"), LOADS).entries
    promise = prospect(known, "kvm", "ext4", LOADS, "xfs", "ext4", 0.1)
    assert (best.key, other.key) == ("ext4-on-ext4", "ext4-on-xfs")
    assert (promise.low, promise.high) == pytest.approx((other.low, other.high), rel=1e-6)


def planned(**fields):
    """Plan for a mail server, with a pool of another file system beside it."""
    given = {"guest_fs": "ext4", "hypervisor": "kvm", "shares": {"varmail": 3}, "size_bytes": 4e10}
    pools = [Pool("slow", "ext4", 1e12), Pool("fast", "xfs", 1e12)]
    return compute_plan([Machine("mail", "slow", **given | fields)], pools, Rules(least_strength="very weak"))


@pytest.mark.usefixtures("laboratories_alike")
def test_a_plan_rests_on_the_published_answers_and_a_pin_is_another_plan():
    for laboratory in ("one", "two", "three"):
        study = make_case_study(laboratory, laboratory=laboratory)
        for host_fs, value in (("ext4", 50.0), ("xfs", 150.0)):
            make_measurement(value, case_study=study, guest_fs="ext4", host_fs=host_fs, workload="varmail")
        lifecycle.publish([study], reason="measured")
    (mail,) = planned().advice
    assert (mail.pool, mail.prospect.laboratories) == ("fast", 3)
    (pinned,) = planned(is_pinned=True).advice
    assert (pinned.pool, pinned.why) == ("slow", "pinned")
    assert (pinned.better.pool, pinned.better.forbidden_by) == ("fast", "pinned")
    assert pinned.better.gain == pytest.approx(mail.gain)
