"""Questions as people type them: those of forums, phrasings by another hand, slips, and hostile text."""

import csv
import html
import re
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from kdb.disk_path import bytes_of
from modelling.ask.gather import read_text
from modelling.ask.language import words
from modelling.ask.language.content import Reading, Said
from modelling.ask.language.parsing import LONGEST
from modelling.ask.language.readings import MOST
from modelling.ask.language.words import FAMILIES, PRODUCTS
from modelling.evidence.axes import AXES

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite, pytest.mark.usefixtures("whole_catalogue")]

HERE = Path(__file__).parent
HTMX = {"HX-Request": "true"}
LEAST_RIGHT = 0.9  # of the phrasings: whole readings, axis, workload, filters and entries


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((HERE / name).read_text().splitlines()))


def first(text: str) -> Reading:
    return read_text(text).readings[0]


def told(parsed: Said) -> dict[str, tuple[str, str]]:
    return {word.words: (word.role, word.value) for word in parsed.understood}


def wanted_filters(row: dict[str, str]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in row["filters"].split(";") if part)


# The questions


def test_a_question_of_a_forum_is_read_as_meant():
    for row in rows("forum_questions.csv"):
        parsed = read_text(row["question"])
        if not row["axis"]:
            assert ([page.address for page in parsed.pages], parsed.readings) == ([row["page"]], ()), row
            continue
        reading = parsed.readings[0]
        assert (reading.axis, reading.workload) == (row["axis"], row["workload"]), row
        assert reading.filters == wanted_filters(row), row
        assert reading.entries == tuple(filter(None, row["entries"].split("|"))), row


def is_right(row: dict[str, str]) -> bool:
    """Tell whether the first reading is the one that is expected; without an axis, whether several are offered."""
    parsed = read_text(row["question"])
    reading = parsed.readings[0] if parsed.readings else None
    if reading and reading.is_whole:
        return not row["axis"] and row["workload"] == reading.workload
    if not row["axis"]:
        return bool(parsed.pages) or len({reading.axis for reading in parsed.readings}) != 1
    if reading is None or reading.axis != row["axis"]:
        return False
    columns = AXES[reading.axis].entry
    names = {"disks": "storage", "images": "host_storage"}
    filters = {names.get(name, name): value for name, value in reading.filters.items()}
    if filters.get("host_storage") == "zfs":  # a dataset: the same place by its file system
        filters["host_fs"] = filters.pop("host_storage")
    wanted = {name: value for name, value in wanted_filters(row).items() if name not in columns}
    entries = {str(bytes_of(key) or key) if "size" in reading.axis else key for key in row["entries"].split("|") if key}
    return (
        filters
        == {("host_fs" if (name, value) == ("host_storage", "zfs") else name): value for name, value in wanted.items()}
        and (row["workload"] in (reading.workload, reading.family) if row["workload"] else not reading.workload)
        and (len(entries) < 2 or entries == set(reading.entries))
    )


def test_phrasings_by_another_hand_are_read_right():
    phrasings = rows("phrasings.csv")
    wrong = [row["question"] for row in phrasings if not is_right(row)]
    assert len(phrasings) >= 200
    assert 1 - len(wrong) / len(phrasings) >= LEAST_RIGHT, "\n".join(wrong)


# The rules


def test_two_readings_are_both_offered():
    assert [reading.axis for reading in read_text("file system for MariaDB").readings] == ["guest-fs", "host-fs"]
    assert [reading.axis for reading in read_text("ext4 or xfs for mail").readings] == ["guest-fs", "host-fs"]


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("ext4 or xfs in the guest", "guest-fs"),
        ("ext4 oder xfs im Gast", "guest-fs"),
        ("ext4 or xfs on the host", "host-fs"),
        ("ext4 oder xfs auf dem Host", "host-fs"),
        ("btrfs on ext4 vs ext4 on btrfs", "fs-pair"),
        ("qcow2 on ext4 or xfs", "host-fs"),
    ],
)
def test_words_beside_a_file_system_say_where_it_is(text, axis):
    assert first(text).axis == axis


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("which cache mode for 8 VMs", {"vm_count": "8"}),
        ("which cache mode for zwei VMs", {"vm_count": "2"}),
        ("which cache mode, 3 machines", {"vm_count": "3"}),
        ("WHICH CACHE MODE UNDER KVM", {"hypervisor": "kvm"}),
        ("welcher Cache-Modus unter Proxmox", {"hypervisor": "proxmox"}),
    ],
)
def test_numbers_and_names_are_filters(text, filters):
    assert first(text).axis == "cache-mode"
    assert first(text).filters == filters


@pytest.mark.parametrize(
    "text", ["16k or 64k volblocksize", "volblocksize 16 KiB oder 64 KiB", "volblocksize 16K vs 64kb"]
)
def test_sizes_are_those_of_volumes_where_these_are_asked(text):
    assert first(text).entries == ("16384", "65536")


def test_a_size_that_no_question_has_is_told_and_not_counted():
    parsed = read_text("mail server on a 10 GB disk")
    assert told(parsed)["10 GB"] == ("not counted", "10737418240")
    assert parsed.readings[0].filters == {}


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("proxmx or esxi", ("proxmox", "esxi")), ("brtfs or ext4", ("btrfs", "ext4")), ("qcow2 vs rwa", ("qcow2",))],
)
def test_slips_are_read_as_the_name_that_they_are_nearest_to(slip, meant):
    assert first(slip).entries == meant


def test_what_is_not_understood_is_told_once_with_the_nearest_names():
    unknown = read_text("mail server on proxwall, proxwall, proxmoxx").not_understood
    assert [word.words for word in unknown] == ["proxwall"]
    assert "proxmox" in unknown[0].nearest


def test_a_product_is_read_as_its_family_and_is_offered_as_what_else_it_may_be():
    jenkins = read_text("Jenkins build server").understood
    assert [(word.role, word.value) for word in jenkins] == [("workload", "build-server")]
    assert jenkins[0].note.startswith("For build server the nearest load with evidence is “Small files”.")
    readings = read_text("Nextcloud").readings
    assert [(reading.workload, reading.is_whole) for reading in readings] == [("fileserver", True), ("database", True)]


def test_what_nobody_measured_is_said_and_the_rest_is_answered():
    parsed = read_text("ntfs or refs on the host")
    assert parsed.readings[0].entries == ("ntfs",)
    assert told(parsed)["refs"] == ("not measured", "")


def test_every_family_is_known_and_stands_on_a_workload():
    for family in FAMILIES.values():
        assert first(family.label).family == family.slug
        assert first(family.label).workload in family.stands
    assert all(family in FAMILIES for families in PRODUCTS.values() for family in families)


def test_every_product_leads_to_its_family():
    wrong = [product for product, families in PRODUCTS.items() if first(product).family != families[0]]
    assert not wrong


def test_every_axis_is_asked_by_its_label_and_its_name():
    for axis in AXES.values():
        assert first(f"which {axis.label}").axis == axis.name
        assert first(f"which {axis.name} for mail").axis == axis.name


def test_every_phrase_that_is_known_is_read():
    phrases = [phrase for phrase, _ in (*words.grammar_and_topics(), *words.families(), *words.others())]
    for phrase in phrases:
        assert read_text(f"{phrase} or kvm on {phrase}").text
        assert read_text(phrase).text == phrase


def test_any_text_is_read_without_harm():
    long = ("zzz " * 90, "ﷺ" * 390, "a-" * 199, "on " * 130)
    for text in ("", "?", "or or or", "'; DROP TABLE x; --", "\x00<script>", *long):
        assert read_text(text).readings == (), text


def test_reading_takes_time_in_proportion_to_the_text():
    read_text("warm")
    for piece in ("ext4 or ", "zqxwvk ", "mail kvm ", "3 vms, "):
        begun = time.process_time()
        read_text((piece * LONGEST)[:LONGEST])
        assert time.process_time() - begun < 1.5


# The interface and both boxes


def test_the_interface_says_the_same(client):
    body = client.get("/api/v1/ask/", {"text": "Proxmox or ESXi for a file server?"}).json()
    assert [(word["words"], word["role"]) for word in body["understood"]] == [
        ("Proxmox", "hypervisor"),
        ("ESXi", "hypervisor"),
        ("file server", "workload"),
    ]
    reading = body["readings"][0]
    assert (reading["axis"], reading["entries"]) == ("hypervisor", ["proxmox", "esxi"])
    assert client.get(reading["address"]).status_code == 200


def test_too_long_a_text_is_refused_with_its_length(client):
    refused = client.get("/api/v1/ask/", {"text": "x" * (LONGEST + 1)})
    assert refused.status_code == 400
    assert f"at most {LONGEST} characters" in refused.json()["errors"][0]["message"]
    page = client.get("/", {"text": "x" * (LONGEST + 1)})
    assert page.status_code == 400
    assert f"at most {LONGEST} are read" in page.content.decode()


@pytest.mark.parametrize(
    "text", ["which cache mode for mail", "qcow2 or raw for mail", "mail on kvm", "ext4 or xfs", "which host"]
)
def test_the_page_of_every_reading_opens(client, text):
    for reading in read_text(text).readings:
        assert client.get(reading.address, follow=True).status_code == 200, reading.address


def test_the_first_page_compares_what_the_words_compare(client):
    page = client.get("/", {"text": "proxmox or esxi for a file server"})
    assert page.status_code == 302
    assert page["Location"].startswith("/compare/?axis=hypervisor&workload=fileserver&a=proxmox&b=esxi")


def test_the_first_page_compares_what_the_words_compare_also_with_javascript(client):
    """htmx had the ranking of the axis, which is about the first two of all entries."""
    page = client.get("/", {"text": "lxc or kvm for nginx"}, headers=HTMX)
    assert page["HX-Redirect"].startswith("/compare/?axis=hypervisor&workload=webserver&a=lxc&b=kvm")
    assert page["HX-Redirect"] == client.get("/", {"text": "lxc or kvm for nginx"})["Location"]


def test_words_that_compare_do_so_under_the_load_that_is_chosen_beside_them(client):
    page = client.get("/", {"text": "lxc or kvm", "workload": "webserver", "vm_count": 3})
    assert page["Location"].startswith("/compare/?axis=hypervisor&workload=webserver&vm_count=3&a=lxc&b=kvm")


def links_of(response, beginning: str) -> list[dict[str, list[str]]]:
    """Return the queries of the links in the part of the page that begins so."""
    part = html.unescape(response.content.decode()).partition(beginning)[2].partition("</section>")[0]
    return [parse_qs(urlsplit(address).query) for address in re.findall(r'href="([^"]+)"', part)]


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_links_to_loads_keep_what_is_compared_and_what_was_chosen(client, headers):
    asked = {"text": "ext4 or xfs in the guest", "hypervisor": "kvm", "vm_count": 3}
    offered = links_of(client.get("/", asked, headers=headers), "Published measurements compare it under ")
    assert offered
    kept = {"axis": ["guest-fs"], "a": ["ext4"], "b": ["xfs"], "hypervisor": ["kvm"], "vm_count": ["3"]}
    assert all(query | kept == query for query in offered)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_links_below_the_words_keep_what_was_chosen_beside_them(client, headers):
    asked = {"text": "ext4 for mail on proxmox", "vm_count": 3, "disks": "ssd"}
    page = client.get("/", asked, headers=headers, follow=True)
    links = links_of(page, 'id="understood"')
    chips = [query for query in links if query and "axis" not in query]
    others = [query for query in links if "axis" in query]
    assert chips
    assert others
    assert all(query["vm_count"] == ["3"] and query["disks"] == ["ssd"] for query in (*chips, *others))
    without_proxmox = [query for query in chips if query.get("text") == ["ext4 for mail on"]]
    assert without_proxmox
    assert all("hypervisor" not in query and "workload" not in query for query in without_proxmox)


def test_the_first_page_echoes_the_words_each_to_take_away(client):
    page = client.get("/", {"text": "mail server on kvm with zorkfs"}, follow=True).content.decode()
    assert 'href="/?text=mail%20server%20on%20with%20zorkfs" aria-label="Take “kvm” away"' in page
    assert "Not understood: “zorkfs”" in page


def test_the_search_shows_readings_first(client):
    page = client.get(reverse("search"), {"q": "proxmox vs esxi mail"}).content.decode()
    assert "/compare/?axis=hypervisor&amp;workload=varmail&amp;a=proxmox&amp;b=esxi" in page


def test_a_text_without_a_workload_is_offered_those_that_compare_what_it_asks(client, published_evidence):
    page = html.unescape(client.get("/", {"text": "which guest file system on hard disks"}).content.decode())
    offered = page.partition("Published measurements compare it under ")[2].partition("</p>")[0]
    addresses = re.findall(r'href="([^"]+)"', offered)
    assert addresses
    assert all(client.get(address).status_code in (200, 202) for address in addresses)
    assert all("axis=guest-fs" in address and "hdd" in address for address in addresses)
    assert "workload=atto" not in offered  # of which no source compares guest file systems


DESTINATIONS = [pytest.param(row, id=row["question"]) for row in rows("destinations.csv")]


@pytest.mark.parametrize("row", DESTINATIONS)
def test_a_question_that_somebody_types_leads_to_its_answer(client, row):
    """An address begins with what the table says; a page that says it in place has all of the words between bars."""
    page = client.get("/", {"text": row["question"], "workload": ""})
    if row["address"]:
        assert page["Location"].startswith(row["address"])
        return
    assert page.status_code == 200
    content = html.unescape(page.content.decode())
    assert [words for words in row["says"].split("|") if words not in content] == []
    assert content.count('class="button quiet"') <= MOST


def test_the_page_of_all_choices_says_what_was_understood_and_keeps_the_machine(client):
    address = "/known/varmail/?hypervisor=kvm&disks=nvme&text=Postfix+mail+on+KVM%2C+NVMe%2C+quokka"
    page = html.unescape(
        client.get("/known/varmail/?text=Postfix+mail+on+KVM,+NVMe,+quokka", follow=True).content.decode()
    )
    assert client.get("/", {"text": "Postfix mail on KVM, NVMe, quokka"})["Location"] == address
    assert "Mail server (“Postfix, mail”)" in page
    assert "Not understood: “quokka”" in page
    assert "This table ignores: NVMe." in page
    assert "/?axis=fs-pair&workload=varmail&hypervisor=kvm&disks=nvme" in page


@pytest.mark.parametrize("query", ["vm_count=many", "disks=tape", "hypervisor=none-such"])
def test_all_choices_on_no_machine_are_not_found(client, query):
    assert client.get(f"/known/varmail/?{query}").status_code == 404


def test_an_axis_in_the_address_is_answered_whatever_the_text_leaves_open(client):
    page = client.get("/", {"text": "Postfix", "axis": "hypervisor", "workload": "varmail"})
    assert "/known/" not in page.get("Location", "")
