"""The targets of fuzzing. A target takes bytes, and its check raises where they bring about what no input may.

Inputs of `bundle`, `query` and `posts` are texts that a mutation leaves readable: members of a ZIP behind their names,
and a line of a request before its query or body.
"""

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from experiments.readers import READERS, Reading, archives, json_array, read, table
from modelling.workloads import fio_job, profiles, wml

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
KEPT = DATA / "fuzz"  # a folder a target
LONGEST_SEED = 20_000

Check = Callable[[bytes], None]


@dataclass(frozen=True)
class Target:
    """One thing that takes bytes from strangers.

    seeds : inputs to begin with; needs_scene : Django, and the database that `scene` fills
    """

    check: Check
    seeds: Callable[[], Iterable[bytes]]
    needs_scene: bool = False


# Readers


def check_reading(reading: Reading) -> None:
    """Check that a reading says something, and that its numbers are numbers."""
    assert reading.runs or reading.refused or reading.facts or reading.parts
    for run in reading.runs:
        figures = (run.throughput_mib_s, run.ops_per_s, run.latency_ms, run.duration_s)
        for value in (*figures, *run.percentiles_ms.values()):
            assert value is None or 0 < value < math.inf
    json.dumps([asdict(fact) for fact in reading.facts], allow_nan=False)
    for part in reading.parts:
        assert part.name
        check_reading(part.reading)


def check_reader(name: str, data: bytes) -> None:
    reader = next(reader for reader in READERS if reader.name == name)
    reader.recognises(data)
    check_reading(reader.read(data))
    check_reading(read(data))


def check_parts(data: bytes) -> None:
    """Several systems, or several benchmarks, in one file."""
    check_reading(read(data))


def check_table(data: bytes) -> None:
    if table.recognises(data):
        for _ in table.read_table(data).rows():
            pass


def check_archive(data: bytes) -> None:
    try:
        for _ in archives.members("fuzz.zip", data):
            pass
    except archives.ArchiveError:
        pass


def check_json_array(data: bytes) -> None:
    """Check that the lines are such as the table reader reads."""
    try:
        lines = list(json_array.lines_of(data))
    except ValueError:
        return
    for line in lines:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        check_table(line)


def _captured(*patterns: str) -> Iterator[bytes]:
    for path in sorted(path for pattern in patterns for path in DATA.glob(pattern)):
        if path.is_file() and path.suffix not in (".md", ".py"):
            yield path.read_bytes()[:LONGEST_SEED]


def _seeds_of_reader(name: str) -> Iterator[bytes]:
    start = name.partition("-")[0]
    return _captured(f"{start}/*", f"{name}/*", f"facts/{start}*")


def _seeds_of_parts() -> Iterator[bytes]:
    parts = [data for data in _captured("*/*") if len(data) < LONGEST_SEED // 4]
    for number, data in enumerate(parts):
        yield data + b"\n" + parts[(number + 7) % len(parts)]
        yield b"== ext4\n" + data + b"\n== xfs\n" + data


def _seeds_of_table() -> Iterator[bytes]:
    yield table.template_csv().encode()
    yield table.template_xlsx()
    yield table.template_csv().replace(",", ";").encode("utf-16")
    yield b'{"hypervisor": "kvm", "host_fs": "xfs", "guest_fs": "xfs", "workload": "varmail", "value": 9.5}\n'


def _zipped(members: Iterable[tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


# Workloads that visitors give


def check_wml(data: bytes) -> None:
    text = data.decode(errors="replace")
    try:
        load_profile = profiles.profile(wml.parse(text))
    except wml.WmlError:
        return
    json.dumps(asdict(load_profile), allow_nan=False)


def check_fio_job(data: bytes) -> None:
    try:
        load_profile = fio_job.fio_profile(data.decode(errors="replace"))
    except wml.WmlError:
        return
    json.dumps(asdict(load_profile), allow_nan=False)


# What needs the database


def scene() -> None:
    """Something of each kind, for addresses of pages and API to lead to; beside the published evidence."""
    from experiments.campaigns import control
    from tests import factories
    from tests.modelling.fleet.moving.fleets import shown

    user = factories.make_user("", username="ada", is_superuser=True)
    draft = factories.make_case_study("my-lab", owner=user)
    factories.make_measurement(case_study=draft)
    factories.make_import(draft, uploaded_by=user)
    factories.make_raw_file(draft)
    host = factories.make_host("lab-1", registered_by=user)
    campaign = control.create(factories.make_campaign(host, slug="night"), user=user)
    control.start(campaign)
    shown(host)
    factories.make_machine(host, pk=1)
    factories.make_output(campaign.runs.first(), "host.txt")


def check_bundle(data: bytes) -> None:
    from django.contrib.auth.models import User
    from django.db import transaction

    from experiments.case_studies import bundles

    parts = re.split(rb"^== (\S+)\n", data, flags=re.MULTILINE)[1:]
    members = dict(zip((name.decode(errors="replace") for name in parts[::2]), parts[1::2], strict=True))
    try:
        packed = _zipped(members.items())
    except ValueError:  # a name that no ZIP has
        return
    with transaction.atomic():
        try:
            bundles.import_bundle(packed, user=User.objects.get(username="ada"), door="web")
        except bundles.BundleError:
            pass
        finally:
            transaction.set_rollback(True)


def _seeds_of_bundle() -> Iterator[bytes]:
    from experiments.case_studies import bundles
    from experiments.models import CaseStudy

    for study in CaseStudy.objects.order_by("slug"):
        file = io.BytesIO()
        bundles.export(study, file)
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        document = json.loads(members[bundles.DOCUMENT])
        for one in (document["server"], document["storage"], document["case_study"]):
            one["slug"] += "-again"
        members[bundles.DOCUMENT] = json.dumps(document).encode()
        seed = b"".join(b"== %s\n%s" % (name.encode(), content) for name, content in members.items())
        if len(seed) < LONGEST_SEED:
            yield seed


@cache
def _client() -> Any:
    """Return somebody who may do everything, so that nothing is hidden behind a refusal."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.get(username="ada"))
    return client


def check_request(data: bytes) -> None:
    """Check that no request fails: `GET /path` or `POST /path media/type`, and from the next line on query or body."""
    from django.db import transaction

    head, _, rest = data.partition(b"\n")
    words = head.decode("latin-1").split()
    if len(words) < 2 or not words[1].isascii() or not words[1].startswith("/"):
        return
    method, path, media_type = words[0], words[1], (words[2] if len(words) > 2 else "application/json")
    options: dict[str, Any] = {"QUERY_STRING": rest.decode("latin-1")} if method == "GET" else {}
    body = b"" if method == "GET" else rest
    with transaction.atomic():
        try:
            response = _client().generic(method, path, body, content_type=media_type, **options)
            if response.streaming:
                for _ in response:
                    pass
            assert response.status_code < 500, response.content[:2000]
        finally:
            transaction.set_rollback(True)


def _operations() -> Iterator[tuple[str, str, dict[str, Any], Any, str]]:
    """Method, path, query, body and media type of an exchange with each operation of the API."""
    from kdb.api.schema import EXAMPLES, CachedGenerator

    schema = CachedGenerator(api_version="v1").get_schema(public=True)
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            example = EXAMPLES[operation["operationId"]]
            parameters = example["parameters"]
            address = re.sub(r"{(\w+)}", lambda match, parameters=parameters: str(parameters[match[1]]), path)
            query = {name: value for name, value in parameters.items() if f"{{{name}}}" not in path}
            yield method.upper(), address, query, example.get("body"), example.get("media_type", "application/json")


def _seeds_of_query() -> Iterator[bytes]:
    from tests.pages import PRIVATE, PUBLIC
    from tests.test_every_page import OTHERS

    for address in (*PUBLIC, *PRIVATE, *(other for other in OTHERS if "{" not in other)):
        parts = urlsplit(address)
        yield f"GET {parts.path}\n{parts.query}".encode()
    for method, path, query, _, _ in _operations():
        if method == "GET":
            yield f"GET {path}\n{urlencode(query)}".encode()


class _Forms(HTMLParser):
    """The forms of a page: action to fields, with what stands in them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((attributes.get("action", "") if attributes.get("method") == "post" else "-", {}))
        elif tag in ("input", "select", "textarea", "button") and "name" in attributes and self.found:
            self.found[-1][1].setdefault(attributes["name"], attributes.get("value", ""))


def _seeds_of_posts() -> Iterator[bytes]:
    from django.test.client import BOUNDARY, encode_multipart

    from tests.pages import PRIVATE, PUBLIC

    for page in (
        *PUBLIC,
        *PRIVATE,
        "/drafts/my-lab/edit/",
        "/laboratory/hosts/lab-1/edit/",
        "/case-studies/p1/retract/",
    ):
        forms = _Forms()
        forms.feed(_client().get(page).content.decode())
        for action, fields in forms.found:
            if action != "-" and "logout" not in action:
                yield f"POST {action or page} application/x-www-form-urlencoded\n{urlencode(fields)}".encode()
    for path, fields in (
        ("/drafts/my-lab/upload/", {"answers": "{}"}),
        ("/drafts/bundle/", {}),
        ("/api/v1/imports/", {"case_study": "my-lab", "answers": "{}"}),
    ):
        file = io.BytesIO(table.template_csv().encode())
        file.name = "results.csv"
        head = f"POST {path} multipart/form-data;boundary={BOUNDARY}\n"
        yield head.encode() + encode_multipart(BOUNDARY, {**fields, "file": file})
    for method, path, _, body, media_type in _operations():
        if method != "GET" and not media_type.startswith("multipart"):
            text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
            yield f"{method} {path} {media_type}\n{text}".encode()


TARGETS: dict[str, Target] = {
    **{
        reader.name: Target(partial(check_reader, reader.name), partial(_seeds_of_reader, reader.name))
        for reader in READERS
    },
    "parts": Target(check_parts, _seeds_of_parts),
    "table": Target(check_table, _seeds_of_table),
    "archive": Target(
        check_archive, lambda: [_zipped((str(n), data) for n, data in enumerate(_captured("dd/*", "ioping/*")))]
    ),
    "json-array": Target(check_json_array, lambda: [b'[{"value": 1, "unit": "MiB/s"},\n {"value": "[{"}]']),
    "wml": Target(
        check_wml,
        lambda: (*_captured("wml/*.f"), *(path.read_bytes() for path in profiles.PERSONALITIES.glob("*.f"))),
    ),
    "fio-job": Target(
        check_fio_job,
        lambda: [b"[global]\nbs=4k\nsize=1g\n[mail]\nrw=randrw\nrwmixread=70\nnumjobs=4\nfsync=1\n"],
    ),
    "bundle": Target(check_bundle, _seeds_of_bundle, needs_scene=True),
    "query": Target(check_request, _seeds_of_query, needs_scene=True),
    "posts": Target(check_request, _seeds_of_posts, needs_scene=True),
}
