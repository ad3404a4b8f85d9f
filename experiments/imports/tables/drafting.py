"""A published table under its conditions: what would come in, and the draft that it becomes.

Pages, API and commands call the same two functions: `read_table` writes nothing; `make_draft` deletes its draft again
where filing is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from experiments.case_studies import lifecycle
from experiments.case_studies.forms import draft_forms
from experiments.catalogue import services
from experiments.imports import pipeline
from experiments.imports.normalise import NAMED, Normaliser, Row, Unknown, first_few, source_of_rows
from experiments.models import AuditEntry, CaseStudy, HostStorage, ImportBatch, Publication
from experiments.readers.table import Fault
from experiments.records import visible
from experiments.records.files import raw_files
from experiments.rules.entry_names import Names, fold
from kdb.api.errors import form_errors

from .conditions import IS_A, Conditions
from .conversion import Converted, LeftOut, convert
from .parsing import PlainTable

MAX_COMPARED = 50  # unknown names that are compared with all known spellings: a millisecond each


class TableRefused(Exception):  # noqa: N818 - the user's matter, not a failure of ours
    """The table cannot become a draft as it is; nothing was kept. faults : all the reasons"""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(map(str, self.faults)))


@dataclass
class TableReading(Converted):
    """The content of a table, read under its conditions; its rows have slugs for the names of the catalogue.

    measurements : the rows as they would be filed
    unknown : kind and name to the first line, of names that the catalogue lacks and nobody proposed
    names : the names that it was read with
    """

    measurements: list[Row] = field(default_factory=list)
    unknown: dict[tuple[str, str], int] = field(default_factory=dict)
    names: Names = field(default_factory=lambda: Names({}))

    @property
    def faults(self) -> list[Fault]:
        """Return errors and unknown names; equal errors are one, with its first line and the number of others."""
        lines: dict[Fault, set[int | None]] = {}
        for error in self.errors:
            lines.setdefault(replace(error, line=None), set()).add(error.line)
        once = [replace(e, line=min(on, key=lambda n: n or 0), more=len(on) - 1) for e, on in lines.items()]
        return once + [
            Fault(
                line,
                kind.replace("_", " "),
                name,
                f"a name of the catalogue{self._nearest(kind, name) if number < MAX_COMPARED else ''}, one said under "
                "[words], or one proposed under [[new]]",
            )
            for number, ((kind, name), line) in enumerate(self.unknown.items())
        ]

    def _nearest(self, kind: str, name: str) -> str:
        known = {**self.names.known.get(kind, {}), **self.names.mapped.get(kind, {})}
        near = get_close_matches(fold(name), known, 5, 0.5)
        nearest = list(dict.fromkeys(known[spelling] for spelling in near))
        return f" (nearest are {', '.join(nearest[:3])})" if nearest else ""


def known_names(conditions: Conditions) -> Names:
    """Return the names of the catalogue, with those that the conditions propose."""
    proposed: dict[str, dict[str, str]] = {}
    for entry in conditions.new:
        proposed.setdefault(entry[IS_A], {}).update(
            {fold(entry[name]): entry["slug"] for name in ("slug", "name") if name in entry}
        )
    volumes = {entry["slug"] for entry in conditions.new if entry.get("kind") == HostStorage.Kind.VOLUME}
    return Names(services.spellings(CaseStudy()), proposed, volumes | HostStorage.volumes())


def read_table(table: PlainTable, conditions: Conditions) -> TableReading:
    """Return what the table says: rows, and everything that is wrong, by line and heading."""
    converted = convert(table, conditions)
    names = known_names(conditions)
    rows = [_with_slugs(row, names) for row in converted.rows]
    reading = TableReading(rows, converted.left_out, [*converted.errors, *_entry_errors(conditions)], names=names)
    headings = {column: heading for heading, column in conditions.columns.items()}
    for item in Normaliser(names, {}).rows(source_of_rows(rows, {})) if rows else ():
        if isinstance(item, Row):
            reading.measurements.append(item)
        elif isinstance(item, Fault):
            reading.errors.append(replace(item, field=headings.get(item.field, item.field)))
        elif isinstance(item, Unknown):
            reading.unknown.setdefault((item.kind, item.name), item.line or 0)
    if not rows and not reading.errors:
        reading.errors.append(Fault(None, "table", "no measurement", "at least one row with a number"))
    return reading


def _with_slugs(row: Mapping[str, str], names: Names) -> dict[str, str]:
    """Return the row with the slugs of the catalogue in place of other spellings."""
    slugs = {name: names.find(kind, row[name]) for name, kind in NAMED.items() if name in row}
    return {**row, **{name: slug for name, slug in slugs.items() if slug}}


def _entry_errors(conditions: Conditions) -> list[Fault]:
    wrong = []
    for entry in conditions.new:
        kind, slug, fields = _entry_fields(entry)
        try:
            services.new_entry(kind, slug, fields, source="")
        except services.EntryError as error:
            wrong.append(Fault(None, f"new {kind.replace('_', ' ')}", entry.get("name", slug), str(error)))
    return wrong


def _entry_fields(entry: Mapping[str, str]) -> tuple[str, str, dict[str, str]]:
    """Return kind, slug and fields of an entry that conditions propose."""
    return entry[IS_A], entry["slug"], {name: text for name, text in entry.items() if name != IS_A}


# The draft


def make_draft(
    name: str, content: bytes, table: PlainTable, conditions: Conditions, *, user: User | None, door: ImportBatch.Door
) -> CaseStudy:
    """Return the draft that the table becomes, with its measurements, source and proposed names.

    content : the bytes that the table was found in, which are kept with it. Raises TableRefused.
    """
    reading = read_table(table, conditions)
    draft = make_empty_draft(
        conditions, user=user, faults=reading.faults, notes=list(_left_out_notes(reading.left_out))
    )
    create: dict[str, dict[str, Any]] = {}
    for kind, slug, fields in map(_entry_fields, conditions.new):
        create.setdefault(kind, {})[slug] = fields
    try:
        upload = replace(raw_files.take(name, [content]), rows=reading.rows)
        batch, _ = pipeline.receive(
            draft, [upload], user=user, door=door, answers={"create": create}, is_confirmed=True
        )
        batch = pipeline.finish(batch)
    except (pipeline.ImportRefused, raw_files.UploadError) as error:
        lifecycle.delete_draft(draft, user=user)
        raise TableRefused([Fault(None, "table", name, str(error))]) from error
    if batch.state != ImportBatch.State.FILED:
        lifecycle.delete_draft(draft, user=user)
        raise TableRefused(_report_errors(batch.full_report))
    return draft


def make_empty_draft(
    conditions: Conditions, *, user: User | None, faults: Sequence[Fault] = (), notes: Sequence[str] = ()
) -> CaseStudy:
    """Return a new draft with its source, without measurements.

    faults : what else is wrong; notes : further ones of the study. Raises TableRefused with all that is wrong.
    """
    draft, publication, wrong = _build_study(conditions)
    if wrong or faults:
        raise TableRefused([*wrong, *faults])
    draft.notes = [*draft.notes, *notes]
    try:
        with transaction.atomic():
            if publication is not None and publication.pk is None:
                publication.save()
            draft.publication = publication
            lifecycle.create_draft(draft, draft.server, draft.storage, user=user)
    except lifecycle.CaseStudyError as error:
        raise TableRefused([Fault(None, "case_study.slug", draft.slug, str(error))]) from error
    return draft


def replace_draft(
    name: str, content: bytes, table: PlainTable, conditions: Conditions, *, user: User | None
) -> tuple[CaseStudy, bool]:
    """Return the draft of a table for the command line, and whether it took the place of the table's earlier draft.

    Only a draft of the same user that holds nothing but one table from the command line is replaced, and only once the
    table can be read. Raises TableRefused.
    """
    earlier = CaseStudy.objects.filter(
        slug=conditions.case_study["slug"], status=CaseStudy.Status.DRAFT, owner=user
    ).first()
    if earlier is None or not _is_table_alone(earlier):
        return make_draft(name, content, table, conditions, user=user, door=ImportBatch.Door.COMMAND), False
    if faults := read_table(table, conditions).faults:
        raise TableRefused(faults)
    with transaction.atomic():
        lifecycle.delete_draft(earlier, user=user)
        return make_draft(name, content, table, conditions, user=user, door=ImportBatch.Door.COMMAND), True


def _is_table_alone(draft: CaseStudy) -> bool:
    """Return whether nothing was done with the draft since one table was imported from the command line."""
    actions = set(draft.audit_entries.values_list("action", flat=True))
    doors = list(draft.imports.values_list("door", flat=True))
    return actions <= {AuditEntry.Action.CREATED, AuditEntry.Action.IMPORTED} and doors == [ImportBatch.Door.COMMAND]


def _left_out_notes(left_out: Iterable[LeftOut]) -> Iterable[str]:
    """Yield one sentence for each reason for which rows are left out."""
    lines: dict[str, list[str]] = {}
    for row in left_out:
        lines.setdefault(row.reason, []).append(str(row.line))
    for reason, numbers in lines.items():
        yield f"Left out of the table, line{'s' if len(numbers) > 1 else ''} {first_few(numbers)}: {reason}."


def _report_errors(report: Mapping[str, Any]) -> Iterable[Fault]:
    for fault in report["faults"]:
        yield Fault(fault["line"], fault["field"], fault["found"], fault["expected"])
    for unknown in report["unknown"]:
        yield Fault(unknown["line"], unknown["kind"], unknown["name"], "a name of the catalogue")
    for finding in report["lint"]:
        if finding["severity"] == "error":
            yield Fault(None, finding["rule"], "; ".join(finding["places"])[:200], finding["message"])


def _build_study(conditions: Conditions) -> tuple[CaseStudy, Publication | None, list[Fault]]:
    """Return case study and publication, checked and unsaved, and what is wrong with them."""
    forms = draft_forms(form_data(conditions))
    wrong = [
        Fault(
            None, f"{name}.{error['field']}", str(getattr(conditions, name).get(error["field"], "")), error["message"]
        )
        for name, form in forms.items()
        for error in form_errors(form)
    ]
    study: CaseStudy = forms["case_study"].instance
    study.server, study.storage = forms["server"].instance, forms["storage"].instance
    study.notes = list(conditions.case_study.get("notes", []))
    try:
        publication = _publication(conditions)
    except ValidationError as error:
        wrong += [
            Fault(None, f"source.{name}", str(conditions.source.get(name, "")), " ".join(messages))
            for name, messages in error.message_dict.items()
        ]
        publication = None
    return study, publication, wrong


def form_data(conditions: Conditions) -> dict[str, Any]:
    """Return the study's fields as the forms of a draft have them."""
    sections = (("", conditions.case_study), ("server-", conditions.server), ("storage-", conditions.storage))
    return {f"{prefix}{name}": value for prefix, fields in sections for name, value in fields.items()}


def _publication(conditions: Conditions) -> Publication | None:
    """Return the source: the one that everybody sees by its DOI or address, else a new one. Raises ValidationError."""
    facts = {name: value for name, value in conditions.source.items() if value not in ("", [], None)}
    if not facts:
        return None
    for key in ("doi", "address"):
        if key in facts and (known := visible.publications().filter(**{key: facts[key]}).first()):
            return known
    authors = facts.get("authors", [])
    facts["authors"] = [authors] if isinstance(authors, str) else authors
    facts.setdefault("title", conditions.case_study["title"])
    facts.setdefault("slug", _free_slug(conditions.case_study["slug"]))
    facts.setdefault("is_reviewed", False)
    fields = {column.name for column in Publication._meta.concrete_fields}
    for name in facts.keys() - fields:  # a fact that publications have no field for
        facts["note"] = " ".join(
            filter(None, [facts.get("note", ""), f"{name.replace('_', ' ').capitalize()}: {facts.pop(name)}."])
        )
    publication = Publication(**facts, is_draft=True)
    publication.full_clean(exclude=() if facts["authors"] else ("authors",))
    return publication


def _free_slug(wanted: str) -> str:
    taken = set(Publication.objects.filter(slug__startswith=wanted[:36]).values_list("slug", flat=True))
    return next(
        slug for n in range(1, len(taken) + 2) if (slug := wanted[:40] if n == 1 else f"{wanted[:36]}-{n}") not in taken
    )
