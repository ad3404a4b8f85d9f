"""Holds a release against rocrate-validator; runs in the environment of script/validate-release.

What the crate's words mean stands at an address of the web. The package `rocrate` brings the same file, of RO-Crate
1.3, which has every word of 1.2.
"""

import importlib.resources
import json
import sys
import tempfile
import zipfile
from pathlib import Path

import requests
from rdflib.plugins.parsers import jsonld as parser
from rdflib.plugins.shared.jsonld import context, util
from rocrate_validator import models, services

CONTEXT = "https://w3id.org/ro/crate/"


def use_the_file_for_the_address() -> None:
    text = importlib.resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
    for module in (parser, context, util):
        fetch = module.source_to_json

        def from_file(source, *args, fetch=fetch, **kwargs):
            here = isinstance(source, str) and source.startswith(CONTEXT)
            return (json.loads(text), None) if here else fetch(source, *args, **kwargs)

        module.source_to_json = from_file
    request = requests.Session.request

    def answered(session, method, url, *args, **kwargs):
        if not url.startswith(CONTEXT):
            return request(session, method, url, *args, **kwargs)
        response = requests.Response()
        response.status_code, response.url, response._content = 200, url, text
        response.headers["Content-Type"] = "application/ld+json"
        return response

    requests.Session.request = answered


def crate_faults(folder: Path) -> list[str]:
    settings = services.ValidationSettings(
        rocrate_uri=models.URI(str(folder)),
        profile_identifier="ro-crate-1.2",
        requirement_severity=models.Severity.REQUIRED,
        abort_on_first=False,
        no_cache=True,
    )
    return [str(issue.message) for issue in services.validate(settings).get_issues(models.Severity.REQUIRED)]


def main(file: str) -> int:
    use_the_file_for_the_address()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        faults = crate_faults(folder)
    print(f"RO-Crate 1.2: {len(faults)} faults")
    for fault in faults:
        print(f"  {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
