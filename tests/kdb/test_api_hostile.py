"""Schemathesis asks the running server what its document allows and what it does not: nothing fails, and every answer
is one that the document promises.

KDB_SCHEMATHESIS_SECONDS sets how long, 20 unless told: half of it each operation by itself, half of it from one answer
to the next operation by the document's links.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from tests.factories import make_token
from tests.fuzz.targets import scene

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.server]
SECONDS = int(os.environ.get("KDB_SCHEMATHESIS_SECONDS", "20"))
HANG_SECONDS = 300  # for one answer, on a machine that has much else to do
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
    "negative_data_rejection",
)


@pytest.mark.parametrize("phases", ["examples,coverage,fuzzing", "stateful"])
def test_no_request_brings_the_server_down_or_a_surprise(
    transactional_db, published_evidence, live_server, tmp_path, phases
):
    scene()
    token = make_token(User.objects.get(username="ada"), ("read", "import", "campaign"))
    command = [
        *(Path(sys.executable).with_name("schemathesis"), "run", f"{live_server.url}/api/v1/schema/"),
        *("--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS), "--phases", phases),
        *("--max-time", str(SECONDS // 2), "--workers", "1", "--continue-on-failure", "--no-shrink", "--no-color"),
        *("--request-timeout", str(HANG_SECONDS)),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS + 2 * HANG_SECONDS)
    print(done.stdout[-5_000:])  # what was asked and covered: pytest -rP shows it
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert " 0 passed" not in done.stdout
