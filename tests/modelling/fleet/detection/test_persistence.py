"""Models and detected hours as they are kept."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from experiments.models import ObservedMachine, Signature, Workload
from kdb.jobs import jobs
from kdb.models import Job
from modelling.fleet.detection import persistence, selectors
from modelling.fleet.moving import observed_fleet
from modelling.models import DetectedHour, DetectionModel
from tests import factories
from tests.modelling.fleet.detection.test_detection import SHAPES, load, signatures

pytestmark = pytest.mark.django_db


def counted(counts) -> dict:
    return {name: getattr(counts, name) for name in persistence.NAMES}


@pytest.fixture
def known():
    for workload in SHAPES:
        factories.entry(Workload, workload)
    Signature.objects.bulk_create(
        Signature(
            workload=signature.workload, source=signature.run, starts_after=0, seconds=10, **counted(signature.counts)
        )
        for signature in signatures()
    )


@pytest.fixture
def machine():
    return factories.make_machine(factories.make_host(is_observed=True))


def minutes(machine: ObservedMachine, shape: str, number: int, begin) -> None:
    factories.make_minutes(machine, number, begin=begin, **counted(load(SHAPES[shape], 60)))


def this_hour(hours: int = 0):
    return now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours)


@pytest.mark.sqlite
def test_a_kept_model_says_what_the_fitted_one_said(known):
    kept = persistence.train()
    model = persistence.classifier(kept)
    persistence._load_classifier.cache_clear()
    again = persistence.classifier(DetectionModel.objects.get())
    features = model.training.features
    assert (again.sets(features), again.sureness) == (model.sets(features), model.sureness)


def test_without_signatures_nothing_is_told_and_it_says_why(machine):
    minutes(machine, "mail", 10, this_hour())
    kept = persistence.train()
    persistence.detect()
    assert "are needed" in kept.why_not
    assert selectors.mix_of(machine) is None


def test_hours_are_told_by_their_minutes_however_often(known, machine):
    persistence.train()
    minutes(machine, "mail", 30, this_hour(1))
    factories.make_minutes(machine, 20, begin=this_hour(1) + timedelta(minutes=30), **counted(load(SHAPES["web"], 60)))
    idle = dict.fromkeys(persistence.NAMES, 0)
    factories.make_minutes(machine, 10, begin=this_hour(1) + timedelta(minutes=50), **idle)
    for _ in range(2):
        persistence.detect()
        hour = DetectedHour.objects.get()
        assert (hour.minutes, hour.idle, hour.unlike, hour.others) == (60, 10, 0, {})
    mix = selectors.mix_of(machine)
    assert mix.shares == {"mail": 0.6, "web": 0.4}
    assert mix.idle == pytest.approx(1 / 6)
    assert 0.5 < mix.probability < 0.9  # so few classes say little of loads that are not known


def test_loads_that_are_no_workload_or_not_told_apart_are_counted_beside_the_mix(known, machine):
    like_mail = {"flushed-database": SHAPES["mail"], "backup": (300, 1024, 1, 4, 0)}
    Signature.objects.bulk_create(
        Signature(
            workload=signature.workload, source=signature.run, starts_after=0, seconds=10, **counted(signature.counts)
        )
        for signature in signatures(like_mail)
    )
    persistence.train()
    minutes(machine, "web", 6, this_hour())
    for begins, shape in ((10, SHAPES["mail"]), (30, like_mail["backup"])):
        at = this_hour() + timedelta(minutes=begins)
        factories.make_minutes(machine, 12, begin=at, **counted(load(shape, 60)))
    persistence.detect()
    mix = selectors.mix_of(machine)
    assert mix.shares == {"web": 1.0}
    assert mix.others == {"backup": 0.4, "flushed-database or mail": 0.4}
    planned = observed_fleet.mixes_of([machine])[machine.pk]
    assert (planned.shares, planned.probability) == ({"web": 1.0}, pytest.approx(0.2 * mix.probability))
    instead = {name: other.probability for other in planned.others for name in other.shares}
    # Of the minutes like several, half are taken to be one of them, and a backup is like nothing that is measured.
    assert instead == {
        "database": pytest.approx(0.1),
        "mail": pytest.approx(0.1),
        "any load": pytest.approx(0.8 - 0.2 * mix.probability),
    }


@pytest.mark.parametrize(
    ("minutes", "shares", "others"),
    [
        ({"shares": {"mail": 30}, "certainty": 24.0}, {"mail": 1.0}, {"any load": 0.2}),
        ({"shares": {"mail": 15}, "certainty": 12.0, "unlike": 15}, {"mail": 1.0}, {"any load": 0.6}),
        ({"shares": {"mail": 15}, "certainty": 12.0, "idle": 15}, {"mail": 1.0}, {"any load": 0.2}),
        (
            {"shares": {"mail": 15}, "certainty": 12.0, "others": {"log or mail": 15}},
            {"mail": 1.0},
            {"sync-write": 0.125, "any load": 0.35},
        ),
        ({"unlike": 30}, {"any load": 1.0}, {}),
        ({"others": {"log": 30}}, {"any load": 1.0}, {"sync-write": 0.5}),
        ({"idle": 30}, {}, {}),
    ],
)
def test_plans_weigh_what_a_machine_may_do_by_how_sure_detection_is(machine, minutes, shares, others):
    model = DetectionModel.objects.create(method=persistence.METHOD, digest="0", signatures=80, training={}, report={})
    empty = {"minutes": 30, "idle": 0, "unlike": 0, "shares": {}, "others": {}, "certainty": 0.0}
    DetectedHour.objects.create(machine=machine, starts_at=this_hour(), model=model, **empty | minutes)
    load = observed_fleet.mixes_of([machine])[machine.pk]
    assert load.shares == shares
    assert {name: other.probability for other in load.others for name in other.shares} == pytest.approx(others)


def test_another_model_tells_the_kept_hours_again(known, machine):
    persistence.train()
    minutes(machine, "mail", 30, this_hour(5))
    persistence.detect()
    first = DetectedHour.objects.get()
    Signature.objects.filter(workload="web").first().delete()
    persistence.train()
    persistence.detect()
    assert DetectedHour.objects.get().model_id > first.model_id


def test_a_machine_that_was_hardly_watched_gets_no_mix(known, machine):
    persistence.train()
    minutes(machine, "mail", 3, this_hour())
    persistence.detect()
    mix = selectors.mix_of(machine)
    assert (mix.shares, "5 are needed" in mix.why_not) == ({}, True)


def test_a_run_that_failed_teaches_nothing(known):
    persistence.train()
    run = factories.make_run(state="failed", reason="void")
    run.signatures.create(
        workload="mail", starts_after=0, seconds=10, reads=5, **dict.fromkeys(persistence.NAMES[1:], 0)
    )
    assert len(persistence.signatures()) == len(signatures())
    run.state, run.reason, run.figures = "done", "", [{"machine": 1}]
    run.finished_at = now()
    run.save()
    assert len(persistence.signatures()) == len(signatures()) + 1


def test_a_tick_asks_for_a_model_where_signatures_came(known):
    persistence.enqueue_due_jobs()
    persistence.enqueue_due_jobs()
    (job,) = Job.objects.all()
    assert job.kind == persistence.TRAIN_JOB
    jobs.run(job.pk)
    assert persistence.current_model().signatures == Signature.objects.count()
    Job.objects.update(created_at=now() - timedelta(hours=1))
    persistence.enqueue_due_jobs()
    assert Job.objects.count() == 1


def test_mixes_of_thirty_machines_cost_two_queries(known, machine, django_assert_num_queries):
    persistence.train()
    machines = [factories.make_machine(machine.host) for _ in range(30)]
    for guest in machines:
        minutes(guest, "mail", 6, this_hour())
    persistence.detect()
    with django_assert_num_queries(2):
        assert len(selectors.mixes_of([guest.pk for guest in machines])) == 30
