"""Make a draft of a published table step by step: the owner's answers are stored as a document of conditions.

    pasted -> which table -> columns -> everywhere -> names -> rows -> source -> a draft

Each step can be repeated. The stored document is always one that can be read, perhaps with gaps.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.contrib.auth.models import User

from experiments.imports import pipeline
from experiments.models import CaseStudy, ImportBatch, PastedTable
from experiments.readers.reading_process import keep_waiting
from experiments.readers.table import Fault

from . import drafting, suggestions
from .conditions import Conditions, ConditionsError, as_toml, conditions_of, toml_tables
from .drafting import TableReading
from .parsing import PlainTable, read_tables

MAX_PENDING = 30  # tables of one person that are not drafts yet

Document = dict[str, Any]

STEPS = {
    "table": "Which table",
    "columns": "Columns",
    "everywhere": "What holds for all",
    "names": "Names",
    "rows": "Rows",
    "source": "Study and source",
}
_UNNAMED = {"slug": "unnamed", "title": "Unnamed"}  # what a study is called until somebody says it


class TooMany(Exception):  # noqa: N818 - the user's matter, not a failure of ours
    """The user has MAX_PENDING tables that are not drafts yet."""


def start(
    user: User, name: str, content: bytes, document: Document, wait: Callable[[], None] = keep_waiting
) -> PastedTable:
    """Keep what was pasted, with what is known of it. Raises Refused where there is no table in it, TooMany.

    name : of the file; empty for pasted text, which is called by the caption of its first table
    wait : called each second while it is read
    """
    tables = read_tables(content, wait)
    if PastedTable.objects.filter(owner=user, case_study=None).count() >= MAX_PENDING:
        raise TooMany(f"You have {MAX_PENDING} tables that are not drafts yet: finish or forget one of them first.")
    name = name or pipeline.file_name(f"{tables[0].caption[:100].rstrip('.') or 'pasted table'}.txt")
    pasted = PastedTable(owner=user, name=name, content=content, number=0 if len(tables) == 1 else None)
    pasted.conditions = document or (_suggested(tables[0]) if pasted.number == 0 else {})
    pasted.save()
    return pasted


def pending_tables(user: User) -> list[PastedTable]:
    """Return somebody's tables that are not drafts yet, newest first, without their bytes."""
    return list(PastedTable.objects.filter(owner=user, case_study=None).defer("content"))


def parse(pasted: PastedTable, wait: Callable[[], None] = keep_waiting) -> list[PlainTable]:
    return read_tables(bytes(pasted.content), wait)


def choose_table(pasted: PastedTable, number: int, tables: list[PlainTable]) -> None:
    """Choose the table of this number; what was said about another table's columns is dropped."""
    if pasted.number == number:
        return
    of_columns = ("columns", "values", "words", "leave_out")
    pasted.conditions = {name: value for name, value in pasted.conditions.items() if name not in of_columns}
    pasted.conditions |= _suggested(tables[number])
    pasted.number = number
    pasted.save(update_fields=["number", "conditions"])


def _suggested(table: PlainTable) -> Document:
    return suggestions.sections(table, drafting.known_names(conditions_of({"case_study": _UNNAMED})))


def save_document(pasted: PastedTable, document: Document) -> None:
    """Keep the document, which `conditions` can read. Raises ConditionsError."""
    conditions(document)
    pasted.conditions = document
    pasted.save(update_fields=["conditions"])


def conditions(document: Mapping[str, Any]) -> Conditions:
    """Return the conditions said so far; a study without a name has a made-up one. Raises ConditionsError."""
    return conditions_of({**document, "case_study": {**_UNNAMED, **document.get("case_study", {})}})


def document_of(text: str) -> Document:
    """Return the document of a file of conditions, which may have gaps. Raises ConditionsError."""
    given = toml_tables(text)
    if not isinstance(given.get("case_study", {}), dict):
        raise ConditionsError("case_study: allowed is a table, [case_study]")
    document = asdict(conditions(given))
    document["case_study"] = {
        name: value for name, value in document["case_study"].items() if name in given.get("case_study", {})
    }
    document["leave_out"] = [
        {name: list(value) if name == "lines" else value for name, value in rows.items() if value}
        for rows in document["leave_out"]
    ]
    return {name: list(value) if name == "new" else value for name, value in document.items() if value}


def toml_file(pasted: PastedTable) -> str:
    """Return the conditions so far as a TOML file."""
    all_conditions = conditions(pasted.conditions)
    own = pasted.conditions.get("case_study", {})
    return as_toml(replace(all_conditions, case_study={name: all_conditions.case_study[name] for name in own}))


def reading(pasted: PastedTable, table: PlainTable) -> TableReading:
    """Read the table under the conditions so far. Never raises: stored conditions can be read."""
    return drafting.read_table(table, conditions(pasted.conditions))


@dataclass(frozen=True)
class Step:
    """One step, for the list of steps. is_done : nothing is missing in it"""

    name: str
    title: str
    is_done: bool


def steps(pasted: PastedTable, table: PlainTable | None, read: TableReading | None) -> list[Step]:
    """Return the steps, and which of them are done."""
    document = pasted.conditions
    columns = {**document.get("columns", {}), **document.get("values", {}), **document.get("words", {})}
    has_numbers = bool(document.get("values")) or suggestions.VALUE in document.get("columns", {}).values()
    study = {**document.get("case_study", {}), **document.get("storage", {})}
    done = {
        "table": table is not None,
        "columns": table is not None and has_numbers and all(heading in columns for heading in table.header),
        "everywhere": "everywhere" in document,
        "names": read is not None and not read.unknown,
        "rows": read is not None and not read.faults,
        "source": all(name in study for name in ("slug", "title", "description")),
    }
    return [Step(name, title, done[name]) for name, title in STEPS.items()]


def make_draft(pasted: PastedTable, table: PlainTable) -> CaseStudy:
    """Make the draft. Raises TableRefused."""
    try:
        checked_conditions = conditions_of(pasted.conditions)
    except ConditionsError as error:
        raise drafting.TableRefused([Fault(None, "conditions", "a gap", str(error))]) from error
    draft = drafting.make_draft(
        pasted.name, bytes(pasted.content), table, checked_conditions, user=pasted.owner, door=ImportBatch.Door.BROWSER
    )
    pasted.case_study = draft
    pasted.save(update_fields=["case_study"])
    return draft
