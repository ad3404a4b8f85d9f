"""Deliveries are rows: none is lost, a double has the same id, and nobody who fails keeps others waiting."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db import transaction
from django.utils.timezone import now

from kdb.jobs import jobs
from kdb.models import Job
from kdb.notifications import announcements, deliveries, subscriptions
from kdb.notifications.models import Delivery, Subscription, Topic
from tests.factories import make_user

from .receiver import receiving

pytestmark = pytest.mark.django_db
SITE = "https://kdb.example.org"
NEWS = {"subject": "It changed", "text": "Why.", "path": "/?axis=fs-pair", "facts": {"revision": 2}}


@pytest.fixture
def receiver(settings):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    with receiving() as endpoint:
        yield endpoint


def subscribe(address: str, user=None, topics=("question",)) -> Subscription:
    return subscriptions.add(user or make_user(), "webhook", address, topics, SITE)


def announce(**fields) -> Delivery:
    announcements.announce(Topic.QUESTION, **NEWS | fields)
    return Delivery.objects.first()


def deliver() -> None:
    deliveries.deliver_due(lambda done: None)


def let_time_pass(hours: float) -> None:
    """Date everything so much earlier."""
    for delivery in Delivery.objects.all():
        delivery.created_at -= timedelta(hours=hours)
        if delivery.due_at:
            delivery.due_at -= timedelta(hours=hours)
        Delivery.objects.filter(pk=delivery.pk).update(created_at=delivery.created_at, due_at=delivery.due_at)
    for row in Subscription.objects.filter(failing_since__isnull=False):
        Subscription.objects.filter(pk=row.pk).update(failing_since=row.failing_since - timedelta(hours=hours))


def test_what_happens_is_delivered_by_a_job(receiver, django_capture_on_commit_callbacks):
    subscribe(receiver.address)
    with django_capture_on_commit_callbacks(execute=True):
        delivery = announce()
    assert receiver.taken == []  # nobody waits for a receiver
    assert jobs.run(Job.objects.get(kind=announcements.JOB).pk)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, len(receiver.taken)) == ("sent", 1, 1)
    deliver()
    assert len(receiver.taken) == 1


def test_the_tick_asks_for_what_was_lost(receiver):
    subscribe(receiver.address)
    announce()
    Job.objects.all().delete()
    deliveries.maintain()
    assert Job.objects.get().kind == announcements.JOB


def test_what_is_rolled_back_is_told_to_nobody(receiver):
    subscribe(receiver.address)
    with transaction.atomic():
        announce()
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()


def test_a_worker_that_dies_before_it_notes_the_end_sends_again_with_the_same_id(receiver, monkeypatch):
    subscribe(receiver.address)
    announce()
    with monkeypatch.context() as patch:
        patch.setattr(deliveries, "_end", lambda *args: (_ for _ in ()).throw(SystemExit))  # it was sent, and then
        with pytest.raises(SystemExit):
            deliver()
    deliver()  # not at once
    assert len(receiver.taken) == 1
    let_time_pass(hours=0.02)
    deliver()
    first, second = (headers["KDB-Delivery"] for headers, _ in receiver.taken)
    assert first == second
    assert Delivery.objects.get().state == "sent"


def test_what_fails_is_tried_again_later_and_later_and_says_why(receiver):
    subscribe(receiver.address)
    announce()
    receiver.status = 500
    for attempt in range(1, 4):
        deliver()
        delivery = Delivery.objects.get()
        assert (delivery.attempts, delivery.error, delivery.state) == (attempt, "It answered 500.", "waiting")
        wait = delivery.due_at - now()
        assert abs(wait - timedelta(minutes=2 ** (attempt - 1))) < timedelta(seconds=30)
        let_time_pass(hours=wait / timedelta(hours=1))
    assert deliveries.delay(1000) == deliveries.LONGEST_DELAY
    receiver.status = 200
    deliver()
    assert Delivery.objects.get().state == "sent"
    assert Subscription.objects.get().failing_since is None


def test_a_place_that_fails_is_not_tried_with_everything_that_waits_for_it(receiver):
    subscribe(receiver.address)
    announce()
    announce()
    receiver.status = 500
    deliver()
    assert len(receiver.taken) == 1


def test_one_that_fails_does_not_keep_others_waiting(receiver):
    subscribe("http://127.0.0.1:9/")
    subscribe(receiver.address)
    announce()
    deliver()
    assert len(receiver.taken) == 1


def test_a_place_that_takes_nothing_for_a_week_is_switched_off_and_says_why(receiver):
    mine = subscribe(receiver.address)
    receiver.status = 503
    announce()
    deliver()
    let_time_pass(hours=7 * 24 + 1)
    announce()
    deliver()
    mine.refresh_from_db()
    assert "503" in mine.off_reason
    assert set(Delivery.objects.values_list("state", flat=True)) == {"given up"}
    assert announcements.announce(Topic.QUESTION, **NEWS) == 0
    subscriptions.change(mine, ["question"])
    assert announcements.announce(Topic.QUESTION, **NEWS) == 1


def test_one_message_that_nobody_takes_for_a_week_is_given_up_and_the_place_stays_on(receiver):
    mine = subscribe(receiver.address)
    announce()
    let_time_pass(hours=7 * 24 + 1)
    receiver.status = 400
    deliver()
    assert Delivery.objects.get().state == "given up"
    mine.refresh_from_db()
    assert mine.off_at is None


def test_only_what_was_chosen_is_told_to_whom_it_concerns(receiver):
    ada, bob = make_user(), make_user()
    subscribe(receiver.address, ada)
    subscribe(receiver.address, bob)
    assert announcements.announce(Topic.QUESTION, users=[ada.pk], **NEWS) == 1
    assert announcements.announce(Topic.QUESTION, may=lambda user: user == bob, **NEWS) == 1
    assert announcements.announce(Topic.CAMPAIGN, **NEWS) == 0
    assert [delivery.subscription.user for delivery in Delivery.objects.order_by("created_at")] == [ada, bob]


def test_who_may_not_know_any_more_is_not_told_what_waits(receiver):
    reviewer, gone = make_user("reviewers"), make_user()
    subscribe(receiver.address, reviewer, ["review"])
    subscribe(receiver.address, gone)
    announcements.announce(Topic.REVIEW, **NEWS | {"facts": {"case_study": "x", "submitted_digest": ""}})
    announce()
    reviewer.groups.clear()
    gone.is_active = False
    gone.save()
    deliver()
    assert receiver.taken == []
    assert set(Delivery.objects.values_list("state", "error")) == {("given up", "You may not see this any more.")}
    assert announcements.announce(Topic.QUESTION, **NEWS) == 0


def test_mail_goes_to_the_accounts_own_address_with_the_id_of_the_delivery(settings):
    settings.KDB_MAIL_IS_SENT = True
    ada = make_user(email="ada@example.org")
    subscriptions.add(ada, "mail", "evil@example.org", ["question"], SITE)
    delivery = announce(subject="It\nchanged")
    deliver()
    (letter,) = mail.outbox
    assert (letter.to, letter.subject) == (["ada@example.org"], "It changed")
    assert letter.extra_headers["Message-ID"] == f"<{delivery.pk}@kdb.example.org>"
    assert f"{SITE}/?axis=fs-pair" in letter.body
    assert f"{SITE}/accounts/notifications/" in letter.body


def test_a_letter_that_the_mail_server_does_not_take_is_tried_again(settings):
    settings.KDB_MAIL_IS_SENT = True
    subscriptions.add(make_user(email="ada@example.org"), "mail", "", ["question"], SITE)
    announce()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    deliver()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.error) == ("waiting", "The mail server did not take the letter.")


def test_what_ended_is_forgotten_after_a_month(receiver):
    subscribe(receiver.address)
    announce()
    deliver()
    deliveries.maintain()
    assert Delivery.objects.exists()
    Delivery.objects.update(ended_at=now() - deliveries.KEPT - timedelta(minutes=1))
    deliveries.maintain()
    assert not Delivery.objects.exists()


BAD = [
    *("", "hooks", "ftp://x.org/", "http://hooks.example.net/", "https://", "https://u:p@x.org/", "https://x.org/#a"),
    *(
        "https://x.org:99999/",
        "https://x.org/a b",
        "https://x.org/\r\nX: y",
        "https://ü.org/",
        f"https://x/{'a' * 500}",
    ),
    *(f"https://x/{'a' * 500}", "file:///etc/passwd", "https://[::1/"),
]


@pytest.mark.sqlite
@pytest.mark.parametrize("address", BAD)
def test_an_address_that_cannot_be_one_is_refused(address):
    with pytest.raises(subscriptions.SubscriptionError):
        subscribe(address)


@pytest.mark.sqlite
def test_nobody_has_more_than_ten_or_one_of_them_twice():
    ada = make_user()
    for number in range(subscriptions.MAX_SUBSCRIPTIONS):
        subscribe(f"https://hooks.example.org/{number}", ada)
    with pytest.raises(subscriptions.SubscriptionError, match="as many as one may"):
        subscribe("https://hooks.example.org/more", ada)
    with pytest.raises(subscriptions.SubscriptionError, match="already"):
        subscribe("https://hooks.example.org/1", ada)


@pytest.mark.sqlite
@pytest.mark.parametrize(("role", "topics"), [("", ["review"]), ("researchers", ["campaign"]), ("", []), ("", ["x"])])
def test_nobody_chooses_what_is_not_theirs(role, topics):
    with pytest.raises(subscriptions.SubscriptionError, match="Choose"):
        subscribe("https://hooks.example.org/", make_user(role), topics)


@pytest.mark.sqlite
@pytest.mark.parametrize(("is_sent", "email"), [(False, "a@example.org"), (True, "")])
def test_mail_is_not_offered_where_none_can_be_sent(settings, is_sent, email):
    settings.KDB_MAIL_IS_SENT = is_sent
    user = make_user(email=email)
    assert subscriptions.why_no_mail(user)
    with pytest.raises(subscriptions.SubscriptionError):
        subscriptions.add(user, "mail", "", ["question"], SITE)
