"""Who works with KDB while it is being killed, over HTTP alone, and the ledger of what they were told.

Each person ends what they began: a request without an answer is sent again, with the same idempotency key where it has
one; where an earlier try may have been done already, what it was to bring about is looked at instead.
"""

import json
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

from .place import HANG_SECONDS, Place

ANSWER_SECONDS = 120
BACK_AFTER_SECONDS = 0.5
HEADER = "hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit\n"
# What people look at: every kind of answer, and lists.
PAGES = (
    *("/", "/?axis=hypervisor&workload=varmail", "/?axis=fs-pair&workload=fileserver&hypervisor=kvm", "/claims/"),
    *("/?axis=guest-fs&workload=varmail&hypervisor=kvm", "/?axis=host-fs&workload=varmail&hypervisor=kvm"),
    *("/compare/?axis=hypervisor&workload=fileserver&a=kvm&b=esxi&c=xen", "/case-studies/", "/knowledge/"),
    *("/knowledge/revisions/", "/search/?q=varmail", "/mix/?axis=fs-pair&hypervisor=kvm&varmail=60&webserver=40"),
    *(
        "/capacity/?axis=hypervisor&workload=varmail&rate=1000",
        "/feed/",
        "/healthz",
        "/collect.sh",
        "/case-studies/p0/bundle.zip",
    ),
    *("/api/v1/rankings/hypervisor/?workload=varmail", "/api/v1/rankings/fs-pair/?workload=varmail&hypervisor=kvm"),
    *("/api/v1/heat-maps/?workload=varmail&hypervisor=kvm", "/api/v1/status/", "/api/v1/measurements/?page_size=100"),
    *("/api/v1/explanations/?axis=hypervisor&workload=fileserver&a=kvm&b=esxi", "/api/v1/case-studies/"),
    *("/api/v1/mixes/?axis=fs-pair&weights=varmail:3,webserver:1&hypervisor=kvm", "/api/v1/claims/"),
    "/api/v1/comparisons/?axis=hypervisor&workload=fileserver&entries=kvm,esxi,xen",
)


class GiveUp(Exception):  # noqa: N818
    """KDB answered what it must not, or nothing for too long; the text says what."""


@dataclass
class Ledger:
    """A ledger keeps what people were told is so."""

    studies: dict[str, list[float]] = field(default_factory=dict)  # slug to the values in it
    statuses: dict[str, str] = field(default_factory=dict)  # slug to "published", "retracted"; "" deleted
    campaigns: dict[str, int] = field(default_factory=dict)  # slug to planned runs; filed as a draft of that name
    backups: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # requests without an answer, or answered with 503
    faults: list[str] = field(default_factory=list)
    done: Counter = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        with self.lock:
            self.done[what] += 1

    def lose(self, text: str) -> None:
        """Note a request that has to be sent again: what a kill may do, and a rolling upgrade may not."""
        with self.lock:
            self.lost.append(text)

    def fault(self, text: str) -> None:
        with self.lock:
            self.faults.append(text)


@dataclass
class Client:
    """One person at the API, patient with a server that is being killed."""

    address: str  # "http://127.0.0.1:8000"
    ledger: Ledger
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session = requests.Session()
        self.session.headers.update(self.headers)
        if self.token:
            self.session.headers["Authorization"] = f"Bearer {self.token}"

    def once(self, method: str, path: str, **options: Any) -> requests.Response | None:
        """None where there is no answer, or one that says to come back."""
        try:
            answer = self.session.request(method, f"{self.address}{path}", timeout=ANSWER_SECONDS, **options)
        except requests.RequestException as error:
            self.ledger.lose(f"{method} {path}: {error!r}")
            return None
        self.ledger.count("requests answered")
        if answer.status_code == 503:
            self.ledger.lose(f"{method} {path}: 503 {answer.text[:300]}")
            return None
        if answer.status_code >= 500:
            self.ledger.fault(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
            return None
        return answer

    def do(
        self, method: str, path: str, *good: int, is_so: Callable[[], bool] = lambda: False, **options: Any
    ) -> requests.Response | None:
        """Ask until it is answered, with one of `good`.

        is_so : where an earlier try may have been done: whether that is so. Then there is no answer to give.
        """
        deadline = time.monotonic() + HANG_SECONDS
        is_first = True
        while time.monotonic() < deadline:
            answer = self.once(method, f"/api/v1/{path}", **options)
            if answer is not None and answer.status_code in good:
                return answer
            if answer is not None:
                if not is_first and is_so():
                    self.ledger.count("requests that had been done")
                    return None
                raise GiveUp(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
            is_first = False
            time.sleep(BACK_AFTER_SECONDS)
        raise GiveUp(f"{method} {path}: no answer for {HANG_SECONDS} s")

    def get(self, path: str, *good: int) -> Any:
        answer = self.do("GET", path, *(good or (200,)))
        assert answer is not None
        return answer.json()

    def is_there(self, path: str, **fields: Any) -> bool:
        """Tell whether there is such an object, with these values."""
        answer = self.do("GET", path, 200, 404)
        assert answer is not None
        return answer.status_code == 200 and all(answer.json()[name] == value for name, value in fields.items())


def read_pages(
    client: Client,
    chance: random.Random,
    goes_on: Callable[[], bool],
    pause_seconds: float = 0,
    pages: Sequence[str] = PAGES,
) -> None:
    """Be a visitor who looks at one thing after another, also at what was published meanwhile."""
    latest = 0
    while goes_on():
        published = [f"/case-studies/{slug}/" for slug, status in list(client.ledger.statuses.items()) if status]
        page = chance.choice([*pages, *published[-5:]])
        answer = client.once("GET", page)
        if answer is None:
            time.sleep(BACK_AFTER_SECONDS)
        elif answer.status_code not in (200, 202):
            client.ledger.fault(f"GET {page}: {answer.status_code} {answer.text[:300]}")
        elif page == "/api/v1/status/":
            latest, before = answer.json()["revision"], latest
            if latest < before:
                client.ledger.fault(f"the knowledge went back from revision {before} to {latest}")
        client.ledger.count("pages read")
        time.sleep(chance.uniform(0, 2 * pause_seconds))


@dataclass
class Contributor:
    """Brings results in, has them reviewed and published, and takes some back."""

    author: Client
    reviewer: Client
    name: str
    chance: random.Random
    number: int = 0
    pause_seconds: float = 0

    def work(self, goes_on: Callable[[], bool]) -> None:
        while goes_on():
            self.number += 1
            self.contribute(f"{self.name}-{self.number}")
            time.sleep(self.chance.uniform(0, 2 * self.pause_seconds))

    def contribute(self, slug: str) -> None:
        ledger, author, reviewer, chance = self.author.ledger, self.author, self.reviewer, self.chance
        draft = {"slug": slug, "title": f"Soak {slug}", "run_seconds": 60, "storage": {"description": "a disk"}}
        author.do("POST", "drafts/", 201, json=draft, is_so=lambda: author.is_there(f"drafts/{slug}/"))
        ledger.count("drafts begun")
        values = []
        for host_fs, bring in (("ext4", self.in_bulk), ("xfs", self.as_files), ("btrfs", self.and_discard)):
            table, numbers = self.table(host_fs)
            if bring(slug, table):
                values += numbers
        if chance.random() < 0.15:
            author.do("DELETE", f"drafts/{slug}/", 204, is_so=lambda: not author.is_there(f"drafts/{slug}/"))
            ledger.statuses[slug] = ""
            ledger.count("drafts deleted")
            return
        ledger.studies[slug] = values
        for is_returned in (*([True] if chance.random() < 0.3 else []), False):
            author.do(
                *("POST", f"drafts/{slug}/submit/", 200),
                is_so=lambda: author.is_there(f"drafts/{slug}/", status="submitted"),
            )
            if is_returned:
                reviewer.do(
                    *("POST", f"drafts/{slug}/return/", 200),
                    json={"reason": "Which kernel?"},
                    is_so=lambda: author.is_there(f"drafts/{slug}/", status="draft"),
                )
                ledger.count("drafts returned")
        reviewer.do(
            *("POST", f"drafts/{slug}/publish/", 200),
            json={"reason": "Looked at."},
            is_so=lambda: author.is_there(f"case-studies/{slug}/", status="published"),
        )
        ledger.statuses[slug] = "published"
        ledger.count("case studies published")
        if chance.random() < 0.25:
            reviewer.do(
                *("POST", f"case-studies/{slug}/retract/", 200),
                json={"reason": "The wrong disk."},
                is_so=lambda: author.is_there(f"case-studies/{slug}/", status="retracted"),
            )
            ledger.statuses[slug] = "retracted"
            ledger.count("case studies retracted")

    def table(self, host_fs: str) -> tuple[str, list[float]]:
        """Return rows that no other table has, and their values."""
        values = [round(self.chance.uniform(50, 150), 6) for _ in range(6)]
        workload = self.chance.choice(["varmail", "fileserver"])
        cells = [(hypervisor, guest) for hypervisor in ("kvm", "xen") for guest in ("ext4", "xfs", "btrfs")]
        rows = (
            f"{hypervisor},{host_fs},{guest},{workload},filebench,1.4.9.1,1,{value},MiB/s\n"
            for (hypervisor, guest), value in zip(cells, values, strict=True)
        )
        return HEADER + "".join(rows), values

    def in_bulk(self, slug: str, table: str) -> bool:
        key = {"Idempotency-Key": f"{slug}-bulk", "Content-Type": "text/csv"}
        self.author.do("POST", f"drafts/{slug}/measurements/", 200, 201, data=table.encode(), headers=key)
        self.author.ledger.count("tables filed in one request")
        return True

    def as_files(self, slug: str, table: str) -> bool:
        answer = self.author.do(
            *("POST", "imports/", 200, 202),
            data={"case_study": slug, "confirm": "true"},
            files={"file": ("results.csv", table)},
            headers={"Idempotency-Key": f"{slug}-files"},
        )
        assert answer is not None
        self.wait_for(answer.json()["id"])
        self.author.ledger.count("files imported")
        return True

    def and_discard(self, slug: str, table: str) -> bool:
        answer = self.author.do(
            *("POST", "imports/", 200, 202),
            data={"case_study": slug, "confirm": "true"},
            files={"file": ("wrong.csv", table)},
            headers={"Idempotency-Key": f"{slug}-wrong"},
        )
        assert answer is not None
        number = answer.json()["id"]
        if self.chance.random() < 0.5:
            self.wait_for(number)
        self.author.do(
            *("DELETE", f"imports/{number}/", 204),
            is_so=lambda: self.author.is_there(f"imports/{number}/", state="discarded"),
        )
        self.author.ledger.count("imports discarded")
        return False

    def wait_for(self, number: int) -> None:
        """Wait until the import is filed; one whose job failed is read again, as its page says."""
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            batch = self.author.get(f"imports/{number}/")
            if batch["state"] == "filed":
                return
            if batch["state"] != "reading":
                raise GiveUp(f"import {number} is {batch['state']}: {json.dumps(batch)[:500]}")
            if batch.get("error"):
                self.author.do("POST", f"imports/{number}/read/", 202, 409)
                self.author.ledger.count("imports read again")
            time.sleep(0.2)
        raise GiveUp(f"import {number} was not filed in {HANG_SECONDS} s")


@dataclass
class Operator:
    """Runs one small campaign after another on the laboratory's host, and files each as a draft."""

    client: Client
    pool: str
    number: int = 0

    def work(self, goes_on: Callable[[], bool]) -> None:
        while goes_on():
            self.number += 1
            self.run(f"campaign-{self.number}")

    def run(self, slug: str) -> None:
        client, ledger = self.client, self.client.ledger
        plan = {
            **{"slug": slug, "title": f"Soak {slug}", "host": "lab", "pool": self.pool},
            **{"driver": "native", "engine": "fio", "host_file_systems": ["ext4"], "workloads": ["varmail"]},
            **{"repetitions": 2, "run_seconds": 2, "disk_mib": 192, "scale_percent": 1, "seed": self.number},
            "follows_protocol": False,
        }
        client.do("POST", "campaigns/", 201, json=plan, is_so=lambda: client.is_there(f"campaigns/{slug}/"))
        ledger.campaigns[slug] = plan["repetitions"]
        self.see_through(slug)
        while failed := [run for run in self.runs(slug) if run["state"] != "done"]:
            for run in failed:
                client.do("POST", f"campaigns/{slug}/runs/{run['position']}/retry/", 200, 409)
                ledger.count("runs that failed and were repeated")
            self.see_through(slug)
        client.do("POST", f"campaigns/{slug}/draft/", 201, is_so=lambda: client.is_there(f"drafts/{slug}/"))
        ledger.count("campaigns filed")

    def see_through(self, slug: str) -> None:
        """Start it, and resume it where it paused because the host could not be used, until it has ended."""
        deadline = time.monotonic() + HANG_SECONDS
        while (state := self.client.get(f"campaigns/{slug}/")["state"]) != "finished":
            if time.monotonic() > deadline:
                raise GiveUp(f"campaign {slug} is {state} after {HANG_SECONDS} s")
            if state in ("planned", "paused"):
                self.client.do("POST", f"campaigns/{slug}/start/", 200, 409)
                self.client.ledger.count("campaigns started or resumed")
            time.sleep(BACK_AFTER_SECONDS)

    def runs(self, slug: str) -> Iterator[dict[str, Any]]:
        yield from self.client.get(f"campaigns/{slug}/runs/?page_size=100")["results"]


@dataclass
class Keeper:
    """Makes one backup after another; the one under way may be killed: then its file is whole or not there."""

    place: Place
    ledger: Ledger
    every: float
    under_way: subprocess.Popen | None = None

    def work(self, goes_on: Callable[[], bool]) -> None:
        number = 1
        while goes_on():
            path = self.place.folder / f"backups/{number}.zip"
            self.under_way = self.place.manage("backup", str(path))
            died = self.under_way.wait(HANG_SECONDS) != 0
            self.ledger.count("backups that died" if died else "backups made")
            if died and not path.exists():
                continue  # once more, which clears away what is left of it
            self.ledger.backups.append(str(path))
            number += 1
            until = time.monotonic() + self.every
            while goes_on() and time.monotonic() < until:
                time.sleep(0.2)
