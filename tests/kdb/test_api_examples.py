"""The examples of the OpenAPI document: one for every operation, true of the server, and valid by the document.

KDB_WRITE_EXAMPLES=1 writes kdb/api/examples.json anew from what the server answers.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from openapi_schema_validator import OAS30Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

from kdb.api import schema as api_schema
from kdb.api.schema import EXAMPLES, CachedGenerator

from .walk import walk

pytestmark = pytest.mark.slow

ROWS = 3  # of a list that an example keeps
LONGEST = 400  # characters of a text that an example keeps


@pytest.fixture(scope="module")
def schema():
    return CachedGenerator(api_version="v1").get_schema(public=True)


def shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shortened(inner) for inner in value[:ROWS]]
    return f"{value[:LONGEST]}…" if isinstance(value, str) and len(value) > LONGEST else value


def shape(value: Any) -> Any:
    """Return which fields an answer and its first row have; what a field says may differ from day to day."""
    if not isinstance(value, dict):
        return type(value).__name__
    return dict.fromkeys(value) | {"results": [set(row) for row in value.get("results", [])[:1]]}


def test_the_examples_are_what_the_server_answers(schema, published_evidence):
    exchanges = json.loads(json.dumps({name: shortened(exchange) for name, exchange in walk(schema).items()}))
    if os.environ.get("KDB_WRITE_EXAMPLES"):
        path = Path(api_schema.__file__).with_name("examples.json")
        path.write_text(json.dumps(exchanges, indent=1, ensure_ascii=False) + "\n")
        return
    assert exchanges.keys() == EXAMPLES.keys()
    for name, exchange in exchanges.items():
        example = EXAMPLES[name]
        assert (exchange["status"], exchange.get("media_type")) == (example["status"], example.get("media_type")), name
        assert exchange.get("body") == example.get("body"), name
        assert shape(exchange["answer"]) == shape(example["answer"]), name


def test_every_operation_has_an_example(schema):
    operations = {o["operationId"] for methods in schema["paths"].values() for o in methods.values()}
    assert operations == EXAMPLES.keys()
    for methods in schema["paths"].values():
        for operation in methods.values():
            example = EXAMPLES[operation["operationId"]]
            content = operation["responses"][str(example["status"])].get("content", {})
            assert "application/json" not in content or "examples" in content["application/json"]
            for parameter in operation.get("parameters", []):
                needs_one = parameter["in"] == "path" or (parameter["in"] == "query" and parameter.get("required"))
                assert not needs_one or "example" in parameter, (operation["operationId"], parameter["name"])


def test_every_example_is_valid_by_the_document(schema):
    registry = Registry().with_resource("urn:kdb", Resource.from_contents(schema, default_specification=DRAFT4))
    for methods in schema["paths"].values():
        for operation in methods.values():
            example = EXAMPLES[operation["operationId"]]
            content = operation["responses"][str(example["status"])].get("content", {}).get("application/json")
            if content is None:
                continue
            absolute = json.loads(json.dumps(content["schema"]).replace('"#/', '"urn:kdb#/'))
            errors = [
                error.message for error in OAS30Validator(absolute, registry=registry).iter_errors(example["answer"])
            ]
            assert not errors, (operation["operationId"], errors)
