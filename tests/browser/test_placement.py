"""An operator's way from observed machines to a plan and a move, in the browser."""

from tests.factories import make_user
from tests.modelling.fleet.moving.fleets import mail_server, numbers_for_xfs, observed_host

PASSWORD = "correct horse 7"


def test_from_observed_machines_to_a_move(page, live_server, transactional_db):
    numbers_for_xfs()
    host = observed_host(registered_by=make_user("operators", username="ada", password=PASSWORD))
    mail_server(host, "mail-1")
    mail_server(host, "asleep", is_running=False)
    page.goto(f"{live_server.url}/accounts/login/?next=/placement/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
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
