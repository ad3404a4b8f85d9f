"""Two to six entries as a page: the answer told of them alone."""

import html
import re

import pytest

from modelling.answer_pages.comparison import compute_comparison
from modelling.answer_pages.content import WorkloadRatio
from modelling.answer_pages.layout.side_by_side import pair_lines, workload_tables
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_measurement, publish

from .test_pages import text_of, words_before_tabs

pytestmark = pytest.mark.django_db

GUEST_FS = "axis=guest-fs&workload=varmail&hypervisor=proxmox"
MAIL_SERVER = f"/compare/?{GUEST_FS}&a=xfs&b=ext4"
HYPERVISORS = "/compare/?axis=hypervisor&workload=fileserver&a=kvm&b=xen&c=proxmox&d=hyper-v"
MAIL = Question("guest-fs", "varmail")
GUESTS = "/compare/?axis=guest-fs&workload=varmail"


def guests(workload: str = "varmail", **values: float) -> None:
    case_study = make_case_study()
    for guest_fs, value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload=workload)
    publish(case_study)


def test_a_comparison_is_the_answer_told_of_its_entries(published_evidence, client):
    page = client.get(MAIL_SERVER)
    text = text_of(page)
    order = [
        "guest file system XFS × ext4",
        "Add another",
        "Change the question",
        "Start with",
        "Low confidence",
        "Times as fast",
    ]
    order += ["Nobody tested this", "Test it", "Ranking of these", "rather than"]
    places = [text.find(words) for words in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)
    explanation = page.context["explanation"]
    assert f"Start with {explanation.a.label}." in text  # and not the other
    for response in (page, client.get(HYPERVISORS)):
        hidden = len(response.context["title"].split()) + len(["Beside,", "drawn,", "times", "as", "fast"])
        assert len(words_before_tabs(response)) - hidden <= 200
    third = re.search(r'<select name="c".*?</select>', page.content.decode(), re.DOTALL).group()
    assert '<option value="ntfs">' in third  # the form offers what nobody compared as well
    assert re.search(r'aria-current="page">Ask<', page.content.decode())


@pytest.mark.sqlite
def test_no_page_of_it_spells_a_slug_or_more_digits_than_two(published_evidence, client):
    for tab in ("why", "ranking", "side-by-side", "differs", "history"):
        text = text_of(client.get(f"{MAIL_SERVER}&tab={tab}"))
        assert not re.search(r"\bP1 measured|\bP1,", text), tab
        assert not re.search(r"\b[1-9]\d*\.\d{3,}|\b0\.0*[1-9]\d{2,}", text), tab
    assert "on an HP DL380 G7” measured" in text_of(client.get(MAIL_SERVER))
    assert "could be either way" in text_of(client.get(MAIL_SERVER))


def test_each_drawn_number_names_its_source_and_the_first_line_tells_one_of_them(client):
    guests(ext4=100.0, xfs=200.0, btrfs=50.0)
    response = client.get(f"{GUESTS}&a=ext4&b=xfs")
    (part,) = response.context["page"].measured
    ((dot,),) = (chart.dots for chart in part.charts)
    assert (part.charts[0].first, dot.beside) == ("xfs", "ext4")
    assert dot.ratio == pytest.approx(2.0)
    assert "One laboratory measured xfs 2.0 times as fast as ext4" in text_of(response)
    assert response.context["title"].endswith(": ext4 or xfs?")


def test_each_chip_leads_to_the_question_without_it_and_others_are_offered(published_evidence, client):
    page = html.unescape(client.get(HYPERVISORS).content.decode())
    rest = "/compare/?axis=hypervisor&workload=fileserver&a=kvm&b=proxmox&c=hyper-v"
    assert f'href="{rest}" aria-label="Ask without Xen"' in page
    added = re.search(r'href="([^"]+&e=[^"]+)"', page).group(1)
    assert added.startswith(f"{HYPERVISORS}&e=")
    assert client.get(added).status_code == 200
    two = html.unescape(client.get(MAIL_SERVER).content.decode())
    assert f'href="/?{GUEST_FS}" aria-label="Ask without XFS"' in two
    answer = html.unescape(client.get(f"/?{GUEST_FS}").content.decode())
    added = re.search(rf"Compare with</summary>.*?(/compare/\?{GUEST_FS}&a=\w+&b=\w+)", answer, re.DOTALL).group(1)
    assert client.get(added).status_code == 200


def test_the_tabs_say_what_the_api_says(published_evidence, client):
    keys = ["kvm", "xen", "proxmox", "hyper-v"]
    body = client.get(f"/api/v1/comparisons/?axis=hypervisor&workload=fileserver&entries={','.join(keys)}").json()
    pairs = html.unescape(client.get(f"{HYPERVISORS}&tab=side-by-side").content.decode())
    for pair in body["pairs"]:
        assert pair["why"] in pairs
        shown = [] if pair["ratio"] is None else [pair["ratio"], 1 / pair["ratio"]]
        assert not shown or any(f'data-value="{ratio!r}"' in pairs for ratio in shown)
    differs = html.unescape(client.get(f"{HYPERVISORS}&tab=differs").content.decode())
    for row in body["environment"]:
        for values in row["values"]:
            for value in values:
                assert value in differs
    alone = client.get(f"{HYPERVISORS}&tab=differs", headers={"HX-Request": "true", "HX-Target": "answer-tabs"})
    assert alone.content.decode().lstrip().startswith('<div id="answer-tabs">')


def test_of_each_two_the_recommended_stands_first():
    guests(ext4=100.0, xfs=200.0)
    told, _ = compute_comparison(MAIL, ["ext4", "xfs"], 1)
    assert told.verdict.choice == ("xfs",)
    (line,) = pair_lines(told, ["xfs", "ext4"], {"as_of": 1})
    assert line.labels == ("xfs", "ext4")
    assert line.pair.ratio == pytest.approx(1 / told.pairs[0].ratio)
    assert line.pair.low < line.pair.ratio < line.pair.high
    assert line.interval.startswith("either way, ")
    assert line.address == f"{GUESTS}&a=xfs&b=ext4&as_of=1"


def test_without_numbers_the_page_says_why(published_evidence, client):
    asked = "axis=fs-pair&workload=varmail&hypervisor=kvm&a=ext4-on-ext4&b=xfs-on-btrfs"
    text = text_of(client.get(f"/compare/?{asked}"))
    assert "Start with ext4 on ext4." in text
    assert "Only the tier lists of Đorđević and others (2022) place both: they give an order and no ratio." in text


def test_without_entries_the_best_is_compared_with_the_last(published_evidence, client):
    keys = [entry["key"] for entry in client.get("/api/v1/rankings/hypervisor/?workload=fileserver").json()["entries"]]
    response = client.get("/compare/?axis=hypervisor&workload=fileserver")
    explanation = response.context["explanation"]
    assert {explanation.a.key, explanation.b.key} == {keys[0], keys[-1]}


def test_of_three_the_first_line_says_what_to_choose():
    guests(ext4=100.0, xfs=200.0, btrfs=50.0)
    verdict = compute_comparison(MAIL, ["ext4", "xfs", "btrfs"], 1)[0].verdict
    assert verdict.sentence == "Start with xfs."
    assert verdict.confidence.startswith(
        "Low confidence: one research group (under kvm, hard disks) measured it; chance that it"
    )


def test_of_two_that_nobody_measured_the_first_line_says_so(client):
    guests(ext4=100.0, xfs=200.0)
    for name in ("btrfs", "zfs"):
        make_configuration(guest_fs=name)  # known, and measured by nobody
    verdict = compute_comparison(MAIL, ["btrfs", "zfs"], 1)[0].verdict
    assert verdict.sentence == "Keep what you have: nobody measured this, and nobody advises."
    text = text_of(client.get(f"{GUESTS}&a=btrfs&b=zfs"))
    assert "No published case study has numbers of btrfs or zfs here." in text


def test_block_sizes_that_nobody_measured_are_compared_by_their_names(client):
    make_measurement(100.0, workload="varmail")
    page = client.get("/compare/?axis=volume-block-size&workload=varmail&a=131072&b=16384", follow=True)
    assert page.status_code == 200
    assert all(size in page.content.decode() for size in ("128 KiB", "16 KiB"))
    assert client.get("/compare/?axis=volume-block-size&workload=varmail&a=large&b=16384").status_code == 400


def test_what_can_lose_acknowledged_writes_is_never_the_first_line():
    case_study = make_case_study()
    for guest_fs, value, options in (("ext4", 100.0, ""), ("xfs", 900.0, "nobarrier")):
        configuration = make_configuration(case_study, guest_fs=guest_fs, guest_mount_options=options)
        make_measurement(value, configuration=configuration)
    publish(case_study)
    verdict = compute_comparison(MAIL, ["xfs", "ext4"], 1)[0].verdict
    assert verdict.sentence == "Start with ext4."
    assert "which can lose acknowledged writes, and is not recommended" in verdict.measured


# Under each workload


def test_the_chart_has_a_row_a_workload_the_margin_and_the_line_at_one():
    guests(ext4=100.0, xfs=200.0)
    told, _ = compute_comparison(MAIL, ["ext4", "xfs"], 1)
    rows = [WorkloadRatio(w, w.upper(), "throughput", "xfs", r, r / 2, r * 2) for w, r in (("a", 0.5), ("b", 2.0))]
    (table,) = workload_tables(told, ["ext4", "xfs"], rows, {}, 0.1)
    assert (table.title, [row.workload for row, *_ in table.rows]) == ("ext4 against xfs", ["b", "a"])
    data = table.chart.data
    assert (data["labels"], data["reference"]) == (["B", "A"], 1)
    assert data["band"] == pytest.approx([0.9, 1 / 0.9])
    point = data["series"][0]["points"][0]
    assert (point["value"], point["low"], point["high"]) == (2.0, 1.0, 4.0)
    assert table.rows[0][2] == "/compare/?axis=guest-fs&workload=b&a=ext4&b=xfs"


def test_workloads_are_drawn_where_three_laboratories_compared_the_entries(client):
    for _ in range(2):
        guests(ext4=100.0, xfs=200.0, btrfs=50.0)
    guests("webserver", ext4=100.0, xfs=100.0)
    address = f"{GUESTS}&a=ext4&b=xfs&tab=side-by-side"
    assert client.get(address).context["workloads"] == []
    guests(ext4=100.0, xfs=200.0)
    response = client.get(address)
    (table,) = response.context["workloads"]
    page = html.unescape(response.content.decode())
    assert f'id="{table.chart.data_id}"' in page
    for row, _, there in table.rows:
        assert f'<a href="{there}">{row.label}</a>' in page


def test_two_that_no_chain_of_comparisons_joins_are_chosen_between_all_the_same(published_evidence, client):
    """ESXi and Hyper-V were measured with three machines by different groups, each against others."""
    response = client.get("/compare/?axis=hypervisor&workload=fileserver&vm_count=3&a=esxi&b=hyper-v")
    assert response.status_code == 200
    page = text_of(response)
    assert "Start with" in page
    assert "no comparison joins them" in page
    assert "more in the ranking" not in page


# What is asked


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("a=ext4-on-ext4", "two to six"),
        ("a=ext4-on-ext4&b=ext4-on-ext4", "chosen twice"),
        ("a=ext4-on-ext4&b=nonsense", "not an entry of this axis"),
        ("a=ext4-on-ext4&b=zfs-on-ext4", "'zfs' in 'zfs-on-ext4' is not known"),
    ],
)
def test_entries_that_cannot_be_compared_are_refused(entries, message, published_evidence, client):
    response = client.get(f"/compare/?axis=fs-pair&workload=varmail&{entries}")
    assert response.status_code == 400
    assert message in html.unescape(response.content.decode())


@pytest.mark.sqlite
def test_entries_of_another_axis_lead_to_it(published_evidence, client):
    response = client.get("/compare/?axis=fs-pair&workload=fileserver&a=kvm&b=xen")
    page = html.unescape(response.content.decode())
    assert response.status_code == 400
    assert "It is an entry of the axis hypervisor." in page
    there = re.search(r'href="([^"]+)">Compare as hypervisor<', page).group(1)
    assert client.get(there).status_code == 200
    hostile = client.get("/compare/", {"axis": "fs-pair", "workload": "fileserver", "a": "<b>", "b": "xen"})
    assert "<b>" not in hostile.content.decode().partition("<main")[2].partition("chips")[0]


@pytest.mark.sqlite
def test_the_lists_of_entries_are_those_of_the_axis_in_the_address(published_evidence, client):
    page = client.get("/compare/?axis=hypervisor")
    lists = client.get("/choices/?axis=hypervisor&a=&b=", headers={"HX-Request": "true"})
    for response in (page, lists):
        text = response.content.decode()
        assert response.status_code == 200
        assert '<option value="kvm">KVM</option>' in text
        assert "ext4-on-ext4" not in text
    assert client.get("/compare/?axis=nonsense").status_code == 400
    chosen = client.get("/?workload=fileserver&axis=hypervisor&a=kvm&b=xen&c=")
    assert chosen["Location"] == "/compare/?axis=hypervisor&workload=fileserver&a=kvm&b=xen"
