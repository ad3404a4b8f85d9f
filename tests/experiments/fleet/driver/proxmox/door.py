"""The other door to the stand-in: Proxmox VE's API by HTTPS, with tokens and their privileges, over the same state.

Which privilege a request needs, and what is left out where it lacks, was read in the sources of release 9:
    https://git.proxmox.com/?p=qemu-server.git at e6352be67f70: API2/Qemu.pm (vmlist, vm_config, snapshot_list),
        API2/Qemu/Agent.pm (get-fsinfo)
    https://git.proxmox.com/?p=pve-storage.git at 0c56bad8b2a7: API2/Storage/Config.pm, Status.pm, Content.pm,
        API2/Disks/Directory.pm, Storage.pm (check_volume_access)
    https://git.proxmox.com/?p=pve-manager.git at 14a22df35955: HTTPServer.pm (auth_handler, rest_handler), API2.pm
    https://git.proxmox.com/?p=pve-http-server.git at 5c9e4ea77336: APIServer/AnyEvent.pm, Formatter/Standard.pm
A failed request's reason stands in the status line, as there.
"""

import datetime
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.experiments.fleet.driver.proxmox import programs

TOKEN = "kdb@pve!observe=5f0f2c5e-1111-4222-8333-444455556666"
ALL = ("VM.Audit", "VM.GuestAgent.Audit", "Datastore.Audit", "Sys.Audit", "VM.Config.Disk")


class DeniedError(Exception):
    """The token lacks a privilege; the text is the reason of the status line."""


class Door:
    """It is open while the `with` block runs. privileges : of the token; status, cut, seconds : faults of every answer

    asked : methods and paths, in order; let_in : the values of the header Authorization that came
    """

    def __init__(self, folder: Path, privileges: tuple[str, ...] = ALL) -> None:
        self.folder, self.privileges = folder, privileges
        self.status, self.cut, self.seconds = 200, False, 0.0
        self.asked: list[tuple[str, str]] = []
        self.let_in: list[str | None] = []
        self.fingerprint = ""

    def __enter__(self) -> "Door":
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                door.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def get_request(self) -> Any:
                plain, place = self.socket.accept()
                return door.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), place

            def handle_error(self, *_: object) -> None:
                pass  # who finds another certificate hangs up

        self.new_certificate()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def new_certificate(self) -> None:
        """Show another certificate, signed by nobody, from now on."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pve-1")])
        now = datetime.datetime.now(datetime.UTC)
        built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        built = built.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        certificate = built.not_valid_after(now + datetime.timedelta(days=1)).sign(key, hashes.SHA256())
        file = self.folder / "pveproxy.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(file)
        self.fingerprint = certificate.fingerprint(hashes.SHA256()).hex(":").upper()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        path = unquote(parts.path).removeprefix("/api2/json")
        self.asked.append((request.command, path))
        self.let_in.append(request.headers["Authorization"])
        time.sleep(self.seconds)
        status, reason, data = self.status, "a fault of the test", None
        if request.headers["Authorization"] != f"PVEAPIToken={TOKEN}":
            status, reason = 401, "Authentication failed!"
        elif status == 200:
            try:
                options = [word for name, value in parse_qsl(parts.query) for word in (f"--{name}", value)]
                data, reason = self.allowed(path, options), "OK"
            except DeniedError as error:
                status, reason = 403, str(error)
            except programs.FailedError as error:
                status, reason = 500, str(error).splitlines()[0]
        body = json.dumps({"data": data}).encode()
        request.send_response(status, reason)
        if status in (301, 302):
            request.send_header("Location", f"https://127.0.0.1:{self.port}/api2/json/version")
        request.send_header("Content-Type", "application/json;charset=UTF-8")
        request.send_header("Content-Length", str(len(body)))
        request.send_header("Connection", "close")
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if self.cut else body)
        request.close_connection = True

    def allowed(self, path: str, options: list[str]) -> Any:
        """Return the answer as the token may see it."""
        match path.split("/")[1:]:
            case ["nodes", "localhost", "qemu", number, "agent", _]:
                self.need("VM.GuestAgent.Audit", f"/vms/{number}")
            case ["nodes", "localhost", "qemu", number, *_]:
                self.need("VM.Audit", f"/vms/{number}")
            case ["nodes", "localhost", "disks", _]:
                self.need("Sys.Audit", "/")
            case ["nodes", "localhost", "storage", name, "content"]:
                self.need("Datastore.Audit", f"/storage/{name}")
        answer = programs.answered(["get", path, *options])
        match path.split("/")[1:]:
            case ["nodes", "localhost", "qemu"]:
                return self.shown(answer, "VM.Audit")
            case ["storage"] | ["nodes", "localhost", "storage"]:
                return self.shown(answer, "Datastore.Audit")
            case ["nodes", "localhost", "storage", _, "content"]:
                return self.shown(answer, "VM.Config.Disk")
        return answer

    def need(self, privilege: str, place: str) -> None:
        if privilege not in self.privileges:
            raise DeniedError(f"Permission check failed ({place}, {privilege})")

    def shown(self, answer: Any, privilege: str) -> Any:
        return answer if privilege in self.privileges else []
