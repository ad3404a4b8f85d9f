"""Writes docs/ledger.md: lines and processor time of each feature, who uses it, who would miss it.

Every file belongs to one feature: that of the longest path below that it begins with. A file of none is an error. Lines
of migrations are not counted. --times takes the reports of tests for the processor time: `TEST_REPORTS=FOLDER script/test` keeps them.
"""

# ruff: noqa: E501 - a table

import argparse
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

LEDGER = Path("docs/ledger.md")
APPLICATION, TESTS, DOCS = ("experiments/", "modelling/", "kdb/", "script/client/"), ("tests/",), ("docs/", "fixtures/")
EVERYBODY, ADMINISTRATORS = "everybody", "administrators who ask"
RESEARCHERS, REVIEWERS = "researchers", "reviewers"
OPERATORS, PROGRAMS, RUNS_KDB, DEVELOPERS = "operators", "programs", "who runs KDB", "developers"


@dataclass(frozen=True)
class Feature:
    """A feature that a user would name. paths : what its files begin with"""

    name: str
    users: str
    missed: str
    paths: str


FEATURES = [
    Feature("answers and their pages", EVERYBODY, "everybody: it is what KDB is for",
        "modelling/answers modelling/answer_pages templates/modelling tests/modelling/answers "
        "tests/modelling/answer_pages docs/models/verdict.md docs/models/trade-off.md docs/models/recommendation.md "
        "docs/models/reading.md docs/pages.md templates/modelling/_answer"),
    Feature("evidence: questions, arms, fair play", EVERYBODY, "all answers rest on it",
        "modelling/evidence tests/modelling/evidence tests/modelling/frames.py kdb/pairs.py kdb/units.py kdb/fair_play.py "
        "tests/kdb/test_pairs.py tests/kdb/test_units.py kdb/disk_path.py kdb/host_storage.py tests/kdb/test_host_storage.py"),
    Feature("statistics", EVERYBODY, "all answers rest on it",
        "modelling/estimation tests/modelling/estimation tests/modelling/scales.py docs/models/network.md "
        "docs/models/ranking.md docs/models/hierarchy.md docs/models/components.md docs/models/README.md "
        "modelling/management/commands/fit_scales.py tests/data/reference tests/data/contrasts.csv"),
    Feature("simulations", DEVELOPERS, "statisticians who check the intervals", "tests/simulations"),
    Feature("kept answers and permanent addresses", EVERYBODY, "who cites; and every answer is quick by it",
        "modelling/answer_store tests/modelling/answer_store modelling/models/kept.py "
        "modelling/management/commands/check_answers.py tests/data/golden.json.gz"),
    Feature("comparisons and mixes", ADMINISTRATORS, "who runs several loads on one machine",
        "modelling/answers/mix.py modelling/answer_pages/mix.py modelling/answer_pages/comparison.py "
        "modelling/answer_pages/compare.py modelling/answer_pages/fair_play_audit.py tests/modelling/answers/test_mix.py "
        "tests/modelling/answer_pages/test_compar docs/models/mixes.md"),
    Feature("explanations", ADMINISTRATORS, "who must justify a choice",
        "modelling/answer_pages/explanations tests/modelling/answer_pages/explanations docs/models/explanations.md docs/models/environment.md"),
    Feature("workloads: language, profiles, mechanisms", ADMINISTRATORS, "who brings a personality of their own",
        "modelling/workloads tests/modelling/workloads docs/models/profiles.md docs/models/mechanisms.md "
        "docs/models/cache-and-scaling.md modelling/management/commands/profile_workload.py tests/data/wml"),
    Feature("advice on a described workload", ADMINISTRATORS, "few; it may become part of Ask",
        "modelling/ask/advice tests/modelling/ask/advice"),
    Feature("free text", ADMINISTRATORS, "who types a question", "modelling/ask tests/modelling/ask"),
    Feature("claims", RESEARCHERS, "authors of the papers, and who doubts them",
        "modelling/claims tests/modelling/claims docs/models/claims.md experiments/rules/claim_conditions.py "
        "tests/experiments/rules/test_claim_conditions.py modelling/models/claims.py"),
    Feature("makers' advice", ADMINISTRATORS, "who has no numbers to go by",
        "modelling/guidance tests/modelling/guidance docs/models/guidance.md modelling/models/guidance.py "
        "modelling/management/commands/import_guidance.py"),
    Feature("guides", ADMINISTRATORS, "who has a choice to make and no workload in mind",
        "modelling/ask/guides tests/modelling/ask/guides docs/guides"),
    Feature("forecasts", PROGRAMS, "who compares configurations that nobody measured together",
        "modelling/prediction tests/modelling/prediction modelling/management/commands/foretell.py"),
    Feature("validation", RESEARCHERS, "who asks how far to trust the numbers",
        "modelling/prediction/validation tests/modelling/prediction/validation tests/coherence docs/models/quality.md docs/models/coherence.md "
        "modelling/management/commands/model_quality.py"),
    Feature("previews", REVIEWERS, "who publishes", "modelling/answer_store/previews tests/modelling/answer_store/previews"),
    Feature("following", ADMINISTRATORS, "who waits for an answer to change",
        "modelling/answer_store/subscriptions tests/modelling/answer_store/subscriptions"),
    Feature("measurements at home", ADMINISTRATORS, "who decides on a machine of their own",
        "modelling/own_lab tests/modelling/own_lab script/client tests/test_client.py tests/test_measure tests/test_one_file.py "
        "docs/models/here.md docs/client.md modelling/models/own_lab.py"),
    Feature("series and their changes", ADMINISTRATORS, "who measures every night",
        "modelling/own_lab/changes tests/modelling/own_lab/changes docs/models/change.md tests/data/changes modelling/models/changes.py"),
    Feature("placement", OPERATORS, "who has more than one storage pool",
        "modelling/fleet/placement tests/modelling/fleet/placement docs/models/placement.md docs/placement.md "
        "tests/modelling/fleet/__init__.py modelling/fleet/__init__.py"),
    Feature("detection of loads", OPERATORS, "who does not know what the machines do",
        "modelling/fleet/detection tests/modelling/fleet/detection docs/models/detection.md "
        "fixtures/signatures.csv modelling/models/detection.py"),
    Feature("moving disks", OPERATORS, "who has more than one storage pool",
        "modelling/fleet/moving tests/modelling/fleet/moving "
        "modelling/models/placement.py tests/modelling/fleet"),
    Feature("observation of machines", OPERATORS, "who plans moves",
        "experiments/fleet tests/experiments/fleet docs/observation.md experiments/models/observed.py"),
    Feature("case studies, models, permissions", RESEARCHERS, "all evidence is filed so",
        "experiments/case_studies experiments/models experiments/permissions.py experiments/records/references.py "
        "experiments/records/visible.py experiments/rules/protocol.py experiments/records/checklist.py experiments/records/files experiments/catalogue "
        "tests/experiments docs/models/protocol.md docs/glossary.md templates/experiments experiments/ "
        "experiments/management"),
    Feature("search", EVERYBODY, "who looks for a study", "experiments/catalogue/search tests/experiments/catalogue"),
    Feature("readers", RESEARCHERS, "who uploads what a benchmark printed",
        "experiments/readers tests/experiments/readers tests/data/ experiments/management/commands/read_results.py"),
    Feature("import pipeline", RESEARCHERS, "who uploads",
        "experiments/imports experiments/imports/drafts tests/experiments/imports tests/experiments/imports/drafts docs/imports.md "
        "docs/models/lint.md experiments/management/commands/import_results.py"),
    Feature("published tables", RESEARCHERS, "who brings a table that somebody else printed",
        "experiments/imports/tables tests/experiments/imports/tables experiments/management/commands/import_table.py"),
    Feature("published evidence, loaded", EVERYBODY, "nothing is known without it",
        "experiments/published_evidence tests/experiments/published_evidence tests/fixtures tests/evidence.py fixtures/ "
        "experiments/management/commands/load_evidence.py"),
    Feature("releases and bundles", RESEARCHERS, "who cites all evidence or mirrors it",
        "experiments/published_evidence/releases tests/experiments/published_evidence/releases docs/releases.md experiments/case_studies/bundles.py "
        "experiments/case_studies/bundle_schema.py experiments/management/commands/release_data.py "
        "experiments/management/commands/load_release.py experiments/management/commands/export_case_study.py"),
    Feature("campaigns", OPERATORS, "who measures with KDB",
        "experiments/campaigns tests/experiments/campaigns docs/campaigns.md experiments/models/campaign.py "
        "experiments/models/laboratory.py experiments/models/testbed.py experiments/management/commands/run_campaign.py "
        "experiments/management/commands/register_host.py experiments/management/commands/check_host.py "
        "experiments/management/commands/clear_host.py "
        "experiments/management/commands/demo_campaign.py"),
    Feature("laboratory: what campaigns do to machines", OPERATORS, "who measures with KDB",
        "experiments/laboratory tests/experiments/laboratory tests/laboratory tests/background "
        "experiments/management/commands/build_filebench.py "
        "experiments/management/commands/build_guest_image.py experiments/management/commands/install_filebench.py"),
    Feature("runner", OPERATORS, "whose hosts no server may log in to",
        "experiments/runner tests/experiments/runner docs/runner.md script/client/kdb_client/runner.py "
        "script/client/kdb_client/allowed.py"),
    Feature("REST frame", PROGRAMS, "every program",
        "kdb/api experiments/records/api tests/kdb/test_api tests/kdb/walk.py docs/api.md tests/test_docs_api.py "
        "tests/experiments/records/test_api.py experiments/api_urls.py modelling/api_urls.py tests/kdb/laboratory.py"),
    Feature("accounts and sign-in", EVERYBODY, "who contributes",
        "kdb/accounts kdb/oidc tests/kdb/accounts tests/kdb/oidc docs/accounts.md templates/accounts "
        "kdb/management/commands/create_token.py kdb/management/commands/create_user.py"),
    Feature("notifications", RESEARCHERS, "who waits for a review", "kdb/notifications tests/kdb/notifications"),
    Feature("jobs", RUNS_KDB, "all work in the background", "kdb/jobs tests/kdb/jobs kdb/management/commands/work.py "
        "kdb/management/commands/serve.py kdb/celery.py kdb/job_handlers.py"),
    Feature("limits of what a stranger costs", RUNS_KDB, "whoever runs it in public",
        "kdb/cost tests/kdb/test_cost.py tests/kdb/test_body_limits.py"),
    Feature("backup, metrics, health", RUNS_KDB, "whoever runs it",
        "kdb/operations tests/kdb/operations docs/deployment.md docs/grafana kdb/management/commands/backup.py "
        "kdb/management/commands/restore.py tests/data/release.sqlite3.gz"),
    Feature("frame", DEVELOPERS, "nothing runs without it",
        "kdb/ modelling/ templates/ static/ tests/kdb tests/browser tests/ docs/architecture.md docs/testing.md docs/adr "
        "docs/screenshots docs/ledger.md"),
    Feature("soak, fuzz, bench", DEVELOPERS, "whoever changes KDB",
        "tests/soak tests/fuzz tests/test_bench_served.py docs/scale.md docs/served.json tests/data/fuzz tests/many_rows.py"),
]  # fmt: skip
# What a smaller KDB was asked of: lines at most, what counts, and what the rest is.
ASKED = [
    ("answers, pages, comparisons, mixes, kept answers, forecasts", 6_000,
        "modelling/answers modelling/answer_pages modelling/answer_store modelling/prediction",
        "permanent addresses, what a draft would change, followers, explanations and five layouts of a page are rules that pages show"),
    ("imports, tables, drafts", 5_500, "experiments/imports experiments/case_studies/bundle",
        "a table that a person types and a file that a program wrote are asked about differently: columns against formats"),
    ("readers", 4_000, "experiments/readers", "33 formats, each with judgement of its own; a shared skeleton carries the labelled ones"),
    ("case studies, models, permissions", 3_800, "experiments/case_studies experiments/models experiments/permissions.py",
        "2,600 lines are the models, mostly words of help that the API shows"),
    ("campaigns, laboratory, observation, moves", 9_000,
        "experiments/campaigns experiments/laboratory experiments/fleet modelling/fleet experiments/runner",
        "libvirt, Proxmox VE, Xen, attached machines and a runner are five ways to a machine, each with its ways to fail"),
    ("claims", 1_200, "modelling/claims", "a claim of the papers needs groups and conditions; the page of a replication asks the same sentences"),
    ("workloads: language, jobs, mechanisms", 1_500, "modelling/workloads", "the parser, with its messages, and fio jobs are 1,100; mechanisms, caches and scaling explain answers"),
    ("free text", 700, "modelling/ask/language", "negations, alternatives and what is asked back"),
    ("releases", 1_000, "experiments/published_evidence/releases", "what a mirror supersedes or retracts, and its own rows that stay"),
    ("accounts and sign-in from outside", 500, "kdb/accounts kdb/oidc", "django-allauth would double accounts, forms and limits (ADR 10)"),
    ("backup, metrics, health", 500, "kdb/operations", "a restore that is proved before it replaces anything"),
    ("jobs", 800, "kdb/jobs", "one command without Redis, with leases and a supervisor (ADR 4, 13)"),
    ("validation", 1_000, "modelling/prediction/validation", ""),
]  # fmt: skip
PATHS = {path: feature.name for feature in FEATURES for path in feature.paths.split()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/ledger", description=__doc__.split("\n\n")[0])
    parser.add_argument("--times", type=Path, nargs="*", default=[], metavar="FILE", help="reports of the tests")
    parser.add_argument("--print", action="store_true", help="print it and write nothing")
    options = parser.parse_args()
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    files = [name for name in listed.split("\0") if name.startswith(APPLICATION + TESTS + DOCS)]
    homeless = [name for name in files if feature_of(name) is None]
    if homeless:
        sys.exit(f"No feature of the ledger has {', '.join(homeless)}")
    counts = {kind: Counter() for kind in ("application", "tests", "docs", "cpu")}
    for name in files:
        path = Path(name)
        if path.suffix == ".py" and "migrations" not in path.parts:
            counts["tests" if name.startswith(TESTS) else "application"][feature_of(name)] += lines(path)
        elif path.suffix == ".md":
            counts["docs"][feature_of(name)] += lines(path)
    for report in options.times:
        for case in ElementTree.parse(report).iter("testcase"):
            taken = case.find(".//property[@name='cpu']")
            if taken is not None:
                file = case.get("classname", "").replace(".", "/") + ".py"
                counts["cpu"][feature_of(file)] += float(taken.get("value", 0))
    text = table(counts, bool(options.times))
    print(text) if options.print else LEDGER.write_text(text)
    return 0


def feature_of(name: str) -> str | None:
    best = max((path for path in PATHS if name.startswith(path)), key=len, default=None)
    return PATHS[best] if best else None


def lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def table(counts: dict[str, Counter[str | None]], has_times: bool) -> str:
    rows = [
        "# Ledger",
        "",
        "What each feature costs in lines of Python (without migrations), of tests and of documents"
        + (", and in processor seconds of the default tier" if has_times else "")
        + ". `script/ledger` writes this page; every file belongs to one feature.",
        "",
        "| feature | application | tests | docs |" + (" CPU s |" if has_times else "") + " used by | missed by |",
        "|---|---:|---:|---:|" + ("---:|" if has_times else "") + "---|---|",
    ]
    for feature in sorted(FEATURES, key=lambda feature: -counts["application"][feature.name]):
        cells = [f"{counts[kind][feature.name]:,}" for kind in ("application", "tests", "docs")]
        cells += [f"{counts['cpu'][feature.name]:,.0f}"] if has_times else []
        rows.append(f"| {' | '.join([feature.name, *cells, feature.users, feature.missed])} |")
    totals = [f"**{counts[kind].total():,}**" for kind in ("application", "tests", "docs")]
    totals += [f"**{counts['cpu'].total():,.0f}**"] if has_times else []
    rows.append(f"| **all** | {' | '.join(totals)} | | |")
    rows += ["", "## What was to be half", "", "Of 92,052 lines 60,000 were asked for.", ""]
    rows += ["| rooms | asked at most | now | what the rest is |", "|---|---:|---:|---|"]
    for name, most, paths, why in ASKED:
        rows.append(f"| {name} | {most:,} | {sum(lines_below(path) for path in paths.split()):,} | {why or 'within'} |")
    return "\n".join(rows) + "\n"


def lines_below(beginning: str) -> int:
    """Count the lines of Python, without migrations, of the files whose paths begin so."""
    command = ["git", "ls-files", f"{beginning}*.py"]  # whose * passes folders
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return sum(lines(Path(name)) for name in listed.stdout.split() if "/migrations/" not in name)


if __name__ == "__main__":
    sys.exit(main())
