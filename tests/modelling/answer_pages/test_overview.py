"""Overview of what is known of every choice under every workload: from kept answers, honest where there are none."""

import html
import re

import pytest

from kdb.models import Job
from modelling.answer_pages.content import WAITING, Overview, OverviewCell, OverviewColumn, OverviewRow
from modelling.answer_pages.layout.overview_table import SIGNS, present_overview
from modelling.answer_pages.overview import overview
from modelling.answer_store import snapshots
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers.words import THING
from modelling.evidence import choices, names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from tests.factories import make_case_study, make_configuration, make_measurement, make_variant, publish

pytestmark = pytest.mark.django_db

PAGE = "/"
API = "/api/v1/overview/"


def published_guests(workload: str = "varmail", slow: float = 100.0):
    """Publish a case study that compares ext4 with xfs as guest."""
    case_study = make_case_study()
    for guest_fs, value in (("ext4", slow), ("xfs", 400.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload=workload)
    publish(case_study)
    choices.clear_cache()
    names.clear_cache()


def cell_of(workload: str, axis: str) -> OverviewCell:
    row = next(row for row in overview().rows if row.workload == workload)
    return next(cell for cell in row.cells if cell.axis == axis)


def answer_all() -> None:
    overview()
    snapshots.answer_waiting_questions(lambda done, total: None)


def test_a_cell_says_what_its_answer_says():
    published_guests()
    snapshot = current_snapshot(Question("guest-fs", "varmail"))
    answer = answer_in(snapshot)
    cell = cell_of("varmail", "guest-fs")
    assert (cell.kind, cell.strength) == (answer.verdict.kind, answer.verdict.strength)
    assert (cell.kind, cell.leading) == ("leads", ("xfs",))
    assert (cell.groups, cell.laboratories, cell.revision) == (1, 1, snapshot.revision)
    assert cell.address == "/?axis=guest-fs&workload=varmail"


def test_what_nobody_compared_is_said_to_be_so_and_asked_of_no_worker():
    published_guests()
    make_variant("webserver")
    names.clear_cache()
    assert cell_of("webserver", "guest-fs") == OverviewCell(
        "guest-fs", "nothing compared", address="/?axis=guest-fs&workload=webserver"
    )
    assert not RankingSnapshot.objects.filter(workload="webserver").exists()


def test_what_nobody_asked_yet_is_left_to_a_worker_once():
    published_guests()
    assert cell_of("varmail", "guest-fs").kind == "being worked out"
    asked = RankingSnapshot.objects.filter(revision=0)
    waiting = set(asked.values_list("question", flat=True))
    assert Question("guest-fs", "varmail").key in waiting
    assert Question("hypervisor", "varmail").key not in waiting  # only one hypervisor was measured
    overview()
    assert set(asked.values_list("question", flat=True)) == waiting
    assert Job.objects.filter(kind=snapshots.JOB).count() == 1
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert cell_of("varmail", "guest-fs").kind == "leads"


def test_an_answer_that_ranks_nothing_is_nothing_compared(settings):
    """With more evidence than is counted on the way to a page a worker is asked for everything."""
    published_guests()
    settings.KDB_MOST_ARMS_AT_ONCE = 1
    choices.clear_cache()
    assert cell_of("varmail", "hypervisor").kind == "being worked out"
    answer_all()
    assert cell_of("varmail", "hypervisor").kind == "nothing compared"
    assert cell_of("varmail", "guest-fs").kind == "leads"


def test_an_answer_that_is_being_renewed_is_shown_with_the_revision_that_is_coming():
    published_guests()
    current_snapshot(Question("guest-fs", "varmail"))
    published_guests(slow=50.0)
    cell = cell_of("varmail", "guest-fs")
    assert (cell.kind, cell.revision, cell.superseded_by) == ("leads", 1, 2)


@pytest.mark.sqlite
def test_nothing_is_compared_exactly_where_no_answer_ranks_anything(published_evidence):
    choices.clear_cache()
    compared = choices.compared_under(names.names()["workload"])
    for workload in names.names()["workload"]:
        for axis in AXES:
            ranks = bool(current_snapshot(Question(axis, workload)).result["entries"])
            assert ranks == bool(compared[workload][axis]), (workload, axis)


def test_every_axis_has_a_column_and_the_best_known_workloads_come_first():
    published_guests()
    make_variant("atto")
    names.clear_cache()
    answer_all()
    told = overview()
    assert [column.axis for column in told.columns] == list(AXES)
    assert [row.workload for row in told.rows] == ["varmail", "atto"]
    assert all([cell.axis for cell in row.cells] == list(AXES) for row in told.rows)


def test_the_number_of_queries_does_not_grow_with_the_workloads(django_assert_num_queries):
    published_guests()
    answer_all()
    overview()
    with django_assert_num_queries(2):  # the answers, and the revision now
        overview()
    for workload in ("webserver", "fileserver", "blog"):
        published_guests(workload)
    answer_all()
    overview()
    with django_assert_num_queries(2):
        overview()


def test_page_and_api_agree_and_what_nobody_compared_takes_no_column(client):
    published_guests()
    answer_all()
    body = client.get(API).json()
    page = html.unescape(client.get(PAGE).content.decode())
    table = page.partition('<table class="recommendations">')[2].partition("</table>")[0]
    cells = [cell for row in body["rows"] for cell in row["cells"]]
    assert len(cells) == len(AXES)
    compared = [cell for cell in cells if cell["kind"] != "nothing compared"]
    assert re.findall(r'<a href="(/\?[^"]+)"', table) == [cell["address"] for cell in compared]
    assert '<a href="/known/varmail/">' in table
    assert THING["hypervisor"].capitalize() not in table
    for cell in compared:
        assert client.get(cell["address"]).status_code == 200
    assert table.count("very weak evidence") == sum(cell["strength"] == "very weak" for cell in cells)


def test_the_page_of_before_leads_to_the_first(client):
    assert (client.get("/overview/").status_code, client.get("/overview/")["Location"]) == (301, "/")


def test_an_overview_that_did_not_change_is_not_sent_again(client):
    published_guests()
    answer_all()
    tag = client.get(API)["ETag"]
    assert client.get(API, headers={"If-None-Match": tag}).status_code == 304
    assert client.get(API, {"axis": "fs-pair"}).status_code == 400


def test_without_evidence_the_page_says_so(client):
    assert "The knowledge base is empty" in client.get(PAGE).content.decode()


def test_an_answer_that_is_being_worked_out_is_said_to_be_and_not_kept(client):
    published_guests()
    assert "being worked out. <a" in client.get(PAGE).content.decode()
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert "being worked out" not in client.get(PAGE).content.decode()


# How it looks


def shown(*cells: OverviewCell):
    columns = tuple(OverviewColumn(cell.axis, cell.axis) for cell in cells)
    return present_overview(Overview(1, columns, (OverviewRow("varmail", "Mail server", cells),)))


def test_a_cell_names_what_to_choose_and_what_not_to_with_the_strength_as_a_sign():
    ((cell,),) = (
        line.cells for line in shown(OverviewCell("hypervisor", "leads", "weak", ("KVM",), ("Xen",), 2)).lines
    )
    assert (cell.names, cell.against, cell.behind, cell.level) == ("KVM", "not Xen", "two studies", 2)
    assert len({*SIGNS.values()}) == len(SIGNS)


def test_of_many_names_the_first_two_stand_in_a_cell():
    ((cell,),) = (line.cells for line in shown(OverviewCell("guest-fs", "leads", "weak", ("a", "b", "c", "d"))).lines)
    assert cell.names == "a, b or 2 more"


def test_settings_share_a_column_and_rows_without_anything_are_left_out():
    table = shown(OverviewCell("cache-mode", "leads", "weak", ("none",)), OverviewCell("guest-fs", "nothing compared"))
    assert (table.columns, [cell.names for cell in table.lines[0].further]) == ([], ["none"])
    assert not shown(OverviewCell("guest-fs", "nothing compared")).lines


def test_a_key_of_digits_alone_is_a_name_all_the_same(client):
    study = make_case_study()
    for volume_block_bytes, value in ((16384, 100.0), (131072, 50.0)):
        written = make_configuration(
            case_study=study, slug=f"b{volume_block_bytes}", volume_block_bytes=volume_block_bytes
        )
        make_measurement(value, configuration=written)
    publish(study)
    answer_all()
    assert "16 KiB" in str(client.get(API).json())
    assert client.get(PAGE).status_code == 200


def test_a_choice_of_which_nothing_is_recommended_takes_no_cell():
    """Of releases the answer is the one that a product supports, whatever was compared."""
    cells = (
        OverviewCell("guest-fs", "leads", "weak", leading=("ext4",), groups=1),
        OverviewCell("host-kernel", "leads", "weak", groups=1),
        OverviewCell("cache-mode", WAITING),
    )
    table = present_overview(Overview(1, (), (OverviewRow("varmail", "Mail server", cells),)))
    (line,) = table.lines
    shown = [cell for cell in (*line.cells, *line.further) if cell]
    assert [(cell.cell.axis, cell.names) for cell in shown] == [("guest-fs", "ext4"), ("cache-mode", "")]
