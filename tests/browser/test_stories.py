"""Stories of people in the browser, from the first page to the end: an administrator, a researcher with a reviewer, the
author of a program. The operator's story is in tests/experiments/laboratory/test_story.py.
"""

import csv
import io
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import close_old_connections, connection
from playwright.sync_api import expect

from experiments.case_studies import reviews
from experiments.models import CaseStudy, Measurement
from kdb.jobs import jobs
from kdb.models import Job
from modelling.workloads.profiles import PERSONALITIES
from tests.factories import make_case_study, make_import, make_measurement, make_user

PASSWORD = "correct horse 7"
TABLE = """hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit
KVM,ext4,ext4,mail,filebench,1.4.9.1,1,10.5,MiB/s
KVM,ext4,ZFS,mail,filebench,1.4.9.1,1,8.5,MiB/s
"""


@pytest.fixture
def worker(transactional_db) -> Iterator[None]:
    """Does what is queued, as the worker process does."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.2):
            close_old_connections()
            for pk in Job.objects.filter(state=Job.State.QUEUED).values_list("pk", flat=True):
                jobs.run(pk)
        connection.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()


def sign_in(page, live_server, name: str) -> None:
    page.goto(f"{live_server.url}/accounts/login/?next=/drafts/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/drafts/")


# The administrator: which pair for my mail server, what to avoid, why, how sure?


def test_what_now_for_mail_on_kvm_with_nvme_on_a_phone(page, live_server, published_evidence):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(live_server.url)
    page.get_by_label("What do you want to run, on what?").fill("KVM, NVMe, mail, quokka")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("Not understood: “quokka”").wait_for()
    page.get_by_role("link", name="File-system pair", exact=True).click()
    expect(page).to_have_title("Mail server on KVM: which file-system pair? · KDB")
    assert page.get_by_label("Kind of disks", exact=True).input_value() == "nvme"
    for phrase in (
        re.compile(r"^Start with (Btrfs on ext4|ext4 on ext4|ext4 on XFS)\."),
        "Low confidence: published lists (2022, hard disks) put it among the best",  # strength and basis
        "Your NVMe was never measured here: all evidence is from hard disks.",  # fit
    ):
        place = page.locator("#answer").get_by_text(phrase).first.bounding_box()
        assert place["y"] + place["height"] < 2 * 740 + page.evaluate(
            "document.querySelector('#answer').getBoundingClientRect().top"
        )
    page.get_by_role("link", name="Evidence", exact=True).last.click()
    page.get_by_role("heading", name="Your machine against that of the evidence").wait_for()
    page.get_by_role("cell", name="differs").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360

    page.get_by_text("Change the question").click()
    page.get_by_label("Hypervisor", exact=True).select_option("hyper-v")
    page.locator('optgroup[label="No comparison yet"] option', has_text="ext4").first.wait_for(state="attached")
    page.get_by_role("button", name="Ask").click()
    expect(page).to_have_title("Mail server on Hyper-V: which file-system pair? · KDB")
    assert page.get_by_text("Plan a campaign that measures it").count() == 0  # it is for operators


def test_an_administrator_finds_what_to_use_and_why(page, live_server, published_evidence):
    page.goto(live_server.url)
    page.get_by_text("Say more").click()
    page.get_by_label("Workload").select_option("varmail")
    page.get_by_label("Hypervisor", exact=True).select_option("kvm")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("published lists (2022, hard disks) put it among the best").wait_for()
    page.get_by_role("heading", name="Published order, without numbers").wait_for()
    assert "XFS on Btrfs" in page.locator(".shelf-worst").inner_text()
    page.get_by_role("heading", name="Every pair at a glance").wait_for()
    page.get_by_role("link", name="Why", exact=True).click()
    page.get_by_role("heading", name=re.compile("^Why .* rather than XFS on Btrfs")).wait_for()
    assert page.locator(".data-path li").count() == 7
    page.get_by_role("heading", name="What can be the cause").click()
    assert page.locator(".data-path li.differs strong").all_inner_texts() == [
        "Guest file system",
        "Host file system with its cache",
    ]

    page.get_by_text("Change the question").click()
    page.get_by_label("Workload").select_option("fileserver")
    page.get_by_label("Hypervisor", exact=True).select_option("")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("Low confidence:").first.wait_for()
    page.get_by_role("row", name=re.compile("^1 .+ start with")).wait_for()
    page.get_by_role("link", name="Set-up and units", exact=True).click()
    page.get_by_role("heading", name="More machines at once").wait_for()
    page.get_by_role("row", name="Xen").first.wait_for()

    page.goto(f"{live_server.url}/compare/")
    page.get_by_label("What to choose").select_option("hypervisor")
    # The lists follow the axis.
    page.get_by_label("First", exact=True).locator("option[value=kvm]").wait_for(state="attached")
    page.get_by_label("Workload").select_option("fileserver")
    for name, key in (("First", "kvm"), ("Second", "hyper-v"), ("Third", "esxi")):
        page.get_by_label(name, exact=True).select_option(key)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="Why KVM rather than Hyper-V").wait_for()
    page.get_by_role("link", name="Side by side", exact=True).click()
    row = page.get_by_role("row", name="KVM against Hyper-V").inner_text()
    assert "side by side" in row
    assert "host file system" in row
    page.get_by_role("link", name="What differs", exact=True).click()
    page.get_by_role("rowheader", name="Hypervisor", exact=True).wait_for()

    page.get_by_title("Hyper-V and KVM under full virtualisation on an IBM x3650 M3").first.click()
    page.get_by_role("heading", name="Fair-play audit").wait_for()
    number = page.locator("a.value").first
    number.focus()
    tip = page.get_by_role("tooltip")
    tip.wait_for()
    assert "Filebench" in tip.inner_text()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    number.hover()
    assert tip.is_visible()


def test_a_visitor_asks_in_his_own_words_then_for_a_mix_then_with_a_file(page, live_server, published_evidence):
    page.goto(live_server.url)
    page.get_by_role("searchbox").first.fill("Proxmox or ESXi for files?")
    page.keyboard.press("Enter")
    page.get_by_role("link", name=re.compile("Proxmox VE or ESXi")).first.click()
    page.wait_for_url("**/compare/?**")
    page.get_by_text("Low confidence:").first.wait_for()

    page.get_by_role("navigation").get_by_role("link", name="Ask", exact=True).click()
    page.get_by_role("link", name="a mix of workloads").click()
    page.get_by_label("Mail server, share").fill("40")
    page.get_by_label("Web server, share").fill("60")
    page.get_by_label("What to choose").select_option("hypervisor")
    page.get_by_role("button", name="Rank").click()
    page.get_by_role("heading", name="40 % Mail server, 60 % Web server").wait_for()
    page.get_by_role("heading", name="Each workload by itself").wait_for()
    page.get_by_role("link", name="Permanent address of this mix").click()
    page.get_by_text("As of knowledge revision 1.").wait_for()

    page.goto(live_server.url)
    page.get_by_role("link", name="have a job file read").click()
    page.get_by_label("or a file").set_input_files(PERSONALITIES / "fileserver.f")
    page.get_by_role("button", name="Advise").click()
    page.get_by_text("Recognised: 73 % metadata operations").wait_for()
    page.get_by_role("link", name="File server: which file-system pair?").first.click()
    page.wait_for_url("**/?axis=fs-pair&workload=fileserver**")


def test_what_is_on_the_page_is_saved_in_full(page, live_server, published_evidence, client):
    page.goto(f"{live_server.url}/?axis=hypervisor&workload=fileserver&tab=ranking")
    entries = client.get("/api/v1/rankings/hypervisor/?workload=fileserver").json()["entries"]

    def saved(name: str) -> bytes:
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        return Path(download.value.path()).read_bytes()

    page.get_by_text("All numbers, and what they mean").click()
    page.get_by_text("Save", exact=True).click()
    rows = list(csv.DictReader(io.StringIO(saved("Save All numbers as CSV").decode())))
    assert [(row["Entry"], float(row["On other machines, 95 %, low"])) for row in rows] == [
        (entry["label"], entry["low"]) for entry in entries
    ]
    table = json.loads(saved("Save Ranking as JSON"))
    assert [row[f"Throughput relative to {entries[0]['label']}"] for row in table["rows"]] == [
        entry["ratio"] for entry in entries
    ]
    assert table["source"] == page.url
    drawn = json.loads(saved("Save chart Measured order as JSON"))["rows"]
    assert [(row["name"], row["value"], row["high"]) for row in drawn] == [
        (entry["label"], entry["ratio"], entry["high"]) for entry in entries
    ]
    assert len(saved("Save chart Measured order as CSV").splitlines()) == len(entries) + 1
    assert saved("Save chart Measured order as PNG").startswith(b"\x89PNG")
    image = saved("Save chart Measured order as SVG").decode()
    assert image.startswith("<svg")
    assert all(f">{entry['label']}</text>" in image for entry in entries)
    page.locator(".ranking tbody th", has_text=entries[0]["label"]).first.evaluate(
        "cell => { cell.textContent = '=1+1'; }"
    )
    assert next(csv.DictReader(io.StringIO(saved("Save Ranking as CSV").decode())))["Entry"] == "'=1+1"


# The researcher: is my case study valid, what does it change, where does it stand for good?


def test_from_a_file_to_published_knowledge(page, live_server, published_evidence, worker, tmp_path):
    make_user("researchers", username="ada", password=PASSWORD)
    make_user("reviewers", username="rev", password=PASSWORD)
    (tmp_path / "results.csv").write_text(TABLE)

    sign_in(page, live_server, "ada")
    page.get_by_role("link", name="Begin a case study").click()
    page.get_by_label("Title").fill("Mail in my laboratory")
    page.get_by_label("Short name (in addresses)").fill("my-lab")
    page.get_by_label("Disks", exact=True).fill("Two SSDs")
    page.get_by_label("How it was measured").fill("Filebench as it comes, once on each file system.")
    page.get_by_role("button", name="Begin").click()

    page.get_by_label("Result files").set_input_files(tmp_path / "results.csv")
    page.get_by_role("button", name="Upload and read").click()
    page.get_by_text("Nothing was filed: 1 unknown name.").wait_for()
    page.get_by_text("Describe it as a new file system").click()
    page.get_by_label("Slug").fill("zfs")
    page.get_by_label("Name", exact=True).fill("ZFS")
    page.get_by_role("button", name="Read again with this").click()
    page.get_by_text("2 measurements from 1 file would come in").wait_for()
    page.get_by_role("button", name="Confirm: file 2 measurements").click()
    page.get_by_text("2 measurements from 1 file: in the case study my-lab.").wait_for()
    assert Measurement.objects.filter(configuration__case_study__slug="my-lab").count() == 2

    page.get_by_role("link", name="Back to the case study").click()
    page.get_by_role("link", name="What it would change in the rankings").click()
    page.get_by_role("button", name="Work it out").click()
    page.get_by_role("rowheader", name="ZFS on ext4").first.wait_for()
    page.goto(f"{live_server.url}/drafts/my-lab/")
    page.get_by_role("button", name="Submit for review").click()
    page.get_by_text("submitted for review").first.wait_for()

    page.context.clear_cookies()
    sign_in(page, live_server, "rev")
    page.get_by_role("link", name="Mail in my laboratory").click()
    page.get_by_label("Reason").first.fill("Checked against the files.")
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="Mail in my laboratory").wait_for()
    assert CaseStudy.objects.get(slug="my-lab").status == "published"

    page.context.clear_cookies()
    page.goto(f"{live_server.url}/case-studies/my-lab/")
    assert page.get_by_role("link", name="results.csv").is_visible()
    assert "@misc" in page.request.get(f"{live_server.url}/case-studies/my-lab/citation.bib").text()

    now = f"{live_server.url}/?axis=guest-fs&workload=varmail&hypervisor=kvm"
    page.goto(f"{now}&tab=ranking")
    for _ in range(600):  # the answer of before is shown until a worker has made the new one
        if page.get_by_role("row", name="ZFS").count():
            break
        page.wait_for_timeout(500)
        page.reload()
    page.get_by_role("link", name="Evidence", exact=True).last.click()
    page.get_by_role("heading", name="Case studies", exact=True).wait_for()
    assert page.get_by_role("link", name="Mail in my laboratory").first.is_visible()
    page.goto(f"{now}&tab=ranking&as_of=1")
    page.get_by_text("As of knowledge revision 1.").wait_for()
    assert page.get_by_role("row", name="ZFS").count() == 0


# The author of a program: the same answers as data


def test_the_author_of_a_program_finds_the_data_and_gets_a_token(page, live_server, published_evidence):
    page.goto(f"{live_server.url}/?axis=hypervisor&workload=fileserver&tab=history")
    address = page.get_by_role("link", name="JSON", exact=True).get_attribute("href")
    answer = page.request.get(f"{live_server.url}{address}")
    page.get_by_role("link", name="Ranking", exact=True).click()
    page.locator("table.ranking").first.wait_for()
    shown = [row.inner_text() for row in page.locator("table.ranking").first.locator("tbody th").all()]
    assert [" ".join(text.split()) for text in shown] == [
        f"{entry['label']} {entry['recommended']}".strip() for entry in answer.json()["entries"]
    ]
    again = page.request.get(f"{live_server.url}{address}", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status == 304
    rows = csv.DictReader(io.StringIO(page.request.get(f"{live_server.url}{address}&format=csv").text()))
    assert [row["key"] for row in rows] == [entry["key"] for entry in answer.json()["entries"]]

    page.get_by_role("link", name="API").first.click()
    page.get_by_role("link", name="Every address").click()
    page.get_by_text("/api/v1/advice/").first.wait_for()

    make_user("researchers", username="ada", password=PASSWORD)
    sign_in(page, live_server, "ada")
    page.goto(f"{live_server.url}/accounts/")
    page.get_by_label("Where it is used").fill("nightly")
    page.get_by_role("button", name="Make it").click()
    key = page.locator("section[role=alert] code").inner_text()
    page.context.clear_cookies()
    sent = {"Authorization": f"Bearer {key}"}
    fields = {"slug": "nightly", "title": "Nightly", "storage": {"description": "Two SSDs"}}
    assert page.request.post(f"{live_server.url}/api/v1/drafts/", data=fields, headers=sent).status == 201
    assert page.request.post(f"{live_server.url}/api/v1/drafts/", data=fields).status == 401
    page.goto(live_server.url)
    assert page.evaluate("document.documentElement.innerHTML.includes('kdb_')") is False


# The reviewer: what waits, is it sound, what has to be mended, is it now?


@pytest.mark.nightly
def test_a_reviewers_afternoon(page, live_server, published_evidence, worker):
    author = make_user("researchers", username="ada")
    make_user("reviewers", username="rev", password=PASSWORD)
    draft = make_case_study("my-lab", title="Mail in my laboratory", owner=author)
    for guest_fs, value in (("ext4", 10.5), ("xfs", 8.5)):
        make_measurement(value, case_study=draft, guest_fs=guest_fs, workload="varmail")
    reviews.submit(draft, user=author)

    sign_in(page, live_server, "rev")
    page.get_by_role("navigation", name="Account").get_by_role("link", name="1 review").click()
    page.get_by_role("link", name="Mail in my laboratory").click()
    page.get_by_role("link", name="What it would change in the rankings").click()
    page.get_by_role("button", name="Work it out").click()
    page.get_by_text("Compared with knowledge revision 1.").wait_for()
    page.goto(f"{live_server.url}/drafts/my-lab/")
    page.get_by_text("Give it back to its author").click()
    page.locator("#return_reason").fill("Which kernel was it?")
    page.get_by_role("button", name="Give back").click()
    page.get_by_role("heading", name="Unpublished case studies").wait_for()
    assert page.get_by_role("link", name="1 review").count() == 0

    waiting = make_import(draft, uploaded_by=author, state="ready")
    page.context.clear_cookies()
    author.set_password(PASSWORD)
    author.save()
    sign_in(page, live_server, "ada")
    page.get_by_role("link", name="1 draft", exact=True).click()
    page.get_by_role("link", name="Mail in my laboratory").click()
    page.get_by_text("returned to its author by rev (Which kernel was it?)").wait_for()
    assert page.get_by_role("button", name="Submit for review").count() == 0
    page.get_by_role("link", name=f"Open import {waiting.pk}").click()
    page.get_by_role("button", name="Discard").click()
    page.get_by_text("Discarded: nothing of it is in the case study.").wait_for()
    page.goto(f"{live_server.url}/drafts/my-lab/")
    page.get_by_role("button", name="Submit for review").click()
    page.get_by_text("submitted for review").first.wait_for()

    page.context.clear_cookies()
    sign_in(page, live_server, "rev")
    page.goto(f"{live_server.url}/drafts/my-lab/")
    page.get_by_label("Reason").first.fill("The kernel is named now.")
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="Mail in my laboratory").wait_for()
    assert CaseStudy.objects.get(slug="my-lab").status == "published"


# The phone reader: somebody sent me this; what does it say, how sure, on what does it rest?


def test_a_phone_reader_of_a_shared_link_sees_strength_and_basis_first(page, live_server, published_evidence):
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{live_server.url}/?axis=hypervisor&workload=fileserver&as_of=1")
    answer = page.locator("#answer .answer-head")
    for shown in (answer.locator(".recommendation"), answer.get_by_text("Low confidence: one research group").first):
        box = shown.bounding_box()
        assert box["y"] + box["height"] <= 800, shown.inner_text()
    assert page.get_by_text("As of knowledge revision 1.").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.get_by_role("link", name="Contribute").count() == 0
