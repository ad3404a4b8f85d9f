"""Write the whole database to one archive, and restore it, on SQLite and PostgreSQL alike.

The archive is a ZIP file that only its owner may read. Each table is a member `TABLE.jsonl`, whose first line has the
columns, and each further line a row as a JSON array. The last member, `manifest.json`, has the release, migrations and
settings, and for each table the number of rows and the SHA-256 of its member. Sessions, attempts to sign in and
heartbeats of workers are left out.
"""

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import BinaryField, Field, JSONField, Model

from kdb import __version__
from kdb.database import bulk_rows
from kdb.operations.atomic_files import atomic_file

FORM = 1
MANIFEST = "manifest.json"
_MOST_MANIFEST_BYTES = 2**20  # far more than a manifest needs
_LEFT_OUT = {"sessions", "axes", "kdb.workerheartbeat"}  # applications and models
_MADE_BY_MIGRATIONS = {"django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}
# Settings on which answers from the same rows depend.
_SETTINGS = (
    "KDB_MARGIN",
    "KDB_LEAST_GAIN",
    "KDB_LABORATORIES_DIFFER",
    "KDB_DEFAULT_COEFFICIENT_OF_VARIATION",
    "KDB_WHOLE_RUN_SECONDS",
    "KDB_TIER_SCALE",
    "KDB_TIER_DOUBT",
)
_BATCH_BYTES = 2**20

Manifest = dict[str, Any]


class BackupError(Exception):
    """An archive cannot be written or restored; the message may be shown to users."""


def write(path: Path) -> Manifest:
    """Write a snapshot of the database to a new file, and return its manifest. Raises BackupError."""
    try:
        with (
            atomic_file(path, replaces=False, mode=0o600) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            _read_only_snapshot(),
        ):
            manifest = {
                "form": FORM,
                "release": __version__,
                "migrations": _migrations(),
                "settings": {name: getattr(settings, name) for name in _SETTINGS},
                "tables": {model._meta.db_table: _write_table(archive, model) for model in models()},
            }
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    except FileExistsError:
        raise BackupError(f"{path} is there already; name another file, or remove it first.") from None
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror}.") from None
    return manifest


@contextmanager
def _read_only_snapshot() -> Iterator[None]:
    """Let all queries inside see the same state, without locking others out."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")  # Django's own transactions start with the writer's lock
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def models() -> list[type[Model]]:
    """Return the models of all tables of an archive, including those of many-to-many relations."""
    kept = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
        and not model._meta.proxy
        and not {model._meta.app_label, model._meta.label_lower} & _LEFT_OUT
    ]
    return sorted(kept, key=lambda model: model._meta.db_table)


def _migrations() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def _write_table(archive: zipfile.ZipFile, model: type[Model]) -> dict[str, Any]:
    fields = model._meta.concrete_fields
    rows = model._base_manager.order_by("pk").values_list(*(field.attname for field in fields))
    digest, count = hashlib.sha256(), -1
    with archive.open(f"{model._meta.db_table}.jsonl", "w", force_zip64=True) as member:
        for line in chain([[field.column for field in fields]], rows.iterator(chunk_size=200)):
            text = json.dumps(line, cls=_Encoder, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            digest.update(text)
            member.write(text)
            count += 1
    return {"rows": count, "sha256": digest.hexdigest()}


class _Encoder(DjangoJSONEncoder):
    """Write bytes in base64, and times to the microsecond."""

    def default(self, o: Any) -> Any:
        if isinstance(o, bytes | memoryview):
            return base64.b64encode(o).decode("ascii")
        if hasattr(o, "isoformat"):
            return o.isoformat()  # Django's encoder truncates to milliseconds
        return super().default(o)


def check(path: Path) -> Manifest:
    """Check an archive and return its manifest. Raises BackupError where it is damaged, changed or none of KDB's."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MANIFEST).file_size > _MOST_MANIFEST_BYTES:
                raise BackupError(f"{path}: its {MANIFEST} is larger than {_MOST_MANIFEST_BYTES} bytes.")
            manifest: Manifest = json.loads(archive.read(MANIFEST))
            if manifest["form"] != FORM:
                raise BackupError(f"{path} is of form {manifest['form']}; this release reads form {FORM}.")
            for table, entry in manifest["tables"].items():
                with archive.open(f"{table}.jsonl") as member:
                    if hashlib.file_digest(member, "sha256").hexdigest() != entry["sha256"]:  # type: ignore[arg-type]
                        raise BackupError(
                            f"{path}: the table {table} is not what was written; the archive was changed."
                        )
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        raise BackupError(f"{path} is no whole archive of KDB's: {error}.") from None
    return manifest


def check_empty() -> None:
    """Raise BackupError where the database, migrated or not, has rows that no migration made."""
    tables = set(connection.introspection.table_names()) - _MADE_BY_MIGRATIONS
    for model in models():
        if model._meta.db_table in tables and (count := model._base_manager.count()):
            raise BackupError(
                f"The database holds {count} rows in {model._meta.db_table}. "
                "Restore into an empty one, or say --replace to forget what is there."
            )


def restore(path: Path, *, replace: bool = False) -> Manifest:
    """Fill the migrated database from an archive, in one transaction. Return the manifest. Raises BackupError.

    replace : delete what the database holds; otherwise it must hold only what migrations make
    """
    manifest = check(path)
    differing = set(_migrations()) ^ set(manifest["migrations"])
    if differing:
        raise BackupError(
            f"{path} was made by release {manifest['release']} with other migrations ({_few(differing)}). "
            "Restore it with that release, and then migrate."
        )
    differing = {model._meta.db_table for model in models()} ^ set(manifest["tables"])
    if differing:
        raise BackupError(f"{path} has other tables than this release: {_few(differing)}.")
    with zipfile.ZipFile(path) as archive, transaction.atomic():
        if not replace:
            check_empty()
        for model in models():
            model._base_manager.all()._raw_delete(connection.alias)
        for model in models():
            with archive.open(f"{model._meta.db_table}.jsonl") as member:
                _read_table(path, model, member)
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), models()):
                cursor.execute(statement)
        connection.check_constraints()
    ContentType.objects.clear_cache()
    return manifest


def differing_settings(manifest: Manifest) -> dict[str, Any]:
    """Return the settings of the archive that have other values here."""
    return {
        name: value
        for name, value in manifest["settings"].items()
        if json.loads(json.dumps(getattr(settings, name, None))) != value
    }


def _few(names: set[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")


def _read_table(path: Path, model: type[Model], member: IO[bytes]) -> None:
    table, fields = model._meta.db_table, model._meta.concrete_fields
    columns = json.loads(member.readline())
    if columns != [field.column for field in fields]:
        raise BackupError(f"{path}: the table {table} has other columns than this release.")
    done = 0
    while lines := member.readlines(_BATCH_BYTES):
        rows = [
            [_to_database(field, value) for field, value in zip(fields, json.loads(line), strict=True)]
            for line in lines
        ]
        try:
            bulk_rows.insert(table, columns, rows)
        except DatabaseError as error:
            message = str(error).splitlines()[0]
            raise BackupError(f"{path}: {table}, rows {done + 1} to {done + len(rows)}: {message}") from error
        done += len(rows)


def _to_database(field: "Field[Any, Any]", value: Any) -> Any:
    if value is not None and isinstance(field, BinaryField):
        value = base64.b64decode(value)
    elif not isinstance(field, JSONField):
        value = field.to_python(value)
    return field.get_db_prep_save(value, connection)
