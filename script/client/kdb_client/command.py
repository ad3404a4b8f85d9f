"""kdb rank, measure, share, upload, watch, replicate, study, record, runner. See kdb_client.configuration."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from . import record, runner
from .client import Client
from .errors import KdbError
from .measure import add_arguments, measure, send, share
from .output import printable, show

# As the API has them; a test compares.
AXES = (
    *("fs-pair", "guest-fs", "host-fs", "host-storage", "hypervisor", "configuration"),
    *("cache-mode", "disk-bus", "image-format", "allocation", "io-mode", "discard", "iothread"),
    *("volume-block-size", "compression", "encryption", "snapshot", "pool-layout", "pool-devices"),
    *("hypervisor-release", "host-kernel", "host-fs-release", "guest-kernel", "guest-fs-release"),
    "disk-driver-release",
)
FILTERS = (
    *("as_of", "benchmark", "disks", "evidence", "grade", "guest_fs", "guest_os_family", "host_fs", "host_storage"),
    *("here", "hypervisor", "images", "method", "metric", "needs", "storage", "vm_count"),
    *("cache_mode", "disk_bus", "image_format", "allocation", "io_mode", "discard", "iothread"),
    *("volume_block_bytes", "compression", "encryption", "snapshot", "pool_layout", "pool_devices"),
    *("hypervisor_release", "host_kernel", "host_fs_release", "guest_kernel", "guest_fs_release"),
    "disk_driver_release",
)
COLUMNS = ("rank", "key", "ratio", "low", "high", "grade", "verdict")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0: done. 1: it did not end well, or there is no answer. 2: it could not be asked."""
    options = _parser().parse_args(arguments)
    try:
        done: int = options.run(Client(patience_seconds=options.patience), options)
    except KdbError as error:
        show(f"kdb: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        show("kdb: " + ": ".join(str(part) for part in (error.strerror, error.filename) if part), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return done


def rank(client: Client, options: argparse.Namespace) -> int:
    ranking = client.ranking(options.axis, options.workload, **_filters(options))
    _show(ranking, _ranking_text, options.json)
    return 0 if ranking["entries"] else 1


def upload(client: Client, options: argparse.Namespace) -> int:
    if not options.case_study:
        return max(send(client, path) for path in options.file)
    answers = json.loads(options.answers.read_text(encoding="utf-8")) if options.answers else None
    batch = client.upload(options.file, options.case_study, answers=answers, confirm=options.confirm)
    if options.no_wait:
        _show(batch, _import_text, options.json)
        return 0
    return _watch_import(client, batch["id"], options)


def watch(client: Client, options: argparse.Namespace) -> int:
    if options.what == "import":
        return _watch_import(client, int(options.name), options)
    if options.what == "campaign":
        ends = {"finished": 0, "cancelled": 1}
        return _until(lambda: client.campaign(options.name), _campaign_text, ends.get, options)
    return _watch_question(client, options)


def replicate(client: Client, options: argparse.Namespace) -> int:
    """Plan a paper's matrix on a host, run it, and file it; the page that compares both is said at the end."""
    plan = _planned(client, "replicate", "case_study", options)
    if options.dry_run:
        return 0 if plan["campaigns"] else 1
    if code := _run_and_file(client, plan, options):
        return code
    show(f"{client.configuration.url}/laboratory/campaigns/{plan['campaigns'][-1]}/replication/")
    return 0


def study(client: Client, options: argparse.Namespace) -> int:
    """Plan a kit on a host, run it, and file it; without the name of a kit, list them all."""
    if not options.kit:
        _show(client.get("kits/"), _kits_text, options.json)
        return 0
    if not options.host:
        raise KdbError(f"--host is needed: the short name of the host that shall run {options.kit}.")
    plan = _planned(client, "study", "kit", options)
    if options.dry_run:
        return 0 if plan["campaigns"] else 1
    if code := _run_and_file(client, plan, options):
        return code
    show(f"{client.configuration.url}/kits/{options.kit}/")
    return 0


def _planned(client: Client, action: str, what: str, options: argparse.Namespace) -> Any:
    body = {name: getattr(options, name) for name in (what, "host", "pool", "short", "dry_run")}
    plan = client.post(f"campaigns/{action}/", body)
    _show(plan, _plan_text, options.json)
    return plan


def _run_and_file(client: Client, plan: Any, options: argparse.Namespace) -> int:
    """Run the campaigns of a plan, and file each; the exit status of the first that did not end well, else 0."""
    for slug in plan["campaigns"]:
        client.post(f"campaigns/{slug}/start/", {})
    ends = {"finished": 0, "cancelled": 1}
    for slug in plan["campaigns"]:
        if code := _until(partial(client.campaign, slug), _campaign_text, ends.get, options):
            return code
        show(f"draft: {client.post(f'campaigns/{slug}/draft/', {})['case_study']}")
    return 0


def _watch_import(client: Client, number: int, options: argparse.Namespace) -> int:
    ends = {"ready": 0, "filed": 0, "faulty": 1, "discarded": 1}
    return _until(lambda: client.import_(number), _import_text, ends.get, options, failed=lambda batch: batch["error"])


def _watch_question(client: Client, options: argparse.Namespace) -> int:
    """Watch until verdict or order are others; the same answer again costs the server a 304."""

    def ask() -> Any:
        return client.ranking(options.axis, options.name, **_filters(options))

    def said(ranking: Any) -> Any:
        return ranking["verdict"], [(entry["rank"], entry["key"]) for entry in ranking["entries"]]

    first = latest = ask()
    _show(latest, _ranking_text, options.json)
    while said(latest) == said(first):
        time.sleep(options.every)
        latest = ask()
    _show(latest, _ranking_text, options.json)
    return 0


def _until(
    ask: Callable[[], Any],
    text: Callable[[Any], str],
    end: Callable[[str], int | None],
    options: argparse.Namespace,
    failed: Callable[[Any], Any] = lambda answer: "",
) -> int:
    """Say what it is like whenever that changes, until it has ended; the exit status of that end."""
    last = None
    while True:
        answer = ask()
        if (words := text(answer)) != last:
            _show(answer, text, options.json)
            last = words
        if failed(answer):
            return 1
        if (code := end(answer["state"])) is not None:
            return code
        time.sleep(options.every)


# Words


def _show(answer: Any, text: Callable[[Any], str], as_json: bool) -> None:
    show(*([json.dumps(answer)] if as_json else text(answer).split("\n")))


def _ranking_text(ranking: Any) -> str:
    rows = [[_cell(entry[name]) for name in COLUMNS] for entry in ranking["entries"]]
    head = f"{ranking['verdict']['sentence']} (revision {ranking['revision']}, {ranking['metric']})"
    return "\n".join([printable(head), *(_table([COLUMNS, *rows]) if rows else map(printable, ranking["missing"]))])


def _import_text(batch: Any) -> str:
    why = f" {batch['error']}" if batch["error"] else ""
    return printable(f"import {batch['id']} into {batch['case_study']}: {batch['state']}. {batch['summary']}{why}")


def _campaign_text(campaign: Any) -> str:
    why = f": {campaign['state_reason']}" if campaign["state_reason"] else ""
    return printable(f"campaign {campaign['slug']}: {campaign['state']}{why}")


def _plan_text(plan: Any) -> str:
    minutes = f"about {-(-plan['seconds'] // 60)} minutes" if plan["plans"] else "nothing of it can be done there"
    what = f"kit {plan['kit']}" if "kit" in plan else f"{plan['case_study']} again"
    lines = [f"{what}: {minutes}", *plan["plans"]]
    lines += [f"the same in all runs: {plan['held']}"] if plan.get("held") else []
    lines += [f"cannot be done: {sentence}" for sentence in plan["left_out"]]
    lines += [f"otherwise than there: {sentence}" for sentence in plan.get("differences", ())]
    return "\n".join(map(printable, lines))


def _kits_text(kits: Any) -> str:
    return "\n".join(_table([kit["slug"], printable(kit["question"])] for kit in kits["kits"]))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else printable(value)


def _table(rows: Iterable[Sequence[str]]) -> list[str]:
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


# Arguments


def _filters(options: argparse.Namespace) -> dict[str, str]:
    return {name: value for name in FILTERS if (value := getattr(options, name)) is not None}


def _parser() -> argparse.ArgumentParser:
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--json", action="store_true", help="the whole answer, one line each time")
    every.add_argument("--patience", type=float, default=60, metavar="SECONDS", help="for a server that asks to wait")
    question = argparse.ArgumentParser(add_help=False)
    question.add_argument("--axis", choices=AXES, default="fs-pair")
    for name in FILTERS:
        question.add_argument(f"--{name.replace('_', '-')}", dest=name)
    repeated = argparse.ArgumentParser(add_help=False)
    repeated.add_argument("--every", type=float, default=10, metavar="SECONDS")

    parser = argparse.ArgumentParser(prog="kdb", description=__doc__)
    names = "rank|measure|share|upload|watch|replicate|study|record|runner"
    commands = parser.add_subparsers(required=True, metavar=names)
    command = commands.add_parser("rank", parents=[every, question], help="which entry is best for a workload")
    command.add_argument("workload")
    command.set_defaults(run=rank)
    command = commands.add_parser("measure", parents=[every], help="which of this machine's places is best")
    add_arguments(command)
    command.set_defaults(run=measure)
    command = commands.add_parser("share", parents=[every], help="what was measured, as a draft case study")
    command.add_argument("sitting", type=int, help="its number")
    command.set_defaults(run=share)
    command = commands.add_parser(
        "upload", parents=[every, repeated], help="result files into a draft, or what was measured offline"
    )
    command.add_argument("file", type=Path, nargs="+")
    command.add_argument("--case-study", metavar="DRAFT", help="needed but for files of measure --offline")
    command.add_argument("--answers", type=Path, help="a JSON file: context, files, names, create, columns")
    command.add_argument("--confirm", action="store_true", help="file at once where there is no error")
    command.add_argument("--no-wait", action="store_true", help="do not wait until the files are read")
    command.set_defaults(run=upload)
    command = commands.add_parser("watch", parents=[every, question, repeated], help="until it ends or changes")
    command.add_argument("what", choices=("campaign", "import", "question"))
    command.add_argument("name", help="slug of a campaign, number of an import, workload of a question")
    command.set_defaults(run=watch)
    command = commands.add_parser("replicate", parents=[every, repeated], help="a paper's matrix again, on a host")
    command.add_argument("case_study", metavar="paper", help="p0 to p4, or the slug of any published case study")
    _add_host(command, "one number of machines, 30 s, two repetitions", required=True)
    command.set_defaults(run=replicate)
    command = commands.add_parser("study", parents=[every, repeated], help="a kit: a common question, on a host")
    command.add_argument("kit", nargs="?", help="its short name; left out: all are listed")
    _add_host(command, "30 s, two repetitions, the first load")
    command.set_defaults(run=study)
    command = commands.add_parser("record", parents=[every], help="what this host of Proxmox VE answers, without names")
    record.add_arguments(command)
    command.set_defaults(run=record.run)
    command = commands.add_parser("runner", parents=[every], help="do on this host what a server asks, as you allow")
    runner.add_arguments(command)
    command.set_defaults(run=runner.run)
    return parser


def _add_host(command: argparse.ArgumentParser, short: str, *, required: bool = False) -> None:
    """Add where a plan runs, and how much of it."""
    command.add_argument("--host", required=required, help="its short name")
    command.add_argument("--pool", help="path of a storage pool of the host; else the first that fits")
    command.add_argument("--short", action="store_true", help=short)
    command.add_argument("--dry-run", action="store_true", help="say what would be done, and how long it takes")
