"""From a file to published knowledge in the browser: a researcher's way, then a reviewer's."""

import threading
from collections.abc import Iterator

import pytest
from django.db import close_old_connections, connection

from experiments import jobs
from experiments.models import CaseStudy, Job, Measurement
from tests.factories import make_user

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


def test_from_a_file_to_published_knowledge(page, live_server, published_evidence, worker, tmp_path):
    make_user("researchers", username="ada", password=PASSWORD)
    make_user("reviewers", username="rev", password=PASSWORD)
    (tmp_path / "results.csv").write_text(TABLE)

    sign_in(page, live_server, "ada")
    page.get_by_role("link", name="Begin a case study").click()
    page.get_by_label("Title").fill("Mail in my laboratory")
    page.get_by_label("Short name").fill("my-lab")
    page.get_by_label("Disks", exact=True).fill("Two SSDs")
    page.get_by_role("button", name="Begin").click()

    page.get_by_label("Result files").set_input_files(tmp_path / "results.csv")
    page.get_by_role("button", name="Upload and read").click()
    page.get_by_text("Nothing was filed: 1 unknown name.").wait_for()
    page.get_by_text("It is a new file system").click()
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


def test_pages_of_imports_fit_a_phone(page, live_server, published_evidence, worker, tmp_path):
    make_user("researchers", username="ada", password=PASSWORD)
    (tmp_path / "results.csv").write_text(TABLE)
    page.set_viewport_size({"width": 360, "height": 800})
    sign_in(page, live_server, "ada")
    for address in ("drafts/", "drafts/new/", "accounts/"):
        page.goto(f"{live_server.url}/{address}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address
