"""The answer as a page: what it says on the published evidence, in place and at its own address."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from kdb.jobs import jobs
from kdb.models import Job
from kdb.signals import web_server_began
from modelling.answer_pages.views import examples
from modelling.answer_store import selectors, snapshots
from modelling.estimation.ranking import METHOD
from modelling.models import RankingSnapshot
from tests.factories import make_configuration, make_measurement, publish

pytestmark = pytest.mark.django_db

MAIL_ON_KVM = "/?axis=fs-pair&workload=varmail&hypervisor=kvm"
FILE_SERVER = "/?axis=hypervisor&workload=fileserver"
HTMX = {"headers": {"HX-Request": "true"}}


def text_of(response) -> str:
    """Return what a reader reads: no tags, and white space as one blank."""
    content = re.sub(r"<script.*?</script>", " ", response.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", content))


def words_before_tabs(response) -> list[str]:
    """Return the words of an answer that stand before its tabs, without what is folded away."""
    content = re.search(r"<main.*?</main>", response.content.decode(), re.DOTALL).group()
    before = re.sub(
        r"<(script|details|noscript)\b.*?</\1>", " ", content.partition('id="answer-tabs"')[0], flags=re.DOTALL
    )
    return re.sub(r"<[^>]*>", " ", before).split()


def ranked(response) -> list[str]:
    return [entry.label for entry, *_ in response.context["page"].tables[0].lines]


# Before a question


def test_a_server_that_begins_has_the_questions_that_it_offers_answered(published_evidence):
    ((_, failed),) = web_server_began.send_robust(sender=None)
    assert failed is None
    jobs.run(Job.objects.get(kind=snapshots.JOB).pk)
    assert all(selectors.stored_answers(examples()).values())
    Job.objects.all().delete()
    web_server_began.send_robust(sender=None)  # it begins once more
    assert not Job.objects.exists()


def test_the_front_page_explains_itself_and_offers_questions(client: Client, published_evidence):
    response = client.get("/")
    assert response.status_code == 200
    assert "Mail server on KVM: which file-system pair?" in text_of(response)
    for link in re.findall(r'href="(/\?[^"]+)"', response.content.decode()):
        assert client.get(link.replace("&amp;", "&")).status_code == 200


def test_an_empty_knowledge_base_says_how_to_fill_it(client: Client):
    assert "load_evidence" in text_of(client.get("/"))


def test_the_form_says_what_lies_behind_each_choice(client: Client, published_evidence):
    content = client.get("/?axis=fs-pair&workload=varmail").content.decode()
    assert '<option value="kvm">KVM (three case studies)</option>' in content
    hypervisors = re.search(r'<select name="hypervisor".*?</select>', content, re.DOTALL).group()
    assert (
        '<option value="hyper-v">Hyper-V</option>' in hypervisors.partition('<optgroup label="No comparison yet">')[2]
    )
    assert 'value="kvm"' in hypervisors.partition("<optgroup")[0]
    assert re.search(r'<option value="vmfs">VMFS', content)  # images lie on it
    in_guest = re.search(r'<select name="guest_fs".*?</select>', content, re.DOTALL).group()
    assert "vmfs" not in in_guest


def test_the_counts_follow_the_choice_as_a_fragment(client: Client, published_evidence):
    response = client.get("/choices/?workload=atto&hypervisor=", **HTMX)
    assert response.status_code == 200
    hypervisors = re.search(r'<select name="hypervisor".*?</select>', response.content.decode(), re.DOTALL).group()
    assert '<option value="kvm">KVM</option>' in hypervisors.partition('<optgroup label="No comparison yet">')[2]
    assert b"<html" not in response.content
    assert b"aria-invalid" not in client.get("/choices/?workload=&axis=&hypervisor=kvm", **HTMX).content


# A visitor's words and machine


def test_what_is_left_open_is_what_the_answer_chooses(client: Client, published_evidence):
    assert client.get("/?workload=fileserver")["Location"] == FILE_SERVER
    assert client.get("/?workload=varmail&hypervisor=proxmox&images=ext4")["Location"] == (
        "/?axis=guest-fs&workload=varmail&hypervisor=proxmox&host_fs=ext4"
    )


def test_a_machine_stays_in_the_address_and_is_held_against_the_evidence(client: Client, published_evidence):
    response = client.get(f"{MAIL_ON_KVM}&disks=nvme")
    assert "Your NVMe was never measured here: all evidence is from hard disks." in text_of(response)
    facts = text_of(client.get(f"{MAIL_ON_KVM}&disks=nvme&tab=evidence"))
    assert re.search(r"Kind of disks NVMe hard disks differs", facts)
    assert f'rel="canonical" href="http://testserver{MAIL_ON_KVM}"'.replace("&", "&amp;") in response.content.decode()
    assert ranked(response) == ranked(client.get(MAIL_ON_KVM))


def test_own_words_lead_to_the_answer_and_say_what_they_were_read_as(client: Client, published_evidence):
    response = client.get("/?text=which pair for mail server with MySQL on kvm", follow=True)
    assert response.redirect_chain[-1][0] == f"{MAIL_ON_KVM}&text=which+pair+for+mail+server+with+MySQL+on+kvm"
    assert "Mail server ×" in text_of(response)
    assert "No load here stands for database (transactions)." in text_of(response)
    assert "answer-heading" in response.content.decode()


def test_words_without_a_workload_keep_what_they_say_and_ask_for_it(client: Client, published_evidence):
    response = client.get("/?text=nvme+under+kvm&workload=&axis=")
    assert response.status_code == 200
    assert '<option value="kvm" selected>' in response.content.decode()
    assert "answer-heading" not in response.content.decode()


def test_a_machine_alone_fills_the_form(client: Client, published_evidence):
    response = client.get("/?hypervisor=kvm&disks=nvme")
    assert response.status_code == 200
    assert 'value="nvme" selected' in response.content.decode()
    assert b"aria-invalid" not in response.content


def test_two_places_for_the_images_are_refused(client: Client, published_evidence):
    response = client.get("/?workload=varmail&host_fs=ext4&images=xfs")
    assert response.status_code == 400
    assert "give one of them" in text_of(response)


# The answer


def test_mail_on_kvm_has_the_best_and_worst_pairs_of_the_paper(client: Client, published_evidence):
    response = client.get(MAIL_ON_KVM)
    table = response.context["page"].tables[0]
    order = [entry.key for entry, *_ in table.lines]
    assert set(order[:3]) == {"btrfs-on-ext4", "ext4-on-xfs", "ext4-on-ext4"}
    assert order[-1] == "xfs-on-btrfs"
    assert {*response.context["page"].answer.best} <= {*order[:3]}
    assert re.search(r"Start with [^.]+\. Rather not XFS on Btrfs\.", text_of(response))
    assert "published lists (2022, hard disks) put it among the best, without numbers" in text_of(response)
    (lists,) = response.context["page"].shelves
    assert [name for name, _ in lists.shelves] == ["Best", "Middle", "Worst"]
    assert dict(lists.shelves)["Best"] == "Btrfs on ext4, ext4 on ext4, ext4 on XFS and XFS on ext4"


def test_lists_of_pairs_say_what_is_on_the_other_side(client: Client, published_evidence):
    response = client.get(MAIL_ON_KVM.replace("fs-pair", "guest-fs"))
    shelves = {lists.beside: dict(lists.shelves) for lists in response.context["page"].shelves}
    assert [*shelves] == ["Btrfs on the host", "ext4 on the host", "XFS on the host"]
    assert shelves["ext4 on the host"]["Best"] == "Btrfs, ext4 and XFS"
    assert "With XFS on the host : Best ext4" in text_of(response)


def test_an_order_without_numbers_shows_no_ratio_and_no_chart(client: Client, published_evidence):
    assert "no figures" in text_of(client.get(f"{MAIL_ON_KVM}&tab=ranking"))
    for address in (MAIL_ON_KVM, f"{MAIL_ON_KVM}&tab=ranking"):
        response = client.get(address)
        assert not re.search(r"\d×", text_of(response))
        assert b"<canvas" not in response.content


def test_hypervisors_for_the_file_server_come_in_the_published_order(client: Client, published_evidence):
    """But for KVM and Proxmox VE, whose numbers are above what the interface carries, so that they count less."""
    response = client.get(FILE_SERVER)
    order = ranked(response)
    assert {*order[:2]} == {"KVM", "Proxmox VE"}
    assert [name for name in order[2:] if name != "Hyper-V"] == ["ESXi", "Xen"]
    assert f"{order[0]} start with" in text_of(response)


def test_guest_file_systems_on_proxmox_begin_with_the_published_one(client, published_evidence):
    response = client.get("/", {"axis": "guest-fs", "workload": "fileserver", "hypervisor": "proxmox"})
    response = client.get(response.url) if response.status_code == 302 else response
    assert ranked(response)[0] == "ext4"


def test_the_chart_has_the_numbers_of_the_table(client: Client, published_evidence):
    page = client.get(FILE_SERVER).context["page"]
    table, data = page.tables[0], page.tables[0].chart.data
    assert data["labels"] == [entry.label for entry, *_ in table.lines]
    assert data["series"][0]["points"] == [
        {
            **{"value": entry.ratio, "low": entry.low, "high": entry.high},
            **{"inner_low": entry.mean_low, "inner_high": entry.mean_high},
        }
        for entry, *_ in table.lines
    ]


def test_the_answer_says_what_it_assumes_and_what_it_rests_on(client: Client, published_evidence):
    response = client.get(f"{FILE_SERVER}&tab=evidence")
    assert "coefficient of variation" in text_of(response)
    assert re.search(r"The host file system may be the cause: ESXi had VMFS; [^.]*\.", text_of(response))
    assert "Knowledge revision 1" in text_of(client.get(f"{FILE_SERVER}&tab=history"))
    assert f'href="{reverse("case-study-detail", args=["p1"])}#table-v"' in response.content.decode()


@pytest.mark.sqlite
def test_every_link_to_a_source_leads_to_a_place_on_its_page(client: Client, published_evidence):
    links = set()
    for axis in ("fs-pair", "guest-fs", "hypervisor", "configuration"):
        for workload in ("varmail", "fileserver", "webserver", "randomfileaccess", "atto"):
            content = client.get(f"/?axis={axis}&workload={workload}&tab=evidence").content.decode()
            links |= set(re.findall(r'href="(/case-studies/[^"#]+)#([^"]+)"', content))
    assert len(links) > 20
    pages = {address: client.get(address).content.decode() for address in {address for address, _ in links}}
    assert [(address, anchor) for address, anchor in links if f'id="{anchor}"' not in pages[address]] == []


def test_page_and_api_give_the_same_order(client: Client, published_evidence):
    response = client.get(f"{FILE_SERVER}&tab=history")
    address = re.search(r'href="(/api/v1/rankings/[^"]+)">JSON', response.content.decode()).group(1)
    answer = client.get(address.replace("&amp;", "&")).json()
    assert [entry["label"] for entry in answer["entries"]] == ranked(response)
    assert answer["entries"][1]["ratio"] == response.context["page"].tables[0].lines[1][0].ratio


def test_parts_that_no_comparison_joins_stand_apart(client: Client, published_evidence):
    response = client.get("/?axis=configuration&workload=fileserver&tab=ranking")
    assert len(response.context["page"].tables) > 1
    assert "Nobody tested all of these together:" in text_of(response)
    assert all(f"{table.name}:" in text_of(response) for table in response.context["page"].tables)


def test_an_empty_answer_says_what_is_missing(client: Client, published_evidence):
    response = client.get("/?axis=fs-pair&workload=varmail&hypervisor=hyper-v")
    assert 'class="recommendation"' in response.content.decode()
    assert "What is missing" in text_of(client.get("/?axis=fs-pair&workload=varmail&hypervisor=hyper-v&tab=evidence"))
    assert "mechanisms" not in text_of(response)
    assert "/laboratory/campaigns/" not in response.content.decode()  # for those who may plan one


def test_an_answer_that_newer_evidence_may_change_says_so(client: Client, published_evidence):
    client.get(FILE_SERVER)
    RankingSnapshot.objects.update(superseded_by=7)
    assert "knowledge revision 7) is being processed" in text_of(client.get(FILE_SERVER))


def test_entries_that_cannot_be_told_apart_are_not_recommended_over_each_other(client: Client):
    case_study = make_configuration(guest_fs="ext4", slug="e").case_study
    make_measurement(100.0, configuration=case_study.configurations.get())
    make_measurement(100.5, configuration=make_configuration(case_study, guest_fs="xfs", slug="x"))
    publish(case_study)
    text = text_of(client.get("/?axis=guest-fs&workload=varmail"))
    assert "One laboratory measured xfs as fast as ext4, on hard disks." in text


# Addresses


@pytest.mark.parametrize(
    "query",
    [
        "workload=varmail&hypervisor=kvm",
        "axis=fs-pair&workload=Mail&hypervisor=KVM&guest_fs=&host_fs=&vm_count=",
        "hypervisor=kvm&workload=varmail&axis=fs-pair&utm_source=somewhere",
    ],
)
def test_every_spelling_of_a_question_leads_to_its_one_address(client: Client, published_evidence, query):
    response = client.get(f"/?{query}")
    assert (response.status_code, response["Location"]) == (302, MAIL_ON_KVM)


def test_htmx_gets_the_fragment_and_the_address_to_show(client: Client, published_evidence):
    response = client.get("/?axis=fs-pair&workload=mail&hypervisor=kvm&guest_fs=", **HTMX)
    assert response.status_code == 200
    assert b"<html" not in response.content
    assert b'id="question"' in response.content
    assert response["HX-Push-Url"] == MAIL_ON_KVM
    assert "Mail server on KVM" in text_of(response)


def test_the_form_shows_what_an_alias_was_understood_as(client: Client, published_evidence):
    content = client.get("/?axis=fs-pair&workload=mail&hypervisor=kvm", **HTMX).content.decode()
    assert '<option value="varmail" selected>' in content


def test_a_page_restored_from_the_history_is_whole(client: Client, published_evidence):
    headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert b"<html" in client.get(MAIL_ON_KVM, headers=headers).content


def test_caches_keep_fragment_and_page_apart(client: Client, published_evidence):
    for response in (client.get(MAIL_ON_KVM), client.get(MAIL_ON_KVM, **HTMX), client.get("/")):
        assert "HX-Request" in response["Vary"]


# What cannot be asked


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("axis=fs-pair&workload=quake", "quake"),
        ("axis=nonsense&workload=varmail", "nonsense"),
        ("axis=fs-pair", "required"),
        ("axis=fs-pair&workload=varmail&vm_count=0", "greater than or equal to 1"),
        ("axis=fs-pair&workload=varmail&vm_count=many", "whole number"),
        (f"axis=fs-pair&workload=varmail&vm_count={'9' * 5000}", "whole number"),
        ("axis=fs-pair&workload=varmail&grade=Z", "not a grade"),
        ("axis=fs-pair&workload=varmail&storage=tape", "tape"),
        ("axis=fs-pair&workload=%00", "null characters"),
        ("axis=fs-pair&workload=%3Cscript%3E", "script"),
    ],
)
@pytest.mark.sqlite
def test_a_question_that_is_not_understood_names_the_field(client: Client, published_evidence, query, complaint):
    page = client.get(f"/?{query}")
    fragment = client.get(f"/?{query}", **HTMX)
    assert (page.status_code, fragment.status_code) == (400, 422)
    for response in (page, fragment):
        assert complaint in text_of(response).lower()
        assert b'aria-invalid="true"' in response.content
        assert b"<script>" not in response.content


def test_only_reading_is_allowed(client: Client):
    assert client.post("/").status_code == 405


# Cost


def test_the_front_page_costs_one_query_which_says_how_new_the_knowledge_is(client: Client, django_assert_num_queries):
    client.get("/")
    with django_assert_num_queries(1):
        client.get("/")


# Errors


def test_an_unknown_page_is_answered_with_a_page(client: Client):
    response = client.get("/nothing/")
    assert response.status_code == 404
    assert "There is no such page" in text_of(response)


def test_a_failure_is_answered_with_a_page(client: Client, monkeypatch):
    monkeypatch.setattr("modelling.answer_pages.views.VisitorForm", None)
    client.raise_request_exception = False
    response = client.get("/")
    assert response.status_code == 500
    assert "Something went wrong" in text_of(response)


@pytest.mark.sqlite
def test_every_row_leads_to_its_comparison_with_the_first(client: Client, published_evidence):
    response = client.get(f"{FILE_SERVER}&tab=ranking&as_of=1&method={METHOD}")
    lines = response.context["page"].tables[0].lines
    others = [lines[1][0].key] + [lines[0][0].key] * (len(lines) - 1)
    page = response.content.decode()
    for (entry, _, _, address), other in zip(lines, others, strict=True):
        assert address == f"/compare/?axis=hypervisor&workload=fileserver&a={entry.key}&b={other}&as_of=1"
        assert address.replace("&", "&amp;") in page
    assert client.get(lines[-1][3], follow=True).status_code == 200


@pytest.mark.sqlite
@pytest.mark.parametrize(
    "narrowed",
    [
        *("host_storage=dir-ext4", "host_storage=rbd", "evidence=papers", "storage=nvme", "benchmark=filebench"),
        *("guest_os_family=linux", "grade=A", "metric=latency", "vm_count=7", "host_fs=ext4", "guest_fs=xfs"),
    ],
)
def test_whatever_narrows_a_question_without_numbers_may_be_dropped(client, published_evidence, narrowed):
    page = client.get(f"/?axis=fs-pair&workload=varmail&hypervisor=kvm&{narrowed}", follow=True)
    assert page.status_code == 200
    assert page.content.decode().count("Ask without") == 2  # this, and the hypervisor


# Two screens, and tabs for the rest

TABS = ("ranking", "why", "set-up", "trade-offs", "evidence", "history")
QUESTIONS = [
    *(FILE_SERVER, MAIL_ON_KVM, f"{MAIL_ON_KVM}&disks=nvme"),
    *("/?axis=guest-fs&workload=fileserver&hypervisor=proxmox", "/?axis=hypervisor&workload=webserver&vm_count=1"),
    "/?axis=fs-pair&workload=varmail&hypervisor=hyper-v",
]


@pytest.mark.sqlite
@pytest.mark.parametrize("address", QUESTIONS)
def test_before_the_tabs_stand_at_most_200_words(client: Client, published_evidence, address):
    assert 20 < len(words_before_tabs(client.get(address))) <= 200


def test_each_tab_has_an_address_and_shows_what_the_others_do_not(client: Client, published_evidence):
    shown = {tab: client.get(f"{FILE_SERVER}&tab={tab}").content.decode() for tab in TABS}
    marks = {
        "ranking": 'class="ranking"',
        "why": 'class="steps"',
        "set-up": 'id="what-it-means"',
        "evidence": "Case studies</h3>",
    }
    for tab, mark in marks.items():
        assert [name for name, content in shown.items() if mark in content] == [tab]
    assert text_of(client.get(FILE_SERVER)) == text_of(client.get(f"{FILE_SERVER}&tab=ranking"))  # the first is open


def test_the_open_tab_is_marked_and_others_keep_the_question_and_its_edition(client: Client, published_evidence):
    content = client.get(f"{MAIL_ON_KVM}&disks=nvme&tab=ranking&as_of=1&method={METHOD}").content.decode()
    assert re.findall(r'id="tab-([^"]+)"[^>]*aria-current="page"', content) == ["ranking"]
    for address in re.findall(r'id="tab-[^"]+" href="([^"]+)"', content):
        assert address.startswith(f"{MAIL_ON_KVM}&disks=nvme&tab=".replace("&", "&amp;"))
        assert address.endswith(f"as_of=1&amp;method={METHOD}")
        assert client.get(address.replace("&amp;", "&")).status_code == 200


def test_htmx_that_asks_again_adds_no_entry_to_the_history(client: Client, published_evidence):
    """A page that waits asks every two seconds: each answer was one more press of the button that goes back."""
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{MAIL_ON_KVM}"}
    assert client.get(MAIL_ON_KVM, headers=headers)["HX-Push-Url"] == "false"


def test_an_answer_that_is_not_there_yet_is_asked_for_as_it_was_asked(client: Client, published_evidence, monkeypatch):
    monkeypatch.setattr("modelling.answer_pages.views.answer_version", lambda *args, **options: None)
    asked = f"{MAIL_ON_KVM}&disks=ssd&text=mail+on+kvm&tab=evidence"
    for headers in ({}, {"HX-Request": "true"}):
        page = html.unescape(client.get(asked, headers=headers).content.decode())
        assert f'hx-get="{asked}"' in page
        assert re.search("<title> ?Mail server on KVM: which file-system pair\\? · KDB ?</title>", page)


def test_htmx_gets_the_tabs_alone(client: Client, published_evidence):
    headers = {"HX-Request": "true", "HX-Target": "answer-tabs"}
    response = client.get(f"{FILE_SERVER}&tab=evidence", headers=headers)
    assert response.content.decode().lstrip().startswith('<div id="answer-tabs">')
    assert "Case studies" in response.content.decode()
    assert response["HX-Push-Url"] == f"{FILE_SERVER}&tab=evidence"
    assert "HX-Target" in response["Vary"]


def test_a_tab_that_is_not_known_is_left_out_of_the_address(client: Client, published_evidence):
    assert client.get(f"{FILE_SERVER}&tab=nonsense")["Location"] == FILE_SERVER


def test_no_id_is_on_a_tab_twice(client: Client, published_evidence):
    for tab in TABS:
        ids = re.findall(r'\bid="([^"]+)"', client.get(f"{FILE_SERVER}&tab={tab}").content.decode())
        assert len(ids) == len(set(ids)), tab


def test_each_chip_leads_to_its_field_and_to_the_question_without_it(client: Client, published_evidence):
    response = client.get(f"{MAIL_ON_KVM}&disks=nvme")
    content = response.content.decode()
    shown = [(chip.label, chip.value, chip.without) for chip in response.context["chips"]]
    assert shown == [
        ("Workload: ", "Mail server", ""),
        ("What to choose: ", "file-system pair", ""),
        ("Hypervisor: ", "KVM", "/?axis=fs-pair&workload=varmail&disks=nvme"),
        ("Kind of disks: ", "NVMe", MAIL_ON_KVM),
    ]
    assert all(f'id="{chip.field}"' in content for chip in response.context["chips"])
    assert "×" in text_of(response)


def test_at_most_three_caveats_stand_on_the_first_screens(client: Client, published_evidence):
    response = client.get(FILE_SERVER)
    assert len(response.context["caveats"]) == 3
    assert response.content.decode().partition('class="small caveats"')[2].partition("</ul>")[0].count("<li>") == 3


def test_the_chart_has_a_dot_for_each_laboratory_that_measured_the_recommended_entry(client, published_evidence):
    response = client.get(FILE_SERVER)
    ((chart,),) = (part.charts for part in response.context["page"].measured)
    first = response.context["page"].answer.entries[0].label
    assert chart.first == first
    assert {dot.beside for dot in chart.dots} >= {"KVM", "Proxmox VE", "ESXi", "Xen"} - {first}
    assert all((dot.at > chart.one) == (dot.ratio > 1) for dot in chart.dots)
    assert any(f"{dot.ratio:.1f} times as fast as {dot.beside}" in text_of(response) for dot in chart.dots)
    assert (
        'title="Four Linux-based hypervisors on an HPE BL460c Gen10">2025, solid state</a>' in response.content.decode()
    )


def test_forecasts_are_drawn_where_three_laboratories_measured(client: Client, published_evidence):
    assert b"<canvas" in client.get(FILE_SERVER).content
    assert b"<canvas" not in client.get("/?axis=guest-fs&workload=varmail&hypervisor=proxmox").content


# About KDB, and every choice of a workload


def test_one_statement_holds_what_is_known_of_every_choice(client: Client, published_evidence):
    response = client.get("/known/varmail/?hypervisor=kvm")
    things = [choice.thing for choice in response.context["choices"]]
    assert {"file-system pair", "guest file system", "host file system"} <= set(things)
    assert "hypervisor" not in things
    for choice in response.context["choices"]:
        assert choice.sentence in client.get(choice.address).content.decode().replace("&#x27;", "'")
    assert client.get("/known/varmail/?hypervisor=KVM")["Location"] == "/known/varmail/?hypervisor=kvm"
    assert client.get("/known/quake/").status_code == 404
    assert 'href="/known/varmail/?hypervisor=kvm"' in client.get(MAIL_ON_KVM).content.decode()


def test_status_and_api_have_pages_in_the_frame_of_the_site(client: Client, published_evidence):
    status = text_of(client.get("/status/"))
    assert "answers." in status
    assert "Knowledge revision 1" in status
    assert 'href="/api/v1/schema/"' in client.get("/api/").content.decode()
    assert "How an answer comes about" in text_of(client.get("/about/"))


def test_pages_carry_linked_data_and_the_citation(client, published_evidence):
    asked = {"axis": "fs-pair", "workload": "varmail", "hypervisor": "kvm"}
    page = client.get("/", asked).content.decode()
    history = client.get("/", {**asked, "tab": "history"}).content.decode()
    case_study = client.get("/case-studies/p1/").content.decode()

    assert '<script type="application/ld+json">' in page
    assert '"@type": "Claim"' in page
    assert "Cite this answer" in history
    assert "@misc{kdb-" in history
    assert '"@type": "Dataset"' in case_study
