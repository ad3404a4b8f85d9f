"""Placement in the browser and by the API: who sees it, who may do what, what is refused."""

import json

import pytest
from django.urls import reverse

from modelling.fleet.moving import comparison, moves, plans
from modelling.models import PlacementMove, PlacementPlan, PlacementPolicy, StatedMix
from tests.factories import make_token, make_user
from tests.modelling.fleet.moving.fleets import mail_server, moved, numbers_for_xfs, observed_host

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture
def ada():
    return make_user("operators", username="ada")


@pytest.fixture
def host(ada):
    numbers_for_xfs()
    return observed_host(registered_by=ada)


def test_visitors_and_other_roles_see_nothing_of_it(client, host):
    plan = plans.make_plan([host], user=None)
    addresses = [reverse("placement"), reverse("placement-plan", args=[plan.pk])]
    for address in addresses:
        assert client.get(address).status_code == 302
    client.force_login(make_user("reviewers"))
    for address in addresses:
        assert client.get(address).status_code == 403


def test_an_operator_plans_and_confirms(client, ada, host):
    mail_server(host)
    client.force_login(ada)
    home = client.get(reverse("placement"))
    assert "kvm-1" in home.content.decode()
    rules = {"margin_percent": 10, "least_gaining_percent": 50, "most_losing_percent": 10}
    rules |= {"least_strength": "weak", "horizon_days": 30}
    answer = client.post(reverse("placement"), {"hosts": ["kvm-1"], **rules}, follow=True)
    page = answer.content.decode()
    assert "Move 1 of 1." in page
    assert "Move from kvm-1/srv/ext4 to kvm-1/srv/xfs." in page
    plan = PlacementPlan.objects.get()
    address = reverse("placement-plan", args=[plan.pk])
    confirmed = client.post(address, {"machine": ["kvm-1/mail-1"]}, follow=True)
    assert "being copied" in confirmed.content.decode()
    again = client.post(address, {"machine": ["kvm-1/mail-1"]})
    assert (again.status_code, "under way already" in again.content.decode()) == (409, True)


def test_only_the_group_of_a_host_moves_its_machines(client, host):
    machine = mail_server(host)
    plan = plans.make_plan([host], user=None)
    move = moved(machine)
    client.force_login(make_user("operators"))
    for address, posted in (
        (reverse("placement-plan", args=[plan.pk]), {"machine": ["kvm-1/mail-1"]}),
        (reverse("placement-move", args=[move.pk]), {"do": "back"}),
        (reverse("placement-policy", args=[host.slug]), {"mode": "automatic"}),
        (reverse("placement-mix", args=[machine.pk]), {"shares": "varmail 1"}),
    ):
        assert client.get(address).status_code == 404
        assert client.post(address, posted).status_code == 404
    assert PlacementMove.objects.count() == 1


def test_the_page_of_a_move_says_where_the_machine_runs_and_what_became_of_it(client, ada, host):
    machine = mail_server(host)
    worse = {"verdict": comparison.WORSE, "speed": 0.8, "low": 0.7, "high": 0.9, "minutes_before": 60}
    worse |= {"minutes_after": 50, "watched_before": 70, "watched_after": 80}
    move = moved(machine, plan=plans.make_plan([host], user=ada), outcome=worse)
    client.force_login(ada)
    address = reverse("placement-move", args=[move.pk])
    page = client.get(address).content.decode()
    assert "runs from its new image" in page
    assert "Worse: on the same load" in page
    client.post(address, {"do": "remove"})
    back = client.post(address, {"do": "back"}, follow=True).content.decode()
    assert f'It takes back <a href="{address}">' in back
    assert client.post(address, {"do": "call-off"}).status_code == 409
    assert client.post(address, {"do": "nothing"}).status_code == 404
    live = client.get(
        reverse("placement-move", args=[PlacementMove.objects.latest("pk").pk]), headers={"HX-Request": "true"}
    )
    assert live.content.decode().lstrip().startswith('<div id="move"')


def test_a_policy_and_a_mix_are_checked_before_they_are_kept(client, ada, host):
    machine = mail_server(host)
    client.force_login(ada)
    policy = reverse("placement-policy", args=[host.slug])
    fields = {"mode": "automatic", "least_gaining": 0.95, "least_gain": 0.2, "most_moves_a_day": 2, "keeps_days": 3}
    fields |= {"copy_rate_mib": ""}
    assert client.post(policy, fields | {"least_gaining": 7}).status_code == 422
    assert client.post(policy, fields).status_code == 302
    assert PlacementPolicy.objects.get(host=host).copy_rate_mib is None
    mix = reverse("placement-mix", args=[machine.pk])
    refused = client.post(mix, {"shares": "varmail 1\nnothing 2"})
    assert "Line 2: &#x27;nothing&#x27; is no workload here" in refused.content.decode()
    client.post(mix, {"shares": ""})
    assert not StatedMix.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_machines(client, ada, host, django_assert_max_num_queries):
    for number in range(12):
        mail_server(host, f"mail-{number}")
    plan = plans.make_plan([host], user=ada)
    client.force_login(ada)
    client.get(reverse("placement"))
    for address in (reverse("placement"), reverse("placement-plan", args=[plan.pk])):
        with django_assert_max_num_queries(20):
            assert client.get(address).status_code == 200


def test_outcomes_stand_on_the_quality_page_apart_from_rankings(client, host):
    moved(mail_server(host), plan=plans.make_plan([host], user=None), outcome={"verdict": comparison.KEPT})
    page = client.get(reverse("model-quality")).content.decode()
    assert "1 kept promise" in page
    assert client.get("/api/v1/placement/outcomes/").json()["verdicts"]["kept promise"] == 1


class Api:
    def __init__(self, client, user) -> None:
        self.client = client
        self.headers = {"authorization": f"Bearer {make_token(user, ('read', 'campaign'))}"}

    def __call__(self, method: str, address: str, body=None):
        return getattr(self.client, method)(
            f"/api/v1/placement/{address}",
            *([json.dumps(body)] if body is not None else []),
            **({"content_type": "application/json"} if body is not None else {}),
            headers=self.headers,
        )


def test_the_api_plans_confirms_and_steers(client, ada, host):
    machine = mail_server(host)
    ask = Api(client, ada)
    made = ask("post", "plans/", {"hosts": ["kvm-1"], "rules": {"horizon": 86_400}})
    assert (made.status_code, made.json()["rules"]["horizon"]) == (201, 86_400)
    plan = made.json()["id"]
    assert ask("post", "plans/", {"hosts": ["nowhere"]}).json()["errors"][0]["field"] == "hosts"
    assert ask("post", "plans/", {"hosts": ["kvm-1"], "size": 1}).json()["errors"][0]["field"] == "size"
    bad = ask("post", "plans/", {"hosts": ["kvm-1"], "rules": {"least_strength": "iron"}})
    assert (bad.status_code, "least_strength" in bad.content.decode()) == (400, True)
    (move,) = ask("post", f"plans/{plan}/confirm/", {"machines": ["kvm-1/mail-1"]}).json()
    assert ask("get", f"moves/{move['id']}/").json()["state"] == "copying"
    assert ask("post", f"moves/{move['id']}/call-off/").json()["is_called_off"] is True
    assert ask("post", f"moves/{move['id']}/back/").status_code == 409
    assert ask("put", "policies/kvm-1/", {"mode": "confirm"}).json()["mode"] == "confirm"
    assert ask("get", "policies/kvm-1/").json()["mode"] == "confirm"
    assert ask("put", f"mixes/{machine.pk}/", {"shares": {"varmail": 2.0}}).json() == {"shares": {"varmail": 2.0}}
    assert ask("put", f"mixes/{machine.pk}/", {"shares": {"none": 2.0}}).status_code == 400
    assert moves.policy_of(host).mode == "confirm"
