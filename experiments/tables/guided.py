"""A published table on its way into a draft, step by step: what was said is kept as the conditions it makes.

    pasted -> which table -> columns -> everywhere -> names -> rows -> source -> a draft

Every step can be gone back to. What is kept is always a file of conditions, perhaps one with gaps.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import User

from experiments.imports import pipeline
from experiments.models import CaseStudy, ImportBatch, PastedTable
from experiments.readers.reading_process import keep_waiting

from . import suggest, take_in
from .conditions import Conditions, ConditionsError, as_toml, conditions_of, toml_tables
from .convert import Wrong
from .pasted import read_tables
from .plain import PlainTable
from .take_in import Reading

MOST = 30  # tables of one person that are not drafts yet

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
    """Somebody has as many tables on their way as anybody may have."""


def begin(
    user: User, name: str, content: bytes, document: Document, wait: Callable[[], None] = keep_waiting
) -> PastedTable:
    """Keep what was pasted, with what is known of it. Raises Refused where there is no table in it, TooMany.

    name : of the file; empty for pasted text, which is called by the caption of its first table
    wait : called each second while it is read
    """
    tables = read_tables(content, wait)
    if PastedTable.objects.filter(owner=user, case_study=None).count() >= MOST:
        raise TooMany(f"You have {MOST} tables that are not drafts yet: finish or forget one of them first.")
    name = name or pipeline.file_name(f"{tables[0].caption[:100].rstrip('.') or 'pasted table'}.txt")
    kept = PastedTable(owner=user, name=name, content=content, number=0 if len(tables) == 1 else None)
    kept.conditions = document or (_suggested(tables[0]) if kept.number == 0 else {})
    kept.save()
    return kept


def of(user: User) -> list[PastedTable]:
    """Return somebody's tables that are not drafts yet, newest first, without their bytes."""
    return list(PastedTable.objects.filter(owner=user, case_study=None).defer("content"))


def tables_of(kept: PastedTable, wait: Callable[[], None] = keep_waiting) -> list[PlainTable]:
    return read_tables(bytes(kept.content), wait)


def choose(kept: PastedTable, number: int, tables: list[PlainTable]) -> None:
    """Choose the table of this number; what was said about another table's columns is dropped."""
    if kept.number == number:
        return
    of_columns = ("columns", "values", "words", "leave_out")
    kept.conditions = {name: value for name, value in kept.conditions.items() if name not in of_columns}
    kept.conditions |= _suggested(tables[number])
    kept.number = number
    kept.save(update_fields=["number", "conditions"])


def _suggested(table: PlainTable) -> Document:
    return suggest.sections(table, take_in.names_of(conditions_of({"case_study": _UNNAMED})))


def keep(kept: PastedTable, document: Document) -> None:
    """Keep the document, which `conditions` can read. Raises ConditionsError."""
    conditions(document)
    kept.conditions = document
    kept.save(update_fields=["conditions"])


def conditions(document: Mapping[str, Any]) -> Conditions:
    """Return the conditions said so far; a study without a name has a made-up one. Raises ConditionsError."""
    return conditions_of({**document, "case_study": {**_UNNAMED, **document.get("case_study", {})}})


def document_of(text: str) -> Document:
    """Return what a file of conditions says, which may have gaps. Raises ConditionsError."""
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


def as_file(kept: PastedTable) -> str:
    """Return the file of conditions that says what was said so far."""
    all_conditions = conditions(kept.conditions)
    own = kept.conditions.get("case_study", {})
    named = Conditions(
        **{**vars(all_conditions), "case_study": {name: all_conditions.case_study[name] for name in own}}
    )
    return as_toml(named)


def reading(kept: PastedTable, table: PlainTable) -> Reading:
    """Return what the table says by now. Never raises: what is kept can be read."""
    return take_in.read(table, conditions(kept.conditions))


@dataclass(frozen=True)
class Step:
    """One step of the way, for the list of them. is_done : nothing is missing there"""

    name: str
    title: str
    is_done: bool


def steps(kept: PastedTable, table: PlainTable | None, read: Reading | None) -> list[Step]:
    """Return the steps, and which of them are done."""
    document = kept.conditions
    columns = {**document.get("columns", {}), **document.get("values", {}), **document.get("words", {})}
    has_numbers = bool(document.get("values")) or suggest.VALUE in document.get("columns", {}).values()
    study = {**document.get("case_study", {}), **document.get("storage", {})}
    done = {
        "table": table is not None,
        "columns": table is not None and has_numbers and all(heading in columns for heading in table.header),
        "everywhere": "everywhere" in document,
        "names": read is not None and not read.unknown,
        "rows": read is not None and not read.wrong,
        "source": all(name in study for name in ("slug", "title", "description")),
    }
    return [Step(name, title, done[name]) for name, title in STEPS.items()]


def finish(kept: PastedTable, table: PlainTable) -> CaseStudy:
    """Make the draft. Raises NotTaken."""
    try:
        checked_conditions = conditions_of(kept.conditions)
    except ConditionsError as error:
        raise take_in.NotTaken([Wrong(None, "conditions", "a gap", str(error))]) from error
    draft = take_in.take_in(
        kept.name, bytes(kept.content), table, checked_conditions, user=kept.owner, door=ImportBatch.Door.BROWSER
    )
    kept.case_study = draft
    kept.save(update_fields=["case_study"])
    return draft
