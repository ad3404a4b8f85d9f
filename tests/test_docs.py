"""Pages for people lead where they say."""

import gzip
import json
import re

import pytest

from kdb.disk_path import SETTINGS
from modelling.answer_store.standing import FILE
from tests.test_architecture import ROOT, tracked_files

PAGES = [path for path in tracked_files() if path.suffix == ".md" and "vendor" not in path.parts]
LINK = re.compile(r"\]\(<?([^)>\s]+)>?(?: \"[^\"]*\")?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def anchors(text: str) -> set[str]:
    """Return what headings are called in a link, as GitHub spells it."""
    headings = re.findall(r"^#+ +(.+?) *#*$", CODE.sub(lambda code: code[0].strip("`"), text), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_project_resolve(page):
    dead = []
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        if not linked.exists() or (anchor and linked.suffix == ".md" and anchor not in anchors(linked.read_text())):
            dead.append(target)
    assert not dead


# What the documents call a module or a command exists; a planned one is not described as there.
NAMED_FILE = re.compile(r"`((?:kdb|experiments|modelling|tests|script|docs|fixtures)/[\w./-]*\w)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_the_text_exist(page):
    assert not [name for name in NAMED_FILE.findall(page.read_text()) if not (ROOT / name).exists()]


@pytest.mark.parametrize("document", ["glossary.md", "imports.md"])
def test_every_setting_of_the_disks_path_is_explained(document):
    text = (ROOT / "docs" / document).read_text()
    assert [column for column in SETTINGS if f"`{column}`" not in text] == []


def test_the_readme_opens_with_what_kdb_recommends():
    """The table has the first lines of the answers that a new instance begins with."""
    answers = next(iter(json.loads(gzip.decompress(FILE.read_bytes()))["answers"].values()))
    text = (ROOT / "README.md").read_text()
    for workload in ("varmail", "fileserver", "webserver", "randomfileaccess"):
        questions = (f"fs-pair?workload={workload}&hypervisor=kvm", f"hypervisor?workload={workload}")
        assert f"| {' | '.join(answers[question]['verdict']['sentence'] for question in questions)} |" in text
