"""Every command that docs/api.md shows works as it says."""

import json
import re
import shlex

from modelling.guidance import loading
from tests.test_architecture import ROOT

PAGE = (ROOT / "docs" / "api.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    for line in block.splitlines()
    if line.startswith("curl ")
]


def test_every_command_is_answered(client, published_evidence):
    assert len(COMMANDS) > 30
    loading.load()  # what makers advise
    for command in COMMANDS:
        words = shlex.split(command)
        address = next(word for word in words if word.startswith("$API")).replace("$API", "/api/v1")
        headers = dict(words[i + 1].split(": ") for i, word in enumerate(words) if word == "-H")
        bodies = [words[i + 1] for i, word in enumerate(words) if word == "--json"]
        if bodies:
            response = client.post(address, data=bodies[0], content_type="application/json")
        else:
            response = client.get(address, headers=headers)
        assert response.status_code == (400 if "qvm" in command or "fsnyc" in command else 200), command
        if "csv" in command:
            assert response["Content-Type"].startswith("text/csv"), command


def test_the_error_shown_is_the_error_given(client, published_evidence):
    shown = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.S)[1])
    assert client.get("/api/v1/rankings/fs-pair/?workload=mail&hypervisor=qvm").json() == shown
