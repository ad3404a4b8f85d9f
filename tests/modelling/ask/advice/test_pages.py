"""The advisor: a personality or a job file goes in, and comes back as advice or with what is wrong with it."""

import io
import json
import re

import pytest
from django.test import Client

from kdb.api.schema import EXAMPLES
from kdb.api.shapes import shape_of
from modelling.ask.advice.content import Advice
from modelling.models import RankingSnapshot
from modelling.workloads.profiles import KNOWN, PERSONALITIES
from tests.modelling.answer_pages.test_pages import HTMX, text_of
from tests.test_architecture import ROOT

from .test_nearest import DATABASE, STREAM

pytestmark = pytest.mark.django_db
EXAMPLE = EXAMPLES["advice"]["body"]

PAGE = "/advisor/"
API = "/api/v1/advice/"
MISSPELT = "define fileset name=mails,path=/srv,entries=10,size=4k\n\ndefine flowop=name"
NAMES = {"varmail": "mail server", "fileserver": "file server", "webserver": "web server"}


def personality(workload: str) -> str:
    return (PERSONALITIES / f"{workload}.f").read_text()


def file_of(content: bytes) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = "load.f"
    return file


def ask_api(client, body):
    return client.post(API, data=body if isinstance(body, bytes) else json.dumps(body), content_type="application/json")


def field_errors(response) -> list[str]:
    return [
        " ".join(text.split()) for text in re.findall(r'class="field-error"[^>]*>([^<]+)<', response.content.decode())
    ]


# The page


@pytest.mark.sqlite
def test_the_page_offers_the_workloads_of_the_papers(client: Client, published_evidence):
    content = client.get(PAGE).content.decode()
    assert 'aria-current="true">Ask' in content
    for workload in KNOWN:
        response = client.get(f"{PAGE}?example={workload}")
        assert f'href="{PAGE}?example={workload}"' in content
        assert response.context["form"]["personality"].value() == personality(workload)


@pytest.mark.parametrize("workload", NAMES)
def test_a_known_workload_gets_its_own_answer(client: Client, published_evidence, workload):
    response = client.post(PAGE, {"personality": personality(workload), "hypervisor": "kvm"})
    answer = client.get("/", {"axis": "fs-pair", "workload": workload, "hypervisor": "kvm"})
    text = text_of(response)
    sentence = answer.context["sentence"]
    expected = f"As for a {NAMES[workload]}: {sentence[:1].lower()}{sentence[1:]}"
    assert " ".join(expected.split()) in " ".join(text.split())
    assert "nobody measured" not in text
    assert f'href="/?axis=fs-pair&amp;workload={workload}&amp;hypervisor=kvm"' in response.content.decode()


def test_a_transferred_answer_says_so(client: Client, published_evidence):
    text = text_of(client.post(PAGE, {"personality": (ROOT / "tests/data/wml/varmail-1.5.f").read_text()}))
    assert "nobody measured this load itself" in text


def test_a_load_like_nothing_known_is_told_so(client: Client, published_evidence):
    for load in (DATABASE, STREAM):
        text = text_of(client.post(PAGE, {"personality": load}))
        assert "Nothing that was measured is like this load." in text
        assert "its answer does not carry over" in text
        assert "As for" not in text


def test_a_file_is_read_like_a_text(client: Client, published_evidence):
    pasted = client.post(PAGE, {"personality": personality("webserver")})
    uploaded = client.post(PAGE, {"file": file_of(b"\xef\xbb\xbf" + personality("webserver").encode())})
    assert uploaded.status_code == 200
    assert text_of(uploaded) == text_of(pasted)


@pytest.mark.sqlite
def test_the_answer_that_carries_over_is_the_one_under_what_is_decided(client: Client, published_evidence):
    for decided in ({"hypervisor": "xen"}, {"hypervisor": "kvm", "host_fs": "ntfs"}):
        advice = client.post(PAGE, {"personality": personality("varmail"), **decided}).context["advice"]
        asked = {"axis": "fs-pair", "workload": "varmail", **decided}
        assert advice.nearest[0].verdict.sentence == client.get("/", asked).context["sentence"]


def test_an_empty_knowledge_base_has_no_advice_and_says_so(client: Client):
    response = client.post(PAGE, {"personality": personality("varmail")})
    assert response.status_code == 200
    assert "The knowledge base is empty" in text_of(response)


# Refusals


def test_a_refused_personality_stays_in_its_field_with_line_column_and_reason(client: Client, published_evidence):
    text = personality("varmail").replace("flowop fsync name=storesync", "flowop fsnyc name=storesync")
    for headers, status in (({}, 400), (HTMX, 422)):
        response = client.post(PAGE, {"personality": text}, **headers)
        assert response.status_code == status
        content = response.content.decode()
        assert "Line 21, column 12: there is no flowop &#x27;fsnyc&#x27;; did you mean &#x27;fsync&#x27;?" in content
        assert response.context["form"]["personality"].value() == text
        assert "<mark>fsnyc name=storesync,fd=1</mark>" in content
        assert 'aria-invalid="true"' in content


def test_the_lines_of_a_text_from_a_browser_are_counted_right(client: Client, published_evidence):
    response = client.post(PAGE, {"personality": "\r\n\r\nset $a=1\r\nflowop x\r\n"})
    assert field_errors(response)[0].startswith("Line 4, column 1:")
    assert "<mark>flowop x</mark>" in response.content.decode()


NOT_ADVISED_ON = [
    ({}, "Give a personality or a job file."),
    ({"personality": " \n"}, "Give a personality or a job file."),
    ({"personality": "[a]\nrw=read", "hypervisor": "qvm"}, "is not known here"),
    ({"personality": "[a]\nrw=read", "host_fs": "\0"}, "Null characters are not allowed."),
]


@pytest.mark.sqlite
def test_what_cannot_be_advised_on_names_the_field(client: Client, published_evidence):
    for data, complaint in NOT_ADVISED_ON:
        response = client.post(PAGE, data)
        assert response.status_code == 400, data
        assert complaint in " ".join(field_errors(response))


# Hostile input


def test_html_in_a_personality_is_shown_and_not_obeyed(client: Client, published_evidence):
    attack = "</textarea><script>alert(1)</script>"
    load = DATABASE.replace("name=query", 'name="<script>alert(1)</script>"') + f"# {attack}\n"
    for text in (load, attack, f"define fileset name={attack}", f'set $a="{attack}"\nload {attack}'):
        response = client.post(PAGE, {"personality": text})
        assert response.status_code in (200, 400)
        assert b"<script>alert" not in response.content
        assert response.content.count(b"</textarea>") == 1


def test_what_is_no_text_is_refused_by_its_place(client: Client, published_evidence):
    for content in [b"set $a=1\0", b"\xff\xfes\0e\0t\0", b"set $a=\xe9", bytes(range(256))]:
        response = client.post(PAGE, {"file": file_of(content)})
        assert response.status_code == 400, content
        assert re.match(r"Line 1, column \d+: a character that the language does not have", field_errors(response)[0])
        assert b"\0" not in response.content


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"personality": "a" * (2**20 + 1)}, 400),
        ({"file": b"#" * (2**20 + 1)}, 400),
    ],
)
def test_what_is_too_long_is_refused(client: Client, published_evidence, data, status):
    data = {name: file_of(value) if isinstance(value, bytes) else value for name, value in data.items()}
    response = client.post(PAGE, data)
    assert response.status_code == status
    assert "1 MiB" in " ".join(field_errors(response))


def test_a_post_without_its_token_is_refused(published_evidence):
    client = Client(enforce_csrf_checks=True)
    assert client.post(PAGE, {"personality": personality("varmail")}).status_code == 403
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get(PAGE).content.decode())[1]
    data = {"personality": personality("varmail"), "csrfmiddlewaretoken": token}
    assert client.post(PAGE, data).status_code == 200


# In place


def test_htmx_gets_the_fragment(client: Client, published_evidence):
    response = client.post(PAGE, {"personality": personality("varmail")}, **HTMX)
    assert response.status_code == 200
    assert b"<html" not in response.content
    assert b'id="advisor"' in response.content
    assert b"Advice for a load of your own" in response.content
    assert "HX-Request" in response["Vary"]


# The API


def test_page_and_api_agree(client: Client, published_evidence):
    for workload in KNOWN:
        asked = {"personality": personality(workload), "hypervisor": "kvm"}
        advice = client.post(PAGE, asked).context["advice"]
        assert ask_api(client, asked).json() == json.loads(json.dumps(shape_of(Advice)(advice).data))


def test_the_api_refuses_a_personality_with_line_and_column(client: Client, published_evidence):
    response = ask_api(client, {"personality": MISSPELT})
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    (error,) = response.json()["errors"]
    assert (error["field"], error["line"]) == ("personality", 3)
    assert error["message"].startswith(f"Line 3, column {error['column']}: ")


AT_FAULT = [
    ({}, "personality"),
    ({"personality": 1}, "personality"),
    ({"personality": "\ud800"}, "personality"),
    ({"shares": {"random_read": 1}}, "shares"),
    ({"personality": "[a]\nrw=read", "hypervisor": "qvm"}, "hypervisor"),
]


@pytest.mark.sqlite
def test_the_api_names_what_is_at_fault(client: Client, published_evidence):
    for body, field in AT_FAULT:
        response = ask_api(client, body)
        assert response.status_code == 400, body
        assert [error["field"] for error in response.json()["errors"]] == [field], body


def test_the_api_reads_json_alone_and_answers_a_post_alone(client: Client, published_evidence):
    assert client.post(API, {"personality": "x"}).status_code == 415
    assert client.get(API).status_code == 405
    assert ask_api(client, EXAMPLE).headers["Cache-Control"] == "no-store"


def test_the_api_needs_no_token_and_sets_no_cookie(published_evidence):
    response = ask_api(Client(enforce_csrf_checks=True), EXAMPLE)
    assert response.status_code == 200
    assert not response.cookies


# Cost


def test_advice_on_kept_answers_costs_few_queries_and_stores_nothing(
    client: Client, published_evidence, django_assert_max_num_queries
):
    asked = {"personality": personality("varmail"), "hypervisor": "kvm"}
    client.post(PAGE, asked)
    kept = RankingSnapshot.objects.count()
    with django_assert_max_num_queries(5):
        client.post(PAGE, asked)
    assert RankingSnapshot.objects.count() == kept


@pytest.mark.sqlite
def test_a_fio_job_file_is_advised_like_a_personality(client, published_evidence):
    job = b"[mail]\nrw=randrw\nrwmixread=50\nbs=16k\nfsync=1\nioengine=libaio\n"
    text = text_of(client.post(PAGE, {"file": file_of(job)}))
    assert "Not read: ioengine." in text
    assert "metadata operations are taken to be none" in text
    assert ask_api(client, {"personality": job.decode()}).json()["profile"]["flush_share"] == pytest.approx(1 / 3)
    refused = ask_api(client, {"personality": "[mail]\nrw=trim\n"})
    assert "Line 2, column 1: rw=trim: allowed are read" in str(refused.json())


def test_of_many_notes_the_first_are_told(client: Client, published_evidence):
    text = 'system "x"\n' * 10_000 + personality("varmail")
    assumptions = ask_api(client, {"personality": text}).json()["assumptions"]
    assert "9,980 more notes like these are left out." in assumptions
    assert len(assumptions) < 30
