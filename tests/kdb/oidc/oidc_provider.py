"""The other side of the wire: a small provider of OpenID Connect on this machine, which signs real tokens."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "kdb", "not a secret: tests only"


@dataclass
class Provider:
    """person : claims of who signs in there; token, userinfo : what to say otherwise than what is right"""

    issuer: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "person-1", "preferred_username": "ada"})
    token: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048))
    signs_with: Any = None  # None: the key that it publishes
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def authorise(self, address: str) -> dict[str, str]:
        """Return what a browser brings back after its person signed in: the query of the callback."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def exchange(self, given: dict[str, str]) -> dict[str, Any] | None:
        asked = self.codes.pop(given["code"], None)
        if asked is None or (given["client_id"], given["client_secret"]) != (CLIENT, SECRET):
            return None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given["code_verifier"].encode()).digest()).rstrip(b"=")
        if challenge.decode() != asked["code_challenge"] or given["redirect_uri"] != asked["redirect_uri"]:
            return None
        claims = {"iss": self.issuer, "aud": CLIENT, "exp": int(time.time()) + 60, "iat": int(time.time())}
        claims |= {"sub": self.person["sub"], "nonce": asked["nonce"]} | self.token
        claims = {name: value for name, value in claims.items() if value is not None}
        signed = jwt.encode(claims, self.signs_with or self.key, algorithm="RS256", headers={"kid": "1"})
        return {"access_token": "access", "token_type": "Bearer", "id_token": signed}

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [public | {"kid": "1", "alg": "RS256", "use": "sig"}]}


@contextmanager
def providing() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.answer(provider.exchange({name: values[0] for name, values in parse_qs(body).items()}))

        def do_GET(self) -> None:
            self.answer(provider.keys() if self.path == "/jwks" else provider.person | provider.userinfo)

        def answer(self, content: dict[str, Any] | None) -> None:
            text = json.dumps(content or {"error": "invalid_grant"}).encode()
            self.send_response(200 if content else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
