"""Hosts and campaigns at their two doors: who may what, and that both doors do the same."""

import re

import pytest
from django.db import transaction
from django.test import Client
from django.test.client import MULTIPART_CONTENT
from django.utils.timezone import now

from experiments.campaigns import control, plans
from experiments.campaigns.actions import CAMPAIGN_ACTIONS, HOST_ACTIONS
from experiments.campaigns.forms import CampaignForm, HostForm
from experiments.laboratory.transport import ssh
from experiments.models import Campaign, CampaignRun, Host, RunArtifact
from kdb.accounts import tokens
from tests.factories import HOST_KEY, FileSystem, entry, make_campaign, make_case_study, make_host, make_run, make_user

pytestmark = pytest.mark.django_db

ROLES = ("anonymous", "nobody", "researcher", "reviewer", "operator", "member", "owner", "administrator")


@pytest.fixture
def people():
    groups = {"nobody": "", "researcher": "researchers", "reviewer": "reviewers", "operator": "operators"}
    groups |= {"member": "operators", "owner": "operators", "administrator": "administrators"}
    return {"anonymous": None} | {role: make_user(group) for role, group in groups.items()}


@pytest.fixture
def host(people):
    for slug in ("ext4", "xfs", "btrfs"):
        entry(FileSystem, slug)
    host = make_host("lab", host_key=HOST_KEY, offered_key=HOST_KEY, registered_by=people["owner"])
    host.operators.add(people["member"])
    return host


@pytest.fixture
def campaign(host, people):
    return control.create(make_campaign(host, slug="night", repetitions=2), user=people["owner"])


def client_of(user, *, api: bool):
    client = Client()
    if user is not None and api:
        _, key = tokens.make(user, f"t{Client.__name__}{user.pk}", ["read", "import", "campaign"])
        client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {key}"
    elif user is not None:
        client.force_login(user)
    return client


OPERATORS = {"operator", "member", "owner", "administrator"}
MEMBERS = {"member", "owner", "administrator"}
OWNERS = {"owner", "administrator"}

# Who may do what is in the tables of actions, and what each needs to be sent.
HOST_DOERS = {
    **dict.fromkeys(("check", "clear"), MEMBERS),
    **dict.fromkeys(("contact", "accept-key", "operators", "stop", "bring-back", "statement"), OWNERS),
    "take": set(),  # it has an owner
}
CAMPAIGN_DOERS = {
    **dict.fromkeys(("pause", "cancel"), MEMBERS),
    **dict.fromkeys(("start", "top-up", "nightly", "bring-back"), OWNERS),
}
SENT = {"accept-key": {"fingerprint": ssh.fingerprint(HOST_KEY)}, "top-up": {"repetitions": 1}}

# address, what is posted (None: it is got), who may
PAGES = [
    ("/laboratory/hosts/", None, OPERATORS),
    ("/laboratory/hosts/new/", None, OPERATORS),
    ("/laboratory/hosts/lab/", None, MEMBERS),
    ("/laboratory/hosts/lab/edit/", None, OWNERS),
    ("/laboratory/hosts/lab/", {"do": "runner-token"}, OWNERS),
    ("/laboratory/campaigns/", None, OPERATORS),
    ("/laboratory/campaigns/new/", None, OPERATORS),
    ("/laboratory/campaigns/night/", None, MEMBERS),
    ("/laboratory/campaigns/night/plan.json", None, MEMBERS),
    ("/laboratory/campaigns/night/runs/1/", None, MEMBERS),
    *(("/laboratory/campaigns/night/", {"do": do, "run": 1}, OWNERS) for do in ("draft", "retry", "retry-cell")),
    *(("/laboratory/hosts/lab/", {"do": do, **SENT.get(do, {})}, who) for do, who in HOST_DOERS.items()),
    *(("/laboratory/campaigns/night/", {"do": do, **SENT.get(do, {})}, who) for do, who in CAMPAIGN_DOERS.items()),
]
API = [
    ("hosts/", None, OPERATORS),
    ("hosts/lab/", None, MEMBERS),
    ("hosts/lab/runner-token/", {}, OWNERS),
    ("campaigns/", None, OPERATORS),
    ("campaigns/night/", None, MEMBERS),
    *((f"campaigns/night/{name}/", None, MEMBERS) for name in ("runs", "plan", "deviations")),
    *((f"campaigns/night/{name}/", {}, OWNERS) for name in ("draft", "runs/1/retry", "runs/1/retry-cell")),
    *((f"hosts/lab/{do}/", SENT.get(do, {}), who) for do, who in HOST_DOERS.items()),
    *((f"campaigns/night/{do}/", SENT.get(do, {}), who) for do, who in CAMPAIGN_DOERS.items()),
]
DONE_OR_NOT_NOW = (200, 202, 302, 409)


def test_every_action_is_in_the_tables_of_who_may_do_it():
    assert (HOST_DOERS.keys(), CAMPAIGN_DOERS.keys()) == (HOST_ACTIONS.keys(), CAMPAIGN_ACTIONS.keys())


def answers_to(client, prefix, table, content_type):
    """Ask each address of a table, and undo what that did; return the statuses, or "sign in" where one is sent to."""
    statuses = {}
    for address, posted, _ in table:
        url = prefix + address
        with transaction.atomic():
            answer = client.get(url) if posted is None else client.post(url, posted, content_type)
            transaction.set_rollback(True)
        is_sent_away = answer.get("Location", "").startswith("/accounts/login/?")
        statuses[address, str(posted)] = "sign in" if is_sent_away else answer.status_code
    return statuses


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.sqlite
def test_who_may_what_on_the_pages(role, people, campaign):
    refused = {"anonymous": "sign in", "operator": 404}.get(role, 403)
    statuses = answers_to(client_of(people[role], api=False), "", PAGES, MULTIPART_CONTENT)
    for address, posted, allowed in PAGES:
        expected = DONE_OR_NOT_NOW if role in allowed else (refused,)
        assert statuses[address, str(posted)] in expected, (address, posted)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.sqlite
def test_who_may_what_by_the_api(role, people, campaign):
    refused = {"anonymous": 401, "operator": 404}.get(role, 403)
    statuses = answers_to(client_of(people[role], api=True), "/api/v1/", API, "application/json")
    for address, posted, allowed in API:
        assert statuses[address, str(posted)] in (DONE_OR_NOT_NOW if role in allowed else (refused,)), address


def test_a_token_without_the_scope_steers_nothing(people, campaign):
    _, key = tokens.make(people["owner"], "reader", ["read"])
    headers = {"Authorization": f"Bearer {key}"}
    assert Client().get("/api/v1/campaigns/night/", headers=headers).status_code == 200
    assert Client().post("/api/v1/campaigns/night/start/", headers=headers).status_code == 403


def test_outputs_are_the_business_of_the_hosts_group(people, campaign):
    run = campaign.runs.first()
    output = RunArtifact.objects.create(run=run, attempt=1, name="host.txt", data=b"{}", sha256="0" * 64)
    for role, user in people.items():
        page = client_of(user, api=False).get(f"/laboratory/outputs/{output.pk}/")
        api = client_of(user, api=True).get(f"/api/v1/campaign-outputs/{output.pk}/content/")
        assert (page.status_code == 200) == (api.status_code == 200) == (role in MEMBERS), role
    assert page["Content-Disposition"].startswith("attachment")


# Both doors do the same

HOST = {
    **{"slug": "lab-7", "name": "New", "address": "192.0.2.7", "port": 22, "login": "root", "key_name": "lab"},
    **{"laboratory": "local", "drivers": ["native"]},
}
PLAN = {
    **{"slug": "plan", "title": "A plan", "driver": "native", "engine": "fio", "personality": "kdb"},
    "host_file_systems": ["ext4", "xfs"],
    **{"workloads": ["varmail"], "repetitions": 2, "run_seconds": 60, "seed": 3},
}


def test_a_host_is_registered_alike(people, host):
    page = client_of(people["owner"], api=False).post(
        "/laboratory/hosts/new/", HOST | {"pools": "/srv/a image\n/srv/b existing", "stated": "image_format: qcow2"}
    )
    assert page.status_code == 302, page.context["form"].errors
    api = client_of(people["owner"], api=True).post(
        "/api/v1/hosts/",
        HOST
        | {"slug": "other", "address": "192.0.2.8", "pools": ["/srv/a image", "/srv/b existing"]}
        | {"stated": {"image_format": "qcow2"}},
        "application/json",
    )
    assert api.status_code == 201, api.content
    first, second = (Host.objects.get(slug=slug) for slug in ("lab-7", "other"))
    for name in ("port", "login", "key_name", "laboratory", "drivers", "stated"):
        assert getattr(first, name) == getattr(second, name)
    assert list(first.pools.values_list("path", "kind")) == list(second.pools.values_list("path", "kind"))
    assert first.job.queue == "lab-local"


def test_every_field_of_a_form_stands_in_one_of_its_sections(people, host):
    for form in (HostForm(user=None), HostForm(instance=host, user=None), CampaignForm(user=None)):
        shown = [field.name for _, _, fields in form.sections for field in fields]
        assert sorted(shown) == sorted(form.fields)


def test_a_check_says_what_it_takes_before_it_is_asked_for(people, host):
    page = client_of(people["owner"], api=False).get("/laboratory/hosts/lab/").content.decode()
    assert "A check takes a few seconds and writes nothing." in page


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("address", "-oProxyCommand=touch", "host name"),
        ("address", "a b", "host name"),
        ("login", "root;id", "login name"),
        ("key_name", "../../etc/passwd", "folder of keys"),
        ("guest_image", "/srv/$(id)", "absolute path"),
        ("port", 70000, "65535"),
        ("pools", ["/srv/a b c d"], "Line 1"),
        ("pools", ["relative"], "absolute path"),
        ("pools", ["/srv/../etc"], "absolute path"),
        ("pools", ["/srv/kdb storage"], "a folder is an absolute path"),
        ("pools", ["local-lvm image"], "a folder is an absolute path"),
        ("pools", ["-x storage"], "The name of a storage"),
        ("pools", ["a;b storage"], "The name of a storage"),
        ("pools", ["../x storage"], "The name of a storage"),
        ("drivers", ["magic"], "magic"),
        ("stated", {"colour": "red"}, "The fields are"),
    ],
)
@pytest.mark.sqlite
def test_hostile_fields_of_a_host_are_refused(field, value, words, people, host):
    body = HOST | {"pools": ["/srv/a"], field: value}
    answer = client_of(people["owner"], api=True).post("/api/v1/hosts/", body, "application/json")
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not Host.objects.filter(slug="lab-7").exists()


def test_a_campaign_is_planned_alike(people, host):
    page = client_of(people["owner"], api=False)
    posted = PLAN | {
        **{"host": host.pk, "pool": host.pools.get().pk, "cache_mode": "none", "cool_down_seconds": 0},
        **{"scale_percent": 100, "disk_mib": 8192, "vm_ram_mib": 1536, "vm_vcpus": 1, "vm_counts": ""},
        "follows_protocol": "on",
    }
    looked = page.post("/laboratory/campaigns/new/", posted | {"do": "estimate"})
    assert looked.context["estimate"].runs == 5  # the first warms up
    assert "5 runs, about" in looked.content.decode()
    assert not Campaign.objects.exists()
    assert page.post("/laboratory/campaigns/new/", posted | {"do": "plan"}).status_code == 302
    api = client_of(people["owner"], api=True)
    body = PLAN | {"slug": "other", "host": "lab", "pool": "/srv/pool"}
    estimate = api.post("/api/v1/campaigns/estimate/", body, "application/json").json()
    assert (estimate["runs"], estimate["seconds"]) == (5, looked.context["estimate"].seconds)
    assert (estimate["pool_mib"], estimate["files_mib"]) == (
        looked.context["estimate"].pool_mib,
        {"varmail": 16},
    )  # 1,000 files of 16 KiB
    assert "drop the caches" in " ".join(estimate["steps"][0]["steps"])
    assert api.post("/api/v1/campaigns/", body, "application/json").status_code == 201
    first, second = (Campaign.objects.get(slug=slug) for slug in ("plan", "other"))
    for name in (
        "host_id",
        "pool_id",
        "repetitions",
        "run_seconds",
        "disk_mib",
        "seed",
        "workloads",
        "follows_protocol",
    ):
        assert getattr(first, name) == getattr(second, name)
    order = [list(planned.runs.values_list("host_fs", "repetition")) for planned in (first, second)]
    assert order[0] == order[1]


def test_what_no_real_host_has_seen_says_so_until_a_campaign_was_filed(people, host):
    pools = ["/srv/kdb image", "local-lvm storage"]
    api, page = client_of(people["owner"], api=True), client_of(people["owner"], api=False)
    made = api.post("/api/v1/hosts/", HOST | {"drivers": ["proxmox"], "pools": pools}, "application/json")
    assert made.status_code == 201, made.content
    assert [(pool["path"], pool["kind"]) for pool in made.json()["pools"]] == [tuple(pool.split()) for pool in pools]
    assert "not yet tried on a real host" in page.get("/laboratory/hosts/lab-7/").content.decode()
    for slug in ("first", "second"):
        make_campaign(host, slug=slug, driver="proxmox").save()
    assert "not yet tried on a real host" in page.get("/laboratory/campaigns/first/").content.decode()
    assert api.get("/api/v1/campaigns/first/").json()["is_untried"] is True
    Campaign.objects.filter(slug="second").update(case_study=make_case_study())
    assert "not yet tried on a real host" not in page.get("/laboratory/campaigns/first/").content.decode()
    assert "not yet tried on a real host" not in page.get("/laboratory/hosts/lab-7/").content.decode()
    assert {row["is_untried"] for row in api.get("/api/v1/campaigns/").json()["results"]} == {False}


def test_a_control_domain_of_xen_is_told_what_it_could_be_asked_for(people):
    host = make_host(slug="xen-1", facts={"xen": "4.17.6-pre"}, checked_at=now(), drivers=["native"])
    page = client_of(people["administrator"], api=False)
    assert "add the driver xen" in page.get("/laboratory/hosts/xen-1/").content.decode()
    assert "4.17.6-pre" in page.get("/laboratory/hosts/xen-1/").content.decode()
    host.drivers = ["xen"]
    host.save()
    assert "add the driver xen" not in page.get("/laboratory/hosts/xen-1/").content.decode()


def test_several_values_of_a_setting_are_planned_at_both_doors(people, host):
    several = {"cache_mode": ["none", "writeback"], "io_mode": ["threads", "native"], "discard": "ignore"}
    guests = {"driver": "libvirt", "guest_file_systems": ["xfs"], "vm_counts": [1], "host": "lab", "pool": "/srv/pool"}
    api = client_of(people["owner"], api=True)
    made = api.post("/api/v1/campaigns/", PLAN | guests | several | {"pinned_cpus": [3]}, "application/json").json()
    assert {name: made[name] for name in several} == several
    assert (made["disk_bus"], made["pinned_cpus"]) == ("virtio", [3])
    runs = api.get(f"/api/v1/campaigns/{made['slug']}/runs/").json()["results"]
    assert {"cache_mode": "none", "io_mode": "native"} in [run["disk"] for run in runs]
    estimate = api.post("/api/v1/campaigns/estimate/", PLAN | guests | several | {"slug": "x"}, "application/json")
    assert "cache mode writeback, I/O mode native: native passes" in estimate.json()["left_out"][0]
    again = plans.document(Campaign.objects.get(slug=made["slug"]))
    assert {name: again[name] for name in several} == several
    guests |= {"host": host.pk, "pool": host.pools.get().pk, "vm_counts": "1", "pinned_cpus": "2-4 7", "slug": "page"}
    page = client_of(people["owner"], api=False)
    sizes = {"cool_down_seconds": 0, "scale_percent": 100, "disk_mib": 8192, "vm_ram_mib": 2048, "vm_vcpus": 1}
    asked = PLAN | guests | several | sizes
    estimated = page.post("/laboratory/campaigns/new/", asked | {"do": "estimate"}).content.decode()
    assert "I/O mode native: native passes" in estimated
    assert page.post("/laboratory/campaigns/new/", asked | {"do": "plan"}).status_code == 302
    shown = page.get("/laboratory/campaigns/page/").content.decode()
    assert "Cache mode: none, writeback; Disk bus: virtio-blk" in shown
    assert "pinned to the CPUs 2, 3, 4, 7" in shown
    assert "xfs-on-ext4, cache mode writeback, I/O mode threads" in shown


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cache_mode", ["none", "sometimes"], "sometimes is not one of the available choices"),
        ("cache_mode", "sometimes", "sometimes is not one of the available choices"),
        ("pinned_cpus", "7-2", "Numbers of CPUs from 0 on"),
        ("pinned_cpus", "one", "Numbers of CPUs from 0 on"),
        ("pinned_cpus", "2 1-3", "Each CPU once"),
    ],
)
def test_what_a_disk_cannot_be_is_refused(host, field, value, words):
    form = plans.plan_form(PLAN | {"host": host.pk, "pool": host.pools.get().pk, field: value}, user=None)
    assert words in " ".join(form.errors[field])


def test_only_file_systems_that_the_host_can_make_are_offered(people, host):
    for slug in ("vmfs", "hfs-plus"):
        entry(FileSystem, slug)
    host.facts["missing"] = [{"program": "mkfs.btrfs", "from": "package btrfs-progs"}]
    host.save()
    make_host("other")  # makes btrfs, too
    form = CampaignForm(initial={"host": host.pk}, user=None)
    offered = {name: [slug for slug, _ in form.fields[name].choices] for name in form.fields if "file_sys" in name}
    assert offered == {"host_file_systems": ["ext4", "xfs", "raw"], "guest_file_systems": ["btrfs", "ext4", "xfs"]}
    host.pools.update(kind="existing")
    assert list(CampaignForm(initial={"host": host.pk}, user=None).fields["host_file_systems"].choices) == [
        ("ext4", "ext4")
    ]
    assert "btrfs" in dict(
        CampaignForm(user=None).fields["host_file_systems"].choices
    )  # of all hosts, where none is chosen
    page = client_of(people["owner"], api=False).get("/laboratory/campaigns/new/").content.decode()
    assert "vmfs" not in page
    assert 'hx-select="form.question-form"' in page  # the choice of another host brings what that one can make


def test_a_plan_is_checked_whole_by_the_api(people, host):
    """Everything that is wrong comes at once, each with its field; what is named twice is no error of the server."""
    fields = {"slug": "big", "title": "Big", "host": "lab", "pool": "/srv/pool", "driver": "libvirt", "engine": "fio"}
    fields |= {"host_file_systems": ["ext4", "ext4"], "guest_file_systems": ["xfs", "btrfs"], "vm_counts": [1, 1]}
    fields |= {"workloads": ["varmail", "varmail"], "vm_vcpus": 512, "vm_ram_mib": 10**6, "disk_mib": 10**6}
    answer = client_of(people["owner"], api=True).post("/api/v1/campaigns/", fields, "application/json")
    assert answer.status_code == 400
    errors = {error["field"]: error for error in answer.json()["errors"]}
    assert errors.keys() == {*("host_file_systems", "vm_counts", "workloads", "vm_vcpus", "vm_ram_mib", "disk_mib")}
    assert errors["host_file_systems"]["message"] == "Found more than once: ext4. Each is allowed once."
    assert errors["host_file_systems"]["allowed"] == ["btrfs", "ext4", "xfs", "raw"]
    assert not Campaign.objects.exists()


def test_the_live_page_shows_states_step_log_and_time(people, campaign):
    control.start(campaign)
    run = campaign.runs.get(state="active")
    CampaignRun.objects.filter(pk=run.pk).update(step="fio: varmail for 60 s")
    run.lines.create(text="making ext4 on the host")
    page = client_of(people["administrator"], api=False).get("/laboratory/campaigns/night/").content.decode()
    for words in ("0 of 2 runs have ended", "left.", "fio: varmail for 60 s", "making ext4 on the host", "every 2s"):
        assert words in page
    assert 'value="start"' not in page  # not the owner


def test_a_fragment_is_sent_to_htmx(people, campaign):
    answer = client_of(people["owner"], api=False).get("/laboratory/campaigns/night/", headers={"HX-Request": "true"})
    assert b"<html" not in answer.content
    assert b'id="campaign"' in answer.content


def test_what_cannot_be_done_is_told(people, campaign):
    control.cancel(campaign)
    answer = client_of(people["owner"], api=False).post("/laboratory/campaigns/night/", {"do": "start"})
    assert (answer.status_code, b"The campaign is cancelled." in answer.content) == (409, True)
    answer = client_of(people["owner"], api=True).post("/api/v1/campaigns/night/start/")
    assert (answer.status_code, answer.json()["detail"]) == (409, "The campaign is cancelled.")


@pytest.mark.parametrize("runs", [5, 50])
def test_pages_cost_the_same_whatever_they_show(runs, people, host, django_assert_max_num_queries):
    campaign = control.create(make_campaign(host, slug="many", repetitions=runs), user=people["owner"])
    control.start(campaign)
    client = client_of(people["owner"], api=False)
    for address, most in (
        ("/laboratory/campaigns/many/", 12),
        ("/laboratory/campaigns/", 8),
        ("/laboratory/hosts/lab/", 14),
        ("/laboratory/campaigns/many/runs/1/", 10),
    ):
        with django_assert_max_num_queries(most):
            assert client.get(address).status_code == 200


def test_a_run_page_shows_the_figures_and_why_it_failed(people, host):
    figure = {"machine": 0, "operation": "mixed", "throughput_mib_s": 12.5, "ops_per_s": None, "latency_ms": 1.5}
    done = make_run(state="done", figures=[figure | {"duration_s": 60.0}])
    client = client_of(people["administrator"], api=False)
    page = client.get(f"/laboratory/campaigns/{done.campaign.slug}/runs/{done.position}/").content.decode()
    assert "12.5 MiB/s" in page
    assert "not printed" in page
    failed = make_run(done.campaign, state="failed", reason="no space: /srv has 3 MiB free")
    page = client.get(f"/laboratory/campaigns/{done.campaign.slug}/runs/{failed.position}/").content.decode()
    assert "no space: /srv has 3 MiB free" in page


FIGURE = {
    "machine": 0,
    "operation": "mixed",
    "throughput_mib_s": 12.5,
    "ops_per_s": 1.0,
    "latency_ms": 1.5,
    "duration_s": 2,
}


def run_page(run, people) -> str:
    client = client_of(people["administrator"], api=False)
    return client.get(f"/laboratory/campaigns/{run.campaign.slug}/runs/{run.position}/").content.decode()


def words_of(page: str) -> str:
    return " ".join(re.sub("<[^>]*>", "", page).split())


def test_both_doors_say_which_of_a_disturbed_run_and_its_repeat_counts(people, host):
    disturbed = make_run(state="done", figures=[FIGURE], disturbed="Others used 1.20 CPU-seconds a second on the host.")
    repeat = make_run(disturbed.campaign, state="waiting", repeats=disturbed, repetition=disturbed.repetition)
    sentence = f"Run {repeat.position}, its repeat, counts once it is done; until then this one does."
    assert sentence in words_of(run_page(disturbed, people))
    CampaignRun.objects.filter(pk=repeat.pk).update(state="done", figures=[FIGURE])
    assert f"Run {repeat.position}, its repeat, counts." in words_of(run_page(disturbed, people))
    assert f"run {disturbed.position}</a>, which was disturbed" in run_page(repeat, people)
    client = client_of(people["administrator"], api=True)
    rows = client.get(f"/api/v1/campaigns/{disturbed.campaign.slug}/runs/").json()["results"]
    assert [(row["position"], row["repeats"], row["counts"]) for row in rows] == [
        (disturbed.position, None, False),
        (repeat.position, disturbed.position, True),
    ]
    assert rows[0]["disturbed"].startswith("Others used 1.20")


def test_cells_above_the_reference_load_are_flagged_at_both_doors(people, campaign):
    """The host has 16 GiB: 125 MiB of files were read from it at four times what its disk reads."""
    calibrations = [{"before": "repetition 1", "run": 1, "at": now().isoformat(), "read_mib_s": 1189.0}]
    Campaign.objects.filter(pk=campaign.pk).update(calibrations=calibrations)
    figure = {"machine": 0, "operation": "mixed", "throughput_mib_s": 1457.0, "ops_per_s": None, "latency_ms": None}
    facts = {"working_set_bytes": 125 * 2**20, "parameters": {}}
    campaign.runs.update(state="done", figures=[figure | {"duration_s": 60.0}], facts=facts)
    reason = "1,528 MB/s, where the reference load past the caches moved 1,247: a cache answered, not the disk."
    page = client_of(people["owner"], api=False).get("/laboratory/campaigns/night/").content.decode()
    assert f"native ext4, varmail: {reason} The files fit into memory." in page
    told = client_of(people["owner"], api=True).get("/api/v1/campaigns/night/deviations/").json()
    assert told["flagged"] == {"native ext4, varmail": f"{reason} The files fit into memory."}
    campaign.runs.update(facts=facts | {"parameters": {"direct": 1}})
    page = client_of(people["owner"], api=False).get("/laboratory/campaigns/night/").content.decode()
    assert "Implausible for a disk" not in page


def test_a_run_page_draws_its_curve_and_says_where_the_warm_up_ends(people, host):
    curve = {"machine": 0, "until_s": [1.0, 2.0, 3.0], "mib_s": [10.0, 40.0, 60.0], "warm_up_intervals": 1}
    run = make_run(state="done", figures=[FIGURE], curves=[curve, curve | {"machine": 1, "warm_up_intervals": None}])
    page = run_page(run, people)
    assert "host: the first 1 s are warm-up; 50.0 MiB/s then, 36.7 MiB/s over all." in page
    assert "machine-1: no steady part is seen; 36.7 MiB/s over all." in page
    assert 'data-chart="chart-curve-data"' in page
    assert page.count('<td class="num">60</td>') == 2
    assert "Throughput over time" not in run_page(make_run(run.campaign), people)


def test_a_run_page_says_what_others_did(people, host):
    load_by_others = {"where": "host", "cpu": 0.25, "steal": 0.0, "read_mib_s": None, "write_mib_s": None}
    facts = {"background": [load_by_others], "start_spread_seconds": 0.012, "start_spread_unsure_seconds": 0.03}
    page = run_page(make_run(state="done", figures=[FIGURE], facts=facts), people)
    assert "0.25 CPU-seconds a second, reads and writes not known during the run" in page
    assert "0.01 s, known to 0.03 s" in page
