"""An answer told of some of its entries."""

import pytest

from modelling.answer_pages.explanations.selectors import contrast_between
from modelling.answers.estimate import ranking_of
from modelling.answers.subset import answer_for_subset
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_measurement, publish

pytestmark = pytest.mark.django_db

QUESTION = Question("guest-fs", "varmail")


def study(**values: float) -> None:
    case_study = make_case_study()
    for guest_fs, value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs)
    publish(case_study)


def test_it_chooses_among_these_and_keeps_the_estimates():
    study(ext4=100.0, xfs=200.0, btrfs=400.0)
    ranking = ranking_of(QUESTION)
    told = answer_for_subset(QUESTION, ["ext4", "xfs"], ranking, 1)
    assert told.verdict.choice == ("xfs",)
    assert told.verdict.measured.startswith("One laboratory measured xfs 2.0 times as fast as ext4, on hard disks.")
    assert told.verdict.blind == pytest.approx(0.5)
    assert [(row.first, row.other, row.ratio) for row in told.side_by_side] == [("xfs", "ext4", pytest.approx(2.0))]
    contrast = contrast_between(ranking.parts[0], "ext4", "xfs")
    of_key = {entry.key: entry for entry in told.entries}
    assert (of_key["xfs"].ratio, of_key.keys()) == (1.0, {"ext4", "xfs"})
    assert (of_key["ext4"].ratio, of_key["ext4"].low) == pytest.approx((contrast.ratio, contrast.low))
    assert {key for run in told.next_runs for key in run.entries} == {"ext4", "xfs"}


def test_where_one_was_never_measured_nothing_is_chosen_by_numbers():
    study(ext4=100.0, xfs=200.0)
    told = answer_for_subset(QUESTION, ["xfs", "zfs"], ranking_of(QUESTION), 1)
    assert (told.entries, told.verdict.choice, told.missing) == ((), (), ())
    assert told.verdict.sentence == "Keep what you have: nobody measured this, and nobody advises."


def test_entries_that_nothing_joins_have_one_recommendation_and_no_number_between_them():
    study(ext4=100.0, xfs=200.0)
    study(btrfs=100.0, zfs=300.0)
    told = answer_for_subset(QUESTION, ["xfs", "zfs"], ranking_of(QUESTION), 1)
    assert len(told.verdict.choice) == 1
    assert told.verdict.measured.startswith("Nobody tested all of these together.")
    assert told.side_by_side == ()
