"""Webhooks go to where their owner wants them, signed, and nowhere inside."""

import hashlib
import hmac
import json
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kdb import name_resolution
from kdb.notifications import NotSent, subscriptions, webhook
from kdb.notifications.models import Delivery, Subscription
from tests.factories import make_user

from .receiver import receiving

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
SITE = "https://kdb.example.org"


@pytest.fixture
def receiver():
    with receiving() as endpoint:
        yield endpoint


def delivery_to(address: str) -> Delivery:
    subscription = Subscription.objects.create(
        user=make_user(), way="webhook", address=address, topics=["question"], site=SITE
    )
    return Delivery.objects.create(
        subscription=subscription,
        topic="question",
        subject="It changed",
        text="Why.",
        path="/?axis=fs-pair",
        due_at=datetime.now(UTC),
    )


def test_a_receiver_can_check_that_a_call_comes_from_here(receiver, settings):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    delivery = delivery_to(receiver.address)
    webhook.send(delivery)
    ((headers, body),) = receiver.taken
    assert json.loads(body)["address"] == f"{SITE}/?axis=fs-pair"
    assert json.loads(body)["id"] == headers["KDB-Delivery"] == str(delivery.pk)
    key = subscriptions.signing_key(delivery.subscription).encode()
    expected = hmac.new(key, f"{headers['KDB-Timestamp']}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["KDB-Signature"] == expected


def test_each_subscription_has_a_key_of_its_own_that_needs_the_servers_secret(settings):
    one, other = (delivery_to(f"https://{n}.example.org/").subscription for n in ("a", "b"))
    key = subscriptions.signing_key(one)
    assert key != subscriptions.signing_key(other)
    settings.SECRET_KEY = "another"
    assert subscriptions.signing_key(one) != key


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 404, 410, 500, 503])
def test_what_is_not_taken_is_not_sent_and_redirects_are_not_followed(receiver, settings, status):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    receiver.status = status
    with pytest.raises(NotSent, match=f"It answered {status}"):
        webhook.send(delivery_to(receiver.address))
    assert len(receiver.taken) == 1


INSIDE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
    *("255.255.255.255", "224.0.0.1", "240.0.0.1", "192.0.2.1", "198.18.0.1"),
    *("::1", "::", "fe80::1", "fe80::1%lo", "fc00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::1", "2001:0:1::1", "2001:db8::1", "::127.0.0.1"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_not_public(address):
    assert not name_resolution.is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_an_address_of_the_internet_is_public(address):
    assert name_resolution.is_public(address)


@pytest.mark.parametrize(
    "found", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::1"], ["169.254.169.254"]], ids=" and ".join
)
def test_a_name_that_leads_inside_is_not_connected_to(receiver, monkeypatch, found):
    """Whatever the name, and be only one of its addresses inside: the judgement is on what was looked up."""

    def looked_up(host, port, **kwargs):
        return [(socket.AF_INET6 if ":" in a else socket.AF_INET, 1, 6, "", (a, receiver.port)) for a in found]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with pytest.raises(NotSent, match="not one of the public Internet"):
        webhook.send(delivery_to(f"https://innocent.example.org:{receiver.port}/"))
    assert receiver.taken == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://127.0.0.1/", "not one of the public Internet"),
        ("https://169.254.169.254/latest/meta-data/", "not one of the public Internet"),
        ("https://[::ffff:10.0.0.1]/", "not one of the public Internet"),
        ("https://2130706433/", "not one of the public Internet"),
        ("https://localhost/", "not one of the public Internet"),
        ("https://nobody.invalid/", "no such host"),
        ("http://8.8.8.8/", "https"),
    ],
)
def test_an_address_that_nothing_would_be_sent_to_is_refused_when_it_is_chosen(address, words):
    with pytest.raises(subscriptions.SubscriptionError, match=words):
        subscriptions.add(make_user(), "webhook", address, ["question"], SITE)
    assert subscriptions.add(make_user(), "webhook", "https://8.8.8.8/", ["question"], SITE).address


def test_the_name_is_looked_up_once_so_that_it_cannot_turn_inside_after_it_was_judged(monkeypatch):
    answers = [["8.8.8.8"], ["127.0.0.1"]]
    asked, connected = [], []

    def looked_up(host, port, **kwargs):
        asked.append(host)
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in answers[len(asked) - 1]]

    def connect(sock, address):
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(NotSent, match="could not be reached"):
        webhook.send(delivery_to("https://rebinding.example.org/"))
    assert (asked, connected) == (["rebinding.example.org"], [("8.8.8.8", 443)])


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_who_drips_its_answer_is_cut_off(listener, settings, monkeypatch):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr(webhook, "SECONDS", 0.5)
    is_over = threading.Event()

    def drip():
        peer, _ = listener.accept()
        with peer:
            peer.sendall(b"HTTP/1.1 200 OK\r\n")
            while not is_over.wait(0.05):  # each byte within the time-out of one read, for ever
                try:
                    peer.sendall(b"X: y\r\n"[:1])
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    with pytest.raises(NotSent, match="No answer within"):
        webhook.send(delivery_to(f"http://127.0.0.1:{listener.getsockname()[1]}/"))
    is_over.set()
    thread.join()


def test_who_says_nothing_and_who_is_not_there_are_told_apart(listener, settings, monkeypatch):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr(webhook, "SECONDS", 0.2)
    port = listener.getsockname()[1]
    with pytest.raises(NotSent, match="No answer within"):
        webhook.send(delivery_to(f"http://127.0.0.1:{port}/"))
    listener.close()
    with pytest.raises(NotSent, match="could not be reached"):
        webhook.send(delivery_to(f"http://127.0.0.1:{port}/x"))


def test_a_certificate_that_nobody_vouches_for_is_refused(listener, settings, tmp_path):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    since = datetime.now(UTC) - timedelta(days=1)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(since).not_valid_after(since + timedelta(days=9))
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = serialization.NoEncryption()
    pem += key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "server.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")

    def serve():
        peer, _ = listener.accept()
        with peer, pytest.raises(OSError):  # noqa: PT011 - whatever the client's refusal looks like from here
            context.wrap_socket(peer, server_side=True)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with pytest.raises(NotSent, match="certificate is not trusted"):
        webhook.send(delivery_to(f"https://127.0.0.1:{listener.getsockname()[1]}/"))
    thread.join()
