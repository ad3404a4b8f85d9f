"""The guides of docs/guides: what each has to say, their pages, and the words that lead to them."""

import csv
import re
import shlex

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kdb.disk_path import SETTINGS
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers.measured import dot_charts
from modelling.ask.guides.selectors import guides_for, most_measured_workload, workload_rows
from modelling.ask.selectors import read_text
from modelling.evidence import choices, names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.guidance import loading
from modelling.guidance.guide_texts import FOLDER, guides
from tests.factories import STORAGES, make_case_study, make_measurement, make_variant, publish

LONGEST = 120  # words
GUIDES = pytest.mark.parametrize("slug", sorted(guides()))
CODES = {row["id"] for row in csv.DictReader(loading.PATH.read_text().splitlines())}


def text_of(slug: str) -> str:
    return (FOLDER / f"{slug}.md").read_text()


def published(workload: str) -> None:
    case_study = make_case_study()
    for guest_fs, value in (("ext4", 100.0), ("xfs", 400.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload=workload)
    publish(case_study)
    choices.clear_cache()
    names.clear_cache()


def queries_of(client, address: str) -> int:
    for kept in caches.all(initialized_only=True):
        kept.clear()
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
        return len(queries)


# The texts


def test_every_file_is_in_the_list_of_the_readme():
    assert {path.stem for path in FOLDER.glob("*.md")} - {"README"} == set(guides())
    table = (FOLDER / "README.md").read_text()
    assert all(f"| [{one.title}]({one.slug}.md) | {one.recommendation} |" in table for one in guides().values())


@GUIDES
def test_a_guide_says_first_what_to_do_then_what_it_risks_and_how_to_test_it(slug):
    guide, text = guides()[slug], text_of(slug)
    recommendation, _, rest = text.partition("\n\n**")[2].partition("**\n\n")
    prose = re.sub(r"^    .*$", "", rest, flags=re.M)
    assert guide.title == text.splitlines()[0].removeprefix("# ")
    assert guide.recommendation == " ".join(recommendation.split())
    assert guide.recommendation.endswith(".")
    assert len(recommendation.split()) + len(prose.split()) <= LONGEST
    assert prose.index("**Risk to data.**") < prose.index("**Test it.**")
    assert len(guide.questions) > 2
    assert "<h1>" not in guide.html


@GUIDES
def test_a_guide_is_about_an_axis_that_exists_and_cites_advice_that_exists(slug):
    guide = guides()[slug]
    assert guide.axis in {*AXES, ""}
    assert set(guide.sources) <= CODES
    assert len(set(guide.sources)) == len(guide.sources) > 1


@GUIDES
def test_the_command_of_a_guide_names_settings_and_storages_that_exist(slug):
    lines = re.findall(r"^    (kdb measure .*)$", text_of(slug), re.M)
    assert len(lines) == 1 or slug in ("hypervisor", "memory-for-caches")
    for line in lines:
        words = shlex.split(line)
        for stated in (part for word in words for part in word.split(",")[1:] if "=" in part):
            column, _, value = stated.partition("=")
            known = {one.name for one in SETTINGS[column].values}
            assert value in known or (SETTINGS[column].is_bytes and value.isdigit())
        storages = [words[place + 1].partition("=")[2] for place, word in enumerate(words) if word == "--disk"]
        assert set(storages) <= {"dir-ext4", "dir-xfs", *(row["slug"] for row in STORAGES)}


def test_every_setting_that_makers_advise_on_has_a_guide():
    told = {row["axis"] for row in csv.DictReader(loading.PATH.read_text().splitlines())}
    assert (told & set(AXES)) - {guide.axis for guide in guides().values()} == set()


# The words that lead to them


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("qcow2 or raw?", ["image-format"]),
        ("raw vs. qcow2 for a mail server", ["image-format"]),
        ("which volblocksize for MariaDB?", ["volume-block-size"]),
        ("is writeback safe?", ["cache-mode"]),
        ("ist das schnell", []),
        ("mail server on ZFS", []),
        ("btrfs on btrfs", ["copy-on-write-twice"]),
        ("Which cache mode for snapshots in use?", ["cache-mode", "snapshots"]),
    ],
)
def test_words_lead_to_the_guide_that_answers_them(text, slugs):
    assert [guide.slug for guide in guides_for(text)] == slugs


@GUIDES
def test_every_question_of_a_guide_leads_to_it(slug):
    for question in (guides()[slug].title, *guides()[slug].questions):
        assert slug in [guide.slug for guide in guides_for(question)], question


@pytest.mark.django_db
@pytest.mark.usefixtures("published_evidence")
@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("qcow2 or raw?", '<a href="/guides/image-format/">Guide: Image format</a>'),
        ("which volblocksize for MariaDB?", '<a href="/guides/volume-block-size/">Guide: Block size of volumes</a>'),
        ("is writeback safe?", '<a href="/guides/cache-mode/">Guide: Cache mode</a>'),
    ],
)
def test_a_guide_stands_beside_the_answer_and_does_not_replace_it(client, text, link):
    assert link in client.get("/", {"text": text}, follow=True).content.decode()
    assert link.split(">Guide")[0].split('"')[1] in client.get("/search/", {"q": text}).content.decode()
    read = read_text(text)
    assert read.readings or read.pages


@pytest.mark.django_db
def test_a_comparison_that_words_led_to_links_to_the_guide(client):
    published("varmail")
    asked = {"axis": "guest-fs", "workload": "varmail", "a": "ext4", "b": "xfs", "text": "ext4 or xfs in the guest?"}
    page = client.get("/compare/", asked).content.decode()
    assert '<a href="/guides/guest-file-system/">Guide: Guest file system</a>' in page


# The pages


@pytest.mark.django_db
@GUIDES
def test_the_page_of_a_guide_has_its_text_and_what_makers_say(client, slug):
    loading.load()
    page = client.get(f"/guides/{slug}/").content.decode()
    assert "Risk to data." in page
    assert "This is advice, not measurement" in page
    assert ("By workload" in page) == bool(guides()[slug].axis)


@pytest.mark.django_db
def test_a_guide_shows_the_recommendation_of_the_answer_that_is_kept(client):
    published("varmail")
    make_variant("webserver")
    names.clear_cache()
    answer = answer_in(current_snapshot(Question("guest-fs", "varmail")))
    asked, left_open = workload_rows("guest-fs")
    assert (asked.recommended, asked.strength, asked.groups) == ("xfs", answer.verdict.strength, 1)
    assert asked.address == "/?axis=guest-fs&workload=varmail"
    assert (left_open.recommended, left_open.address) == ("", "/?axis=guest-fs&workload=webserver")
    page = client.get("/guides/guest-file-system/").content.decode()
    assert "<td>xfs</td>" in page
    assert "1 group<" in page
    assert "Other workloads: <a" in page


@pytest.mark.django_db
def test_a_guide_draws_what_was_measured_as_the_answer_of_its_workload_does(client):
    published("varmail")
    answer = answer_in(current_snapshot(Question("guest-fs", "varmail")))
    row, chart = most_measured_workload("guest-fs", workload_rows("guest-fs"))
    assert (row.workload, [chart]) == ("varmail", dot_charts(answer, 1))
    page = client.get("/guides/guest-file-system/").content.decode()
    assert f'Measured under <a href="{row.address}">'.replace("&", "&amp;") in page
    assert 'class="dots"' in page
    assert 'class="dots"' not in client.get("/guides/cache-mode/").content.decode()  # nobody measured it


@pytest.mark.django_db
def test_a_guide_shows_defaults_and_where_makers_disagree(client):
    loading.load()
    page = client.get("/guides/cache-mode/").content.decode()
    assert "Makers disagree" in page
    assert "If you set nothing" in page
    assert 'href="/guidance/kv-disks-01/"' in page


@pytest.mark.django_db
def test_the_list_has_every_guide_and_no_page_is_made_up(client):
    page = client.get("/guides/").content.decode()
    assert all(f'href="{guide.address}"' in page for guide in guides().values())
    assert client.get("/guides/raid-on-tape/").status_code == 404


@pytest.mark.django_db
def test_a_guide_costs_as_many_queries_with_many_workloads_as_with_one(client):
    loading.load()
    published("varmail")
    current_snapshot(Question("guest-fs", "varmail"))
    one = queries_of(client, "/guides/guest-file-system/")
    for workload in ("webserver", "fileserver", "database"):
        published(workload)
        current_snapshot(Question("guest-fs", workload))
    assert queries_of(client, "/guides/guest-file-system/") == one
