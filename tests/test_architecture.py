"""Which room may know which, and other promises about the source that only the source can break."""

import ast
import hashlib
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("kdb", "experiments", "modelling")
WEB = ("django", "rest_framework", "django_filters", "drf_spectacular", "django_htmx", "celery")

# The house from its ground up, a row a room: its name, whether it is free of Django, and what it holds. A name stands
# for itself and everything below it that has no row of its own. A room may import itself and the rooms above its row.
ROOMS = [
    ("kdb.units", True, "each metric: its unit and which direction is better"),
    ("kdb.content", True, "how content says what its fields mean"),
    ("kdb.fair_play", True, "the coordinates in which numbers agree that may be compared"),
    ("kdb.pairs", True, "how a pair of file systems is spelled"),
    ("kdb.host_storage", True, "how what disk images lie on is spelled"),
    ("kdb.shades", True, "the tint of each cell of a table"),
    ("kdb.disk_path", True, "the settings of a disk's path, a row each"),
    ("kdb.csv_cells", True, "cells that no spreadsheet runs"),
    ("kdb.name_resolution", True, "the addresses of a host's name, and whether KDB may connect to them"),
    ("kdb.http_client", True, "one HTTP request, to addresses that were checked"),
    ("kdb.json_values", True, "what JSON can say and Python or a database cannot keep"),
    ("kdb", False, "what both applications use: settings, jobs, tokens, health, conventions of pages and API"),
    ("kdb.notifications", False, "who wants to be told what, and its way to them"),
    ("experiments.rules", True, "what facts are held to: names, numbers, the protocol, conditions of claims"),
    ("experiments.readers", True, "one format each: bytes to runs or cells"),
    ("experiments.imports.normalise", True, "names and units"),
    ("experiments.imports.tables.parsing", True, "tables as people paste them"),
    ("experiments.imports.tables.conditions", True, "what is said beside a published table"),
    ("experiments.imports.manifest", True, "what the paths of an archive's files say"),
    ("experiments.imports.tables.suggestions", True, "what the headings of a published table seem to say"),
    ("experiments.imports.tables.conversion", True, "a published table to rows of the template"),
    ("experiments.laboratory.transport", True, "the way to a machine, and what it tells"),
    ("experiments.laboratory.targets", True, "where a run takes place: the host, or virtual machines"),
    ("experiments.laboratory.benchmarks", True, "the load of a run, and what is known of it"),
    ("experiments.laboratory.images", True, "what guests and benchmarks start from"),
    ("experiments.laboratory", True, "what a campaign does to machines"),
    ("experiments.fleet.driver", True, "how a host lists, watches and moves the disks of its machines"),
    ("experiments.published_evidence.files", True, "the files of fixtures/, read strictly"),
    ("experiments.published_evidence.studies", True, "what others published, a folder a case study"),
    ("experiments.published_evidence.abilities", True, "what choices can do besides speed"),
    ("experiments.published_evidence.result_sets", True, "which public results are not in yet"),
    ("experiments.models", False, "what one row of the facts is"),
    ("experiments.signals", False, "what experiments tells the rest of the system"),
    ("experiments.templatetags", False, "how numbers and units are printed"),
    ("experiments.permissions", False, "who may do what"),
    ("experiments.records.references", False, "what a case study refers to"),
    ("experiments.records.visible", False, "what every reader may see"),
    ("experiments.records.checklist", False, "a case study held against what a result needs to count"),
    ("experiments.records.files", False, "uploaded bytes, kept and given out"),
    ("experiments.records.api", False, "every kind of fact as a list and as one object"),
    ("experiments.catalogue", False, "the names that evidence is filed under"),
    ("experiments.catalogue.search", False, "search over everything visible"),
    ("experiments.case_studies", False, "the life of a case study, its page, its draft and its bundle"),
    ("experiments.contributors", False, "the pages of those who brought case studies"),
    ("experiments.published_evidence.releases.redaction", True, "what is taken out of the texts of a release"),
    ("experiments.published_evidence.releases.digests", True, "what makes a case study the same one again"),
    ("experiments.published_evidence.releases", False, "the published evidence as one file, out and in again"),
    ("experiments.published_evidence", False, "the fixtures, loaded"),
    ("experiments.imports.lint", True, "plausibility"),
    ("experiments.imports.file_names", True, "what names of files say of the configuration"),
    ("experiments.imports", False, "results into a draft"),
    ("experiments.imports.tables", False, "published tables with their conditions into drafts"),
    ("experiments.imports.drafts", False, "the pages of drafts and of what is imported into them"),
    ("experiments.runner.scripts", True, "the scripts that a runner may be asked to run"),
    ("experiments.runner", False, "what is asked of hosts that no worker reaches"),
    ("experiments.campaigns", False, "hosts, plans, runs, and the drafts they become"),
    ("experiments.fleet.aggregation", True, "counters into sums by minute"),
    ("experiments.fleet", False, "what the virtual machines of others do on a host"),
    ("experiments", False, "addresses, admin, commands, handlers of jobs"),
    ("modelling.evidence.axes", True, "what can be ranked, and what must be equal for it"),
    ("modelling.evidence.question", True, "what is asked"),
    ("modelling.evidence.requirements", True, "whether an entry can do what a person must have"),
    ("modelling.evidence.families", True, "which hypervisors are the same below"),
    ("modelling.evidence.fairplay", True, "which numbers may be compared"),
    ("modelling.evidence.durability", True, "which options can lose acknowledged writes"),
    ("modelling.evidence.words", True, "how numbers and lists read in a sentence"),
    ("modelling.evidence.normal", True, "the quantile between intervals and variances"),
    ("modelling.estimation", True, "statistics over arms and findings"),
    ("modelling.workloads", True, "what a workload does"),
    ("modelling.own_lab.changes.statistics", True, "whether a series changed, and how many of those found are none"),
    ("modelling.models", False, "what is computed and kept"),
    ("modelling.evidence", False, "the one door out of the database, and how it is asked"),
    ("modelling.guidance.words", True, "the values that makers name"),
    ("modelling.guidance.content", True, "what a maker advises, and what many do on one choice"),
    ("modelling.guidance.matching", True, "which advice bears on a question"),
    ("modelling.guidance.selectors", False, "advice as other features ask for it"),
    ("modelling.guidance.guide_texts", False, "the guides, as their files have them"),
    ("modelling.answers", False, "the answer to a question, worked out"),
    ("modelling.answer_store", False, "answers kept, given again, pinned"),
    ("modelling.claims", False, "what the papers claimed, held against the numbers"),
    ("modelling.guidance", False, "what makers advise"),
    ("modelling.prediction", False, "what another laboratory will measure of any pair of configurations"),
    ("modelling.answer_pages.explanations", False, "why one entry stands above another"),
    ("modelling.own_lab", False, "decisions on the machines of readers, measured run by run"),
    ("modelling.own_lab.kits", False, "what all who ran a kit measured"),
    ("modelling.ask.guides", False, "a page for each choice"),
    ("modelling.own_lab.changes", False, "what was measured in a laboratory over time, and what changed"),
    ("modelling.answer_store.subscriptions", False, "who is told when an answer changes"),
    ("modelling.ask", False, "what a person has and says in his own words"),
    ("modelling.answer_pages", False, "answers, comparisons and mixes as pages and as data"),
    ("modelling.ask.advice", False, "from a personality to a recommendation"),
    ("modelling.fleet.placement", False, "which machines to move to which pool"),
    ("modelling.fleet.detection", False, "which workload a disk is under"),
    ("modelling.fleet.moving", False, "plans for observed machines, and moves"),
    ("modelling.answer_store.previews", False, "what publishing a draft would change"),
    (
        "modelling.prediction.validation",
        False,
        "how well each model foretells what it has not seen, and what answers contradict",
    ),
    ("modelling", False, "addresses, signals, handlers of jobs, commands"),
]
# The features, each with doors: what may be asked of it, how it reads, and what it says. The rooms of modelling above
# them are for all features.
FEATURES = [room for room, *_ in ROOMS[[room for room, *_ in ROOMS].index("modelling.claims") : -1]]
DOORS = ("selectors", "words", "content")

# Modules inside a room with Django that are free of it themselves.
PLAIN = [
    *(
        f"modelling.answers.{name}"
        for name in ("abilities", "content", "differences", "measured", "trade_off", "words")
    ),
    *(
        f"modelling.answer_pages.layout.{name}"
        for name in (
            *("ability_table", "heat_map", "meaning", "mix_page", "network", "overview_table", "presentation"),
            *("side_by_side", "standing", "tabs", "trade_table"),
        )
    ),
    *(
        f"modelling.answer_pages.explanations.{name}"
        for name in ("causes", "comparison", "content", "facts", "support", "verdicts")
    ),
    "modelling.answer_pages.content",
    *(f"modelling.fleet.placement.{name}" for name in ("content", "expected_gain", "assignment", "planning", "words")),
    *(f"modelling.claims.{name}" for name in ("facts", "values", "evaluation", "condition_words", "hypotheses")),
    *(f"modelling.own_lab.{name}" for name in ("client_file", "content", "words")),
    *(f"modelling.own_lab.changes.{name}" for name in ("content", "presentation", "words")),
    *(f"modelling.guidance.{name}" for name in ("content", "matching", "words")),
    "modelling.own_lab.kits.content",
    *(f"modelling.prediction.{name}" for name in ("content",)),
    *(f"modelling.fleet.detection.{name}" for name in ("features", "classifier", "content", "evaluation")),
    "modelling.fleet.moving.comparison",
    *("modelling.ask.fit", "modelling.ask.machine", "modelling.ask.language"),
    *(f"modelling.ask.language.{name}" for name in ("content", "lexicon", "parsing", "readings", "words")),
    *("modelling.ask.advice.content", "modelling.ask.advice.words"),
    *(f"modelling.prediction.validation.{name}" for name in ("content", "left_out_groups", "tables")),
]

# Where addresses and Celery's application are put together, everything below is known.
JOINTS = ("kdb.urls", "kdb.api.urls", "kdb.celery")


def is_below(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


@cache
def tracked_files() -> list[Path]:
    """Return the files of the project: what git would commit."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, text=True)
    if listing.returncode:  # an unpacked archive
        return [path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts]
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def modules() -> dict[str, Path]:
    """Return every module of the three packages by its dotted name."""
    paths = {}
    for path in tracked_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if path.suffix == ".py" and parts[0] in PACKAGES:
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@cache
def imports(module: str) -> set[str]:
    """Return what a module imports, anywhere in it, by dotted name; `from a import b` may mean a.b."""
    path = modules()[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


@cache
def room_of(module: str) -> str | None:
    """Return the longest name of a row that a module stands under; None for what is not the project's."""
    rows = [room for room, *_ in ROOMS if is_below(module, room)]
    return max(rows, key=len, default=None)


@cache
def of_the_project(module: str) -> list[str]:
    """Return the modules of the project that a module imports; packages count where they hold more than a docstring."""
    return sorted(name for name in imports(module) & modules().keys() if holds_code(name))


@cache
def holds_code(module: str) -> bool:
    statements = ast.parse(modules()[module].read_text()).body
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in statements)


ROOM_NAMES = [room for room, *_ in ROOMS]
WITHOUT_DJANGO = [room for room, is_plain, _ in ROOMS if is_plain]


def test_a_room_imports_itself_and_the_rooms_above_its_row():
    members = [module for module in modules() if module not in JOINTS]
    assert {room_of(module) for module in members} == set(ROOM_NAMES)
    breaches = [
        f"{module} imports {name}"
        for module in members
        for name in of_the_project(module)
        if ROOM_NAMES.index(room_of(name)) > ROOM_NAMES.index(room_of(module))
    ]
    assert not breaches


def folder_of(module: str) -> str:
    """Return the folder of an application that a module lies in, or the module itself where it lies in none."""
    return ".".join(module.split(".")[:2])


def test_no_two_rooms_import_each_other():
    """Not even by parts of which one stands below the other."""
    known = {
        (folder_of(module), folder_of(name))
        for module in modules()
        if ".migrations." not in module and module not in JOINTS
        for name in of_the_project(module)
        if folder_of(module) != folder_of(name) and name not in JOINTS
    }
    assert known
    assert not sorted(pair for pair in known if pair[::-1] in known)


def test_no_files_import_each_other_in_a_circle():
    """Files that import none of those left are taken away as long as there are any: only circles would remain."""
    left = {module: set(of_the_project(module)) - {module} for module in modules()}
    while free := [module for module, names in left.items() if not names & left.keys()]:
        for module in free:
            del left[module]
    assert not sorted(left)


def test_what_is_free_of_django_imports_neither_it_nor_what_does():
    plain = [*WITHOUT_DJANGO, *PLAIN]
    members = [module for module in modules() if any(is_below(module, name) for name in plain)]
    assert not [name for name in plain if not any(is_below(module, name) for module in members)], "in the table alone"
    breaches = [
        *(
            f"{module} imports {name}"
            for module in members
            for name in imports(module)
            if name.partition(".")[0] in WEB
        ),
        *(
            f"{module} imports {name}"
            for module in members
            for name in of_the_project(module)
            if room_of(name) not in WITHOUT_DJANGO and name not in PLAIN
        ),
    ]
    assert not breaches


def test_a_feature_reaches_another_only_by_its_doors():
    breaches = [
        f"{module} imports {name}"
        for module in modules()
        if (feature := room_of(module)) in FEATURES
        for name in of_the_project(module)
        if (other := room_of(name)) in FEATURES
        and other != feature
        and name not in [f"{other}.{door}" for door in DOORS]
    ]
    assert not breaches


EVIDENCE = {"Arm", "Measurement", "DerivedValue", "OrdinalFinding"}


def test_numbers_and_findings_reach_modelling_by_one_door_and_claims_by_theirs():
    """Whoever estimates asks modelling.evidence; claims are judged by, and show, the published rows themselves."""
    doors = {"modelling.claims.gather", "modelling.claims.pages", "modelling.models"}
    readers = {
        module
        for module in modules()
        if is_below(module, "modelling") and not is_below(module, "modelling.evidence") and ".migrations." not in module
        if EVIDENCE & {name.rpartition(".")[2] for name in imports(module)}
    }
    assert readers <= doors


def test_nothing_but_explanations_reads_what_the_mechanisms_let_one_expect():
    """They are an opinion: they rank, forecast and join nothing (docs/adr/0018-mechanisms-explain.md)."""
    readers = {module for module in modules() if "modelling.workloads.mechanisms.expect" in imports(module)}
    outside = {module for module in readers if not is_below(module, "modelling.answer_pages.explanations")}
    assert outside == {"modelling.workloads.track_record"}  # counts how often they were right


# What modelling keeps, and the one module that writes it.
WRITERS = {
    "Arm": "modelling.evidence.summaries",
    "RankingSnapshot": "modelling.answer_store.snapshots",
    "ClaimVerdict": "modelling.claims.verdicts",
    "HypothesisScore": "modelling.claims.verdicts",
    "Advice": "modelling.guidance.loading",
    "Contradiction": "modelling.guidance.loading",
    "QualityReport": "modelling.prediction.validation.reports",
    "PublicationPreview": "modelling.answer_store.previews.preview",
    "RevisionEffects": "modelling.answer_store.previews.effects",
    "FollowedQuestion": "modelling.answer_store.subscriptions.followers",
    "SeriesChange": "modelling.own_lab.changes.detection",
    "SharedSeries": "modelling.own_lab.changes.shared",
    "DetectionModel": "modelling.fleet.detection.persistence",
    "DetectedHour": "modelling.fleet.detection.persistence",
    "StatedMix": "modelling.fleet.moving.plans",
    "PlacementPlan": "modelling.fleet.moving.plans",
    "PlacementDecision": "modelling.fleet.moving.plans",
    "PlacementPolicy": "modelling.fleet.moving.policies",
}
WRITES = r"\.(?:bulk_create|bulk_update|create|update_or_create|get_or_create|update|delete|save)\("


def test_what_modelling_keeps_is_written_by_one_module_each():
    assert all(re.search(WRITES, modules()[module].read_text()) for module in WRITERS.values())
    others = [
        module
        for module, path in modules().items()
        if is_below(module, "modelling") and ".migrations." not in module and module not in WRITERS.values()
        if re.search(rf"(?:{'|'.join(WRITERS)})\.objects[^\n]*{WRITES}", path.read_text())
    ]
    assert not others


def test_modules_of_the_api_import_no_views():
    breaches = [
        f"{module} imports {name}"
        for module in modules()
        if module.rpartition(".")[2] in ("api", "serializers")
        for name in of_the_project(module)
        if name.rpartition(".")[2] == "views" and not is_below(name, "experiments.records.api")
    ]
    assert not breaches


def test_nothing_imports_all_of_scipys_statistics_at_its_start():
    """It takes as long as the rest of Django and KDB together: for every command, worker and web server."""
    mentions = {path: text for path in modules().values() if "scipy" in (text := path.read_text())}
    assert mentions
    for path, text in mentions.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom):
                assert node.module != "scipy.stats", path
                assert node.module != "scipy" or "stats" not in [alias.name for alias in node.names], path
            elif isinstance(node, ast.Import):
                assert "scipy.stats" not in [alias.name for alias in node.names], path


def test_only_one_module_spells_the_headers_of_htmx():
    outside = [m for m, path in modules().items() if m != "kdb.web.htmx" and re.search(r"\bHX-", path.read_text())]
    assert not outside


@pytest.mark.slow
def test_a_variable_is_called_what_it_holds():
    """The names that are looked for say nothing, and come back by themselves; fields and arguments may have them."""
    names = {
        f"{module}.{function.name}: {name.id}"
        for module, path in modules().items()
        if ".migrations." not in module
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for name in ast.walk(function)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.id in ("found", "said", "each")
    }
    assert names == set()


def readable(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


# Homes of people, and checkouts of this one machine; /var/lib/..., /usr/bin/... belong to every Debian.
MACHINE_PATH = re.compile(r"(?<![\w.:/}-])/(?:home|root|Users|work|tmp|workspace)/\w+")


def test_no_file_names_a_path_of_somebodys_machine():
    suffixes = (".py", ".md", ".html", ".json", ".csv", ".toml", ".txt", ".yml", ".sh", "")
    places = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked_files()
        if path.suffix in suffixes and path != Path(__file__) and "vendor" not in path.parts
        for match in MACHINE_PATH.finditer(readable(path))
    ]
    assert not places


MOST_IN_A_FOLDER = 25


@cache
def folders() -> dict[str, list[str]]:
    """Return the modules of each folder by their names in it; migrations are listed by their numbers."""
    by_folder: dict[str, list[str]] = {}
    for path in modules().values():
        if path.name != "__init__.py" and path.parent.name != "migrations":
            by_folder.setdefault(str(path.parent.relative_to(ROOT)), []).append(path.stem)
    return by_folder


def test_no_folder_is_a_crowd():
    """A folder that holds more has rooms that nobody named yet."""
    assert not {folder: len(names) for folder, names in folders().items() if len(names) > MOST_IN_A_FOLDER}


def test_modules_of_one_subject_are_a_package():
    """A prefix that three modules share is the name of a package; commands of manage.py are named as they are typed."""
    rooms = {folder: names for folder, names in folders().items() if not folder.endswith("management/commands")}
    prefixes = {folder: Counter(name.partition("_")[0] for name in names) for folder, names in rooms.items()}
    crowds = [f"{folder}/{name}_*" for folder, counts in prefixes.items() for name, n in counts.items() if n >= 3]
    assert not crowds


VENDOR = ROOT / "static" / "vendor"


def vendored() -> dict[str, str]:
    """File and SHA-256 as static/vendor/VENDORED.md lists them."""
    rows = re.findall(r"^\| *([^|\s]+) *\|(?:[^|\n]*\|)+ *([0-9a-f]{64}) *\|$", readable(VENDOR / "VENDORED.md"), re.M)
    return dict(rows)


def test_vendored_files_are_the_ones_that_were_reviewed():
    sums = {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in vendored()}
    assert sums == vendored()


def test_every_vendored_program_is_listed():
    programs = {path.name for path in VENDOR.iterdir() if path.suffix in (".js", ".css")}
    assert programs == set(vendored())


def test_a_migration_says_what_it_does():
    names = [module.rpartition(".")[2] for module in modules() if ".migrations." in module]
    assert names
    assert not [name for name in names if not re.fullmatch(r"\d{4}_(?!auto_)[a-z]\w+", name) or "_auto_" in name]


def test_no_comment_of_a_template_is_printed():
    """Django takes {# #} for a comment on one line only."""
    templates = [path for path in tracked_files() if path.suffix == ".html"]
    broken = [path.name for path in templates if re.search(r"\{#(?:(?!#\}).)*$", path.read_text(), re.M)]
    assert templates
    assert not broken
