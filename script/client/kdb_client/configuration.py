"""The server, and the token for it: from the environment, else from a file that its owner alone can read.

KDB_URL and KDB_TOKEN, or ~/.config/kdb/client.ini (KDB_CONFIG names another):

    [kdb]
    url = https://kdb.example.org
    token = kdb_...

A token is never an argument of a command, which every user of the machine could read.
"""

import configparser
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from .errors import KdbError

HERE = "http://127.0.0.1:8000"
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Configuration:
    url: str = HERE
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise KdbError(f"{self.url!r} is no address of a server.")
        if self.token and parts.scheme == "http" and parts.hostname not in _THIS_MACHINE:
            raise KdbError(f"A token is not sent to {parts.hostname} in the clear; use https.")

    @classmethod
    def read(cls) -> "Configuration":
        """Return the configuration. Raises KdbError where others can read the file."""
        home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        path = Path(os.environ.get("KDB_CONFIG") or Path(home) / "kdb" / "client.ini")
        kept: dict[str, str] = {}
        if path.exists():
            try:
                parser = configparser.ConfigParser(interpolation=None)
                parser.read_string(read_privately(path))
                kept = dict(parser["kdb"]) if "kdb" in parser else {}
            except (ValueError, configparser.Error) as error:
                raise KdbError(f"{path} cannot be read: {type(error).__name__}.") from None
        url = os.environ.get("KDB_URL") or kept.get("url") or HERE
        return cls(url.rstrip("/"), os.environ.get("KDB_TOKEN") or kept.get("token", ""))


def read_privately(path: Path) -> str:
    """Return the text of a file with a secret. Raises KdbError where others can read it."""
    try:
        with path.open(encoding="utf-8") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KdbError(f"Others can read {path}; chmod 600 it.")
            return file.read()
    except (OSError, ValueError) as error:
        raise KdbError(f"{path} cannot be read: {type(error).__name__}.") from None
