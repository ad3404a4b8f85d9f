"""Follow a question: who does is told when a publication changes what its answer says, as the feed tells."""

import pytest

from experiments.case_studies import lifecycle
from kdb.models import Job
from kdb.notifications.models import Delivery, Subscription
from modelling.answer_store import snapshots
from modelling.answer_store.subscriptions import followers
from modelling.estimation.ranking import METHOD
from modelling.evidence.question import Question
from modelling.models import FollowedQuestion, RankingSnapshot
from tests import factories
from tests.modelling.answer_store.subscriptions.test_feed import entries, publish

pytestmark = pytest.mark.django_db
QUESTION = Question("fs-pair", "fileserver")


def tell() -> list[str]:
    """Paths of what is newly told."""
    Delivery.objects.all().delete()
    followers.tell_followers(lambda done, total: None)
    return list(Delivery.objects.values_list("path", flat=True))


def follower(topics=("question",), question: Question = QUESTION):
    user = factories.make_user()
    Subscription.objects.create(
        user=user, way="webhook", address="https://x.org/", topics=list(topics), site="https://kdb.example.org"
    )
    followers.follow(user, question)
    return user


def test_who_follows_is_told_what_the_feed_tells(client):
    publish("first", 300.0, 100.0)
    follower()
    assert tell() == []
    publish("elsewhere", 300.0, 100.0, workload="webserver")  # agrees
    assert tell() == []
    publish("second", 100.0, 3000.0)
    assert tell() == [f"/?axis=fs-pair&workload=fileserver&as_of=3&method={METHOD}"]
    facts = Delivery.objects.get().facts
    assert (facts["revision"], facts["method"]) == (3, METHOD)
    assert entries(client)[0][0].endswith(f"as_of=3&method={METHOD}")
    assert entries(client)[0][1] in Delivery.objects.get().subject
    assert tell() == []


def test_an_answer_that_says_the_same_again_is_told_to_nobody(client):
    publish("first", 300.0, 100.0)
    follower()
    before = entries(client)
    alone = factories.make_case_study("alone")
    factories.make_measurement(200.0, case_study=alone, guest_fs="ext4", workload="fileserver")
    lifecycle.publish([alone], reason="it has nothing to compare")
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert RankingSnapshot.objects.latest("revision").revision == 2
    assert entries(client) == before
    assert tell() == []


def test_only_followers_who_want_it_are_told():
    publish("first", 300.0, 100.0)
    ada = follower()
    follower(topics=["campaign"])
    follower(question=Question("fs-pair", "fileserver", vm_count=1))
    Subscription.objects.create(user=factories.make_user(), way="mail", topics=["question"], site="https://x.org")
    publish("second", 100.0, 300.0)
    tell()
    assert ada in {
        delivery.subscription.user for delivery in Delivery.objects.filter(path__contains="fileserver&as_of")
    }
    assert Delivery.objects.filter(subscription__user=ada).count() == 1


def test_nobody_is_told_while_the_new_answer_is_worked_out_and_the_tick_asks_again():
    publish("first", 300.0, 100.0)
    follower()
    study = factories.make_case_study("second", publication=factories.make_publication("second"))
    for guest_fs, value in (("ext4", 100.0), ("xfs", 300.0)):
        factories.make_measurement(value, case_study=study, guest_fs=guest_fs, workload="fileserver")
    lifecycle.publish([study], reason="new")
    Job.objects.all().delete()
    followers.reconcile()
    assert not Job.objects.exists()
    assert tell() == []
    snapshots.answer_waiting_questions(lambda done, total: None)
    followers.reconcile()
    assert Job.objects.get().kind == followers.JOB
    assert len(tell()) == 1


def test_an_answer_that_was_forgotten_in_the_meantime_is_told_all_the_same():
    publish("first", 300.0, 100.0)
    follower()
    RankingSnapshot.objects.all().delete()
    publish("second", 100.0, 300.0)
    assert len(tell()) == 1


def test_another_way_to_the_answer_is_no_news(monkeypatch):
    publish("first", 300.0, 100.0)
    follower()
    FollowedQuestion.objects.update(method=0, said="something else")
    assert tell() == []
    publish("second", 100.0, 300.0)
    assert len(tell()) == 1


def test_one_question_that_fails_keeps_no_other_waiting(monkeypatch):
    publish("first", 300.0, 100.0)
    follower()
    FollowedQuestion.objects.create(
        user=factories.make_user(), question="nonsense?workload=fileserver", method=METHOD, revision=1, said="else"
    )
    publish("second", 100.0, 300.0)
    with pytest.raises(followers.NotNotified, match="nonsense"):
        tell()
    assert Delivery.objects.count() == 1


@pytest.mark.sqlite
def test_nobody_follows_more_than_a_hundred(monkeypatch):
    monkeypatch.setattr(followers, "MOST", 1)
    user = follower()
    followers.follow(user, QUESTION)
    with pytest.raises(followers.TooManyQuestions):
        followers.follow(user, Question("guest-fs", "fileserver"))


# Pages


@pytest.mark.sqlite
def test_a_button_on_the_answers_page_follows_and_stops(client):
    publish("first", 300.0, 100.0)
    address = "/?axis=fs-pair&workload=fileserver"
    assert "Follow this question</button>" not in client.get(address).content.decode()
    user = factories.make_user()
    client.force_login(user)
    assert "Follow this question</button>" in client.get(address).content.decode()
    response = client.post("/following/", {"axis": "fs-pair", "workload": "fileserver"}, follow=True)
    assert "Nothing tells you of them yet" in response.content.decode()
    assert "Stop following</button>" in client.get(address).content.decode()
    assert 'id="follow" hx-swap-oob="true"' in client.get(address, headers={"hx-request": "true"}).content.decode()
    pk = FollowedQuestion.objects.get().pk
    other = factories.make_user()
    client.force_login(other)
    assert client.post(f"/following/{pk}/stop/").status_code == 404
    client.force_login(user)
    assert client.post(f"/following/{pk}/stop/").status_code == 302
    assert not FollowedQuestion.objects.exists()


@pytest.mark.sqlite
def test_who_is_told_comes_back_to_the_answer(client):
    publish("first", 300.0, 100.0)
    client.force_login(follower())
    asked = {"axis": "guest-fs", "workload": "fileserver"}
    assert client.post("/following/", asked).url == "/?axis=guest-fs&workload=fileserver"
    assert client.post("/following/", {"axis": "x", "workload": "y"}).status_code == 422
