"""The picture of who measured what against what."""

import html
import math
import re

import pytest

from modelling.answer_pages.layout import network
from modelling.answer_pages.layout.network import SIZE, network_picture
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers.content import LaboratoryComparison
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_finding, make_measurement, make_publication, make_variant, publish

pytestmark = pytest.mark.django_db

QUESTION = Question("guest-fs", "varmail")
ADDRESS = "/?axis=guest-fs&workload=varmail"


def study(slug: str, *, group: str = "", **values: float) -> None:
    case_study = make_case_study(slug, laboratory=slug, research_group=group, title=f"Title of {slug}")
    for guest_fs, value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs)
    publish(case_study)


def answer():
    return answer_in(current_snapshot(QUESTION))


def lines(picture) -> dict[frozenset[str], int]:
    return {frozenset([line.first.label, line.second.label]): line.groups for line in picture.lines}


def test_an_answer_says_who_compared_what():
    study("one", group="north", ext4=100.0, xfs=200.0)
    study("two", ext4=100.0, xfs=150.0, btrfs=50.0)
    assert answer().compared == (
        LaboratoryComparison(1, "two", "two", ("two",), ("btrfs", "ext4", "xfs")),
        LaboratoryComparison(1, "one", "north", ("one",), ("ext4", "xfs")),
    )


def test_laboratories_that_compared_nothing_are_not_told():
    study("one", ext4=100.0, xfs=200.0)
    study("two", ext4=100.0)
    assert [row.laboratory for row in answer().compared] == ["one"]


def test_a_line_counts_research_groups_not_laboratories():
    study("one", group="north", ext4=100.0, xfs=200.0)
    study("two", group="north", ext4=100.0, xfs=210.0)
    study("three", ext4=100.0, xfs=190.0, btrfs=50.0)
    picture = network_picture(answer())
    assert lines(picture) == {
        frozenset(["ext4", "xfs"]): 2,
        frozenset(["ext4", "btrfs"]): 1,
        frozenset(["xfs", "btrfs"]): 1,
    }
    thickest = picture.rows[0]
    assert thickest is picture.lines[-1]  # drawn above the others
    assert thickest.width > picture.lines[0].width
    assert thickest.behind == "two research groups (three laboratories)"
    assert thickest.studies == [(slug, f"Title of {slug}") for slug in ("one", "three", "two")]


def test_entries_stand_on_a_circle_in_the_order_of_the_answer_the_first_on_top():
    study("one", ext4=100.0, xfs=200.0, btrfs=50.0, ntfs=25.0)
    told = answer()
    nodes = network_picture(told).nodes
    assert [node.label for node in nodes] == [entry.label for entry in told.entries]
    assert (nodes[0].x, nodes[0].y) == (SIZE / 2, min(node.y for node in nodes))
    assert nodes[1].x == max(node.x for node in nodes)  # clockwise
    assert len({round(math.dist((node.x, node.y), (SIZE / 2, SIZE / 2)), 0) for node in nodes}) == 1


def test_what_only_lists_place_has_no_line():
    study("one", ext4=100.0, xfs=200.0)
    listed, paper, variant = make_case_study("lists"), make_publication(), make_variant("varmail")
    for guest_fs, tier in (("ext4", "best"), ("btrfs", "worst")):
        make_finding(tier, guest_fs=guest_fs, case_studies=[listed], publication=paper, variant=variant)
    publish(listed)
    picture = network_picture(answer())
    assert {node.label: node.is_joined for node in picture.nodes} == {"ext4": True, "xfs": True, "btrfs": False}
    assert lines(picture) == {frozenset(["ext4", "xfs"]): 1}
    assert "1 placed by lists alone" in picture.label


def test_of_many_entries_the_first_are_drawn_and_the_others_counted(monkeypatch):
    monkeypatch.setattr(network, "MOST", 2)
    study("one", ext4=100.0, xfs=200.0, btrfs=50.0)
    picture = network_picture(answer())
    assert ([node.label for node in picture.nodes], picture.not_drawn) == (["xfs", "ext4"], 1)
    assert len(picture.lines) == 1


def test_the_page_draws_every_line_and_has_it_in_a_table(client):
    study("one", ext4=100.0, xfs=200.0)
    study("two", ext4=100.0, xfs=150.0, btrfs=50.0)
    page = html.unescape(client.get(f"{ADDRESS}&tab=evidence").content.decode())
    drawn = page.split('id="who-compared"')[1].split("</section>")[0]
    assert len(re.findall("<line ", drawn)) == drawn.count('<th scope="row">') == 3
    titles = re.findall('<a href="/case-studies/(.*?)/">Title of .*?</a>', drawn)
    assert set(titles) == {"one", "two"}
    assert "style=" not in drawn
