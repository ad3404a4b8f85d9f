"""Throughput, rates and latencies are ranked each by itself, the better one first."""

import math

import pytest

from kdb.units import METRICS
from modelling.answer_pages.mix import mix_answer
from modelling.answer_store import snapshots
from modelling.answer_store.selectors import current_snapshot
from modelling.answers.estimate import ranking_of
from modelling.evidence import choices, dataframes
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from tests.factories import make_case_study, make_finding, make_measurement, make_publication, publish

pytestmark = pytest.mark.django_db
MAIL = Question(axis="guest-fs", workload="varmail")


def published(metric: str, unit: str, values: dict[str, float], workload: str = "varmail", **fields):
    """Return a published case study that measured each guest file system once."""
    case_study = make_case_study(**fields)
    for guest_fs, value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload=workload, metric=metric, unit=unit)
    publish(case_study)
    return case_study


def ratios(question: Question) -> dict[str, float]:
    return {entry["key"]: entry["ratio"] for entry in current_snapshot(question).result["entries"]}


@pytest.mark.usefixtures("laboratories_alike")
def test_the_lower_latency_comes_first_and_a_ratio_below_one_is_worse():
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0})
    assert ratios(MAIL) == pytest.approx({"xfs": 1.0, "ext4": 0.25}, rel=0.01)  # 2 ms / 8 ms


@pytest.mark.usefixtures("laboratories_alike")
def test_the_higher_rate_comes_first():
    published("operation_rate", "ops/s", {"ext4": 100.0, "xfs": 400.0})
    assert ratios(MAIL) == pytest.approx({"xfs": 1.0, "ext4": 0.25}, rel=0.01)


def test_an_answer_says_in_what_it_compares_and_what_else_was_measured():
    published("throughput", "MiB/s", {"ext4": 100.0, "xfs": 50.0})
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0})
    by_throughput = current_snapshot(MAIL).result
    assert by_throughput["metric"] == "throughput"
    assert by_throughput["other_metrics"] == ["latency"]
    assert [entry["key"] for entry in by_throughput["entries"]] == ["ext4", "xfs"]


def test_the_metric_asked_for_is_compared():
    published("throughput", "MiB/s", {"ext4": 100.0, "xfs": 50.0})
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0})
    by_latency = current_snapshot(Question(axis="guest-fs", workload="varmail", metric="latency")).result
    assert by_latency["metric"] == "latency"
    assert by_latency["other_metrics"] == ["throughput"]
    assert [entry["key"] for entry in by_latency["entries"]] == ["xfs", "ext4"]


def test_a_percentile_is_compared_with_the_same_percentile_only():
    """The mean and the tail may disagree: here ext4 is the faster on average, and the slower in the worst requests."""
    published("latency", "ms", {"ext4": 2.0, "xfs": 3.0})
    published("latency_p99", "ms", {"ext4": 40.0, "xfs": 5.0})
    of = {metric: Question(axis="guest-fs", workload="varmail", metric=metric) for metric in METRICS}
    orders = {metric: [*ratios(of[metric])] for metric in ("latency", "latency_p99", "latency_p95")}
    assert orders == {"latency": ["ext4", "xfs"], "latency_p99": ["xfs", "ext4"], "latency_p95": []}
    assert current_snapshot(of["latency_p99"]).result["other_metrics"] == ["latency"]


@pytest.mark.parametrize("other", ["latency", "latency_p95"])
def test_a_percentile_of_one_choice_and_another_latency_of_the_other_compare_nothing(other):
    case_study = make_case_study()
    for guest_fs, metric in (("ext4", "latency_p99"), ("xfs", other)):
        make_measurement(5.0, case_study=case_study, guest_fs=guest_fs, metric=metric, unit="ms")
    publish(case_study)
    for metric in (None, "latency_p99", other):
        assert not ranking_of(Question(axis="guest-fs", workload="varmail", metric=metric)).parts


def test_another_metric_stands_in_only_where_throughput_compares_nothing():
    published("throughput", "MiB/s", {"ext4": 100.0})
    published("operation_rate", "ops/s", {"ext4": 100.0, "xfs": 400.0})
    assert ranking_of(MAIL).metric == "operation_rate"
    assert not ranking_of(Question(axis="guest-fs", workload="varmail", metric="throughput")).parts


def test_tier_lists_speak_of_throughput_and_of_no_other_metric():
    case_study, publication = published("latency", "ms", {"ext4": 8.0, "xfs": 2.0}), make_publication()
    for guest_fs, tier in (("ext4", "best"), ("xfs", "worst")):
        make_finding(tier, guest_fs=guest_fs, publication=publication, case_studies=[case_study])
    assert ranking_of(MAIL).metric == "throughput"
    by_latency = Question(axis="guest-fs", workload="varmail", metric="latency")
    assert len(dataframes.findings(MAIL)) == 2
    assert dataframes.findings(by_latency).empty


def test_a_publication_in_one_metric_supersedes_the_answers_by_another():
    published("throughput", "MiB/s", {"ext4": 100.0, "xfs": 50.0})
    current_snapshot(MAIL)
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0})
    assert RankingSnapshot.objects.get(question=MAIL.key, revision=1).superseded_by == 2
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert current_snapshot(MAIL).result["other_metrics"] == ["latency"]


def test_a_question_by_latency_is_spelled_out_in_its_key_and_read_back():
    by_latency = Question(axis="guest-fs", workload="varmail", metric="latency")
    assert by_latency.key == "guest-fs?workload=varmail&metric=latency"
    assert Question.from_key(by_latency.key) == by_latency


def test_the_shares_of_a_mix_are_all_throughput():
    published("throughput", "MiB/s", {"ext4": 100.0, "xfs": 50.0})
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0}, workload="webserver")
    mix = mix_answer(Question(axis="guest-fs", workload=""), {"varmail": 1.0, "webserver": 1.0})
    assert not mix.entries  # nothing is known of the web server's throughput


@pytest.mark.usefixtures("laboratories_alike")
def test_throughput_and_rate_of_one_block_size_are_one_quantity():
    """1 MiB/s in blocks of 4 KiB is 256 operations a second: whichever is reported, the answer is the same."""
    first = make_case_study()
    for guest_fs, value, metric, unit in (
        ("ext4", 2.0, "throughput", "MiB/s"),
        ("xfs", 256.0, "operation_rate", "ops/s"),
    ):
        make_measurement(
            value,
            case_study=first,
            guest_fs=guest_fs,
            workload="varmail",
            metric=metric,
            unit=unit,
            block_size_bytes=4096,
        )
    publish(first)
    for metric in ("throughput", "operation_rate"):
        asked = Question(axis="guest-fs", workload="varmail", metric=metric)
        assert ratios(asked) == pytest.approx({"ext4": 1.0, "xfs": 0.5}, rel=0.01)


def test_a_rate_without_a_block_size_is_no_throughput():
    published("operation_rate", "ops/s", {"ext4": 100.0, "xfs": 400.0})
    assert not ranking_of(Question(axis="guest-fs", workload="varmail", metric="throughput")).parts


def test_work_that_is_reported_by_both_counts_once():
    case_study = make_case_study()
    for guest_fs, rate in (("ext4", 100.0), ("xfs", 200.0)):
        fields = {"case_study": case_study, "guest_fs": guest_fs, "workload": "varmail", "block_size_bytes": 2**20}
        make_measurement(rate, metric="operation_rate", unit="ops/s", **fields)
        make_measurement(rate, metric="throughput", unit="MiB/s", **fields)
    publish(case_study)
    assert dataframes.arms(MAIL)["metric"].tolist() == ["throughput", "throughput"]


def test_a_rate_changes_the_answers_by_throughput():
    published("throughput", "MiB/s", {"ext4": 100.0, "xfs": 50.0})
    by_throughput = Question(axis="guest-fs", workload="varmail", metric="throughput")
    rated = make_case_study()
    for guest_fs, value in (("ext4", 8.0), ("xfs", 4.0)):
        make_measurement(
            value, case_study=rated, guest_fs=guest_fs, metric="operation_rate", unit="ops/s", block_size_bytes=4096
        )
    publish(rated)
    assert dataframes.Reach([rated.pk]).admits(by_throughput)


@pytest.mark.usefixtures("laboratories_alike")
def test_metrics_are_never_pooled():
    """Half the throughput and twice the speed by latency do not make a draw."""
    published("throughput", "MiB/s", {"ext4": 100.0, "xfs": 50.0})
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0})
    part = ranking_of(MAIL).parts[0]
    assert part.difference("ext4", "xfs")[0] == pytest.approx(math.log(2), rel=0.01)


def test_the_page_says_by_what_and_leads_to_the_other(client):
    published("throughput", "MiB/s", {"ext4": 100.0, "xfs": 50.0})
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0})
    page = client.get("/?axis=guest-fs&workload=varmail").content.decode()
    assert "Compared by throughput, higher is better." in page
    history = client.get("/?axis=guest-fs&workload=varmail&tab=history").content.decode()
    assert 'href="/?axis=guest-fs&amp;workload=varmail&amp;metric=latency">latency</a>' in history
    by_latency = client.get("/?axis=guest-fs&workload=varmail&metric=latency").content.decode()
    assert "Compared by latency, lower is better." in by_latency
    assert "Speed by latency relative to xfs" in by_latency


@pytest.mark.usefixtures("laboratories_alike")
def test_a_comparison_by_latency_calls_the_faster_one_faster(client):
    published("latency", "ms", {"ext4": 8.0, "xfs": 2.0})
    asked = {"axis": "guest-fs", "workload": "varmail", "entries": "xfs,ext4"}
    comparison = client.get("/api/v1/comparisons/", asked).json()
    assert comparison["metric"] == "latency"
    assert comparison["pairs"][0]["ratio"] == pytest.approx(4.0, rel=0.01)
    asked = {"axis": "guest-fs", "workload": "varmail", "a": "xfs", "b": "ext4"}
    steps = client.get("/api/v1/explanations/", asked).json()
    assert "the speed by latency of ext4" in steps["steps"][0]["text"]


def test_an_unknown_metric_is_refused_with_those_there_are(client):
    response = client.get("/api/v1/rankings/guest-fs/", {"workload": "varmail", "metric": "speed"})
    assert response.status_code == 400
    assert ", ".join(METRICS) in response.content.decode()


def sized(metric: str, unit: str, values: dict[str, float]):
    """Publish a case study that measured each guest file system once, in blocks of 4 KiB."""
    case_study = make_case_study()
    for guest_fs, value in values.items():
        make_measurement(
            value, case_study=case_study, guest_fs=guest_fs, metric=metric, unit=unit, block_size_bytes=4096
        )
    publish(case_study)


def test_a_choice_by_throughput_counts_rates_of_a_block_size():
    sized("operation_rate", "ops/s", {"ext4": 100.0, "xfs": 400.0})
    choices.clear_cache()
    given = {"axis": "guest-fs", "workload": "varmail"}
    assert choices.count_evidence({"metric": ["throughput", "operation_rate", "latency"]}, given).case_studies[
        "metric"
    ] == {
        "throughput": 1,
        "operation_rate": 1,
        "latency": 0,
    }


def test_what_was_reached_is_told_beside_in_the_metrics_that_were_reported():
    """MiB/s and ops/s of one case study; of another MiB/s alone, which nobody reported as a rate."""
    sized("throughput", "MiB/s", {"ext4": 1.0, "xfs": 2.0})
    published("operation_rate", "ops/s", {"ext4": 100.0, "xfs": 400.0})
    told = {(row["metric"], row["case_study"]) for row in current_snapshot(MAIL).result["differences"]}
    assert {metric for metric, _ in told} == {"throughput", "operation_rate"}
    assert len(told) == 2
