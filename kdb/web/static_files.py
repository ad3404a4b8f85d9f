"""Store static files for production under names with a digest, compressed when they are collected."""

from pathlib import Path
from typing import Any

from django.conf import settings
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class OwnByBrotli(Compressor):
    """Compress files of KDB's own pages by Brotli and gzip, all others by gzip alone.

    Brotli saves an eighth of an answer page, and takes a second for all files of KDB. For the API's documentation and
    the administration, which few people open, it would take 45 s of processor time at each start. Source maps, which
    only developers' tools load, are not compressed, as they took half of gzip's 4 s.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._others = Compressor(**options, use_brotli=False)

    def should_compress(self, filename: str) -> bool:
        return super().should_compress(filename) and not filename.endswith(".map")

    def compress(self, path: str) -> list[str]:
        """Write the compressed files beside the one at this path, and return their paths."""
        first = Path(path).relative_to(str(settings.STATIC_ROOT)).parts[0]
        is_own = (settings.BASE_DIR / "static" / first).is_dir()
        return super().compress(path) if is_own else self._others.compress(path)


class StaticFiles(CompressedManifestStaticFilesStorage):
    def create_compressor(self, **options: Any) -> Compressor:
        return OwnByBrotli(**options)
