"""A table from the web becomes published knowledge: pasted, described, reviewed, found in an answer."""

from experiments.models import CaseStudy, HostStorage
from tests.browser.test_stories import PASSWORD, sign_in, worker  # noqa: F401
from tests.experiments.imports.tables.test_wizard import TABLE
from tests.factories import make_user


def forget(page) -> None:
    """Sign out, after leaving the page: an answer to what it still asks would bring its cookies back."""
    page.goto("about:blank")
    page.context.clear_cookies()


def test_from_paste_to_published_answer(page, live_server, published_evidence, worker):  # noqa: F811
    make_user("researchers", username="ada", password=PASSWORD)
    make_user("reviewers", username="rev", password=PASSWORD)

    sign_in(page, live_server, "ada")
    page.get_by_role("link", name="Paste a published table").click()
    page.get_by_label("Paste it here").fill(f"Some words before.\n\n{TABLE}\nAnd some after.")
    page.get_by_role("button", name="Read it").click()

    go_on = page.get_by_role("button", name="Save and continue")
    page.get_by_role("heading", name="Columns").wait_for()
    assert page.get_by_label("Virtualizer holds").input_value() == "hypervisor"
    assert page.get_by_label("4K rand read (kIOPS) holds").input_value() == "value"
    page.get_by_role("group", name="Percentages are of the row that has").get_by_label("Pool: ext4").check()
    go_on.click()

    page.get_by_role("heading", name="What holds for all").wait_for()
    page.get_by_label("Guest file system", exact=True).fill("ext4")
    page.get_by_label("Virtual machines at once").fill("1")
    page.get_by_label("Workload", exact=True).fill("Burrow digging")
    page.get_by_label("Benchmark", exact=True).fill("Marsupial Bench")
    go_on.click()

    page.get_by_role("heading", name="Names").wait_for()
    page.get_by_label("total is").select_option("no name: leave its rows out")
    for name in ("Quokka VM", "bcachefs", "Burrow digging", "Marsupial Bench"):
        page.get_by_label(f"{name} is").select_option("a new one, described below")
    new = page.get_by_role("group", name="Quokka VM")
    new.get_by_text("Describe it as a new hypervisor").click()
    new.get_by_label("Kind").select_option("type-2")
    new.get_by_label("Kernel origin").fill("Linux")
    new.get_by_label("Virtual device origin").fill("its own")
    go_on.click()

    page.get_by_role("heading", name="Rows", exact=True).wait_for()
    page.get_by_role("heading", name="11 measurements from 5 rows, 1 left out").wait_for()
    go_on.click()

    page.get_by_label("Title", exact=True).fill("Pools under Quokka VM")
    page.get_by_label("Short name (in addresses)").fill("quokka-pools")
    page.get_by_label("How it was measured").fill("Each pool freshly made, three runs of a minute.")
    page.get_by_label("Disks", exact=True).fill("Two NVMe disks")
    page.get_by_label("Title of the source").fill("Which pool for quokkas?")
    page.get_by_label("Authors").fill("A. Quokka")
    page.get_by_label("Address", exact=True).fill("https://quokka.example/pools")
    go_on.click()

    page.get_by_text("11 measurements would come in.").wait_for()
    page.get_by_role("button", name="Make the draft").click()
    page.get_by_role("heading", name="Pools under Quokka VM").wait_for()
    page.get_by_role("button", name="Submit for review").click()
    page.get_by_text("submitted for review").first.wait_for()

    forget(page)
    sign_in(page, live_server, "rev")
    page.get_by_role("link", name="Pools under Quokka VM").click()
    page.get_by_label("Reason").first.fill("Checked against the page.")
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="Pools under Quokka VM").wait_for()
    assert CaseStudy.objects.get(slug="quokka-pools").status == "published"

    forget(page)
    asked = "axis=hypervisor&workload=burrow-digging&metric=operation_rate&tab=ranking"
    page.goto(f"{live_server.url}/?{asked}")
    page.get_by_role("row", name="Quokka VM").first.wait_for()


STORAGES = """\
| Host storage | 4K rand read (kIOPS) |
|--------------|----------------------|
| Quokka SDS   | 160                  |
| LVM-thin     | 100                  |
| ZFS zvol     | 60                   |
"""


def test_a_host_storage_that_nobody_knew_is_in_the_published_answer(page, live_server, published_evidence, worker):  # noqa: F811
    make_user("researchers", username="ada", password=PASSWORD)
    make_user("reviewers", username="rev", password=PASSWORD)

    sign_in(page, live_server, "ada")
    page.get_by_role("link", name="Paste a published table").click()
    page.get_by_label("Paste it here").fill(STORAGES)
    page.get_by_role("button", name="Read it").click()
    go_on = page.get_by_role("button", name="Save and continue")
    page.get_by_role("heading", name="Columns").wait_for()
    assert page.get_by_label("Host storage holds").input_value() == "backend"
    go_on.click()

    page.get_by_role("heading", name="What holds for all").wait_for()
    page.get_by_label("Hypervisor", exact=True).fill("Proxmox VE")
    page.get_by_label("Guest file system", exact=True).fill("ext4")
    page.get_by_label("Virtual machines at once").fill("1")
    page.get_by_label("Workload", exact=True).fill("Mail server")
    page.get_by_label("Benchmark", exact=True).fill("fio")
    go_on.click()

    page.get_by_role("heading", name="Names").wait_for()
    assert page.get_by_label("LVM-thin is").input_value() == "lvm-thin"
    page.get_by_label("Quokka SDS is").select_option("a new one, described below")
    new = page.get_by_role("group", name="Quokka SDS")
    new.get_by_text("Describe it as a new host storage").click()
    assert new.get_by_label("Name").input_value() == "Quokka SDS"
    new.get_by_label("Family").fill("quokkas")
    new.get_by_label("Kind").select_option("volume")
    new.get_by_label("Reach").select_option("host")
    go_on.click()
    page.get_by_role("heading", name="3 measurements from 3 rows").wait_for()
    go_on.click()

    page.get_by_label("Title", exact=True).fill("Quokka SDS under Proxmox VE")
    page.get_by_label("Short name (in addresses)").fill("quokka-sds-study")
    page.get_by_label("How it was measured").fill("Each disk freshly made, three runs of a minute.")
    page.get_by_label("Disks", exact=True).fill("Two NVMe disks")
    page.get_by_label("Title of the source").fill("Where do quokkas store?")
    page.get_by_label("Authors").fill("A. Quokka")
    page.get_by_label("Address", exact=True).fill("https://quokka.example/storage")
    go_on.click()
    page.get_by_role("button", name="Make the draft").click()
    page.get_by_role("heading", name="Quokka SDS under Proxmox VE").wait_for()
    assert HostStorage.objects.get(slug="quokka-sds").is_draft
    page.get_by_role("button", name="Submit for review").click()
    page.get_by_text("submitted for review").first.wait_for()

    forget(page)
    sign_in(page, live_server, "rev")
    page.get_by_role("link", name="Quokka SDS under Proxmox VE").click()
    page.get_by_label("Reason").first.fill("Checked against the page.")
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="Quokka SDS under Proxmox VE").wait_for()
    storage = HostStorage.objects.get(slug="quokka-sds")
    assert (storage.is_draft, storage.family, storage.kind, storage.reach) == (False, "quokkas", "volume", "host")

    forget(page)
    page.goto(f"{live_server.url}/?axis=host-storage&workload=varmail&hypervisor=proxmox&metric=operation_rate")
    page.get_by_role("heading", name="Quokka SDS").first.wait_for()
    page.goto(f"{live_server.url}/knowledge/#host-storages")
    page.get_by_text("Quokka SDS: a volume (quokkas)").wait_for()
