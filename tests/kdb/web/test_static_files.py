"""Static files as production collects and serves them."""

import gzip
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import brotli
import pytest
from django.conf import settings
from django.test import RequestFactory
from whitenoise.middleware import WhiteNoiseMiddleware

pytestmark = pytest.mark.slow

CHARTS = "vendor/chart.umd.min.js"
PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "kdb.settings.production",
    "SECRET_KEY": "x" * 50,
    "ALLOWED_HOSTS": "kdb.example.org",
    "DATABASE_URL": "postgres://kdb@127.0.0.1/kdb",
}


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> Path:
    """Return the folder that `manage.py collectstatic` fills in production."""
    folder = tmp_path_factory.mktemp("data")
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], **PRODUCTION, "DATA_DIR": str(folder)},
        check=True,
    )
    return folder / "static"


def test_files_of_our_pages_are_compressed_by_brotli_and_those_of_few_by_gzip(collected):
    of_brotli = {path.relative_to(collected).parts[0] for path in collected.rglob("*.br")}
    of_gzip = {path.relative_to(collected).parts[0] for path in collected.rglob("*.gz")}
    assert of_brotli == {path.name for path in (settings.BASE_DIR / "static").iterdir() if path.is_dir()}
    assert of_gzip > of_brotli
    assert list(collected.rglob("*.map.*")) == []  # which nobody but developers' tools loads


@pytest.mark.parametrize(
    ("accepted", "sent", "unpacked"),
    [
        ("gzip, deflate, br, zstd", "br", brotli.decompress),
        ("gzip, deflate", "gzip", gzip.decompress),
        ("identity", None, bytes),
    ],
)
def test_a_client_gets_the_smallest_form_that_it_takes(collected, settings, accepted, sent, unpacked):
    settings.STATIC_ROOT, settings.WHITENOISE_USE_FINDERS, settings.WHITENOISE_AUTOREFRESH = collected, False, False
    serve = WhiteNoiseMiddleware(lambda request: None)
    response = serve(RequestFactory().get(f"/static/{CHARTS}", headers={"accept-encoding": accepted}))
    assert response.get("Content-Encoding") == sent
    assert "Accept-Encoding" in response["Vary"]
    with closing(response.file_to_stream):  # closing the response would close the database's connections
        assert unpacked(response.getvalue()) == (settings.BASE_DIR / "static" / CHARTS).read_bytes()
