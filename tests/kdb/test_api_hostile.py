"""Schemathesis asks the running server what its document allows and what it does not: nothing fails, and every answer
is one that the document promises.

KDB_SCHEMATHESIS_SECONDS sets how long, 20 unless told.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.campaigns import steering
from tests.factories import make_campaign, make_case_study, make_host, make_import, make_raw_file, make_token, make_user

pytestmark = [pytest.mark.slow, pytest.mark.server]
SECONDS = int(os.environ.get("KDB_SCHEMATHESIS_SECONDS", "20"))
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
)


def test_no_request_brings_the_server_down_or_a_surprise(transactional_db, published_evidence, live_server, tmp_path):
    user = make_user("", username="ada", is_superuser=True)
    draft = make_case_study("my-lab", owner=user)
    make_import(draft, uploaded_by=user)
    make_raw_file(draft)
    host = make_host("lab-1", pools=("/srv/kdb",), registered_by=user)
    steering.start(steering.create(make_campaign(host, slug="night", repetitions=2), user=user))
    token = make_token(user, ("read", "import", "campaign"))
    command = [
        *(Path(sys.executable).with_name("schemathesis"), "run", f"{live_server.url}/api/v1/schema/"),
        *("--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS)),
        *("--max-time", str(SECONDS), "--workers", "1", "--continue-on-failure", "--no-shrink", "--no-color"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS + 120)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert " 0 passed" not in done.stdout
