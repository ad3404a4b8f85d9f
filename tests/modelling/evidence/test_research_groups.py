"""Laboratories that share an author are one research group, unless a case study states another."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiments.models import CaseStudy, Publication
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers.words import summarize_evidence
from modelling.evidence import dataframes, research_groups
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from tests.factories import make_case_study, make_measurement, make_publication, publish

ASKED = Question("hypervisor", "varmail")


def published(slug: str, *authors: str, **fields: str) -> CaseStudy:
    """Publish a case study that measured KVM and Xen; without authors it is of no publication."""
    paper = make_publication(f"paper-{slug}", authors=list(authors)) if authors else None
    case_study = make_case_study(slug, publication=paper, laboratory=fields.pop("laboratory", slug), **fields)
    for hypervisor, value in (("kvm", 120.0), ("xen", 100.0)):
        make_measurement(value, case_study=case_study, hypervisor=hypervisor)
    publish(case_study)
    return case_study


def group_of(laboratory: str) -> str:
    arms = dataframes.arms(ASKED)
    (group,) = arms["research_group"][arms["laboratory"] == laboratory].unique()
    return group


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        ([("a", "", ["Ada", "Bo"]), ("b", "", ["Bo"]), ("c", "", ["Cy"])], {"a": "a", "b": "a", "c": "c"}),
        ([("c", "", ["Ada"]), ("b", "", ["Bo"]), ("a", "", ["Bo", "Ada"])], {"a": "a", "b": "a", "c": "a"}),
        ([("a", "", ["Ada  B."]), ("b", "", ["ada b."])], {"a": "a", "b": "a"}),
        ([("a", "", ["Ada"]), ("b", "other", ["Ada"])], {"a": "a", "b": "other"}),
        ([("a", "", ["Ada"]), ("b", "b", ["Ada"])], {"a": "a", "b": "b"}),
        ([("a", "team", None), ("b", "team", None)], {"a": "team", "b": "team"}),
        ([("a", "", ["Ada"]), ("b", "a", ["Bo"])], {"a": "a", "b": "a"}),
        ([("a", "one", None), ("a", "two", None), ("b", "two", None)], {"a": "one", "b": "one"}),
        ([], {}),
    ],
    ids=["shared", "in-a-chain", "spelling", "stated", "by-itself", "together", "of-a-laboratory", "two", "none"],
)
def test_laboratories_are_grouped_by_what_is_stated_else_by_shared_authors(rows, groups):
    assert research_groups.group_laboratories(rows) == groups
    assert research_groups.group_laboratories(rows[::-1]) == groups


def test_the_papers_are_one_group_and_whoever_shares_no_author_another(published_evidence):
    published("elsewhere")
    groups = research_groups.groups_of(CaseStudy.objects.published())

    assert {groups[name] for name in ("p0", "p1", "p2", "p3", "p4")} == {"p0"}
    assert groups["elsewhere"] == "elsewhere"


def test_arms_in_memory_follow_when_a_group_changes(db):
    first, _ = published("a", "Ada"), published("b", "Bo")
    assert (group_of("a"), group_of("b")) == ("a", "b")

    published("c", "Ada", "Bo")
    assert (group_of("b"), group_of("c")) == ("a", "a")

    CaseStudy.objects.filter(pk=first.pk).update(research_group="alone")
    assert (group_of("a"), group_of("b"), group_of("c")) == ("alone", "b", "b")

    Publication.objects.filter(slug="paper-c").update(authors=["Cy"])
    assert group_of("c") == "c"


def test_a_draft_and_an_earlier_revision_have_the_groups_of_their_own(db):
    published("a", "Ada"), published("b", "Bo")
    draft = make_case_study("c", laboratory="c", publication=make_publication(authors=["Ada", "Bo"]))

    assert group_of("b") == "b"
    assert set(dataframes.arms(ASKED, with_draft=draft.pk)["research_group"]) == {"a"}
    publish(draft)
    assert set(dataframes.arms(ASKED)["research_group"]) == {"a"}
    assert set(dataframes.arms(ASKED, as_of=2)["research_group"]) == {"a", "b"}


def test_every_frame_has_the_group_at_the_same_number_of_queries_whatever_their_number(db):
    def queries() -> list[int]:
        counted = []
        for read in (dataframes.every_arm, lambda: dataframes.arms(ASKED)):
            with CaptureQueriesContext(connection) as captured:
                read()
            counted.append(len(captured))
        return counted

    last = published("a", "Ada")
    dataframes.arms(ASKED)
    few = queries()
    for number in range(5):
        last = published(f"b{number}", "Ada", research_group="b" if number % 2 else "")
    dataframes.arms(ASKED)
    assert queries() == few
    every = dataframes.every_arm()
    assert dict(every[["laboratory", "research_group"]].drop_duplicates().values) == {
        "a": "a", "b0": "a", "b1": "b", "b2": "a", "b3": "b", "b4": "a",
    }  # fmt: skip
    assert set(dataframes.arms_of(last)["research_group"]) == {"a"}


def test_an_answer_counts_groups_beside_laboratories(db):
    for slug in ("a", "b"):
        published(slug, "Ada")
    answer = answer_in(current_snapshot(ASKED))

    assert {(entry.laboratories, entry.groups) for entry in answer.entries} == {(2, 1)}
    assert (answer.grounds.laboratories, answer.grounds.groups) == (2, 1)
    assert summarize_evidence(answer.grounds, {}).startswith(
        "two laboratories of one research group, four measurements"
    )

    published("c", "Cy")
    RankingSnapshot.objects.all().delete()  # it is given until a worker has replaced it
    answer = answer_in(current_snapshot(ASKED))
    assert {(entry.laboratories, entry.groups) for entry in answer.entries} == {(3, 2)}
    assert summarize_evidence(answer.grounds, {}).startswith("three laboratories of two research groups")


def test_lists_of_laboratories_of_one_group_count_as_one(published_evidence):
    answer = answer_in(current_snapshot(Question("guest-fs", "fileserver")))
    assert (answer.grounds.laboratories, answer.grounds.groups) == (2, 1)
