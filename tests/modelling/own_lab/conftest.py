"""A member of a laboratory, and what she asks."""

import pytest

from modelling.own_lab import laboratories
from tests.factories import make_token, make_user


@pytest.fixture
def ada():
    ada = make_user(username="ada")
    laboratories.create_laboratory(ada, "ours", "Our laboratory")
    return ada


@pytest.fixture
def asked(client, ada):
    headers = {"authorization": f"Bearer {make_token(ada)}"}

    def ask(path: str, body=None, status: int = 200):
        if body is None:
            answer = client.get(f"/api/v1/{path}", headers=headers)
        else:
            answer = client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return ask
