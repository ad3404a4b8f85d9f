"""The client as one file: `curl SERVER/kdb.py | python3 - measure ...` needs nothing but Python. No Django."""

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "script" / "client" / "kdb_client"
_LEFT_OUT = ("__main__",)  # the beginning, which is below

_TEXT = '''\
"""kdb as one file: python3 - measure --help, with the token in KDB_TOKEN."""

import sys

if sys.version_info < (3, 11):
    sys.exit("kdb needs Python 3.11 or newer; this is " + sys.version.split()[0])

import importlib.abc
import importlib.util

SOURCES = {{
{sources}}}


class Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports what SOURCES has."""

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self, origin="kdb.py") if name in SOURCES else None

    def is_package(self, name):
        return "." not in name

    def get_source(self, name):
        return SOURCES[name]


sys.meta_path.insert(0, Sources())

import kdb_client.command
import kdb_client.configuration

kdb_client.configuration.HERE = {server!r}  # where neither KDB_URL nor the file names another
sys.exit(kdb_client.command.main())
'''


def client_file_text(server: str) -> str:
    """Return the program, which asks the server at this address unless told otherwise."""
    return _TEXT.format(server=server, sources=_sources())


@cache
def _sources() -> str:
    texts = {
        "kdb_client" if path.stem == "__init__" else f"kdb_client.{path.stem}": path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.glob("*.py"))
        if path.stem not in _LEFT_OUT
    }
    return "".join(f"    {name!r}: {text!r},\n" for name, text in texts.items())
