"""Models that tell workloads: on loads made here, whose truth is known."""

import numpy as np
import pytest

from experiments.laboratory.reach.counters import Counts
from modelling.fleet.detection.classifier import LEAST_RUNS, TooFewError, Training, distances, fit
from modelling.fleet.detection.content import IDLE, UNLIKE
from modelling.fleet.detection.evaluation import Known, calibration, classified, confusion, model_of, whole_runs
from modelling.fleet.detection.features import FEATURES, is_idle, vector

KIB = 1024
# Reads, KiB of each, writes, KiB of each, flushes a second.
SHAPES = {
    "mail": (20, 16, 400, 14, 100),
    "web": (900, 16, 60, 18, 0.5),
    "files": (150, 120, 500, 120, 0.5),
}


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


def signatures(shapes=SHAPES, runs=6, each=3) -> list[Known]:
    return [
        Known(name, f"{name} {run}", 10.0, load(shape, scale=0.5 + run, seed=100 * run + part))
        for name, shape in shapes.items()
        for run in range(runs)
        for part in range(each)
    ]


@pytest.fixture(scope="module")
def model():
    return model_of(signatures(), list(SHAPES))[0]


def test_features_do_not_change_with_the_size_of_the_machine():
    small, large = (vector(load((20, 16, 400, 14, 100), scale=scale)) for scale in (1, 40))
    assert np.allclose(small, large, atol=0.02)


def test_a_feature_worked_by_hand():
    counts = Counts(reads=100, read_bytes=1600 * KIB, writes=50, write_bytes=400 * KIB, flushes=25)
    by_hand = [100.5 / 50.5, 1604 / 404, 16.0, 8.0, 25.5 / 50.5, 25.5 / (400 / 1024 + 0.5)]
    assert vector(counts) == pytest.approx(np.log(by_hand))
    assert len(FEATURES) == len(by_hand)


def test_what_neither_read_nor_wrote_has_no_features():
    with pytest.raises(ValueError, match="nothing to compare"):
        vector(Counts(flushes=9))


def test_a_disk_is_idle_below_two_requests_a_second():
    assert is_idle(Counts(reads=59, writes=60), 60)
    assert not is_idle(Counts(reads=60, writes=60), 60)


def test_a_load_of_another_size_is_told(model):
    for name, shape in SHAPES.items():
        assert classified(model, Known("", "", 60, load(shape, 60, scale=20, seed=7))) == name


def test_what_is_far_from_all_that_is_known_is_unlike_it(model):
    backup = Counts(reads=3000, read_bytes=3000 * 1024 * KIB, writes=1, write_bytes=4096)
    assert classified(model, Known("", "", 60, backup)) == UNLIKE
    assert classified(model, Known("", "", 60, Counts(writes=30, write_bytes=2**17))) == IDLE


def test_loads_that_are_no_workload_teach_nothing_and_are_held_against_the_model(model):
    shapes = {**SHAPES, "backup": (300, 1024, 1, 4, 0)}
    other, report = model_of(signatures(shapes), list(SHAPES))
    assert report.foreign == {"backup": {UNLIKE: 6}}
    assert (other.workloads, other.farthest) == (model.workloads, model.farthest)


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
    assert right < 30
    assert report.log_score < -0.5


def test_a_workload_with_few_signatures_is_not_foretold():
    shapes = {**SHAPES, "rare": (5, 4, 5, 4, 5)}
    some = [each for each in signatures(shapes) if each.workload != "rare" or each.run == "rare 0"]
    model, report = model_of(some, list(shapes))
    assert (model.workloads, report.too_few) == (sorted(SHAPES), {"rare": 3})


def test_with_too_few_signatures_there_is_no_model():
    with pytest.raises(TooFewError, match="At least two workloads with 10 signatures of 4 runs each are needed"):
        model_of(signatures(runs=LEAST_RUNS - 1, each=5), list(SHAPES))
    with pytest.raises(TooFewError, match="there are none"):
        model_of([], list(SHAPES))


def test_the_same_signatures_make_the_same_model(model):
    again, _ = model_of(signatures(), list(SHAPES))
    features = np.array([vector(load(shape, seed=3)) for shape in SHAPES.values()])
    assert (again.penalty, again.farthest) == (model.penalty, model.farthest)
    assert np.array_equal(again.probabilities(features), model.probabilities(features))


def test_the_distance_is_that_to_the_second_nearest_in_standard_deviations():
    known = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])  # standard deviations 1 and 2
    assert distances(np.array([[0.0, 0.0]]), known) == pytest.approx([np.sqrt((2**2 + 0) / 2)])


def test_whole_runs_join_what_one_run_did():
    parts = [
        Known("mail", "1", 10, Counts(reads=3)),
        Known("mail", "1", 12, Counts(reads=4)),
        Known("web", "2", 9, Counts()),
    ]
    assert whole_runs(parts) == [Known("mail", "1", 22, Counts(reads=7)), Known("web", "2", 9, Counts())]


def test_calibration_counts_what_was_right_in_each_bin():
    training = Training(np.zeros((4, 2)), ("a", "a", "b", "b"), ("1", "2", "3", "4"))
    (low, high) = calibration(training, np.array([[0.6, 0.4], [0.4, 0.6], [0.04, 0.96], [0.02, 0.98]]))
    assert (low.signatures, low.mean, low.right) == (2, pytest.approx(0.6), 0.5)
    assert (high.signatures, high.mean, high.right) == (2, pytest.approx(0.97), 1.0)


def test_a_confusion_counts_each_pair():
    assert confusion([("a", "a"), ("a", "b"), ("a", "a")]) == {"a": {"a": 2, "b": 1}}


def test_fitting_needs_two_workloads_that_may_be_told():
    everything = Training(
        np.array([vector(each.counts) for each in signatures()]),
        tuple(each.workload for each in signatures()),
        tuple(each.run for each in signatures()),
    )
    with pytest.raises(TooFewError):
        fit(everything, ("mail",))
