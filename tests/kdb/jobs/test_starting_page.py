"""The answers that are given while the web server is not there yet."""

import json
import socket
from collections.abc import Iterator

import pytest

from kdb.jobs.starting_page import StartingPage

HANG_SECONDS = 60


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        starting = StartingPage(listener)
        yield listener
        starting.end()


def ask(listener: socket.socket, request: bytes) -> tuple[list[str], str]:
    """Return the lines of the answer's head, and its body."""
    with socket.create_connection(listener.getsockname(), HANG_SECONDS) as client:
        client.sendall(request)
        answer = b"".join(iter(lambda: client.recv(65536), b"")).decode()
    head, _, body = answer.partition("\r\n\r\n")
    return head.split("\r\n"), body


def test_a_page_says_that_kdb_is_starting_and_when_to_ask_again(listener):
    head, body = ask(listener, b"GET /compare/ HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert head[0] == "HTTP/1.1 503 Service Unavailable"
    assert "Retry-After: 5" in head
    assert f"Content-Length: {len(body.encode())}" in head
    assert "KDB is starting" in body


def test_the_api_says_so_as_problem_details(listener):
    head, body = ask(listener, b"GET /api/v1/status/ HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert "Content-Type: application/problem+json" in head
    assert json.loads(body)["status"] == 503
    assert "KDB is starting" in json.loads(body)["detail"]


def test_an_upload_is_answered_although_nobody_wants_it(listener):
    body = b"x" * 2_000_000
    head, _ = ask(
        listener, b"POST /imports/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )

    assert head[0].startswith("HTTP/1.1 503 ")


def test_many_who_say_nothing_keep_nobody_else_waiting(listener):
    silent = [socket.create_connection(listener.getsockname(), HANG_SECONDS) for _ in range(20)]

    head, _ = ask(listener, b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert head[0].startswith("HTTP/1.1 503 ")
    for client in silent:
        client.close()


def test_the_web_server_that_shares_the_port_is_left_alone_once_it_answers():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        starting = StartingPage(listener)
        ask(listener, b"GET / HTTP/1.1\r\n\r\n")
        starting.end()

        with socket.create_connection(listener.getsockname(), HANG_SECONDS) as client:
            listener.settimeout(HANG_SECONDS)
            taken, address = listener.accept()
            with taken:
                assert address == client.getsockname()
