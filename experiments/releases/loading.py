"""Loads a release of another installation: what is new comes in, what changed is superseded, what ended there ends.

Everything in one transaction, or nothing. A case study is known again by its origin and its short name there; the
instance's own case studies, and what its reviewers decided about others, stay as they are. Only the origin, known by
the key that signed its first release, and who passed a case study on, change it or end it. Words of the catalogue stay
this instance's; publications and claims that only the origin's case studies have are brought up to date.
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
from experiments.readers.apart import BUNDLES, LaidOut, NotRead, ReadingProcess, go_on
from experiments.readers.bundle import DERIVED, MEASUREMENTS, BundleError
from kdb.models import Installation
from kdb.work.alone import alone

from . import ReleaseError, reading, signing
from .digests import digest
from .manifest import Ended, Entry, From
from .reading import Opened

logger = logging.getLogger(__name__)

_SECONDS, _MEMORY_BYTES = 60, 2**30  # of the process that reads, for one case study
_LONGEST_SLUG = CaseStudy._meta.get_field("slug").max_length or 0
_LONGEST_TITLE = 80  # characters of a name in a message


@dataclass
class Report:
    """The outcome of a load, by short names here.

    key : which signed it; came : new case studies; kept : which were not taken, and why
    """

    origin: str = ""
    number: int = 0
    key: str = ""
    came: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    unchanged: int = 0
    revision: int | None = None

    def lines(self) -> list[str]:
        lines = [f"{self.origin}, release {self.number}, signed with the key {self.key}"]
        lines += [f"  new: {slug}" for slug in self.came if slug not in self.replaced.values()]
        lines += [f"  superseded: {old} by {new}" for old, new in self.replaced.items()]
        lines += [f"  ended: {what}" for what in self.ended]
        lines += [f"  not taken: {slug}: {why}" for slug, why in self.kept.items()]
        lines += [f"  unchanged: {self.unchanged} case studies"] if self.unchanged else []
        lines += [f"published {len(self.came)} case studies as revision {self.revision}"] if self.revision else []
        return lines


def load(file: Path, *, is_rehearsal: bool = False) -> Report:
    """Bring this installation to what a release says, all or nothing. The same release again changes nothing.

    is_rehearsal : do all of it, say what came of it, and keep nothing
    Raises ReleaseError, and changes nothing; OSError where there is no such file.
    """
    with reading.opened(file) as release, alone("load"):
        try:
            with transaction.atomic():
                report = _Loading(release).load()
                if is_rehearsal:
                    transaction.set_rollback(True)
        except (BundleError, CaseStudyError) as error:
            raise ReleaseError(str(error)) from error
        except (IntegrityError, ValidationError) as error:
            raise ReleaseError(f"The release breaks a rule of the knowledge base: {bundles.told(error)}") from error
    if not is_rehearsal:
        logger.info("loaded release origin=%s number=%s came=%s", report.origin, report.number, len(report.came))
    return report


class _Loading:
    """A release on its way in, inside a transaction."""

    def __init__(self, release: Opened) -> None:
        self.release, self.manifest = release, release.manifest
        self.report = Report(release.manifest.origin.name, release.manifest.number, release.key)
        ours, _ = Installation.objects.get_or_create(pk=1)
        self.ours = str(ours.identity)
        self.origins: dict[str, Origin] = {}
        self.known: dict[tuple[str, str], LoadedCaseStudy] = {
            (str(row.origin.identity), row.slug): row  # the newest comes last
            for row in LoadedCaseStudy.objects.select_related("origin", "signer", "case_study").order_by("pk")
        }
        self.taken = {row.slug: row for row in CaseStudy.objects.select_related("publication")}
        self.here: dict[tuple[str, str], CaseStudy] = {}  # what counts here of the origin's case studies

    def load(self) -> Report:
        self.check_key()
        self.signer = self.origin(self.manifest.origin)
        new: list[CaseStudy] = []
        replaced: list[tuple[CaseStudy, CaseStudy]] = []
        with ReadingProcess(seconds=_SECONDS, memory_bytes=_MEMORY_BYTES) as process:
            for entry in self.manifest.case_studies:
                bundle = self.read(process, entry)
                old = self.known.get(_key(entry))
                case_study = self.take(entry, bundle, old.case_study if old else None)
                if case_study is None:
                    continue
                new.append(case_study)
                self.here[_key(entry)] = case_study
                if old is not None and old.case_study.status == CaseStudy.Status.PUBLISHED:
                    replaced.append((old.case_study, case_study))
        ownership.delete_unused()
        if new:
            because = f"Release {self.manifest.number} of {self.manifest.origin.name} was loaded."
            self.report.revision = lifecycle.publish(new, reason=because).number
            self.report.came = [row.slug for row in new]
        for before, after in replaced:
            self.report.replaced[before.slug] = after.slug
            retraction.end(
                before, reason=f"Release {self.manifest.number} of its origin has it anew.", replaced_by=after
            )
        for entry in self.manifest.case_studies:
            if entry.ended is not None and _key(entry) in self.here:
                self.end(entry, self.here[_key(entry)], entry.ended)
        return self.report

    def check_key(self) -> None:
        """Raise ReleaseError where the origin is known here, and not by the key that signed the release."""
        named, key = self.manifest.origin, self.release.key
        is_ours = named.identity == self.ours
        origin = Origin.objects.filter(identity=named.identity).first()
        known = signing.public_key() if is_ours else origin.key if origin else key
        if known != key:
            raise ReleaseError(
                f"It is signed with the key {key}, but the key of {named.identity} ({origin or named.name}) is "
                f"{known or 'not known here: its case studies came unsigned, or with releases of others'}. Nothing was "
                "changed. Ask its publisher for the key, not the release; where it is this one: "
                f"manage.py trust_origin {named.identity} {key}"
            )

    def read(self, process: ReadingProcess, entry: Entry) -> LaidOut:
        """Return the case study as it is in the release. Raises ReleaseError, BundleError."""
        process.forget()
        try:
            bundle = process.bundle(
                process.read([self.release.bundle(entry)], go_on, BUNDLES, schema=bundle_schema.schema())
            )
        except NotRead as limit:
            raise ReleaseError(f"{entry.path}: to read it takes {limit.args[0]}.") from limit
        except BundleError as error:
            raise ReleaseError(f"{entry.path}: {error}") from error
        if digest(bundle.document, (_lines(bundle, name) for name in (MEASUREMENTS, DERIVED))) != entry.digest:
            raise ReleaseError(f"{entry.path}: its facts are not those whose digest release.json names.")
        return bundle

    def take(self, entry: Entry, bundle: LaidOut, old: CaseStudy | None) -> CaseStudy | None:
        """Return the draft that the case study becomes; None where it stays as it is here."""
        if entry.origin.identity == self.ours:
            return self.keep(entry, "it is from here")
        if old is not None:
            return self.again(entry, bundle, old)
        there = self.taken.get(entry.slug)
        if there is not None:
            if digest(bundles.document(there), (rows for _, rows in bundles.tables(there))) == entry.digest:
                return self.keep(entry, "this installation has the same case study")
            cited = there.publication and there.publication.slug
            if cited and cited == bundle.document["case_study"].get("publication"):
                return self.keep(entry, "this installation has its own reading of the same publication")
        return self.add(entry, bundle)

    def again(self, entry: Entry, bundle: LaidOut, old: CaseStudy) -> CaseStudy | None:
        """Return the draft that replaces an earlier one here, if that is to be superseded."""
        before = self.known[_key(entry)]
        signer = before.signer or before.origin
        is_by_origin = entry.origin.identity == self.manifest.origin.identity
        if not is_by_origin and signer != self.signer:
            if before.digest != entry.digest:
                return self.keep(entry, f"it came from {signer}; only a release of its origin or theirs changes it")
            self.report.unchanged += 1
            return None
        if signer != self.signer and old.status != CaseStudy.Status.PUBLISHED and entry.ended is None:
            return self.add(entry, bundle)  # it ended by the word of others
        if signer == self.signer and entry.number < before.number:  # numbers that others told do not count
            return self.keep(entry, f"release {before.number} of its origin was loaded before")
        if old.status == CaseStudy.Status.PUBLISHED:
            self.here[_key(entry)] = old
        if before.digest == entry.digest:
            self.report.unchanged += 1
            if signer != self.signer:
                LoadedCaseStudy.objects.filter(pk=before.pk).update(signer=self.signer, number=entry.number)
            self.describe(entry, bundle)
            return None
        if old.status != CaseStudy.Status.PUBLISHED:
            return self.keep(entry, f"it was {old.status} here")
        return self.add(entry, bundle)

    def add(self, entry: Entry, bundle: LaidOut) -> CaseStudy:
        """Return the new draft, under its own short name where that is free here."""
        slug, number = entry.slug, 1
        while slug in self.taken:
            number += 1
            slug = f"{entry.slug[: _LONGEST_SLUG - len(str(number)) - 1]}-{number}"
        bundle.document["case_study"]["slug"] = slug
        origin = self.origin(entry.origin)
        try:
            case_study = _Taking(bundle, origin, self.signer).do()
        except BundleError as error:
            raise ReleaseError(f"{entry.path}: {error}") from error
        except (IntegrityError, ValidationError) as error:
            raise ReleaseError(
                f"{entry.path}: it breaks a rule of the knowledge base: {bundles.told(error)}"
            ) from error
        self.taken[slug] = case_study
        LoadedCaseStudy.objects.create(
            case_study=case_study,
            origin=origin,
            slug=entry.slug,
            number=entry.number,
            signer=self.signer,
            digest=entry.digest,
        )
        return case_study

    def describe(self, entry: Entry, bundle: LaidOut) -> None:
        """Bring publications and claims up to date that nothing but the origin's case studies have."""
        taking = _Taking(bundle, self.origin(entry.origin), self.signer)
        for fields in bundle.document["publications"]:
            if row := Publication.objects.filter(slug=fields["slug"]).first():
                taking.describe(row, fields)
        for fields in bundle.document["claims"]:
            if claim := Claim.objects.filter(code=fields["code"]).first():
                taking.describe(claim, {**fields, "publication": claim.publication.slug})

    def origin(self, named: From) -> Origin:
        if named.identity not in self.origins:
            told = {"name": named.name, "address": named.address}
            is_latest = named == self.manifest.origin  # what others say of an origin does not rename it
            told |= {"key": self.release.key} if is_latest else {}
            self.origins[named.identity], _ = Origin.objects.update_or_create(
                identity=UUID(named.identity), defaults=told if is_latest else {}, create_defaults=told
            )
        return self.origins[named.identity]

    def end(self, entry: Entry, case_study: CaseStudy, ended: Ended) -> None:
        """Let a case study end here as it did at its origin."""
        by = self.here.get((entry.origin.identity, ended.replaced_by)) if ended.replaced_by else None
        if ended.kind == "retracted" or (ended.kind == "superseded" and by is None):
            retraction.retract(case_study, reason=ended.reason)
        else:
            retraction.end(case_study, reason=ended.reason, replaced_by=by)
        self.report.ended.append(f"{case_study.slug}: {ended.kind}")

    def keep(self, entry: Entry, why: str) -> CaseStudy | None:
        """Note why a case study is not taken; returns None in place of a draft."""
        self.report.kept[entry.slug] = why
        return None


class _Taking(bundles.Taking):
    """A case study of a release on its way in. Its publications are known again although they were corrected."""

    def __init__(self, bundle: LaidOut, origin: Origin, signer: Origin) -> None:
        super().__init__(bundle, None, ImportBatch.Door.COMMAND)
        self.theirs = {"loaded__origin": origin} | ({} if signer == origin else {"loaded__signer": signer})

    def publication(self, fields: dict[str, Any]) -> Publication:
        row = Publication.objects.filter(slug=fields["slug"]).first()
        if row is None or row.is_draft:
            return super().publication(fields)
        same = ("title", "doi", "address", "authors")
        if not any(getattr(row, name) and getattr(row, name) == fields.get(name) for name in same):
            raise BundleError(
                f"publications: {fields['slug']!r} is another publication here ({row.title[:_LONGEST_TITLE]})."
            )
        self.describe(row, fields)
        return row

    def claim(self, fields: dict[str, Any]) -> Claim:
        claim = super().claim(fields)
        self.describe(claim, fields)
        return claim

    def describe(self, row: Publication | Claim, fields: dict[str, Any]) -> None:
        """Give a row the words of the release, where no other's case study has it."""
        others = row.case_studies.exclude(**self.theirs)
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


def _lines(bundle: LaidOut, name: str) -> Iterator[list[Any]]:
    """Yield the lines of a table, its columns first. Raises ReleaseError."""
    try:
        yield from csv.reader(io.TextIOWrapper(bundle.open(name), "utf-8", newline=""), strict=True)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ReleaseError(f"{name}: {error}") from error
