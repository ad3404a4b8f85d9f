"""Arms are read once, by all processes together: a publication costs its own, and nothing that changes is kept."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.cache import caches
from django.db.models import F
from pandas.testing import assert_frame_equal

from experiments.case_studies import retraction
from experiments.models import KnowledgeRevision
from kdb.settings import base
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers import configurations
from modelling.evidence import dataframes, names, summaries
from modelling.evidence.question import Question
from modelling.models import Arm, RankingSnapshot
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = pytest.mark.django_db

FILES = "kdb.database.files_of_bytes.BytesInFiles"
ASKED = Question(axis="guest-fs", workload="varmail")


@pytest.fixture
def read(monkeypatch) -> list[set[int]]:
    """Return the case studies whose arms were read from the database, at each reading."""
    readings, real = [], dataframes._read

    def noted(workload, case_studies):
        readings.append(set(case_studies))
        return real(workload, case_studies)

    monkeypatch.setattr(dataframes, "_read", noted)
    return readings


def study(slug: str, **facts):
    """Return a draft in which ext4 reaches 200 MiB/s and XFS 100."""
    made = make_case_study(slug)
    for guest_fs, value in (("ext4", 200.0), ("xfs", 100.0)):
        make_measurement(value, configuration=make_configuration(made, guest_fs=guest_fs, **facts), workload="varmail")
    return made


def studies_in(frame) -> set[str]:
    return set(frame["case_study"])


def test_a_publication_costs_its_own_arms_and_another_question_none(read):
    first = study("first")
    publish(first)
    assert studies_in(dataframes.arms(ASKED)) == {"first"}
    second = study("second")
    publish(second)
    assert studies_in(dataframes.arms(ASKED)) == {"first", "second"}
    assert studies_in(dataframes.arms(Question("hypervisor", "varmail", guest_fs="xfs"))) == {"first", "second"}
    assert read == [{first.pk}, {second.pk}]


def test_what_is_retracted_is_there_as_of_its_revision_and_not_now(read):
    first = study("first")
    publish(first)
    before = publish(study("second")).number
    assert len(dataframes.arms(ASKED)) == 4
    retraction.retract(first, reason="wrong disk")
    assert studies_in(dataframes.arms(ASKED)) == {"second"}
    assert studies_in(dataframes.arms(ASKED, as_of=before)) == {"first", "second"}
    assert len(read) == 1


@pytest.fixture
def folder(settings, tmp_path):
    """Where the processes of this machine keep arms for one another."""
    in_files = base.CACHES["arms-in-files"] | {"BACKEND": FILES, "LOCATION": tmp_path / "arms"}
    settings.CACHES = settings.CACHES | {"arms-in-files": in_files}
    yield tmp_path / "arms"
    begin_another_process()  # with the settings of before, it would not be known that it has kept something


def begin_another_process() -> None:
    caches["arms"].clear()


def test_another_process_finds_in_the_file_what_one_has_read(read, folder):
    publish(study("first"))
    expected = dataframes.arms(ASKED)
    begin_another_process()
    assert_frame_equal(dataframes.arms(ASKED), expected)
    second = study("second")
    publish(second)
    begin_another_process()
    assert studies_in(dataframes.arms(ASKED)) == {"first", "second"}
    assert read[1:] == [{second.pk}]


def test_a_file_of_another_database_is_not_believed(read, folder):
    first = study("first")
    publish(first)
    dataframes.arms(ASKED)
    later = F("created_at") + timedelta(seconds=1)  # published in the other one, under the same keys
    KnowledgeRevision.objects.update(created_at=later)
    begin_another_process()
    dataframes.arms(ASKED)
    assert read == [{first.pk}, {first.pk}]


@pytest.mark.parametrize("left", [b"", bytes(200), slice(0, 30), slice(0, -20)])
def test_a_file_that_a_power_failure_cut_off_is_read_over_and_written_anew(read, folder, left, caplog):
    publish(study("first"))
    expected = dataframes.arms(ASKED)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[left] if isinstance(left, slice) else left)
    for _ in range(2):
        begin_another_process()
        assert_frame_equal(dataframes.arms(ASKED), expected)
    assert len(read) == 2


def test_where_no_file_can_be_written_answers_come_from_the_database(read, folder, caplog):
    folder.write_text("this is no folder")
    publish(study("first"))
    for _ in range(2):
        begin_another_process()
        assert studies_in(dataframes.arms(ASKED)) == {"first"}
    assert len(read) == 2
    assert "arms cannot be kept in a file name=varmail in layout" in caplog.text


def test_arms_come_in_the_order_they_were_made_whatever_was_read_first():
    draft = study("draft")
    summaries.rebuild_arms([draft.pk])
    publish(study("published"))
    expected = list(Arm.objects.order_by("pk").values_list("configuration_id", flat=True))
    assert dataframes.arms(ASKED, with_draft=draft.pk)["configuration_id"].tolist() == expected


def test_a_draft_is_read_anew_each_time_and_once_more_when_it_is_published():
    publish(study("first"))
    draft = study("draft")
    summaries.rebuild_arms([draft.pk])
    assert studies_in(dataframes.arms(ASKED, with_draft=draft.pk)) == {"first", "draft"}
    assert studies_in(dataframes.arms(ASKED)) == {"first"}
    make_measurement(50.0, configuration=make_configuration(draft, guest_fs="btrfs", slug="third"), workload="varmail")
    summaries.rebuild_arms([draft.pk])
    assert set(dataframes.arms(ASKED, with_draft=draft.pk)["guest_fs"]) == {"ext4", "xfs", "btrfs"}
    make_measurement(60.0, configuration=make_configuration(draft, guest_fs="zfs", slug="fourth"), workload="varmail")
    publish(draft)
    assert set(dataframes.arms(ASKED)["guest_fs"]) == {"ext4", "xfs", "btrfs", "zfs"}


def test_a_column_that_nobody_stated_joins_one_that_somebody_did(read):
    publish(study("silent", host_fs=None))
    assert dataframes.arms(ASKED)["host_fs"].isna().all()
    publish(study("stating", host_fs="btrfs"))
    arms = dataframes.arms(ASKED)
    assert arms.groupby("case_study")["host_fs"].nunique().to_dict() == {"silent": 0, "stating": 1}
    assert len(dataframes.arms(Question("guest-fs", "varmail", host_fs="btrfs"))) == 2


def test_numbers_are_numbers_again_whatever_they_are_kept_as():
    publish(study("silent"))
    publish(study("stating", vm_ram_gib=1.6, vm_vcpus=2))
    arms = dataframes.arms(ASKED)
    kinds = {name: str(arms[name].dtype) for name in dataframes._NUMBERS if name in arms}
    assert kinds == {name: kind for name, kind in dataframes._NUMBERS.items() if name in arms}
    assert arms.groupby("case_study")["vm_ram_gib"].sum().to_dict() == {"silent": 0.0, "stating": 3.2}
    assert len(dataframes.arms(Question("guest-fs", "varmail", vm_count=1))) == 4
    assert dataframes.arms(Question("guest-fs", "varmail", vm_count=7)).empty


def test_all_arms_come_by_one_query_as_a_publication_between_two_would_part_them(django_assert_num_queries):
    publish(study("first"))
    names.names()  # cached
    with django_assert_num_queries(3) as queries:  # the others are of research groups, and of what loads say
        arms = dataframes.every_arm()
    assert sum('FROM "modelling_arm"' in query["sql"] for query in queries) == 1
    assert len(arms) == 2


def test_set_ups_are_told_of_the_newest_case_studies_and_the_answer_says_so(monkeypatch):
    for number in range(3):
        publish(study(f"lab-{number}", cache_mode=("none", "writeback", "writethrough")[number]))
    whole = answer_in(current_snapshot(ASKED)).set_ups[0]
    assert whole.told_from == ""
    assert len(modes(whole)) == 3
    RankingSnapshot.objects.all().delete()
    caches["worked-out"].clear()
    monkeypatch.setattr(configurations, "MOST_STUDIES", 2)
    told = answer_in(current_snapshot(ASKED)).set_ups[0]
    assert told.told_from == "All of this is of its 2 newest case studies; 3 have it."
    assert modes(told) == {"writeback", "writethrough"}


def modes(told) -> set[str]:
    return {value.value for fact in told.facts if fact.fact == "Cache mode" for value in fact.stated}


def test_what_a_question_admits_is_looked_up_once_however_often_an_answer_asks(django_assert_num_queries):
    publish(study("first"))
    dataframes.arms(ASKED)
    evidence = dataframes.Evidence(ASKED)
    with django_assert_num_queries(2):  # which case studies count, and whose groups they are of
        for metric in ("throughput", "latency", "throughput"):
            evidence.arms(metric)
            evidence.arms(metric, as_reported=True, with_anecdotes=True)
        evidence.metrics_measured()
        evidence.metrics_of_anecdotes()


def test_a_metric_of_the_question_neither_adds_to_its_evidence_nor_takes_from_it():
    publish(study("first"))
    by_latency = dataframes.Evidence(replace(ASKED, metric="latency"))
    assert_frame_equal(by_latency.arms("throughput"), dataframes.Evidence(ASKED).arms("throughput"))
    assert by_latency.arms("latency").empty
