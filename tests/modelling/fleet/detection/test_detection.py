"""Models that tell workloads: on loads made here, whose truth is known, and on those that come with KDB."""

from dataclasses import astuple

import numpy as np
import pytest

from experiments.laboratory.transport.counters import NAMES, Counts
from experiments.published_evidence import signatures as published
from modelling.fleet.detection.classifier import LEAST_RUNS, Classifier, TooFewError, Training, distances
from modelling.fleet.detection.content import IDLE, OTHERS, UNLIKE
from modelling.fleet.detection.evaluation import (
    Known,
    describe_load,
    model_of,
    sets,
    training_of,
)
from modelling.fleet.detection.features import FEATURES, is_cached, vector
from tests.test_architecture import ROOT

KIB = 1024
# Reads, KiB of each, writes, KiB of each, flushes a second.
SHAPES = {
    "mail": (200, 16, 400, 14, 100),
    "web": (900, 16, 60, 18, 0.5),
    "files": (150, 120, 500, 120, 0.5),
}
WORKLOADS = ("fileserver", "randomfileaccess", "varmail", "webserver")


def load(shape, seconds=10.0, scale=1.0, seed=0) -> Counts:
    """Return what a disk does under a shape, larger or smaller by `scale`, with a spread of about a tenth."""
    rng = np.random.default_rng(seed)
    reads, read_kib, writes, write_kib, flushes = np.array(shape) * rng.lognormal(0, 0.1, 5)
    n, m = round(reads * scale * seconds), round(writes * scale * seconds)
    return Counts(
        reads=n,
        read_bytes=round(n * read_kib * KIB),
        writes=m,
        write_bytes=round(m * write_kib * KIB),
        flushes=round(flushes * scale * seconds),
    )


def signatures(shapes=SHAPES, runs=8, each=2) -> list[Known]:
    return [
        Known(name, f"{name} {run}", 10.0, load(shape, scale=0.5 + run, seed=100 * run + part))
        for name, shape in shapes.items()
        for run in range(runs)
        for part in range(each)
    ]


def shipped() -> list[Known]:
    return [
        Known(
            row["workload"],
            row["source"],
            row["seconds"],
            Counts(**{name: row[name] for name in NAMES}),
        )
        for row in published.read(ROOT / "fixtures/signatures.csv")
    ]


def times(counts: Counts, factor: int) -> Counts:
    return Counts(*(value * factor for value in astuple(counts)))


@pytest.fixture(scope="module")
def model() -> Classifier:
    return model_of(signatures(), list(SHAPES))[0]


@pytest.fixture(scope="module")
def shipped_model() -> Classifier:
    training = training_of(shipped(), WORKLOADS)
    return Classifier(training, WORKLOADS)


def test_a_feature_worked_by_hand():
    counts = Counts(reads=300, read_bytes=2400 * KIB, writes=100, write_bytes=3200 * KIB, flushes=25)
    drawn = {
        "reads": 0.75 / 0.85,
        "writes": 0.25 / 0.35,
    }  # a tenth of the requests counts half
    manual = [
        np.log(3),
        np.log(16) + drawn["reads"] * np.log(8 / 16),
        np.log(16) + drawn["writes"] * np.log(32 / 16),
        np.log(0.01) + drawn["writes"] * np.log(0.25 / 0.01),
    ]
    assert vector(counts) == pytest.approx(manual)
    assert len(FEATURES) == len(manual)


@pytest.mark.parametrize(
    ("counts", "cached"),
    [
        (Counts(reads=2, writes=100), False),
        (Counts(reads=1, writes=100), True),
        (Counts(reads=100, writes=0), True),
        (Counts(reads=100, writes=1), False),
    ],
)
def test_a_side_of_which_hardly_anything_reaches_the_disk_is_cached(counts, cached):
    assert is_cached(counts) is cached


def test_a_load_of_another_size_and_rate_is_told_as_the_same(model, shipped_model):
    for fitted, known in ((model, signatures()), (shipped_model, shipped())):
        counts = [signature.counts for signature in known if not signature.is_idle]
        assert sets(fitted, [Known("", "", 10.0, times(counted, 40)) for counted in counts]) == sets(
            fitted, [Known("", "", 10.0, counted) for counted in counts]
        )


def test_known_loads_of_another_size_are_told(model):
    for name, shape in SHAPES.items():
        assert describe_load(model, Known("", "", 60, load(shape, 60, scale=20, seed=7))) == name


def test_what_is_far_from_all_that_is_known_is_unlike_it(model):
    backup = Counts(reads=3000, read_bytes=3000 * 1024 * KIB, writes=1, write_bytes=4096)
    assert describe_load(model, Known("", "", 60, backup)) == UNLIKE
    assert describe_load(model, Known("", "", 60, Counts(writes=30, write_bytes=2**17))) == IDLE


def test_classes_that_are_alike_are_not_told_apart():
    alike = {**SHAPES, "flushed-database": SHAPES["mail"]}
    both, report = model_of(signatures(alike), list(SHAPES))
    assert describe_load(both, Known("", "", 60, load(SHAPES["mail"], 60, seed=7))) == "flushed-database or mail"
    assert describe_load(both, Known("", "", 60, load(SHAPES["web"], 60, seed=7))) == "web"
    assert both.sureness["mail"] < 0.6  # where chance tells it alone
    assert (report.others, report.workloads) == (["flushed-database"], ["files", "mail", "web"])


def test_where_a_load_that_is_not_known_would_be_told_as_a_class_the_class_is_less_sure():
    """Without the database in training it is told as mail: so it may be with a load that nobody thought of."""
    near = tuple(np.array(SHAPES["mail"]) * (1.3, 1, 1, 1, 1))
    sure, unsure = (
        model_of(signatures(shapes), list(SHAPES))[0].sureness
        for shapes in (SHAPES, {**SHAPES, "flushed-database": near})
    )
    assert sure["mail"] - unsure["mail"] > 0.15
    assert unsure["web"] == pytest.approx(sure["web"], abs=0.05)


def test_a_workload_whose_reads_are_cached_teaches_nothing_and_is_not_told():
    cached = [Known("web", f"web {run}", 10.0, load((0, 0, 60, 18, 0.5), seed=run)) for run in range(9)]
    model, report = model_of([*signatures(), *cached], list(SHAPES))
    assert report.cached == {"web": 9}
    assert describe_load(model, cached[0]) == UNLIKE


def test_programs_that_are_held_back_teach_nothing_and_judge_the_model(model):
    mail_like, backup = SHAPES["mail"], (300, 1024, 1, 4, 0)
    held_back = signatures({"web:nginx": SHAPES["web"], "none:imap": mail_like, "backup:tar": backup}, runs=1)
    judged, report = model_of([*signatures(), *held_back], list(SHAPES))
    assert report.held_back == {"backup:tar": {UNLIKE: 1}, "none:imap": {"mail": 1}, "web:nginx": {"web": 1}}
    assert report.foreign_told == 0.5
    assert (judged.classes, judged.sureness) == (model.classes, model.sureness)


def test_runs_are_foretold_by_models_of_other_runs():
    """Labels that say nothing are foretold no better than by chance: a model that had seen the run would know them."""
    rng = np.random.default_rng(1)
    runs = [(f"run {number}", str(rng.choice(["mail", "web"]))) for number in range(40)]
    blind = [
        Known(label, run, 10.0, load(SHAPES["mail"], seed=100 * number + part))
        for number, (run, label) in enumerate(runs)
        for part in range(3)
    ]
    _, report = model_of(blind, ["mail", "web"])
    right = sum(counted.get(ran, 0) for ran, counted in report.confusion_of_runs.items())
    assert right < 10


def test_a_workload_with_few_signatures_is_not_foretold():
    shapes = {**SHAPES, "rare": (5, 4, 5, 4, 5)}
    some = [signature for signature in signatures(shapes) if signature.workload != "rare" or signature.run == "rare 0"]
    model, report = model_of(some, list(shapes))
    assert (model.workloads, report.too_few) == (sorted(SHAPES), {"rare": 2})


def test_with_too_few_signatures_there_is_no_model():
    with pytest.raises(TooFewError, match="At least two workloads with 10 signatures of 4 runs each are needed"):
        model_of(signatures(runs=LEAST_RUNS - 1, each=5), list(SHAPES))
    with pytest.raises(TooFewError, match="there are none"):
        model_of([], list(SHAPES))


def test_the_distance_is_that_to_the_second_nearest_run():
    training = Training(np.array([[0.0], [1.0], [3.0], [7.0]]), ("a",) * 4, ("1", "1", "2", "3"))
    assert distances(np.array([[0.0]]), training).tolist() == [[3.0]]
    assert distances(np.array([[0.0]]), training, ["1"]).tolist() == [[7.0]]


# Loads that were once told as a workload with 94 to 96 %.
NO_WORKLOADS = {
    "database with a log": (180, 8, 250, 8, 120),
    "compile, all read from memory": (0, 0, 40, 12, 0.3),
    "writes of 64 MiB": (0, 0, 120, 512, 0.1),
}


@pytest.mark.parametrize("name", NO_WORKLOADS)
def test_loads_that_are_no_workload_are_not_told_as_one_by_the_shipped_signatures(shipped_model, name):
    for seed in range(7):
        told = describe_load(shipped_model, Known("", "", 60, load(NO_WORKLOADS[name], 60, seed=seed)))
        assert told not in WORKLOADS
        assert told in OTHERS or told == UNLIKE or " or " in told
