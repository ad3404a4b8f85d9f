"""The OpenAPI document: valid, complete, and true of the server it describes."""

import json
from urllib.parse import parse_qsl, urlencode

import pytest
from django.core.management import call_command
from openapi_spec_validator import validate

from experiments.models import CaseStudy
from kdb.api.schema import EXAMPLES
from modelling.answer_pages.forms import entry_choices
from modelling.evidence import names
from modelling.guidance import loading
from tests.factories import make_raw_file

pytestmark = pytest.mark.slow

WITHOUT_ENTITY_TAG = {"status"}


@pytest.fixture(scope="module")
def schema():
    from kdb.api.schema import CachedGenerator

    return CachedGenerator(api_version="v1").get_schema(public=True)


def operations(schema):
    """Return the operations that everybody may ask; the rest is in test_private_api."""
    all_operations = [(path, operation) for path, methods in schema["paths"].items() for operation in methods.values()]
    return [(path, operation) for path, operation in all_operations if {} in operation.get("security", [{}])]


@pytest.fixture
def published(published_evidence):
    """Load the published evidence, and make a file that some of it was read from."""
    make_raw_file(CaseStudy.objects.get(slug="p0"))


def test_the_document_is_valid_openapi_3(schema):
    validate(schema)
    assert schema["openapi"].startswith("3.")


def test_the_document_is_made_without_a_warning(tmp_path):
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "schema.yml"))


# What the addresses of the index answer where it is not 200: for some one signs in, names a question, or posts.
OTHERWISE = {
    **dict.fromkeys(("drafts", "imports", "hosts", "campaigns", "notifications", "followed-questions"), 401),
    **dict.fromkeys(("observed-hosts", "observed-pools", "observed-machines", "detection-model"), 401),
    **dict.fromkeys(("placement-plans", "placement-moves"), 401),
    **dict.fromkeys(("heat-maps", "mixes", "explanations", "comparisons", "search", "ask"), 400),
    "advice": 405,
}


def test_every_address_of_the_index_answers_and_is_documented(client, schema, db):
    index = client.get("/api/v1/").json()["endpoints"]
    for name, address in index.items():
        path = address.removeprefix("http://testserver")
        assert name in {"schema", "docs"} or path in schema["paths"]
        assert client.get(path).status_code == OTHERWISE.get(name, 200)


def test_every_operation_says_what_can_go_wrong(schema):
    for path, operation in operations(schema):
        responses = operation["responses"]
        has_body = "requestBody" in operation
        errors = {"400", "404", "406", "429", "503"} | ({"413", "415"} if has_body else set())
        assert {"200", *errors} <= set(responses), path
        if "application/octet-stream" in responses["200"].get("content", {}):
            continue
        assert has_body or operation["operationId"] in WITHOUT_ENTITY_TAG or "304" in responses, path
        for status in errors:
            assert "application/problem+json" in responses[status]["content"], path


def test_every_link_leads_from_something_in_the_answer_to_an_operation_that_takes_it(schema):
    paths = {
        operation["operationId"]: path for path, methods in schema["paths"].items() for operation in methods.values()
    }
    link_count = 0
    for methods in schema["paths"].values():
        for operation in methods.values():
            example = EXAMPLES[operation["operationId"]]
            for link in (
                link for answer in operation["responses"].values() for link in answer.get("links", {}).values()
            ):
                ((name, where),) = link["parameters"].items()
                assert f"{{{name}}}" in paths[link["operationId"]]
                place, _, rest = where.partition("#/")
                value = example["parameters"] if place == "$request.path.slug" else example["answer"]
                for key in rest.split("/") if rest else ["slug"]:
                    value = value[int(key)] if isinstance(value, list) else value[key]
                assert isinstance(value, int | str), (operation["operationId"], where)
                link_count += 1
    assert link_count > 10


def test_every_parameter_has_a_description_or_a_list_of_values(schema):
    silent = [
        (path, parameter["name"])
        for path, operation in operations(schema)
        for parameter in operation["parameters"]
        if not (parameter.get("description") or parameter["schema"].get("enum")) and parameter["in"] == "query"
    ]
    assert not silent


ENTRIES = {
    "fs-pair": "ext4-on-ext4,xfs-on-ext4",
    "guest-fs": "ext4,xfs",
    "host-fs": "ext4,xfs",
    "host-storage": "dir-ext4,lvm-thin",
    "hypervisor": "kvm,xen",
    "configuration": "kvm:ext4-on-ext4,xen:ext4-on-ext4",
}


def address_of(path, operation, client):
    """Return a path with a row that exists in the place of each parameter."""
    values = {
        "axis": "fs-pair",
        "workload": "varmail",
        "workloads": "varmail,fileserver",
        "weights": "varmail:1",
        "q": "btrfs",
        "text": "ext4 or xfs for mail",
        "entries": ENTRIES["fs-pair"],
    }
    asked = {p["name"]: values[p["name"]] for p in operation["parameters"] if p.get("required") and p["in"] == "query"}
    if asked:
        path = f"{path.replace('{axis}', 'fs-pair')}?{urlencode(asked)}"
    if "{" not in path:
        return path
    start = path[: path.index("{")]
    listed = client.get(f"{start}?page_size=1")
    if listed.status_code == 400:  # a list without pages
        listed = client.get(start)
    row = next(rows for rows in listed.json().values() if isinstance(rows, list))[0]
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(row[parameter["name"]]))
    return path


def ask(client, address, operation):
    """GET, or POST of the example that the document gives."""
    if "requestBody" not in operation:
        return client.get(address)
    return client.post(address, data=json.dumps(EXAMPLES["advice"]["body"]), content_type="application/json")


def test_every_example_has_exactly_the_documented_fields(schema):
    """That the server answers with the fields of the examples, test_api_examples checks."""
    components = schema["components"]["schemas"]
    for path, operation in operations(schema):
        content, example = operation["responses"]["200"]["content"], EXAMPLES[operation["operationId"]]
        if "application/json" not in content:
            continue
        component = components[content["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]]
        assert set(example["answer"]) == set(component["properties"]), path
        if "results" in example["answer"]:
            row = components[component["properties"]["results"]["items"]["$ref"].rsplit("/", 1)[1]]
            assert set(example["answer"]["results"][0]) == set(row["properties"]), path


@pytest.mark.nightly
@pytest.mark.sqlite
def test_every_documented_value_of_a_parameter_is_accepted(client, schema, published):
    loading.load()  # makers' advice
    for path, operation in operations(schema):
        address = address_of(path, operation, client)
        for parameter in operation["parameters"]:
            for value in parameter["schema"].get("enum", []) if parameter["in"] == "query" else []:
                start, _, query = address.partition("?")
                asked = {**dict(parse_qsl(query)), parameter["name"]: value}
                if "entries" in asked:
                    known = [key for key, _ in entry_choices(asked["axis"], names.names())]
                    if asked["axis"] not in ENTRIES and len(known) < 2:
                        continue  # no two releases of one thing are published
                    asked["entries"] = ENTRIES.get(asked["axis"]) or ",".join(known[:2])
                query = urlencode(asked)
                response = ask(client, f"{start}?{query}", operation)
                assert response.status_code == 200, (address, parameter["name"], value)


def test_the_document_is_served_as_json_and_as_yaml(client):
    response = client.get("/api/v1/schema/")
    assert response.json()["info"]["title"] == "KDB"
    assert client.get("/api/v1/schema/", headers={"if-none-match": response["ETag"]}).status_code == 304
    assert client.get("/api/v1/schema/?format=yaml").content.startswith(b"openapi: 3.")


def test_only_the_documentation_page_may_set_style_attributes(client):
    assert "'unsafe-inline'" in client.get("/api/v1/docs/")["Content-Security-Policy"]
    assert "'unsafe-inline'" not in client.get("/api/v1/")["Content-Security-Policy"]


def test_the_documentation_page_shows_the_operations_without_any_other_host(page, live_server, published_evidence):
    page.goto(f"{live_server.url}/api/v1/docs/")
    page.get_by_text("/api/v1/advice/").first.wait_for()  # of so many operations it shows those in view
