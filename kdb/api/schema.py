"""Generate the OpenAPI document, and add to it what all operations have in common."""

import json
import threading
from functools import cache
from pathlib import Path
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)

from .errors import MEDIA_TYPE
from .formats import FORMAT_PARAMETER

# Operation id to an example of a request and the server's answer, written by tests/kdb/test_api_examples.py.
EXAMPLES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("examples.json").read_text())

_ERRORS = {
    "400": "A parameter or its value is not known; `errors` names it and, where they can be listed, what is allowed.",
    "404": "There is no such thing here.",
    "406": "There is no such format here.",
    "429": "Too many requests in this minute, or too much of the processor; Retry-After says when to come back.",
    "503": "The database does not answer.",
}
_ERRORS_OF_A_USER = {
    "401": "Nobody is signed in, or the token does not count.",
    "403": "This is not yours to do.",
    "409": "It cannot be done as things stand; `detail` says why.",
    "422": "What was sent cannot be used; `errors` says where and why.",
}
_ERRORS_OF_A_BODY = {
    "413": "The body is larger than is read here.",
    "415": "The body is not of a type that is read here.",
}
_TOO_LONG = {
    "description": "The address is longer than the web server reads; it answers by itself.",
    "content": {"text/html": {"schema": {"type": "string"}}},
}
_BEING_WORKED_OUT = {
    "description": "It takes long to work out, so a worker does it; ask again after the seconds of Retry-After.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["detail", "error"],
                "properties": {"detail": {"type": "string"}, "error": {"type": "string"}},
            }
        }
    },
}
_WITHOUT_ENTITY_TAG = {"status"}  # which changes from one moment to the next
_NOT_MODIFIED = {"description": "What you have, by If-None-Match or If-Modified-Since, is current."}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string"},
    "description": "Entity tag of the answer you have.",
}
_PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "example": "about:blank"},
        "title": {"type": "string", "example": "Bad Request"},
        "status": {"type": "integer", "example": 400},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {
                    "field": {"type": "string", "example": "hypervisor"},
                    "message": {"type": "string"},
                    "allowed": {"type": "array", "items": {}, "example": ["esxi", "hyper-v", "kvm", "proxmox", "xen"]},
                    "line": {"type": "integer", "description": "Of a text that is not understood; from 1."},
                    "column": {"type": "integer", "description": "In that line; from 1."},
                },
            },
        },
    },
}
# OpenAPI links: operation, the place of a value in it, operations that take the value, and their parameter. Operations
# with a common path, such as a list and its objects, need no link.
_LINKS = (
    ("campaigns_runs", "$response.body#/results/0/artifacts/0/id", ("campaign_outputs_content",), "id"),
    ("campaigns_draft", "$response.body#/case_study", ("drafts_retrieve", "drafts_submit"), "slug"),
    ("campaigns_draft", "$response.body#/import_id", ("imports_retrieve",), "id"),
    ("campaigns_retrieve", "$response.body#/host", ("hosts_retrieve", "hosts_check"), "slug"),
    ("drafts_create", "$response.body#/slug", ("drafts_measurements_create", "drafts_preview_create"), "slug"),
    ("drafts_publish", "$request.path.slug", ("case_studies_retrieve", "case_studies_retract"), "slug"),
    ("hosts_list", "$response.body#/results/0/slug", ("placement_policy_retrieve", "placement_policy_update"), "slug"),
    ("published_tables_create", "$response.body#/slug", ("drafts_retrieve", "drafts_submit"), "slug"),
    ("imports_retrieve", "$response.body#/case_study", ("drafts_retrieve", "drafts_submit"), "slug"),
    ("observed_machines_list", "$response.body#/results/0/id", ("placement_mix_update",), "id"),
    ("placement_plans_create", "$response.body#/id", ("placement_plans_confirm",), "id"),
)


RENDERERS = [OpenApiJsonRenderer2, OpenApiJsonRenderer, OpenApiYamlRenderer2, OpenApiYamlRenderer]
_generating = threading.Lock()  # drf-spectacular is not thread-safe


class CachedGenerator(SchemaGenerator):
    """Generate the public document once in each process, as it depends on the code alone."""

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        with _generating:
            return _public_schema(self.api_version) if public else super().get_schema(request, public)


@cache
def rendered_document(version: str, media_type: str) -> bytes:
    """Return the public document in this media type. Rendering YAML takes a third of a second, so it is cached."""
    document = CachedGenerator(api_version=version).get_schema(public=True)
    renderer = next(renderer for renderer in RENDERERS if renderer.media_type == media_type)
    text = renderer().render(document, renderer_context={})
    return text.encode() if isinstance(text, str) else text


def prepare() -> None:
    """Render the document in all formats in advance, so that no request has to wait for it."""
    for renderer in RENDERERS:
        rendered_document("v1", renderer.media_type)


@cache
def _public_schema(version: str) -> dict[str, Any]:
    return SchemaGenerator(api_version=version).get_schema(request=None, public=True)


def document_errors(result: dict[str, Any], generator: SchemaGenerator, **kwargs: Any) -> dict[str, Any]:
    """Add problem details, conditional requests and the format to every operation.

    A hook of drf-spectacular, which is called with the finished document and returns it.
    """
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in result["paths"].values():
        for method, operation in path.items():
            responses = operation["responses"]
            has_body = "requestBody" in operation
            is_private = {} not in operation.get("security", [{}])
            errors = {**_ERRORS, **(_ERRORS_OF_A_BODY if has_body else {}), **(_ERRORS_OF_A_USER if is_private else {})}
            for status, description in errors.items():
                responses.setdefault(status, {"description": description, "content": problem})
            responses["414"] = _TOO_LONG
            content = responses.get("200", {}).get("content", {})
            if is_private and method == "get":
                operation.setdefault("parameters", []).append(_IF_NONE_MATCH)
                responses.setdefault("304", _NOT_MODIFIED)
            if not is_private and method == "get" and operation["operationId"] not in _WITHOUT_ENTITY_TAG:
                responses.setdefault("202", _BEING_WORKED_OUT)
            if is_private or "application/octet-stream" in content:
                continue
            if "text/csv" in content:
                content["text/csv"] = {"schema": {"type": "string"}}
            parameters = operation.setdefault("parameters", [])
            if all(parameter["name"] != FORMAT_PARAMETER for parameter in parameters):
                parameters.append(_format_parameter([media_type.split("/")[1] for media_type in content]))
            if not has_body and operation["operationId"] not in _WITHOUT_ENTITY_TAG:
                parameters.append(_IF_NONE_MATCH)
                responses.setdefault("304", _NOT_MODIFIED)
    return result


def spell_out_null(result: dict[str, Any], generator: SchemaGenerator, **kwargs: Any) -> dict[str, Any]:
    """Replace nullable `allOf` by `oneOf` with null, as OpenAPI 3.0 ignores `nullable` beside `allOf`. A hook."""
    result["components"]["schemas"].setdefault("NullEnum", {"enum": [None]})
    for schema in result["components"]["schemas"].values():
        for field in schema.get("properties", {}).values():
            if field.get("nullable") and "allOf" in field:
                field["oneOf"] = [*field.pop("allOf"), {"$ref": "#/components/schemas/NullEnum"}]
    return result


def add_examples(result: dict[str, Any], generator: SchemaGenerator, **kwargs: Any) -> dict[str, Any]:
    """Add an example of a request and its answer to every operation. A hook."""
    for path in result["paths"].values():
        for operation in path.values():
            example = EXAMPLES.get(operation["operationId"])
            if example is None:
                continue
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in example["parameters"]:
                    parameter["example"] = example["parameters"][parameter["name"]]
            if "body" in example:
                content = operation["requestBody"]["content"][example["media_type"]]
                content["examples"] = {"Example": {"value": example["body"]}}
            content = operation["responses"][str(example["status"])].get("content", {})
            if "application/json" in content:
                content["application/json"]["examples"] = {"Example": {"value": example["answer"]}}
    return result


def link(result: dict[str, Any], generator: SchemaGenerator, **kwargs: Any) -> dict[str, Any]:
    """Add the OpenAPI links of _LINKS to the answers. A hook."""
    operations = {
        operation["operationId"]: operation for path in result["paths"].values() for operation in path.values()
    }
    for source, where, targets, parameter in _LINKS:
        response = next(answer for status, answer in operations[source]["responses"].items() if status.startswith("2"))
        for target in targets:
            response.setdefault("links", {})[target] = {"operationId": target, "parameters": {parameter: where}}
    return result


def _format_parameter(formats: list[str]) -> dict[str, Any]:
    return {
        "in": "query",
        "name": FORMAT_PARAMETER,
        "schema": {"type": "string", "enum": formats},
        "description": "Format of the answer; wins over the Accept header.",
    }
