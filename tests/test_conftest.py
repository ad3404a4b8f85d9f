"""The guards of conftest.py bite."""

import socket

import pytest
from django.core.cache import cache
from django.template import engines
from django.test import RequestFactory


def test_a_connection_that_leaves_this_machine_is_refused_and_noted(connections_outside):
    with socket.socket() as outside, pytest.raises(ConnectionRefusedError, match="may not connect"):
        outside.connect(("192.0.2.1", 80))
    assert connections_outside == ["('192.0.2.1', 80)"]
    connections_outside.clear()


def test_a_connection_on_this_machine_is_let_through():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=5):
        pass


def test_a_missing_template_variable_fails():
    template = engines["django"].from_string("{{ not_there }}")
    with pytest.raises(pytest.fail.Exception, match="not_there"):
        template.render({}, RequestFactory().get("/"))


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_test_finds_the_caches_empty(turn):
    assert cache.get("left-behind") is None
    cache.set("left-behind", turn)
