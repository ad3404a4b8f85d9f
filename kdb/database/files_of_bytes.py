"""A cache of bytes in files for all processes of a machine. Django's own unpickles, and so runs, what the files say."""

import struct
import time
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.filebased import FileBasedCache

_EXPIRY = struct.Struct("<d")


class BytesInFiles(FileBasedCache):
    """A Django cache whose files have the time of expiry (s since 1970, 8 bytes), then the bytes of the value."""

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        try:
            with open(self._key_to_file(key, version), "rb") as file:  # type: ignore[attr-defined]
                return default if self._is_expired(file) else file.read()
        except FileNotFoundError:
            return default

    def _write_content(self, file: Any, timeout: Any, value: bytes) -> None:
        file.write(_EXPIRY.pack(self.get_backend_timeout(timeout) or float("inf")) + value)

    def _is_expired(self, file: Any) -> bool:
        head = file.read(_EXPIRY.size)
        return len(head) < _EXPIRY.size or _EXPIRY.unpack(head)[0] < time.time()

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Postpone the expiry of a value. Return whether there is one."""
        value = self.get(key, version=version)
        if value is not None:
            self.set(key, value, timeout, version)
        return value is not None
