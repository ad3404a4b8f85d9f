"""An operator's way from observed machines to a plan and a move, in the browser."""

from datetime import timedelta

from django.utils.timezone import now

from experiments.models import FileSystem, Workload
from modelling.fleet.moving import outcomes
from modelling.models import PlacementMove, PlacementPolicy
from modelling.own_lab import laboratories
from tests.factories import entry, make_minutes, make_pool, make_user
from tests.modelling.fleet.moving.fleets import mail_server, numbers_for_xfs, observed_host
from tests.modelling.fleet.moving.test_measured_pools import NVME, detected, measure

PASSWORD = "correct horse 7"


def sign_in(page, live_server) -> None:
    page.goto(f"{live_server.url}/accounts/login/?next=/placement/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def test_from_observed_machines_to_a_move(page, live_server, transactional_db):
    numbers_for_xfs()
    host = observed_host(registered_by=make_user("operators", username="ada", password=PASSWORD))
    mail_server(host, "mail-1")
    mail_server(host, "asleep", is_running=False)
    sign_in(page, live_server)
    page.get_by_role("link", name="State the mix of mail-1").click()
    page.get_by_label("Workload and share").fill("varmail 3")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("checkbox", name="kvm-1").check()
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("heading", name="Move 1 of 1.").wait_for()
    assert "Move from kvm-1/srv/ext4 to kvm-1/srv/xfs." in page.get_by_role("article").inner_text()
    assert "asleep: it does not run" in page.get_by_role("main").inner_text()
    plan = page.url

    page.get_by_role("link", name="Why there rather than here (kvm-1/mail-1)").click()
    page.get_by_role("heading", level=1).wait_for()
    assert "ext4" in page.get_by_role("main").inner_text()

    page.goto(plan)
    page.get_by_role("button", name="Move what is ticked").click()
    page.get_by_role("link", name="being copied").click()
    page.get_by_text("The machine runs from its old image").wait_for()
    page.get_by_role("button", name="Call off").click()
    page.get_by_text("called off", exact=False).first.wait_for()
    page.get_by_role("link", name="Placement", exact=True).first.click()
    page.get_by_role("link", name="Policy of kvm-1").click()
    page.get_by_label("What may be done").select_option("confirm")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("a person confirms each plan").wait_for()


def test_a_load_that_detection_told_is_planned_for_and_its_move_is_judged_and_taken_back(
    page, live_server, transactional_db
):
    """A short version of test_detect_plan_move; the test writes the results of the workers into the database."""
    for kind, slug in ((FileSystem, "ext4"), (Workload, "varmail"), (Workload, "fileserver")):
        entry(kind, slug)
    ada = make_user("operators", username="ada", password=PASSWORD)
    host = observed_host(registered_by=ada)
    make_pool(host, NVME, name="fast", host_fs="ext4", is_target=True)
    machine = mail_server(host)
    laboratory = laboratories.create_laboratory(ada, "ours", "Our laboratory")
    PlacementPolicy.objects.create(host=host, laboratory=laboratory)
    measure(laboratory, ratio=6.0)
    detected(host, shares={"varmail": 30}, certainty=18.0)
    sign_in(page, live_server)
    page.get_by_role("checkbox", name="kvm-1").check()
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("heading", name="Move 1 of 1.").wait_for()
    assert "four runs under 60 % of its load" in page.get_by_role("article").inner_text()
    page.get_by_role("checkbox", name="kvm-1/mail-1").check()  # it may lose with 7 %, so a person has to tick it
    page.get_by_role("button", name="Move what is ticked").click()
    page.get_by_role("link", name="being copied").click()
    page.get_by_text("The machine runs from its old image").wait_for()

    at = now().replace(second=0, microsecond=0)
    ran = {"state": "kept", "runs_from": "new", "started_at": at, "switched_at": at, "keep_until": at}
    PlacementMove.objects.update(**ran, new_path=f"{NVME}/mail-1.raw")
    make_minutes(machine, 300, begin=at - timedelta(hours=7))
    make_minutes(machine, 300, begin=at, read_seconds=0.2, write_seconds=4.0, flush_seconds=3.0)
    move = PlacementMove.objects.get()
    PlacementMove.objects.update(outcome=outcomes.judge(move))
    page.reload()
    after = page.get_by_role("region", name="Before and after")
    assert "A request is served 3" in after.inner_text()
    page.get_by_role("button", name="Move back").click()
    page.get_by_text("It takes back move").wait_for()
