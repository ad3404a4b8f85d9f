"""The surroundings of every test: a database, no network beyond this machine, and the system's Chromium.

Which tests run where is decided here, from what a test uses, so few tests have to say it:

    script/test, one run      SQLite and no Redis: everything, browser included
    script/test, the other    PostgreSQL and Redis (--services): what is marked `postgresql`, `redis` or `both`,
                              and what commits
    script/test --quick       what neither touches a database nor starts processes (`server`) nor is marked `slow`;
                              hypothesis tries half of its examples
    script/test --all         also what is marked `nightly`, which no other run has; and on PostgreSQL all that
                              touches the database and is not marked `sqlite`; more than twice hypothesis' examples
"""

import gc
import importlib
import itertools
import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import pytest
from django.core.cache import caches
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models.sql.compiler import SQLCompiler
from django.test import TransactionTestCase
from playwright.sync_api import expect

from kdb.operations import outages
from kdb.operations.status import Probe
from modelling.answers import knowledge
from tests import evidence, made_once, worked_out

# Playwright's synchronous API keeps an event loop in this thread, which Django takes for async code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HANG_MILLISECONDS = 600_000  # what is right takes a few hundred, also where a machine has much else to do some thousand
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "published_evidence"}


_BEGAN = pytest.StashKey[float]()

# A machine may be busy: how long one example takes says nothing about what is tested.
for _tier, _examples in (("quick", 20), ("default", 40), ("all", 100)):
    hypothesis.settings.register_profile(
        _tier, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], max_examples=_examples
    )
worked_out.install()

# Which tests run


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kdb")
    group.addoption("--services", action="store_true", help="Only what PostgreSQL and Redis can change.")
    group.addoption("--embedded", action="store_true", help="Only what needs neither PostgreSQL nor Redis.")
    group.addoption("--quick", action="store_true", help="Only what computes: no database, no process, nothing slow.")
    group.addoption("--taken", metavar="FOLDER", help="Pass over files that another run with this folder has begun.")
    group.addoption("--all", action="store_true", help="Also what is marked `nightly`.")


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile(next((tier for tier in ("quick", "all") if config.getoption(tier)), "default"))


def touches_database(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())))


def commits(item: pytest.Item) -> bool:
    """Tell whether a test ends its own transactions: what locks, races and jobs do differs between databases."""
    mark = item.get_closest_marker("django_db")
    return bool(mark and mark.kwargs.get("transaction")) or "transactional_db" in getattr(item, "fixturenames", ())


def is_for_services(item: pytest.Item, marks: set[str], *, all_tiers: bool) -> bool:
    if marks & {"postgresql", "redis"}:
        return True
    if marks & {"browser", "server", "sqlite"} or not touches_database(item):
        return False
    return all_tiers or "both" in marks or commits(item)


NOT_QUICK = {"browser", "server", "slow", "nightly", "postgresql", "redis"}


def is_quick(item: pytest.Item) -> bool:
    return not touches_database(item) and not NOT_QUICK & {mark.name for mark in item.iter_markers()}


# What a file has that has a test for the services by default: their marks, and what commits.
FOR_SERVICES = re.compile(r"mark\.(?:both|postgresql|redis)\b|transaction=True|transactional_db")

# The line at the head of a file that marks every test in it as none of --quick. A file without it is read.
NONE_IS_QUICK = re.compile(
    rf"^pytestmark = \[?[^#\n]*\bmark\.(?:django_db|{'|'.join(sorted(NOT_QUICK))})\b", re.MULTILINE
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without any test for the services, and those whose tests are all not quick, by their text.

    To collect them takes longer than to run the tests of some.
    """
    services, quick = config.getoption("services") and not config.getoption("all"), config.getoption("quick")
    if not (services or quick) or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    is_left_out = (services and not FOR_SERVICES.search(text)) or (quick and NONE_IS_QUICK.search(text))
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Let the garbage collector skip what collecting makes: thousands of tests, none of which is ever garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    has_postgresql = os.environ.get("DATABASE_URL", "").startswith(("postgres", "pgsql"))
    has_redis = "REDIS_URL" in os.environ
    kept, elsewhere = [], []
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):  # what `page` and `context` rest on
            item.add_marker("browser")
        marks = {mark.name for mark in item.iter_markers()}
        needs_services = bool(marks & {"postgresql", "redis"})
        for_services = is_for_services(item, marks, all_tiers=config.getoption("all"))
        if (
            (config.getoption("services") and not for_services)
            or (config.getoption("embedded") and needs_services)
            or (config.getoption("quick") and not is_quick(item))
            or ("nightly" in marks and not config.getoption("all"))
        ):
            elsewhere.append(item)
            continue
        kept.append(item)
        on_postgresql = "postgresql" in marks or (config.getoption("services") and "redis" not in marks)
        if on_postgresql and not has_postgresql:
            item.add_marker(pytest.mark.skip(reason="PostgreSQL is missing (script/test brings it)"))
        if "redis" in marks and not has_redis:
            item.add_marker(pytest.mark.skip(reason="Redis is missing (script/test brings it)"))
        if "browser" in marks and not CHROMIUM:
            item.add_marker(pytest.mark.skip(reason="Chromium is missing"))
    if elsewhere:
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = kept
    if hasattr(config, "workerinput"):  # of several processes, so that none is left with it when the others are done
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def takes(folder: Path, file: Path) -> bool:
    """Tell whether no other run has begun a file of tests; from now on, this one has."""
    try:
        (folder / str(file).replace("/", "+")).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Take one file after the other from the same list as other runs (--taken), with no process that deals them out.

    That process would have to start, and to collect, before its workers do.
    """
    folder = session.config.getoption("taken")
    if not folder or session.testsfailed or session.config.option.collectonly:
        return None
    files = itertools.groupby(session.items, key=lambda item: item.path)
    mine = (item for file, items in files if takes(Path(folder), file) for item in items)
    item = next(mine, None)
    while item:
        following = next(mine, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True


# What a test takes


def cpu_seconds() -> float:
    """Return the processor's time of this process and of the children that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEGAN] = cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Write into the report, beside the seconds of the wall, what script/test adds up and lists."""
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", f"{cpu_seconds() - item.stash[_BEGAN]:.2f}"))


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory) -> None:
    """Keep what `kdb measure` writes of itself out of this machine's folders."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture
def run_tests(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give the module of script/test, which finds its neighbours as a script does."""
    monkeypatch.syspath_prepend(pytestconfig.rootpath / "script")
    return importlib.import_module("_run_tests")


# The database


@pytest.fixture(scope="session")
def migrated_sqlite(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty database with all migrations; copy it."""
    return shutil.copy(made_once.migrated_sqlite(pytestconfig.cache.mkdir("kdb")), tmp_path_factory.mktemp("migrated"))


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    """Django would delete the copy of SQLite's database before it begins."""
    return django_db_keepdb or connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Begin with a copy of what the migrations make: running them takes ten seconds a process, and finding them done
    a quarter of one. SQLite's is a file, with its WAL, as script/server uses it: each thread has its own connection."""
    if connection.vendor == "sqlite":
        path = tmp_path_factory.mktemp("database") / "test.sqlite3"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), path)
        connection.settings_dict["TEST"]["NAME"] = str(path)
    else:
        connection.settings_dict["TEST"]["TEMPLATE"] = made_once.migrated_postgresql(os.environ["DATABASE_URL"])


@pytest.fixture(scope="session")
def _copy_evidence(django_db_setup: None, django_db_blocker) -> list[str]:
    """Return the statements that copy into the database what load_evidence writes; it is loaded only once."""
    with django_db_blocker.unblock():
        with transaction.atomic():
            call_command("load_evidence", verbosity=0)
            rows = evidence.read()
            transaction.set_rollback(True)
        with transaction.atomic():
            return evidence.keep(rows)


# pytest-django's own fixtures ask for `monkeypatch` in every test; only who patches shall (tests/worked_out.py).


@pytest.fixture
def django_mail_patch_dns(django_mail_dnsname: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.core.mail.message.DNS_NAME", django_mail_dnsname)
        yield


@pytest.fixture
def _template_string_if_invalid_marker() -> None:
    """No test is marked `ignore_template_errors`."""


@pytest.fixture
def published_evidence(request: pytest.FixtureRequest, _copy_evidence: list[str], db: None) -> Iterator[None]:
    """Give the published evidence in this test's database, as load_evidence leaves it.

    Loaded once a process and copied by the database into each test that asks, so that every other
    test still begins with an empty database, and the pages' tests (live_server) have it too.
    """
    evidence.execute(_copy_evidence)
    _empty_caches()  # a late request of an earlier test's browser may have kept the names of an empty database
    worked_out.begin(_copy_evidence, set(request.fixturenames))
    yield
    worked_out.end()


@pytest.fixture
def answers_hold(db: None) -> Iterator[None]:
    """Check after a test of what can go wrong that every standing answer is what is computed from scratch."""
    yield
    call_command("check_answers", verbosity=0)


# Who may do what: migrations leave it in the database, and a test that commits leaves it as it is.
_LEFT_BY_MIGRATIONS = {"auth_group", "auth_group_permissions", "auth_permission", "django_content_type"}


def _empty_tables(case: TransactionTestCase) -> None:
    """End a test that commits. Django's own end also makes every permission and role anew, a second each time."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = [name for name in names if name not in _LEFT_BY_MIGRATIONS]
    connection.ops.execute_sql_flush(
        connection.ops.sql_flush(no_style(), tables, reset_sequences=False, allow_cascade=False)
    )


TransactionTestCase._fixture_teardown = _empty_tables


@pytest.fixture(autouse=True)
def _look_from_the_tests_transaction(request: pytest.FixtureRequest) -> Iterator[None]:
    """The status looks from a thread of its own, which does not see what a test has not committed."""
    from modelling.answer_pages import api

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "FIGURES", Probe(api.figures))  # what an earlier test saw is forgotten
        patch.setattr("kdb.operations.status.SEEN_SECONDS", 0)  # and what this one saw
        if not commits(request.node) and "live_server" not in request.fixturenames:
            patch.setattr("kdb.operations.status.in_background", lambda work: work())
        yield


@pytest.fixture(autouse=True, scope="session")
def _log_each_outage() -> Iterator[None]:
    """Another test may have met the same outage within the minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outages, "INTERVAL_SECONDS", 0)
        yield


@pytest.fixture
def sql_written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the table of each query, subqueries too, whose SQL Django writes: most of what a small query costs."""
    tables: list[str] = []
    write = SQLCompiler.as_sql

    def noted(self: SQLCompiler, *args: Any, **options: Any) -> Any:
        tables.append(self.query.get_meta().db_table)
        return write(self, *args, **options)

    monkeypatch.setattr(SQLCompiler, "as_sql", noted)
    return tables


@pytest.fixture(autouse=True)
def _clear_caches() -> Iterator[None]:
    yield
    _empty_caches()


def _empty_caches() -> None:
    for cache in caches.all(initialized_only=True):
        cache.clear()
    knowledge._load_knowledge.cache_clear()


# The network


def is_on_this_machine(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _service_addresses() -> set[str]:
    """Return the addresses of DATABASE_URL and REDIS_URL: they may name another machine."""
    hosts = {urlsplit(os.environ.get(name, "")).hostname for name in ("DATABASE_URL", "REDIS_URL")} - {None}
    return {info[4][0] for host in hosts for info in socket.getaddrinfo(host, None)}


@pytest.fixture(scope="session")
def connections_outside() -> Iterator[list[str]]:
    """Refuse connections that leave this machine, and note them for the test that tried."""
    services, attempts = _service_addresses(), []

    def guarded(method):
        def connect(sock: socket.socket, address):
            inet = sock.family in (socket.AF_INET, socket.AF_INET6)
            if inet and not is_on_this_machine(address[0]) and address[0] not in services:
                attempts.append(str(address))
                raise ConnectionRefusedError(f"tests may not connect to {address}")
            return method(sock, address)

        return connect

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
        yield attempts


@pytest.fixture(autouse=True)
def _no_network(connections_outside: list[str]) -> Iterator[None]:
    connections_outside.clear()
    yield
    if connections_outside:
        pytest.fail(f"opened a connection that leaves this machine: {', '.join(connections_outside)}")


# The browser


@pytest.fixture(scope="session")
def base_url() -> None:
    """Addresses are spelled with live_server; the plugin's own fixture of this name warns on pytest 9."""


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict) -> dict:
    return {
        **browser_type_launch_args,
        "executable_path": CHROMIUM,
        "args": ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"],
    }


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict) -> dict:
    return {**browser_context_args, "reduced_motion": "reduce", "viewport": {"width": 1280, "height": 900}}


@pytest.fixture
def page(page) -> Iterator:
    """Give a page that fails its test on a script error, a breach of the content policy, or a foreign request."""
    complaints = []

    def read_console(message) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            complaints.append(message.text)

    def read_request(outgoing) -> None:
        address = urlsplit(outgoing.url)
        if address.scheme in ("http", "https", "ws", "wss") and not is_on_this_machine(address.hostname):
            complaints.append(f"request to {outgoing.url}")

    page.on("pageerror", lambda error: complaints.append(f"script error: {error}"))
    page.on("console", read_console)
    page.on("request", read_request)
    page.set_default_timeout(HANG_MILLISECONDS)
    expect.set_options(timeout=HANG_MILLISECONDS)
    yield page
    if complaints:
        pytest.fail("\n".join(complaints))
