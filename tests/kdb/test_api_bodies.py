"""At every operation a JSON body has the types that the schema states, or is refused with the name of the field."""

import pytest

from experiments.campaigns import hosts
from experiments.imports import pipeline
from experiments.models import Host
from kdb.api.formats import MOST_ERRORS, MOST_JSON_BYTES
from kdb.api.schema import EXAMPLES
from tests.factories import make_host, make_token, make_user

from .laboratory import ask, make_laboratory, operations, schema
from .test_api_roles import in_state

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]

LINES = {"error_output", "note", "procedure", "reason", "personality", "text"}  # may have several
FREE = {"imports_correct", "drafts_measurements_create"}  # tried below, and by the readers of tables
OF_OWNER = ("laboratories", "notifications", "series", "sittings")  # which nobody else may change
WRONG = {
    "boolean": ["no", 0, {"x": 1}],
    "integer": ["7", True, 1.5],
    "number": ["7", True],
    "string": [7, True, {"x": 1}, "a\nb"],
    "array": ["a", {"x": 1}, [None]],
    "object": ["a", ["a"]],
}


def resolved(field_schema):
    while "$ref" in field_schema or "allOf" in field_schema or "oneOf" in field_schema:
        field_schema = (field_schema.get("allOf") or field_schema.get("oneOf") or [field_schema])[0]
        if "$ref" in field_schema:
            field_schema = schema()["components"]["schemas"][field_schema["$ref"].rpartition("/")[2]]
    kind = field_schema["type"]
    return field_schema | {"type": kind[0] if isinstance(kind, list) else kind}


def faulty_values(field_schema, name):
    """Return pairs of a wrong value of this type and the fields that may be named for it."""
    field_schema = resolved(field_schema)
    for value in WRONG[field_schema["type"]]:
        if not (isinstance(value, str) and name in LINES and field_schema["type"] == "string"):
            yield value, name
    if field_schema["type"] == "array":
        yield from (([value], name) for value, _ in faulty_values(field_schema["items"], name))
    inner = field_schema.get("additionalProperties")
    if isinstance(inner, dict) and inner:
        yield from (({"x": value}, name) for value, _ in faulty_values(inner, name))
    for part, of_part in field_schema.get("properties", {}).items():
        yield from (({part: value}, f"{name}.{part}") for value, _ in faulty_values(of_part, part))


def test_a_value_of_another_type_is_refused_at_every_field_of_every_operation():
    users, names = make_laboratory()
    key = make_token(users["administrator"], ("import", "review", "campaign", "notify", "laboratory"))
    owners = make_token(users["owner"], ("import", "notify", "laboratory"))
    by_runner = make_host(address="", host_key="", is_by_runner=True, registered_by=users["administrator"])
    runners = hosts.make_runner_token(by_runner, user=users["administrator"])
    wrong, tried = [], 0
    for name, (method, path) in operations().items():
        operation = schema()["paths"][path][method]
        content = operation.get("requestBody", {}).get("content", {})
        if name in FREE or "application/json" not in content:
            continue
        in_state(name)
        of_field = resolved(content["application/json"]["schema"])["properties"]
        cases = [(field, value, place) for field, of in of_field.items() for value, place in faulty_values(of, field)]
        for field, value, place in cases:
            if value == {"mean_file_size": 7}:
                continue  # bytes, where it has no unit
            body = EXAMPLES[name]["body"] | {field: value}
            theirs = owners if name.startswith(OF_OWNER) else runners if name.startswith("runner_") else key
            answer = ask(name, names, theirs, body=body)
            fields = [e["field"] for e in answer.json().get("errors", [])] if answer.status_code in (400, 422) else []
            tried += 1
            if not any(refused_field.startswith(place) for refused_field in fields):
                wrong.append((name, field, value, answer.status_code, answer.content[:200]))
    assert not wrong
    assert tried > 500


@pytest.fixture
def ask_as_operator(client):
    user = make_user("operators")
    headers = {"authorization": f"Bearer {make_token(user, ('campaign', 'import', 'read'))}"}

    def post(path, body):
        return client.post(f"/api/v1/{path}", body, "application/json", headers=headers)

    return post


def test_a_host_is_registered_as_it_is_said_or_not_at_all(ask_as_operator):
    example = EXAMPLES["hosts_create"]["body"]
    for field, value, part in (
        ("uses_sudo", "no", "uses_sudo"),
        ("stated", ["ESXi 7"], "stated"),
        ("stated", {"hypervisor_release": "7\nraid: none"}, "stated.hypervisor_release"),
        ("stated", {"raid: none\nhypervisor_release": "7"}, "stated"),
        ("pools", ["/srv/kdb image\n/srv/more image"], "pools[0]"),
        ("name", {"x": 1}, "name"),
    ):
        answer = ask_as_operator("hosts/", example | {field: value})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, part)
    assert not Host.objects.exists()
    answer = ask_as_operator("hosts/", example | {"uses_sudo": False, "stated": {"hypervisor_release": "ESXi 7: U3"}})
    assert answer.status_code == 201
    host = Host.objects.get()
    assert (host.uses_sudo, host.stated, host.pools.count()) == (False, {"hypervisor_release": "ESXi 7: U3"}, 1)


def test_a_fault_names_the_field_what_was_found_and_what_is_allowed(ask_as_operator):
    answer = ask_as_operator("hosts/", EXAMPLES["hosts_create"]["body"] | {"uses_sudo": "no"})
    message = 'Found "no"; true or false is allowed.'
    assert answer.json()["errors"] == [{"field": "uses_sudo", "message": message}]


@pytest.mark.parametrize(
    "answers",
    [
        {"context": {"hypervisor": {"x": 1}}},
        {"context": {"hypervisor": True}},
        {"files": {"0" * 64: {"leave_out": "no"}}},
        {"files": {"0" * 64: {"parts": {"a": {"leave_out": 0}}}}},
        {"create": {"workload": {"w": {"slug": "w", "name": {"x": 1}}}}},
        {"create": {"workload": {"w": ["w"]}}},
        {"names": {"workload": {"w": {"x": 1}}}},
        {"columns": {"a": {"x": 1}}},
    ],
)
def test_answers_of_another_type_are_refused(answers):
    with pytest.raises(pipeline.UnusableAnswers):
        pipeline.checked_answers(answers)


def test_of_many_faults_the_first_are_told(ask_as_operator):
    for body in ({f"x{n}": 1 for n in range(1_000)}, {f"{n}\ud800": 1 for n in range(1_000)}):
        answer = ask_as_operator("hosts/", body)
        assert (answer.status_code, len(answer.json()["errors"])) == (400, MOST_ERRORS)


def test_json_is_as_long_as_it_may_be_and_no_longer(ask_as_operator):
    assert ask_as_operator("hosts/", b" " * (MOST_JSON_BYTES - 2) + b"{}").status_code == 400
    answer = ask_as_operator("hosts/", b" " * (MOST_JSON_BYTES - 1) + b"{}")
    assert (answer.status_code, answer["Content-Type"]) == (413, "application/problem+json")
    assert answer.json()["detail"] == "JSON has at most 1,048,576 bytes here; this is longer."
