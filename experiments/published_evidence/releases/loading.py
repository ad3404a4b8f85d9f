"""Load a release of another installation in one transaction: add, supersede and end its case studies.

A case study is recognised by its origin and its short name there. This installation's own case studies, and what its
reviewers decided about others, stay as they are. Only its origin, known by the key that signed its first release, and
the installation that passed it on change a case study or end it. The catalogue stays this installation's; publications
and claims that only the origin's case studies have are updated.
"""

import csv
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from experiments.case_studies import bundle_schema, bundles, lifecycle, ownership, retraction
from experiments.case_studies.lifecycle import CaseStudyError
from experiments.models import CaseStudy, Claim, ImportBatch, LoadedCaseStudy, Origin, Publication
from experiments.models.fields import column
from experiments.readers.bundle import DERIVED, MEASUREMENTS, BundleError
from experiments.readers.reading_process import BUNDLES, NotRead, ReadingProcess, StoredBundle, keep_waiting
from kdb.jobs.locks import exclusive_lock
from kdb.models import Installation

from . import ReleaseError, reading, signing
from .digests import digest
from .manifest import Ending, Entry, Publisher
from .reading import OpenRelease

logger = logging.getLogger(__name__)

_SECONDS, _MEMORY_BYTES = 60, 2**30  # of the process that reads, for one case study
_LONGEST_SLUG = CaseStudy._meta.get_field("slug").max_length or 0
_LONGEST_TITLE = 80  # characters of a name in a message


@dataclass
class Report:
    """The outcome of a load, by short names here.

    key : public key of the signature; added : published case studies; skipped : case study to why it was not taken
    """

    origin: str = ""
    number: int = 0
    key: str = ""
    added: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    unchanged: int = 0
    revision: int | None = None

    def lines(self) -> list[str]:
        lines = [f"{self.origin}, release {self.number}, signed with the key {self.key}"]
        lines += [f"  new: {slug}" for slug in self.added if slug not in self.replaced.values()]
        lines += [f"  superseded: {old} by {new}" for old, new in self.replaced.items()]
        lines += [f"  ended: {what}" for what in self.ended]
        lines += [f"  not taken: {slug}: {why}" for slug, why in self.skipped.items()]
        lines += [f"  unchanged: {self.unchanged} case studies"] if self.unchanged else []
        lines += [f"published {len(self.added)} case studies as revision {self.revision}"] if self.revision else []
        return lines


def load(file: Path, *, is_rehearsal: bool = False) -> Report:
    """Load a release, all or nothing; the same release again changes nothing.

    is_rehearsal : report what would happen, and roll back
    Raises ReleaseError, and OSError where there is no such file; both change nothing.
    """
    with reading.open_release(file) as release, exclusive_lock("load"):
        try:
            with transaction.atomic():
                report = _Loader(release).load()
                if is_rehearsal:
                    transaction.set_rollback(True)
        except (BundleError, CaseStudyError) as error:
            raise ReleaseError(str(error)) from error
        except (IntegrityError, ValidationError) as error:
            raise ReleaseError(
                f"The release breaks a rule of the knowledge base: {bundles.error_text(error)}"
            ) from error
    if not is_rehearsal:
        logger.info("loaded release origin=%s number=%s added=%s", report.origin, report.number, len(report.added))
    return report


class _Loader:
    """Loads one release, inside a transaction."""

    def __init__(self, release: OpenRelease) -> None:
        self.release, self.manifest = release, release.manifest
        self.report = Report(release.manifest.origin.name, release.manifest.number, release.key)
        installation, _ = Installation.objects.get_or_create(pk=1)
        self.own_identity = str(installation.identity)
        self.origins: dict[str, Origin] = {}
        self.known: dict[tuple[str, str], LoadedCaseStudy] = {
            (str(row.origin.identity), row.slug): row  # the newest comes last
            for row in LoadedCaseStudy.objects.select_related("origin", "signer", "case_study").order_by("pk")
        }
        self.by_slug = {row.slug: row for row in CaseStudy.objects.select_related("publication")}
        self.current: dict[tuple[str, str], CaseStudy] = {}  # those of the release that count here

    def load(self) -> Report:
        self.check_key()
        self.signer = self.origin(self.manifest.origin)
        new: list[CaseStudy] = []
        replaced: list[tuple[CaseStudy, CaseStudy]] = []
        with ReadingProcess(seconds=_SECONDS, memory_bytes=_MEMORY_BYTES) as process:
            for entry in self.manifest.case_studies:
                bundle = self.read(process, entry)
                old = self.known.get(_key(entry))
                case_study = self.draft_of(entry, bundle, old.case_study if old else None)
                if case_study is None:
                    continue
                new.append(case_study)
                self.current[_key(entry)] = case_study
                if old is not None and old.case_study.status == CaseStudy.Status.PUBLISHED:
                    replaced.append((old.case_study, case_study))
        ownership.delete_unused()
        if new:
            reason = f"Release {self.manifest.number} of {self.manifest.origin.name} was loaded."
            self.report.revision = lifecycle.publish(new, reason=reason).number
            self.report.added = [row.slug for row in new]
        for before, after in replaced:
            self.report.replaced[before.slug] = after.slug
            retraction.end(
                before, reason=f"Release {self.manifest.number} of its origin has it anew.", replaced_by=after
            )
        for entry in self.manifest.case_studies:
            if entry.ended is not None and _key(entry) in self.current:
                self.end(entry, self.current[_key(entry)], entry.ended)
        return self.report

    def check_key(self) -> None:
        """Raise ReleaseError where another key than that of the release is stored for its origin."""
        named, key = self.manifest.origin, self.release.key
        is_ours = named.identity == self.own_identity
        origin = Origin.objects.filter(identity=named.identity).first()
        known = signing.public_key() if is_ours else origin.key if origin else key
        if known != key:
            raise ReleaseError(
                f"It is signed with the key {key}, but the key of {named.identity} ({origin or named.name}) is "
                f"{known or 'not known here: its case studies came unsigned, or with releases of others'}. Nothing was "
                "changed. Ask its publisher for the key, not the release; where it is this one: "
                f"manage.py trust_origin {named.identity} {key}"
            )

    def read(self, process: ReadingProcess, entry: Entry) -> StoredBundle:
        """Return the bundle of a case study of the release, checked. Raises ReleaseError, BundleError."""
        process.forget()
        try:
            bundle = process.bundle(
                process.read([self.release.bundle(entry)], keep_waiting, BUNDLES, schema=bundle_schema.schema())
            )
        except NotRead as limit:
            raise ReleaseError(f"{entry.path}: to read it takes {limit.args[0]}.") from limit
        except BundleError as error:
            raise ReleaseError(f"{entry.path}: {error}") from error
        if digest(bundle.document, (_lines(bundle, name) for name in (MEASUREMENTS, DERIVED))) != entry.digest:
            raise ReleaseError(f"{entry.path}: its facts are not those whose digest release.json names.")
        return bundle

    def draft_of(self, entry: Entry, bundle: StoredBundle, old: CaseStudy | None) -> CaseStudy | None:
        """Return the new draft of a case study, or None where nothing changes here."""
        if entry.origin.identity == self.own_identity:
            return self.skip(entry, "it is from here")
        if old is not None:
            return self.changed_draft_of(entry, bundle, old)
        namesake = self.by_slug.get(entry.slug)
        if namesake is not None:
            if digest(bundles.document(namesake), (rows for _, rows in bundles.tables(namesake))) == entry.digest:
                return self.skip(entry, "this installation has the same case study")
            cited = namesake.publication and namesake.publication.slug
            if cited and cited == bundle.document["case_study"].get("publication"):
                return self.skip(entry, "this installation has its own reading of the same publication")
        return self.add(entry, bundle)

    def changed_draft_of(self, entry: Entry, bundle: StoredBundle, old: CaseStudy) -> CaseStudy | None:
        """Return the draft that supersedes the case study here, or None where it stays."""
        before = self.known[_key(entry)]
        signer = before.signer or before.origin
        is_by_origin = entry.origin.identity == self.manifest.origin.identity
        if not is_by_origin and signer != self.signer:
            if before.digest != entry.digest:
                return self.skip(entry, f"it came from {signer}; only a release of its origin or theirs changes it")
            self.report.unchanged += 1
            return None
        if signer != self.signer and old.status != CaseStudy.Status.PUBLISHED and entry.ended is None:
            return self.add(entry, bundle)  # not its origin but others ended it here
        if signer == self.signer and entry.number < before.number:  # numbers in releases of others do not count
            return self.skip(entry, f"release {before.number} of its origin was loaded before")
        if old.status == CaseStudy.Status.PUBLISHED:
            self.current[_key(entry)] = old
        if before.digest == entry.digest:
            self.report.unchanged += 1
            if signer != self.signer:
                LoadedCaseStudy.objects.filter(pk=before.pk).update(signer=self.signer, number=entry.number)
            self.update_words(entry, bundle)
            return None
        if old.status != CaseStudy.Status.PUBLISHED:
            return self.skip(entry, f"it was {old.status} here")
        return self.add(entry, bundle)

    def add(self, entry: Entry, bundle: StoredBundle) -> CaseStudy:
        """Return the case study as a new draft; its slug gets a number where it is in use here."""
        slug, number = entry.slug, 1
        while slug in self.by_slug:
            number += 1
            slug = f"{entry.slug[: _LONGEST_SLUG - len(str(number)) - 1]}-{number}"
        bundle.document["case_study"]["slug"] = slug
        origin = self.origin(entry.origin)
        try:
            case_study = _Import(bundle, origin, self.signer).run()
        except BundleError as error:
            raise ReleaseError(f"{entry.path}: {error}") from error
        except (IntegrityError, ValidationError) as error:
            raise ReleaseError(
                f"{entry.path}: it breaks a rule of the knowledge base: {bundles.error_text(error)}"
            ) from error
        self.by_slug[slug] = case_study
        LoadedCaseStudy.objects.create(
            case_study=case_study,
            origin=origin,
            slug=entry.slug,
            number=entry.number,
            signer=self.signer,
            digest=entry.digest,
        )
        return case_study

    def update_words(self, entry: Entry, bundle: StoredBundle) -> None:
        """Update the publications and claims that only the origin's case studies have."""
        importing = _Import(bundle, self.origin(entry.origin), self.signer)
        for fields in bundle.document["publications"]:
            if row := Publication.objects.filter(slug=fields["slug"]).first():
                importing.update(row, fields)
        for fields in bundle.document["claims"]:
            if claim := Claim.objects.filter(code=fields["code"]).first():
                importing.update(claim, {**fields, "publication": claim.publication.slug})

    def origin(self, named: Publisher) -> Origin:
        if named.identity not in self.origins:
            values = {"name": named.name, "address": named.address}
            is_signer = named == self.manifest.origin  # only its own releases rename an origin
            values |= {"key": self.release.key} if is_signer else {}
            self.origins[named.identity], _ = Origin.objects.update_or_create(
                identity=UUID(named.identity), defaults=values if is_signer else {}, create_defaults=values
            )
        return self.origins[named.identity]

    def end(self, entry: Entry, case_study: CaseStudy, ended: Ending) -> None:
        """End a case study here as it ended at its origin."""
        by = self.current.get((entry.origin.identity, ended.replaced_by)) if ended.replaced_by else None
        if ended.kind == "retracted" or (ended.kind == "superseded" and by is None):
            retraction.retract(case_study, reason=ended.reason)
        else:
            retraction.end(case_study, reason=ended.reason, replaced_by=by)
        self.report.ended.append(f"{case_study.slug}: {ended.kind}")

    def skip(self, entry: Entry, why: str) -> CaseStudy | None:
        """Report why a case study is not taken. Return None in place of a draft."""
        self.report.skipped[entry.slug] = why
        return None


class _Import(bundles.BundleImport):
    """Imports a case study of a release, and recognises its publications even after they were corrected."""

    def __init__(self, bundle: StoredBundle, origin: Origin, signer: Origin) -> None:
        super().__init__(bundle, None, ImportBatch.Door.COMMAND)
        self.of_origin = {"loaded__origin": origin} | ({} if signer == origin else {"loaded__signer": signer})

    def publication(self, fields: dict[str, Any]) -> Publication:
        row = Publication.objects.filter(slug=fields["slug"]).first()
        if row is None or row.is_draft:
            return super().publication(fields)
        same = ("title", "doi", "address", "authors")
        if not any(getattr(row, name) and getattr(row, name) == fields.get(name) for name in same):
            raise BundleError(
                f"publications: {fields['slug']!r} is another publication here ({row.title[:_LONGEST_TITLE]})."
            )
        self.update(row, fields)
        return row

    def claim(self, fields: dict[str, Any]) -> Claim:
        claim = super().claim(fields)
        self.update(claim, fields)
        return claim

    def update(self, row: Publication | Claim, fields: dict[str, Any]) -> None:
        """Set the values of the release on a row, unless other case studies refer to it, too."""
        others = row.case_studies.exclude(**self.of_origin)
        if others.exists():
            return
        changed = []
        for name in bundle_schema.field_names(type(row)):
            of_row: models.Field[Any, Any] = column(type(row), name)
            value = of_row.to_python(fields.get(name, of_row.get_default())) if not of_row.is_relation else None
            if not of_row.is_relation and value != getattr(row, name):
                setattr(row, name, value)
                changed.append(name)
        if changed:
            row.full_clean()
            row.save(update_fields=changed)


def _key(entry: Entry) -> tuple[str, str]:
    return entry.origin.identity, entry.slug


def _lines(bundle: StoredBundle, name: str) -> Iterator[list[Any]]:
    """Yield the lines of a table, its columns first. Raises ReleaseError."""
    try:
        yield from csv.reader(io.TextIOWrapper(bundle.open(name), "utf-8", newline=""), strict=True)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ReleaseError(f"{name}: {error}") from error
