"""The limit on what a stranger's request costs the web server, and the answer to a request that costs more."""

import time
from datetime import timedelta
from itertools import count

import pytest
from django.core.cache import caches
from django.db.models import F
from django.http import HttpResponse, StreamingHttpResponse
from django.template import Context, Template
from django.utils.timezone import now

from experiments.case_studies import lifecycle
from kdb.cost import budget, deferral
from kdb.cost.middleware import CostMiddleware
from kdb.cost.spending import Payer, payer_of, settle
from kdb.jobs import jobs
from kdb.models import Job, LeftRequest, Turn
from kdb.settings import base
from kdb.web import rates
from modelling.estimation.ranking import METHOD
from modelling.evidence.axes import AXES
from modelling.models import RankingSnapshot
from modelling.workloads.profiles import PERSONALITIES
from tests.factories import make_case_study, make_measurement, make_token, make_user
from tests.kdb.walk import ASKED
from tests.pages import PUBLIC
from tests.test_every_page import OTHERS

pytestmark = pytest.mark.django_db

MIX = "/api/v1/mixes/?axis=fs-pair&hypervisor=kvm&weights=varmail:3,webserver:1"
PAGE = "/mix/?axis=fs-pair&hypervisor=kvm&varmail=3&webserver=1"


@pytest.fixture
def published():
    study = make_case_study("lab")
    for workload in ("varmail", "webserver"):
        for guest, value in (("ext4", 100.0), ("xfs", 50.0)):
            make_measurement(value, case_study=study, guest_fs=guest, host_fs="ext4", workload=workload)
    lifecycle.publish([study], reason="measured")


@pytest.fixture
def dear(settings, published, monkeypatch):
    """Let whatever asks the database cost too much; nothing is abandoned because this machine is slow."""
    settings.KDB_CPU_SECONDS_A_REQUEST = 1e-9
    monkeypatch.setattr(deferral, "ABANDONED_AFTER", timedelta(hours=1))


def work() -> None:
    for job in Job.objects.filter(kind=deferral.JOB, state=Job.State.QUEUED):
        jobs.run(job.pk)


def ask(client, address: str, who: str = "192.0.2.1", **extra):
    return client.get(address, REMOTE_ADDR=who, **extra)


def test_what_costs_too_much_is_answered_by_a_worker_as_the_web_server_would_have(client, settings, dear):
    first = ask(client, MIX)
    work()
    then = ask(client, MIX)
    settings.KDB_CPU_SECONDS_A_REQUEST = 0
    itself = ask(client, MIX)

    assert (first.status_code, first["Retry-After"], first["Cache-Control"]) == (202, "2", "no-store")
    assert (then.status_code, then.content, then["ETag"]) == (200, itself.content, itself["ETag"])


def test_an_answer_that_a_worker_made_is_not_sent_to_who_has_it(client, dear):
    ask(client, MIX)
    work()
    tag = ask(client, MIX)["ETag"]

    assert ask(client, MIX, headers={"if-none-match": tag}).status_code == 304


def test_a_page_that_costs_too_much_waits_and_then_has_the_browser_load_it(client, dear):
    first = ask(client, PAGE)
    looking = {"hx-request": "false", "kdb-waits": "1"}  # as being_worked_out.html does
    still = ask(client, PAGE, headers=looking)
    work()
    there = ask(client, PAGE, headers=looking)

    assert (first.status_code, b"KDB-Waits" in first.content) == (202, True)
    assert still.status_code == 202
    assert (there.status_code, there["HX-Refresh"]) == (200, "true")
    assert b"ext4" in ask(client, PAGE).content


def test_a_fragment_waits_in_the_element_that_it_is_for(client, dear):
    address = "/?axis=fs-pair&workload=varmail&hypervisor=kvm"
    fragment = {"hx-request": "true", "hx-target": "question"}
    waiting = ask(client, address, headers=fragment)
    work()

    assert waiting.status_code == 202
    assert b'id="question"' in waiting.content
    assert b"<html" not in waiting.content
    there = ask(client, address, headers=fragment)
    assert (there.status_code, b"<html" in there.content) == (200, False)


def test_addresses_take_turns_whoever_asks_more(client, dear, monkeypatch):
    served = []
    respond = deferral.respond
    monkeypatch.setattr(deferral, "respond", lambda asked: served.append(asked["REMOTE_ADDR"]) or respond(asked))
    for weight in (2, 3, 4):
        ask(client, f"{MIX[:-1]}{weight}", who="192.0.2.1")
    ask(client, f"{MIX[:-1]}5", who="192.0.2.2")
    work()

    assert served == ["192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"]


def test_one_address_has_so_many_questions_waiting(client, dear, monkeypatch):
    monkeypatch.setattr(deferral, "MOST_WAITING", 1)

    assert ask(client, MIX).status_code == 202
    assert ask(client, f"{MIX}1").status_code == 429
    assert ask(client, MIX).status_code == 202
    assert ask(client, f"{MIX}1", who="192.0.2.2").status_code == 202


def test_what_an_address_abandoned_counts_only_when_it_is_asked_for_again(client, dear, monkeypatch):
    monkeypatch.setattr(deferral, "MOST_WAITING", 1)
    ask(client, MIX)
    LeftRequest.objects.update(polled_at=now() - deferral.ABANDONED_AFTER)

    assert ask(client, f"{MIX}1").status_code == 202
    assert ask(client, MIX).status_code == 429


def test_nobody_who_waits_is_forgotten_for_answers_that_are_kept(client, dear, monkeypatch):
    monkeypatch.setattr(deferral, "MOST_ROWS", 1)
    for weight in (1, 2):
        assert ask(client, f"{MIX}{weight}").status_code == 202
        work()
    assert ask(client, MIX).status_code == 202
    deferral.delete_old()

    assert [row.answered_at is None for row in LeftRequest.objects.all()] == [False, True]
    assert ask(client, f"{MIX}3").status_code == 429
    assert ask(client, MIX).status_code == 202


# What workers spend


RANKING = "/api/v1/rankings/fs-pair/?workload=varmail&hypervisor=kvm"


@pytest.fixture
def served(monkeypatch) -> list[str]:
    """Let workers take 8 seconds of the processor for a mix and a third of one for anything else; list what they do."""
    served: list[str] = []
    seconds = [0.0]

    def respond(asked):
        served.append(asked["REMOTE_ADDR"])
        seconds[0] += 8.0 if "mixes" in asked["PATH_INFO"] else 1 / 3
        return HttpResponse("{}")

    def work_out(row):
        with monkeypatch.context() as patched:
            patched.setattr(deferral.time, "thread_time", lambda: seconds[0])
            return taken(row)

    taken = deferral._answer_deferred
    monkeypatch.setattr(deferral, "respond", respond)
    monkeypatch.setattr(deferral, "_answer_deferred", work_out)
    return served


@pytest.mark.parametrize("addresses", ["192.0.2.{}", "198.51.{}.1", "2001:db8:{}::1", "2001:db8:0:{}::1"])
def test_mixes_of_a_hundred_addresses_delay_a_short_new_question_by_one_of_them(client, dear, served, addresses):
    for number in range(1, 101):
        assert ask(client, f"{MIX}{number}", who=addresses.format(number)).status_code in (202, 429)
    ask(client, RANKING, who="203.0.113.1")
    work()

    assert served.index("203.0.113.1") == 1
    assert len(served) >= deferral.MOST_WAITING


def test_a_dear_question_has_its_turn_after_as_much_work_on_short_ones(client, dear, served):
    ask(client, f"{MIX}1", who="192.0.2.1")
    work()  # it is known from now on what a mix takes
    ask(client, f"{MIX}2", who="203.0.113.1")
    for number in range(1, 61):
        ask(client, f"{RANKING}&page={number}", who=f"198.51.{number}.1")
    work()

    assert served.index("203.0.113.1") == pytest.approx(1 + 8 / (1 / 3), abs=2)


def test_the_network_that_has_cost_most_waits_for_others(client, dear, served):
    for address in ("2001:db8:1:1::1", "2001:db8:1:2::1"):
        ask(client, MIX, who=address)
        work()
        deferral.delete_all()
    ask(client, f"{MIX}1", who="2001:db8:1:3::1")
    ask(client, f"{MIX}2", who="2001:db8:2:1::1")
    work()

    assert served[2:] == ["2001:db8:2:1::", "2001:db8:1:3::"]


def test_the_workers_time_is_charged_and_halved_each_minute(client, settings, dear, served):
    settings.KDB_CPU_SECONDS_A_MINUTE = 3
    for weight in range(2):
        assert ask(client, f"{MIX}{weight}", who="192.0.2.1").status_code == 202
        work()
    assert ask(client, f"{MIX}9", who="192.0.2.1").status_code == 429
    assert ask(client, f"{MIX}0", who="192.0.2.1").status_code == 200  # it is answered
    assert ask(client, f"{MIX}9", who="192.0.2.2").status_code == 202  # others behind the same network may go on
    Turn.objects.update(served_at=now() - timedelta(minutes=1))

    assert ask(client, f"{MIX}8", who="192.0.2.1").status_code == 202


def test_where_no_more_may_wait_who_owes_most_gives_way_to_who_owes_less(client, dear, served, monkeypatch):
    ask(client, MIX, who="192.0.2.1")
    work()
    monkeypatch.setattr(deferral, "MOST_ROWS", 2)
    for weight in (1, 2):
        ask(client, f"{MIX}{weight}", who="192.0.2.1")

    assert ask(client, f"{MIX}3", who="192.0.2.1").status_code == 429
    assert ask(client, RANKING, who="203.0.113.1").status_code == 202
    assert LeftRequest.objects.filter(answered_at=None).count() == 2


def test_a_network_costs_the_web_server_at_most_five_times_what_an_address_may(settings, rf):
    settings.KDB_CPU_SECONDS_A_MINUTE = 10
    middleware = CostMiddleware(lambda request: HttpResponse())
    for number in range(1, 6):
        settle(Payer("address", f"2001:db8:1:{number}::"), 11)

    statuses = [
        middleware(rf.get("/knowledge/", REMOTE_ADDR=who)).status_code for who in ("2001:db8:1:9::1", "2001:db8:2::1")
    ]
    assert statuses == [429, 200]


def test_a_large_answer_is_for_users(client, dear, monkeypatch):
    monkeypatch.setattr(deferral, "MOST_BYTES_OF_ONE", 100)
    for address in (MIX, PAGE):
        ask(client, address)
        work()
        refused = ask(client, address)
        assert (refused.status_code, "Retry-After" in refused) == (403, False)
        assert b"sign in to have it" in refused.content
    assert max(len(row.content) for row in LeftRequest.objects.all()) < 2_000


def test_of_many_large_answers_the_newest_are_kept(client, dear, monkeypatch):
    for weight in (1, 2, 3):
        ask(client, f"{MIX}{weight}")
        work()
    sizes = [len(row.content) for row in LeftRequest.objects.all()]
    monkeypatch.setattr(deferral, "MOST_BYTES", sum(sizes[1:]))
    deferral.delete_old()

    assert [len(row.content) for row in LeftRequest.objects.all()] == sizes[1:]


def test_what_is_being_worked_out_is_broken_off_when_nobody_asks_any_more(client, dear, monkeypatch):
    ask(client, MIX)
    clock = iter(range(1_000_000))
    monkeypatch.setattr(deferral.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(deferral, "ABANDONED_AFTER", timedelta(days=1))
    monkeypatch.setattr(deferral, "KEPT", timedelta(days=3))
    claim = deferral._answer_deferred

    def left_alone(row):
        LeftRequest.objects.update(polled_at=F("polled_at") - timedelta(days=2))
        claim(row)

    monkeypatch.setattr(deferral, "_answer_deferred", left_alone)
    work()

    assert [(row.answered_at, row.attempts) for row in LeftRequest.objects.all()] == [(None, 0)]
    assert Turn.objects.filter(address="192.0.2.1").exists()  # who abandons has had his turn


@pytest.mark.parametrize("event", [budget.BudgetExceeded, deferral.Abandoned])
def test_no_template_takes_it_for_a_false(event):
    def check(ahead):
        raise event

    page = Template("{% if yes and dear %}{% endif %}")
    with budget.call_before_queries(check), pytest.raises(event):
        page.render(Context({"yes": True, "dear": budget.check}))


def test_an_answer_is_forgotten_when_the_knowledge_changes(client, dear):
    ask(client, MIX)
    work()
    lifecycle.publish([make_case_study("another")], reason="measured")

    assert ask(client, MIX).status_code == 202


def test_who_is_signed_in_waits_for_no_worker(client, dear):
    client.force_login(make_user("", username="bob"))
    assert ask(client, PAGE).status_code == 200


def test_who_has_a_token_that_counts_waits_for_no_worker(client, dear):
    key = make_token(make_user("researchers"), ("read",))
    assert ask(client, MIX, headers={"authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize("header", ["Bearer kdb_nonsense", "Basic eDp5", "x"])
def test_who_has_a_token_that_does_not_count_is_a_stranger(client, dear, monkeypatch, header):
    asked = {"headers": {"authorization": header}}
    assert ask(client, MIX, **asked).status_code == 202
    work()
    monkeypatch.setattr(deferral, "defer", None)  # nothing is tried again
    assert ask(client, MIX, **asked).status_code == 200


def test_what_is_posted_for_advice_is_answered_while_it_takes_little(client, settings, published, monkeypatch):
    settings.KDB_CPU_SECONDS_A_REQUEST = base.KDB_CPU_SECONDS_A_REQUEST
    body = {"personality": (PERSONALITIES / "varmail.f").read_text()}
    with monkeypatch.context() as patched:
        patched.setattr("kdb.cost.budget.time.thread_time", count().__next__)
        dear = [
            client.post("/api/v1/advice/", body, "application/json"),
            client.post("/advisor/", body),
        ]
    assert [(answer.status_code, answer["Retry-After"]) for answer in dear] == [(429, "2")] * 2
    settings.KDB_CPU_SECONDS_A_REQUEST = 0
    assert client.post("/api/v1/advice/", body, "application/json").status_code == 200


def test_many_requests_at_once_are_charged_before_they_are_answered(settings, rf):
    settings.KDB_CPU_SECONDS_A_MINUTE = 1
    statuses = []

    def meanwhile(request):
        statuses.append(middleware(request).status_code)
        return HttpResponse()

    middleware = CostMiddleware(meanwhile)
    payer = payer_of(asked := rf.get("/knowledge/"))
    assert (middleware(asked).status_code, statuses) == (200, [429, 200, 200, 200])  # the innermost first
    assert rates.spent(60, "cpu", *payer) < 0.3  # what was reserved is given back


def test_what_is_streamed_is_charged(settings, rf, monkeypatch):
    settings.KDB_CPU_SECONDS_A_MINUTE = 12
    monkeypatch.setattr("kdb.cost.spending.time.thread_time", count().__next__)
    asked = rf.get("/case-studies/lab/bundle.zip", REMOTE_ADDR="192.0.2.7")
    response = CostMiddleware(lambda request: StreamingHttpResponse([b"a", b"b"]))(asked)
    assert rates.spent(60, "cpu", *payer_of(asked)) == pytest.approx(1)
    assert response.getvalue() == b"ab"
    assert rates.spent(60, "cpu", *payer_of(asked)) == pytest.approx(4)


def test_pages_and_the_api_are_refused_to_an_address_that_has_cost_too_much(client, settings, published, monkeypatch):
    settings.KDB_CPU_SECONDS_A_MINUTE = 1
    spent = iter([0.0, 2.0])
    with monkeypatch.context() as patched:
        patched.setattr("kdb.cost.middleware.time.thread_time", lambda: next(spent))
        ask(client, "/knowledge/")

    for address in ("/knowledge/", "/api/v1/hypervisors/"):
        refused = ask(client, address)
        assert (refused.status_code, int(refused["Retry-After"]) > 0) == (429, True)
    assert ask(client, "/knowledge/", who="192.0.2.2").status_code == 200
    assert ask(client, "/healthz").status_code == 200
    client.force_login(make_user("", username="ada"))
    assert ask(client, "/knowledge/").status_code == 200


# Every address with its worst arguments

MOST_SECONDS = 0.4


def forget_what_is_kept() -> None:
    for name in base.CACHES:
        caches[name].clear()
    RankingSnapshot.objects.all().delete()
    LeftRequest.objects.all().delete()


def worst_addresses(client) -> list[str]:
    rows = client.get("/api/v1/workloads/?page_size=100").json()["results"]
    workloads = [row["slug"] for row in rows]
    weights = ",".join(f"{workload}:{n}" for n, workload in enumerate(workloads, start=1))
    schema = client.get("/api/v1/schema/").json()
    addresses = [*PUBLIC, *(address for address in OTHERS if "{" not in address), "/api/v1/schema/?format=yaml"]
    for axis in AXES:
        addresses += [
            f"/api/v1/mixes/?axis={axis}&weights={weights}",
            f"/api/v1/rankings/{axis}/?workload=varmail&as_of=1",
            f"/compare/?axis={axis}&workload=randomfileaccess&as_of=1&method={METHOD}",
            f"/mix/?axis={axis}&" + "&".join(f"{workload}=1" for workload in workloads),
        ]
    for path, methods in schema["paths"].items():
        if "get" in methods and {} in methods["get"].get("security", [{}]) and "{" not in path:
            asked = ASKED.get(methods["get"]["operationId"], {})
            names = {parameter["name"] for parameter in methods["get"].get("parameters", ())}
            asked |= {name: value for name, value in (("page_size", 1000), ("as_of", 1)) if name in names}
            addresses.append(path + "?" + "&".join(f"{name}={value}" for name, value in asked.items()))
    return addresses


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.sqlite
def test_no_address_costs_a_stranger_more_than_the_web_server_spends(client, settings, published_evidence, run_tests):
    """Processor time of this thread, as on a quiet machine; the least of ten tries."""
    addresses = worst_addresses(client)
    settings.KDB_CPU_SECONDS_A_REQUEST = base.KDB_CPU_SECONDS_A_REQUEST
    too_dear = {}
    for address in addresses:
        costs = []
        while len(costs) < 10 and (not costs or min(costs) > MOST_SECONDS):
            forget_what_is_kept()
            began = time.thread_time()
            response = ask(client, address)
            if response.streaming:
                b"".join(response)
            cost = time.thread_time() - began
            costs.append(cost if cost <= MOST_SECONDS else cost / run_tests.slowness(run_tests.fixed_work()))
        if min(costs) > MOST_SECONDS:
            too_dear[address] = min(costs)

    assert len(addresses) > 80
    assert too_dear == {}
