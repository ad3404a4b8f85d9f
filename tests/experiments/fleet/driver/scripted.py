"""A node of Proxmox VE for tests that is no machine: each command and each request has its answer in a list."""

import json
import ssl
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from experiments.laboratory.transport.ssh import Address, Answer, Connection

IN_JSON = ["--output-format", "json"]
FAILED = Answer(254, b"", "ipcc_send_rec[1] failed: Connection refused")  # the cluster's silence


class ScriptedHost(Connection):
    """answers : by the words of a command, or its first word: data, or an Answer; asked : the commands so far"""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__(Address("pve-1", 22, "root", "ssh-ed25519 AAAA"))
        self.answers, self.asked = answers, []

    def __enter__(self) -> "ScriptedHost":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _run(self, arguments: Sequence[str], *_: object) -> Answer:
        self.asked.append([*arguments])
        words = [*arguments[4:]] if arguments[0] == "sh" else [*arguments]
        is_asked = words[-2:] == IN_JSON
        words = words[:-2] if is_asked else words
        answer = self.answers.get(" ".join(words), self.answers.get(words[0]))
        assert answer is not None, f"nobody expected {words}"
        if isinstance(answer, Answer):
            return answer
        is_text = isinstance(answer, str) and not is_asked
        return Answer(0, (answer if is_text else json.dumps(answer)).encode(), "")

    def verbs(self) -> list[str]:
        """Return the verbs of scripts that were asked for."""
        return [words[4] for words in self.asked if words[0] == "sh"]


class ScriptedApi:
    """The same by HTTPS. status, is_cut : of every answer; tokens : those that it was shown"""

    def __init__(self, folder: Path, answers: dict[str, Any]) -> None:
        self.file, self.answers, self.status, self.is_cut = folder / "pveproxy.pem", answers, 200, False
        self.asked: list[str] = []
        self.tokens: list[str | None] = []

    def __enter__(self) -> "ScriptedApi":
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                api.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def get_request(self) -> Any:
                plain, place = self.socket.accept()
                return api.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), place

            def handle_error(self, *_: object) -> None:
                pass  # who finds another certificate hangs up

        self.new_certificate()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def new_certificate(self) -> None:
        """Show another certificate, signed by nobody, from now on."""
        key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.now(UTC)
        built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        built = (
            built.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        )
        certificate = built.sign(key, hashes.SHA256())
        unlocked = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self.file.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, *unlocked)
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.file)
        self.fingerprint = certificate.fingerprint(hashes.SHA256()).hex(":").upper()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.removeprefix("/api2/json")
        self.asked.append(path)
        self.tokens.append(request.headers["Authorization"])
        body = json.dumps({"data": self.answers.get(path)}).encode()
        request.send_response(self.status if path in self.answers else 500, "its reason")
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if self.is_cut else body)
