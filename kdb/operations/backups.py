"""One archive of everything the database holds, written and read back without regard to which database it is.

The archive is a ZIP file. Each table is a member `TABLE.jsonl`: its first line names the columns, each further line
is one row, a JSON array. The last member, `manifest.json`, says with which release and migrations it was made, and of
every table the rows and the SHA-256 of its member: a torn or changed archive is known before anything is written.

It holds what the database holds, the hashes of passwords and tokens among it, and is readable by its owner alone.
Left out is what belongs to the moment: sessions, attempts to sign in, workers seen.
"""

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
MANIFEST_BYTES = 2**20  # far more than any honest one has
OF_THE_MOMENT = {"sessions", "axes"}  # applications
WORKERS = "kdb.workerheartbeat"
MADE_BY_MIGRATIONS = {"django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}
# Without these settings the same rows would give other answers.
SETTINGS = (
    "KDB_MARGIN",
    "KDB_LEAST_GAIN",
    "KDB_LABORATORIES_DIFFER",
    "KDB_DEFAULT_COEFFICIENT_OF_VARIATION",
    "KDB_WHOLE_RUN_SECONDS",
    "KDB_TIER_SCALE",
    "KDB_TIER_DOUBT",
)
_BATCH_ROWS, _BATCH_BYTES = 1000, 8 * 2**20


class BackupError(Exception):
    """An archive cannot be written or restored; the text says what was found and what is allowed."""


@dataclass(frozen=True)
class Written:
    """The contents of an archive. tables : table to rows; settings : of where it was made, if they differ here"""

    tables: dict[str, int]
    settings: dict[str, Any]

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


# Writing


def write(path: Path) -> Written:
    """Write all that the database holds at one moment to `path`; others read and write meanwhile.

    Until it is whole the archive has another name. Raises BackupError.
    """
    if path.exists():
        raise BackupError(f"{path} is there already; name another file, or remove it first.")
    try:
        with (
            atomic_file(path, replaces=False, mode=0o600) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            _one_moment(),
        ):
            tables = {model._meta.db_table: _write_table(archive, model) for model in _models()}
            manifest = {
                "form": FORM,
                "release": __version__,
                "migrations": _migrations(),
                "settings": {name: getattr(settings, name) for name in SETTINGS},
                "tables": tables,
            }
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    except FileExistsError:
        raise BackupError(f"{path} is there already; name another file, or remove it first.") from None
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror}.") from None
    return Written({table: entry["rows"] for table, entry in tables.items()}, {})


@contextmanager
def _one_moment() -> Iterator[None]:
    """Let all reads inside see the same moment, and nobody wait for them."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
        return
    # Django's own transactions begin with the lock of the one writer here.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _models() -> list[type[Model]]:
    """Return every table with rows to keep, those between two models too."""
    return sorted(
        (
            model
            for model in apps.get_models(include_auto_created=True)
            if model._meta.managed
            and not model._meta.proxy
            and model._meta.app_label not in OF_THE_MOMENT
            and model._meta.label_lower != WORKERS
        ),
        key=lambda model: model._meta.db_table,
    )


def _migrations() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def _write_table(archive: zipfile.ZipFile, model: type[Model]) -> dict[str, Any]:
    fields = model._meta.concrete_fields
    digest, rows = hashlib.sha256(), 0
    with archive.open(f"{model._meta.db_table}.jsonl", "w", force_zip64=True) as member:

        def line(values: Any) -> None:
            text = json.dumps(values, cls=_Encoder, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            digest.update(text)
            member.write(text)

        line([field.column for field in fields])
        stored = model._base_manager.order_by("pk").values_list(*(field.attname for field in fields))
        for row in stored.iterator(chunk_size=200):
            line(row)
            rows += 1
    return {"rows": rows, "sha256": digest.hexdigest()}


class _Encoder(DjangoJSONEncoder):
    """Bytes as base64, times to the microsecond."""

    def default(self, o: Any) -> Any:
        if isinstance(o, bytes | memoryview):
            return base64.b64encode(o).decode("ascii")
        if hasattr(o, "isoformat"):
            return o.isoformat()  # Django's own would cut it to milliseconds
        return super().default(o)


# Reading back


def check(path: Path) -> dict[str, Any]:
    """Return the manifest of a whole archive. Raises BackupError where it is torn, changed or no archive of KDB's."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(path, archive)
            for table, entry in manifest["tables"].items():
                digest = hashlib.sha256()
                with archive.open(f"{table}.jsonl") as member:
                    while chunk := member.read(2**20):
                        digest.update(chunk)
                if digest.hexdigest() != entry["sha256"]:
                    raise BackupError(f"{path}: the table {table} is not what was written; the archive was changed.")
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        raise BackupError(f"{path} is no whole archive of KDB's: {error}.") from None
    return manifest


def _manifest(path: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    if archive.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
        raise BackupError(f"{path}: its {MANIFEST} is larger than {MANIFEST_BYTES} bytes.")
    manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
    if manifest["form"] != FORM:
        raise BackupError(f"{path} is of form {manifest['form']}; this release reads form {FORM}.")
    return manifest


def restore(path: Path, *, replace: bool = False) -> Written:
    """Make the migrated database what the archive says, in one transaction.

    replace : forget what the database holds; else it must hold nothing but what migrations make
    Raises BackupError.
    """
    manifest = check(path)
    here, there = set(_migrations()), set(manifest["migrations"])
    if here != there:
        raise BackupError(
            f"{path} was made by release {manifest['release']} with other migrations ({_few(here ^ there)}). "
            "Restore it with that release, and then migrate."
        )
    models = _models()
    tables = {model._meta.db_table for model in models}
    if tables != set(manifest["tables"]):
        raise BackupError(f"{path} has other tables than this release: {_few(tables ^ set(manifest['tables']))}.")
    with zipfile.ZipFile(path) as archive, transaction.atomic():
        if not replace:
            check_empty()
        for model in models:
            model._base_manager.all()._raw_delete(connection.alias)
        for model in models:
            with archive.open(f"{model._meta.db_table}.jsonl") as member:
                _read_table(path, model, member)
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), models):
                cursor.execute(statement)
        connection.check_constraints()
    ContentType.objects.clear_cache()
    others = {
        name: value
        for name, value in manifest["settings"].items()
        if json.loads(json.dumps(getattr(settings, name, None))) != value
    }
    return Written({table: entry["rows"] for table, entry in manifest["tables"].items()}, others)


def _few(names: set[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")


def check_empty() -> None:
    """Raise BackupError where the database, migrated or not, holds more than migrations make."""
    there = set(connection.introspection.table_names())
    for model in _models():
        if model._meta.db_table not in there - MADE_BY_MIGRATIONS:
            continue
        count = model._base_manager.count()
        if count:
            raise BackupError(
                f"The database holds {count} rows in {model._meta.db_table}. "
                "Restore into an empty one, or say --replace to forget what is there."
            )


def _read_table(path: Path, model: type[Model], member: IO[bytes]) -> None:
    fields = model._meta.concrete_fields
    columns = json.loads(member.readline())
    if columns != [field.column for field in fields]:
        raise BackupError(f"{path}: the table {model._meta.db_table} has other columns than this release.")
    batch: list[list[Any]] = []
    size = done = 0

    def store() -> None:
        try:
            bulk_rows.insert(model._meta.db_table, columns, batch)
        except DatabaseError as error:
            where = f"{model._meta.db_table}, rows {done - len(batch) + 1} to {done}"
            raise BackupError(f"{path}: {where}: {str(error).splitlines()[0]}") from error
        batch.clear()

    for line in member:
        values = json.loads(line)
        batch.append([_to_database(field, value) for field, value in zip(fields, values, strict=True)])
        size, done = size + len(line), done + 1
        if len(batch) == _BATCH_ROWS or size > _BATCH_BYTES:
            store()
            size = 0
    store()


def _to_database(field: "Field[Any, Any]", value: Any) -> Any:
    if value is not None and isinstance(field, BinaryField):
        value = base64.b64decode(value)
    elif not isinstance(field, JSONField):
        value = field.to_python(value)
    return field.get_db_prep_save(value, connection)
