"""Which way imports point, and other promises about the source that only the source can break."""

import ast
import hashlib
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("kdb", "experiments", "modelling")

# Which module may import none of which. A name stands for itself and everything below it.
WEB = ("django", "rest_framework", "django_filters", "drf_spectacular", "django_htmx", "celery")
ROWS = ("experiments.models", "experiments.services", "kdb.status", "experiments.visible")
LAYERS = [
    # what                          must not import                                          because
    ("kdb.units", (*WEB, *PACKAGES, "pandas", "numpy", "scipy"), "everything else rests on it"),
    ("kdb.pairs", (*WEB, *PACKAGES, "pandas", "numpy", "scipy"), "everything else rests on it"),
    ("kdb.broker", ("django", *PACKAGES), "a transport knows messages, not what they are for"),
    ("kdb.env", ("experiments", "modelling"), "settings are read before any application is there"),
    ("experiments", ("modelling",), "facts stand alone"),
    ("experiments.models", ("experiments.services", "experiments.views", "experiments.api"), "models are the ground"),
    ("experiments.imports.readers", (*WEB, "experiments.models", "modelling"), "readers turn bytes into values"),
    ("experiments.imports.normalise", (*WEB, "modelling"), "names and units need no database"),
    ("experiments.entry_names", (*WEB, "experiments.models", "modelling"), "a rule of spelling needs no database"),
    ("experiments.imports.lint", (*WEB, "experiments.models", "modelling"), "rules over plain facts"),
    (
        "experiments.campaigns.laboratory",
        (*WEB, "experiments.models", "experiments.services", "modelling"),
        "machines know no rows",
    ),
    ("experiments.permissions", ("experiments.views", "experiments.api", "rest_framework"), "rules know no HTTP"),
    ("experiments.claim_conditions", (*WEB, *PACKAGES), "a condition is a value"),
    ("experiments.published_evidence.files", (*WEB, *PACKAGES), "readers turn bytes into values"),
    ("experiments.services", ("experiments.views", "experiments.api", "rest_framework"), "services know no HTTP"),
    ("modelling.evidence.fairplay", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.evidence.arms", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.estimation.network", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.estimation.graph", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.estimation.ranking", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.estimation.ordinal", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.estimation.components", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.estimation.shares", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.estimation.contrast_table", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.workloads.mechanisms", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.workloads.cache_effect", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.workloads.scaling", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.explanations", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.workloads.wml", (*WEB, "experiments"), "a text is read without a database"),
    ("modelling.workloads.profiles", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.advice.reasoning", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.advice.words", (*WEB, "experiments", "modelling.models"), "how advice reads needs no query"),
    (
        "modelling.estimation.mixes",
        (*WEB, "experiments", "modelling.models"),
        "inference is plain Python over plain values",
    ),
    ("modelling.answers.heat_map", (*WEB, "experiments", "modelling.models"), "a grid is laid out without a query"),
    ("modelling.evidence.question", (*WEB, "experiments"), "a question is a value"),
    ("modelling.evidence.axes", (*WEB, "experiments"), "an axis is a value"),
    ("modelling.claims.facts", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.claims.evaluation", (*WEB, *ROWS), "inference is plain Python over plain values"),
    ("modelling.claims.condition_words", (*WEB, *ROWS), "inference is plain Python over plain values"),
    ("modelling.claims.judging", (*WEB, *ROWS), "inference is plain Python over plain values"),
    ("modelling.claims.hypotheses", (*WEB, *ROWS), "inference is plain Python over plain values"),
    ("modelling.validation.forecasts", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.validation.leave_one_out", (*WEB, "experiments"), "inference is plain Python over plain values"),
    ("modelling.validation.tables", (*WEB, "experiments", "modelling.models"), "how a report reads needs no query"),
    (
        "modelling.answers.services",
        ("modelling.answers.views", "modelling.api", "rest_framework"),
        "services know no HTTP",
    ),
    (
        "modelling.answers.selectors",
        ("modelling.answers.views", "modelling.api", "rest_framework"),
        "selectors know no HTTP",
    ),
    ("modelling.answers.presentation", (*WEB, "experiments", "modelling.models"), "how an answer reads needs no query"),
    (
        "modelling.evidence.frames",
        ("modelling.answers.services", "modelling.answers.views", "modelling.api"),
        "frames are the door below them",
    ),
]


def is_below(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


@cache
def tracked_files() -> list[Path]:
    """The files of the project: what git would commit."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, text=True)
    if listing.returncode:  # an unpacked archive
        return [path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts]
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def modules() -> dict[str, Path]:
    """Every module of the three packages by its dotted name."""
    found = {}
    for path in tracked_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if path.suffix == ".py" and parts[0] in PACKAGES:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(module: str) -> set[str]:
    """What a module imports, anywhere in it, by dotted name; `from a import b` may mean a.b."""
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


@pytest.mark.parametrize(("layer", "forbidden", "because"), LAYERS, ids=[layer for layer, _, _ in LAYERS])
def test_imports_point_one_way(layer, forbidden, because):
    members = [module for module in modules() if is_below(module, layer)]
    assert members, f"{layer} is in the table and nowhere else"
    breaches = [
        f"{module} imports {name}"
        for module in members
        for name in sorted(imports(module))
        if any(is_below(name, other) for other in forbidden)
    ]
    assert not breaches, because


def test_only_one_module_spells_the_headers_of_htmx():
    outside = [m for m, path in modules().items() if m != "kdb.htmx" and re.search(r"\bHX-", path.read_text())]
    assert not outside


def readable(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


# Homes of people, and checkouts of this one machine; /var/lib/..., /usr/bin/... belong to every Debian.
MACHINE_PATH = re.compile(r"(?<![\w.:/}-])/(?:home|root|Users|work|tmp|workspace)/\w+")


@pytest.mark.parametrize("suffix", [".py", ".md", ".html", ".json", ".csv", ".toml", ".txt", ".yml", ".sh", ""])
def test_no_file_names_a_path_of_somebodys_machine(suffix):
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked_files()
        if path.suffix == suffix and path != Path(__file__) and "vendor" not in path.parts
        for match in MACHINE_PATH.finditer(readable(path))
    ]
    assert not found


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


MIGRATIONS = [module for module in modules() if ".migrations." in module]


@pytest.mark.parametrize("module", MIGRATIONS)
def test_a_migration_says_what_it_does(module):
    name = module.rpartition(".")[2]
    assert re.fullmatch(r"0001_initial|\d{4}_[a-z]\w+", name)
    assert "_auto_" not in name


def test_no_comment_of_a_template_is_printed():
    """Django takes {# #} for a comment on one line only."""
    templates = [path for path in tracked_files() if path.suffix == ".html"]
    broken = [path.name for path in templates if re.search(r"\{#(?:(?!#\}).)*$", path.read_text(), re.M)]
    assert templates
    assert not broken
