"""Errors of the API are problem details (RFC 9457), and tell nothing of the inside."""

import pytest
from django.db import OperationalError
from rest_framework import exceptions

from kdb.api.errors import MEDIA_TYPE, exception_handler

RANKING = "/api/v1/rankings/fs-pair/?workload=varmail"


def problem_of(response, status):
    """Return the problem details of a response, after a look at what all of them have."""
    assert response.status_code == status
    assert response["Content-Type"] == MEDIA_TYPE
    problem = response.json()
    assert problem["status"] == status
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.parametrize("path", ["/api/v1/nothing/", "/api/v2/", "/api/v1/hypervisors/kvm/more/"])
def test_an_unknown_path_of_the_api_is_a_problem(client, path):
    assert path in problem_of(client.get(path), 404)["detail"]


def test_an_unknown_page_is_a_page(client, db):
    response = client.get("/nothing/")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")


def test_a_row_that_is_not_there_is_a_problem(client, db):
    problem_of(client.get("/api/v1/hypervisors/kvm/"), 404)


def test_a_path_without_its_last_slash_is_redirected(client):
    assert client.get("/api/v1/rankings")["Location"] == "/api/v1/rankings/"


def test_another_method_is_a_problem_that_names_the_allowed_ones(client, db):
    response = client.post("/api/v1/hypervisors/")
    problem_of(response, 405)
    assert response["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("path", [RANKING, "/api/v1/measurements/", "/api/v1/hypervisors/", "/api/v1/status/"])
def test_an_unknown_format_is_a_problem(client, db, path):
    joint = "&" if "?" in path else "?"
    assert "'xml'" in problem_of(client.get(f"{path}{joint}format=xml"), 406)["detail"]
    problem_of(client.get(path, headers={"accept": "image/png"}), 406)


def test_every_fault_of_a_request_is_named_by_field(client, db):
    response = client.get("/api/v1/measurements/?colour=blue&vm_count=many&metric=weight&metric=throughput")
    errors = {error["field"]: error for error in problem_of(response, 400)["errors"]}
    assert set(errors) == {"colour", "vm_count", "metric"}
    assert "workload" in errors["colour"]["allowed"]
    assert "2 times" in errors["metric"]["message"]
    assert all(error["message"] for error in errors.values())


def test_a_failure_here_tells_nothing_of_the_inside(client, monkeypatch, db):
    def fail(*args):
        raise ZeroDivisionError("the password is swordfish")

    monkeypatch.setattr("modelling.answer_pages.api.answer_version", fail)
    monkeypatch.setattr("modelling.evidence.names.slug_for", lambda kind, name: name)
    client.raise_request_exception = False
    response = client.get(RANKING)
    problem_of(response, 500)
    assert "swordfish" not in response.content.decode()
    assert "Zero" not in response.content.decode()


@pytest.mark.parametrize("path", ["/api/v1/status/", "/api/v1/claims/"])
def test_a_database_that_is_down_is_a_problem_with_a_time_to_come_back(client, monkeypatch, path):
    def fail(*arguments):
        raise OperationalError("could not connect to 10.0.0.1 as kdb")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", fail)
    response = client.get(path)
    problem_of(response, 503)
    assert int(response["Retry-After"]) > 0
    assert "10.0.0.1" not in response.content.decode()


def test_a_foreign_host_name_is_a_problem(client):
    problem_of(client.get("/api/v1/", headers={"host": "elsewhere.example"}), 400)


def test_the_faults_a_serializer_finds_are_listed_by_field():
    faults = exceptions.ValidationError({"title": ["May not be empty."], "slug": ["Too long.", "Not a slug."]})
    response = exception_handler(faults, {})
    assert response.status_code == 400
    assert b'{"field": "slug", "message": "Not a slug."}' in response.content


def test_a_throttled_client_learns_how_long_to_wait():
    assert exception_handler(exceptions.Throttled(wait=7), {})["Retry-After"] == "7"


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_pages_keep_their_error_pages(status, rf):
    from kdb.api import errors as api_errors

    request = rf.get("/somewhere/")
    error = Exception("reason")
    response = {
        400: lambda: api_errors.bad_request(request, error),
        403: lambda: api_errors.permission_denied(request, error),
        404: lambda: api_errors.page_not_found(request, error),
        500: lambda: api_errors.server_error(request),
    }[status]()
    assert response.status_code == status
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("method", ["post", "delete", "options"])
@pytest.mark.parametrize("end", ["", "&format=csv"])
def test_a_method_that_is_not_there_is_a_problem_in_every_format(client, db, method, end):
    problem_of(getattr(client, method)(f"{RANKING}{end}"), 405)
