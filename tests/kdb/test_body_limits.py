"""Bodies that are too large are refused before they are read, and slow ones keep nobody else waiting."""

import io
import socket
from contextlib import ExitStack

import pytest
from django.test import Client

from tests.factories import make_case_study, make_token, make_user
from tests.kdb.jobs.test_serve import migrated_place, start  # noqa: F401 - fixtures

STRANGER, USER = 1000, 5000  # bytes
MULTIPART = "multipart/form-data; boundary=b"


@pytest.fixture
def limits(settings, db):
    settings.KDB_ANONYMOUS_BODY_BYTES, settings.KDB_BODY_BYTES = STRANGER, USER


class Unread(io.BytesIO):
    """A body that nobody may touch."""

    def read(self, *args):
        raise AssertionError("the body was read")


def send(client: Client, path: str, size: int, body: io.BytesIO | None = None, **headers):
    environ = {"wsgi.input": body or io.BytesIO(b"x" * size), "CONTENT_LENGTH": str(size), "CONTENT_TYPE": MULTIPART}
    return client.generic("POST", path, headers=headers, **environ)


def send_chunks(client: Client, path: str, body: io.BytesIO, content_type: str = MULTIPART):
    """Send a body as gunicorn hands on one that came in chunks: without a length, and with an end."""
    environ = {"wsgi.input": body, "wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    return client.generic("POST", path, CONTENT_TYPE=content_type, **environ)


@pytest.mark.parametrize("path", ["/accounts/login/", "/drafts/lab/upload/", "/nowhere/"])
@pytest.mark.parametrize("check_csrf", [True, False])
def test_a_page_refuses_the_body_of_a_stranger_unread(path, check_csrf, limits):
    response = send(Client(enforce_csrf_checks=check_csrf), path, STRANGER + 1, Unread())
    assert response.status_code == 413
    assert "has 1,001 bytes; 5,000 bytes are allowed with an account, 1,000 without" in response.content.decode()


def test_the_api_refuses_with_problem_details(limits):
    response = send(Client(), "/api/v1/imports/", STRANGER + 1, Unread())
    assert (response.status_code, response["Content-Type"]) == (413, "application/problem+json")
    assert response.json()["detail"].startswith("The request has 1,001 bytes;")


def test_a_token_that_does_not_count_is_a_stranger(limits):
    response = send(Client(), "/api/v1/imports/", STRANGER + 1, Unread(), authorization="Bearer kdb_nonsense")
    assert response.status_code == 413


@pytest.mark.parametrize("door", ["session", "token"])
def test_who_has_an_account_may_send_more_but_not_all(door, limits):
    user, client, headers = make_user("researchers"), Client(), {}
    if door == "session":
        client.force_login(user)
    else:
        headers = {"authorization": f"Bearer {make_token(user, ('import',))}"}
    assert send(client, "/api/v1/imports/", STRANGER + 1, **headers).status_code != 413
    assert send(client, "/api/v1/imports/", USER + 1, Unread(), **headers).status_code == 413


def test_small_bodies_cost_no_question_to_the_database(limits, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert send(Client(), "/nowhere/", STRANGER).status_code == 404


def test_a_body_in_chunks_is_counted_while_it_is_read(limits):
    endless = io.BytesIO(b"x" * 10_000_000)
    assert send_chunks(Client(), "/accounts/login/", endless).status_code == 413
    assert endless.tell() < 100_000


def test_a_body_in_chunks_arrives(limits):
    user = make_user("researchers", username="ada")
    make_case_study("lab", owner=user)
    table = b"hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,value,unit\nkvm,ext4,xfs,no,filebench,1,x,MiB/s\n"
    client = Client()
    client.force_login(user)
    response = send_chunks(client, "/api/v1/drafts/lab/measurements/", io.BytesIO(table), "text/csv")
    assert response.status_code == 422
    assert "found x" in response.json()["detail"]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.server
def test_dripping_connections_do_not_keep_others_waiting(migrated_place, start):  # noqa: F811
    server = start()
    server.wait_until_ready()
    with ExitStack() as connections:
        for number in range(24):
            connection = connections.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            head = b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n"
            body = b"Content-Type: application/x-www-form-urlencoded\r\n\r\nusername="
            connection.sendall(head + (body if number % 2 else b""))  # in the middle of the body, or of the header
        for _ in range(10):
            assert server.answers()

        # Without a length, through gunicorn: refused as soon as it is too much.
        connection = connections.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        connection.sendall(b"POST /api/v1/imports/ HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(4):
            connection.sendall(b"100000\r\n" + b"x" * 2**20 + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")

        connection = connections.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        connection.sendall(
            b"POST /api/v1/imports/ HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
