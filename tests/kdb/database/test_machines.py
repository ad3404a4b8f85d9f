"""Several machines over one PostgreSQL and one Redis: each killed in turn while people read and upload.

Only where MACHINES says how many of each there are: two take minutes on two cores, three are the whole proof.
"""

import json
import os
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

import pytest

from tests.kdb.database.machines import Machine, Machines, missing, wait_until

pytestmark = [pytest.mark.postgresql, pytest.mark.slow, pytest.mark.nightly]

HTTPS = {"X-Forwarded-Proto": "https"}
QUESTION = "/api/v1/rankings/guest-fs/?workload=varmail&hypervisor=kvm"
PROGRESS = 3  # answers and uploads between one death and the next

PREPARE = """
from tests import factories
from kdb.accounts.roles import update_groups
update_groups()
user = factories.make_user()
study = factories.make_case_study("first")
for number, guest in enumerate(("ext4", "xfs")):
    factories.make_measurement(100.0 + 50 * number, case_study=study, guest_fs=guest)
factories.publish(study)
factories.make_case_study("draft", owner=user)
factories.entry(factories.Hypervisor, "kvm")
print(factories.make_token(user))
"""
PUBLISH = """
from tests import factories
storage = factories.make_storage(slug="disk-{number}", server=factories.make_server(slug="server-of-{number}"))
study = factories.make_case_study("later-{number}", laboratory="lab-{number}", storage=storage)
for number, guest in enumerate(("ext4", "xfs")):
    factories.make_measurement(100.0 + {number} - 20 * number, case_study=study, guest_fs=guest)
factories.publish(study)
"""


class People:
    """Readers and one who uploads, on whichever web server answers."""

    def __init__(self, machines: Machines, token: str) -> None:
        self.machines, self.token = machines, token
        self.ports = cycle(machines.web_ports)
        self.answers: list[tuple[int, str]] = []
        self.uploaded: list[int] = []
        self.wrong: list[str] = []
        self.done = threading.Event()
        self.threads = [
            threading.Thread(target=self.until_done, args=[deed]) for deed in (self.read, self.read, self.upload)
        ]
        self.numbers = count(1)

    def until_done(self, deed) -> None:
        while not self.done.is_set():
            try:
                deed()
            except (OSError, ValueError):  # refused, broken off, cut short
                self.done.wait(0.1)

    def request(self, address: str, data: bytes | None = None, **headers: str) -> dict | None:
        """Return the answer, or None where KDB says that it cannot answer now."""
        port = next(self.ports)
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{address}", data, HTTPS | headers)
        try:
            with urllib.request.urlopen(asked, timeout=30) as response:
                return json.load(response) if response.status in (200, 201) else None
        except urllib.error.HTTPError as error:
            if error.code != 503:
                self.wrong.append(f"{address}: {error.code} {error.read()[:300]!r}")
            return None

    def read(self) -> None:
        if answer := self.request(QUESTION):
            self.answers.append((answer["revision"], told(answer)))
        self.done.wait(0.05)

    def upload(self) -> None:
        """Send one row until a server has said that it is filed."""
        number = next(self.numbers)
        header = "hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit,source"
        body = f"{header}\nkvm,ext4,ext4,varmail,filebench,1.4.9.1,{number},7.5,MiB/s,Table 1\n".encode()
        about = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "text/csv",
            "Idempotency-Key": f"row-{number}",
        }
        while not self.done.is_set():
            try:
                if self.request("/api/v1/drafts/draft/measurements/", body, **about):
                    self.uploaded.append(number)
                    return
            except (OSError, ValueError):
                pass
            self.done.wait(0.1)

    def go_on(self) -> None:
        """Wait until both have got further, whatever is dead."""
        answers, uploads = len(self.answers) + PROGRESS, len(self.uploaded) + PROGRESS
        wait_until(lambda: len(self.answers) >= answers and len(self.uploaded) >= uploads, "people are served")


def told(answer: dict) -> str:
    return json.dumps([(entry["key"], entry["rank"], entry["ratio"]) for entry in answer["entries"]])


@pytest.fixture
def machines() -> Iterator[Machines]:
    if not (of_each := int(os.environ.get("MACHINES", "0"))):
        pytest.skip("MACHINES does not say how many")
    if why := missing():
        pytest.skip(f"not installed: {why}")
    with tempfile.TemporaryDirectory(prefix="kdb-machines-", ignore_cleanup_errors=True) as folder:
        made = Machines(Path(folder))
        try:
            made.start(of_each)
            yield made
        finally:
            made.stop()


def test_each_machine_may_die_and_nothing_is_lost_or_wrong(machines):
    people = People(machines, machines.python(PREPARE))
    for thread in people.threads:
        thread.start()
    try:
        people.go_on()
        shared: list[list[Machine]] = [machines.webs, machines.workers, machines.beats]
        for number, machine in enumerate(shared_machine for kind in shared for shared_machine in kind):
            machine.kill()
            if number % 3 == 0:
                machines.python(PUBLISH.format(number=number))
            people.go_on()
            machine.start()
            wait_until(lambda machine=machine: machine.process.poll() is None, f"{machine.name} is back")
        for machine in (machines.redis, machines.primary):  # of which there is one
            machine.kill()
            machine.start()
            people.go_on()
    finally:
        people.done.set()
        for thread in people.threads:
            thread.join()
    assert not people.wrong, people.wrong[:3]
    filed = machines.ask(
        machines.primary_port,
        "SELECT vm_count FROM experiments_measurement JOIN experiments_configuration c ON c.id = configuration_id "
        "JOIN experiments_casestudy s ON s.id = c.case_study_id WHERE s.slug = 'draft' ORDER BY 1",
    )
    numbers = [number for (number,) in filed]
    assert len(numbers) == len(set(numbers)), "an upload was filed twice"
    assert set(people.uploaded) <= set(numbers), "an upload that was acknowledged is lost"
    of_revision = dict(people.answers)
    for revision, answer in of_revision.items():
        assert {other for at, other in people.answers if at == revision} == {answer}
        assert told(people.request(f"{QUESTION}&as_of={revision}")) == answer, f"wrong as of revision {revision}"
    assert len(of_revision) > 1, "nothing was published meanwhile"
