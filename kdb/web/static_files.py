"""Static files as they are served in production: named by their content, and compressed when they are collected."""

from pathlib import Path
from typing import Any

from django.conf import settings
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class OwnByBrotli(Compressor):
    """Compress files of KDB's own pages by Brotli and gzip, all others by gzip alone.

    Brotli saves an eighth of an answer page, and takes a second for all files of KDB; for those of the API's
    documentation and the administration, which few ask for, it took 45 s of the processor at each start. Maps of
    sources, which only developers' tools load, took gzip half of its 4 s and stay as they are.
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
