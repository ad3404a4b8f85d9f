"""Compares what KDB says of the published evidence with tests/data/golden.json.gz, name by name.

A name is an address: every standing answer that ranks something (all workloads by all axes, unfiltered and by
hypervisor), the API's public addresses, and the pages of each type. Or it is "campaign ...": six campaigns are played
on a host of this machine, each with a line for everything that KDB says of its runs. That needs root; without, they are
passed over. --write writes the file anew: do so in a commit of its own, so that each change of an answer is seen. It
ends with 1 where something differs.
"""

import argparse
import difflib
import gzip
import html
import json
import math
import os
import re
import sys
import tempfile
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

GOLDEN = Path("tests/data/golden.json.gz")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
MOST_LINES = 12  # of a difference that are printed
PAGE_SIZE = 20
# What differs from one database or build to the next.
CHANGING = [
    (re.compile(r'"(computed_at|made_at|created_at|recorded_at|published_at|revised_at)": "[^"]*"'), r'"\1": ""'),
    (re.compile(r"\d{4}-\d\d-\d\d(T| )\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?"), "DATE"),
    (re.compile(r"\.[0-9a-f]{12}\.(css|js|svg|png)"), r".\1"),
    (re.compile(r'"(cursor|etag)": "[^"]*"'), r'"\1": ""'),
    # What lies inside an interval is counted: rounding moves one over its end.
    (re.compile(r'"came_true": [\d.]+'), '"came_true": 0'),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
]


ATTACHED = {"driver": "attached", "pool": None, "guest_file_systems": ["ext4"], "vm_counts": [1]}
# What is asked of six campaigns, beside "a file system in an image, one run of fio's mail server"
CAMPAIGNS: dict[str, dict[str, Any]] = {
    "campaign of three file systems": {"host_file_systems": ["ext4", "xfs", "btrfs"]},
    "campaign of two repetitions": {"repetitions": 2},
    "campaign in a folder as it is": {},
    "campaign on a machine of others": ATTACHED,
    "campaign on a busy host": {},
    "campaign that fails": {},
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/golden", description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {GOLDEN} anew")
    parser.add_argument("--only", default="", metavar="TEXT", help="only names that have this text")
    options = parser.parse_args()
    sys.path.insert(0, str(Path.cwd()))
    if options.write and (why := no_host()):
        parser.error(f"campaigns are not played here: {why}")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
        said = dict(said_today(options.only))
    if options.write:
        packed = json.dumps(said, indent=0, ensure_ascii=False, sort_keys=True).encode()
        GOLDEN.write_bytes(gzip.compress(packed, mtime=0))
        print(f"wrote {len(said)} names, {GOLDEN.stat().st_size:,} bytes")
        return 0
    golden = json.loads(gzip.decompress(GOLDEN.read_bytes()))
    golden = {name: text for name, text in golden.items() if options.only in name}
    if why := no_host():
        print(f"campaigns are passed over: {why}")
        golden = {name: text for name, text in golden.items() if name not in CAMPAIGNS}
    differing = [name for name in sorted({*golden, *said}) if not alike(golden.get(name, ""), said.get(name, ""))]
    for name in differing:
        print(f"\n== {name}{'' if name in said else ' (gone)'}{'' if name in golden else ' (new)'}")
        before, after = (texts.get(name, "").splitlines() for texts in (golden, said))
        lines = difflib.unified_diff(before, after, lineterm="", n=0)
        for line in islice(lines, 2, MOST_LINES):
            print(line[:300])
    print(f"\n{len(said)} names, {len(differing)} differ")
    return 1 if differing else 0


def said_today(only: str):
    """Yield each name with what the code says: JSON a line a value, pages as their text and links."""
    import logging

    import django

    django.setup()
    logging.disable(logging.WARNING)  # what a stranger may not read is a status here
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from experiments.models import Hypervisor, Workload
    from modelling.evidence.axes import AXES
    from modelling.prediction.validation import reports
    from tests.pages import PUBLIC

    settings.KDB_CPU_SECONDS_A_REQUEST = settings.KDB_CPU_SECONDS_A_MINUTE = 0  # nothing is left to a worker
    settings.KDB_API_REQUESTS_A_MINUTE = 0
    call_command("migrate", verbosity=0)
    call_command("load_evidence", verbosity=0)
    client = Client(SERVER_NAME="localhost")

    def body(address: str) -> str:
        response = client.get(address)
        data = b"".join(response) if response.streaming else response.content
        if "json" in response.headers.get("Content-Type", ""):
            text = json.dumps(json.loads(data), indent=1, sort_keys=True, ensure_ascii=False)
        else:
            text = readable(data.decode(errors="replace"))
        for pattern, plain in CHANGING:
            text = pattern.sub(plain, text)
        return f"{response.status_code}\n{text}"

    addresses = [
        f"/api/v1/rankings/{axis}/?workload={workload}" + (f"&hypervisor={hypervisor}" if hypervisor else "")
        for workload in Workload.objects.order_by("slug").values_list("slug", flat=True)
        for axis in AXES
        for hypervisor in ("", *Hypervisor.objects.order_by("slug").values_list("slug", flat=True))
    ]
    for address in [address for address in addresses if only in address]:
        if client.get(address).json()["entries"]:
            yield address, body(address)
    reports.compute()
    for address in [*api_addresses(client), *PUBLIC]:
        if only in address and "/status/" not in address:  # of the machine, and of the moment
            yield address, body(address)
    if not no_host():
        yield from campaign_logs(only)


def no_host() -> str:
    """Return why no host can be played here; empty where one can."""
    from tests.experiments.laboratory import lab

    return lab.missing()


def campaign_logs(only: str):
    """Yield what is said of the runs of each campaign; what is measured is no part of it."""
    from unittest.mock import patch

    from django.conf import settings

    from experiments.laboratory.benchmarks import background, engines
    from experiments.models import FileSystem, Hypervisor, StoragePool
    from tests import factories
    from tests.experiments.laboratory import conftest
    from tests.experiments.laboratory.lab import laboratory

    wanted = {name: fields for name, fields in CAMPAIGNS.items() if only in name}
    if not wanted:
        return
    for limit in ("CPU_LIMIT", "STEAL_LIMIT", "IO_LIMIT"):
        setattr(background, limit, math.inf)
    with laboratory() as lab:
        settings.KDB_KEYS_DIR = lab.folder / "keys"
        host = conftest.registered(lab)
        kind = host.facts["pools"][str(lab.pool)]["file_system"]
        for name, fields in wanted.items():
            faults, asked = ExitStack(), conftest.SHORT | fields
            pool = StoragePool.Kind.EXISTING if "as it is" in name else StoragePool.Kind.IMAGE
            host.pools.update(kind=pool, host_fs=factories.entry(FileSystem, kind))
            machine = host
            if "as it is" in name:
                asked["host_file_systems"] = [kind]
            if "of others" in name:
                alone = {"pools": (), "address": "", "host_key": "", "drivers": ["attached"], "facts": {}}
                machine = factories.make_host("esxi-1", hypervisor=factories.entry(Hypervisor, "esxi"), **alone)
                type(host).objects.filter(pk=host.pk).update(runs_on=machine)
                asked["host_file_systems"] = [kind]
            if "busy" in name:
                faults.enter_context(patch.object(background, "CPU_LIMIT", -1.0))
            if "fails" in name:
                faults.enter_context(patch.object(engines, "fio_job", lambda *_: "[global]\nrw=read\n"))
            with faults:
                campaign = conftest.started(machine, slug=f"golden-{len(name)}", **asked)
                conftest.work_off(campaign)
            lines = [f"{campaign.state} {campaign.state_reason}".rstrip()]
            for run in campaign.runs.order_by("position"):
                lines += [
                    f"{run}: {run.state} {run.reason}".rstrip(),
                    *(f"  {line.text}" for line in run.lines.order_by("pk")),
                ]
            text = "\n".join(lines).replace(str(lab.folder), "HOST")
            if asked.get("host_file_systems") == [kind]:  # this machine's, whatever it is
                text = re.sub(rf"(?<=-on-|own |ive ){kind}", "FILE-SYSTEM", text)
            yield name, re.sub(r"\d+[.,]\d+", "N", text)


def api_addresses(client):
    """Yield the public addresses of the API: each list's first rows, and the first row of each list by itself."""
    from kdb.api.schema import CachedGenerator
    from tests.kdb.walk import ASKED

    for path, methods in sorted(CachedGenerator(api_version="v1").get_schema(public=True)["paths"].items()):
        operation = methods.get("get")
        if operation is None or path == "/api/v1/rankings/{axis}/":
            continue
        given = dict(ASKED.get(operation["operationId"], {}))
        if operation["operationId"].endswith("_list"):
            given["page_size"] = PAGE_SIZE
        wanted = [key for key in re.findall(r"{(\w+)}", path) if key not in given]
        if wanted:
            rows = client.get(path[: path.index("{")], {"page_size": 1})
            rows = rows.json().get("results") if rows.status_code == 200 else None
            if not rows or not all(key in rows[0] for key in wanted):
                continue  # private, or nothing is published of it
            given |= {key: rows[0][key] for key in wanted}
        query = "&".join(f"{key}={value}" for key, value in given.items() if f"{{{key}}}" not in path)
        address = re.sub(r"{(\w+)}", lambda match, given=given: str(given[match[1]]), path)
        yield address + (f"?{query}" if query else "")


def alike(before: str, after: str) -> bool:
    """Tell whether two texts are the same but for numbers that another processor rounds otherwise."""
    numbers = zip(NUMBER.findall(before), NUMBER.findall(after), strict=False)
    return NUMBER.sub("", before) == NUMBER.sub("", after) and all(
        math.isclose(float(one), float(other), rel_tol=1e-4, abs_tol=1e-9) for one, other in numbers
    )


def readable(page: str) -> str:
    """Return the text of a page with its links, a line an element."""
    page = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", "", page)
    page = re.sub(r'<a\b[^>]*?href="([^"]*)"[^>]*>', r" [\1] ", page)
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]+>", "\n", page).splitlines())
    return html.unescape("\n".join(line for line in lines if line))


if __name__ == "__main__":
    sys.exit(main())
