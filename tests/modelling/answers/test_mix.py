"""Mixes of workloads: the weighted geometric mean, its interval, and how far the weights may move."""

import math
from dataclasses import replace
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from django.utils.html import escape
from hypothesis import given
from hypothesis import strategies as st

from experiments.case_studies import lifecycle
from modelling.answer_pages.forms import WeightsField
from modelling.answer_pages.mix import mix_answer
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers import mix as mixes
from modelling.answers.estimate import ranking_of
from modelling.answers.words import mix_address, mix_api_address
from modelling.estimation.bayes import Posterior
from modelling.estimation.mixes import mix
from modelling.estimation.ranking import METHOD, Ranking
from modelling.estimation.verdict import STRENGTHS
from modelling.evidence import names
from modelling.evidence.question import Question
from modelling.models import PinnedAnswer
from tests.factories import make_case_study, make_configuration, make_measurement

pytestmark = pytest.mark.django_db

FAST_MAIL = {"ext4_on_ext4": (200.0, 50.0), "xfs_on_ext4": (100.0, 100.0), "btrfs_on_ext4": (50.0, 25.0)}


def publish(slug: str = "lab", values=FAST_MAIL, **fields):
    """Pair to its throughput under mail and under web."""
    study = make_case_study(slug)
    for pair, numbers in values.items():
        guest, host = pair.split("_on_")
        for workload, value in zip(("varmail", "webserver"), numbers, strict=True):
            if value is not None:
                make_measurement(value, case_study=study, guest_fs=guest, host_fs=host, workload=workload, **fields)
    lifecycle.publish([study], reason="measured")


def answer(**weights: float):
    return mix_answer(Question("fs-pair", "", hypervisor="kvm"), weights)


@pytest.mark.usefixtures("laboratories_alike")
def test_the_mix_is_the_weighted_geometric_mean_by_hand():
    """Mail 3 to 1: ext4 to xfs is 2^(3/4) x (1/2)^(1/4) = 2^(1/2)."""
    publish()
    mix_ranking = answer(varmail=75, webserver=25)
    assert [entry.key for entry in mix_ranking.entries] == ["ext4-on-ext4", "xfs-on-ext4", "btrfs-on-ext4"]
    assert mix_ranking.entries[1].ratio == pytest.approx(1 / math.sqrt(2), rel=0.01)
    assert mix_ranking.entries[2].ratio == pytest.approx(0.25 ** (3 / 4) * 0.5 ** (1 / 4), rel=0.02)
    assert mix_ranking.entries[1].parts == pytest.approx({"varmail": 0.5, "webserver": 2.0}, rel=0.01)


def test_a_new_laboratory_may_find_another_ahead():
    publish()
    assert answer(varmail=75, webserver=25).entries[1].tied


@pytest.mark.usefixtures("laboratories_alike")
def test_the_p_score_is_the_mean_certainty_by_hand():
    """The better of two has the normal probability of the mix's ln ratio over its error, the other one minus that."""
    publish(values={"ext4_on_ext4": (100.0, 100.0), "xfs_on_ext4": (95.0, 100.0)})
    first, second = answer(varmail=75, webserver=25).entries
    # Arms of one run: 5 % expected with 2 degrees of freedom (docs/models/ranking.md).
    alone = 2 * (0.05 * 4.302653 / 1.959964) ** 2
    error = math.sqrt((0.75**2 + 0.25**2) * alone)
    certainty = 0.5 * (1 + math.erf(0.75 * math.log(100 / 95) / error / math.sqrt(2)))
    assert (first.p_score, second.p_score) == pytest.approx((certainty, 1 - certainty), rel=0.01)


def test_all_on_one_workload_is_that_workloads_ranking():
    publish()
    single = {
        entry["key"]: entry
        for entry in current_snapshot(Question("fs-pair", "varmail", hypervisor="kvm")).result["entries"]
    }
    for entry in answer(varmail=10, webserver=0).entries:
        expected = single[entry.key]
        assert (entry.rank, entry.ratio) == (expected["rank"], pytest.approx(expected["ratio"]))
        assert (entry.low, entry.high) == (pytest.approx(expected["low"]), pytest.approx(expected["high"]))


def test_weights_may_be_in_any_unit():
    publish()
    assert answer(varmail=3, webserver=1) == answer(varmail=75, webserver=25)


@pytest.mark.usefixtures("laboratories_alike")
def test_the_share_at_which_the_best_changes_by_hand():
    """ext4 leads xfs by ln 2 under mail and trails by ln 2 under web: they meet at one half."""
    publish()
    mail, web = answer(varmail=75, webserver=25).ranges
    assert (mail.low, mail.high, mail.below, mail.above) == (pytest.approx(0.5), 1.0, "xfs-on-ext4", None)
    assert (web.low, web.high, web.below, web.above) == (0.0, pytest.approx(0.5), None, "xfs-on-ext4")


@pytest.mark.usefixtures("laboratories_alike")
@pytest.mark.parametrize(("mail", "best"), [(51, "ext4-on-ext4"), (49, "xfs-on-ext4")])
def test_beyond_that_share_another_is_best(mail, best):
    publish()
    assert answer(varmail=mail, webserver=100 - mail).entries[0].key == best


def test_what_a_workload_has_no_number_for_is_not_ranked():
    publish(values=FAST_MAIL | {"xfs_on_xfs": (500.0, None)})
    mix_ranking = answer(varmail=50, webserver=50)
    assert "xfs-on-xfs" not in [entry.key for entry in mix_ranking.entries]
    assert mix_ranking.left_out == mix_ranking.unmeasured == {"xfs-on-xfs": ("webserver",)}


def test_numbers_joined_to_none_of_those_ranked_are_told_from_none(client):
    """A second laboratory measured two pairs beside each other, and none of the first laboratory's."""
    publish()
    publish("other", {"zfs_on_xfs": (9.0, 9.0), "btrfs_on_xfs": (8.0, 8.0)})
    mix_ranking = answer(varmail=50, webserver=50)
    assert mix_ranking.left_out["zfs-on-xfs"] == ("varmail", "webserver")
    assert mix_ranking.unmeasured["zfs-on-xfs"] == ()
    page = client.get("/mix/?axis=fs-pair&hypervisor=kvm&varmail=1&webserver=1").content.decode()
    apart = "its numbers under varmail and webserver are joined to none of those ranked"
    assert f"zfs on xfs: {apart}" in page
    assert "zfs on xfs: no numbers" not in page


def test_a_mix_is_as_strong_as_the_weakest_of_its_shares():
    """Three laboratories measured mail, one of them web."""
    publish()
    for slug in ("second", "third"):
        publish(slug, {pair: (mail, None) for pair, (mail, _) in FAST_MAIL.items()})
    alone = {share.workload: share.verdict for share in answer(varmail=50, webserver=50).shares}
    assert STRENGTHS.index(alone["webserver"].strength) < STRENGTHS.index(alone["varmail"].strength)
    verdict = answer(varmail=99, webserver=1).verdict
    assert verdict.strength == alone["webserver"].strength
    assert "webserver: Only one research group compares them." in verdict.reasons
    assert answer(varmail=1).verdict.strength == alone["varmail"].strength


def test_all_on_one_workload_is_decided_as_that_workload_is():
    publish()
    own = answer_in(current_snapshot(Question("fs-pair", "varmail", hypervisor="kvm")))
    mix_ranking = answer(varmail=1)
    assert mix_ranking.verdict.sentence == own.verdict.sentence
    assert [entry.verdict for entry in mix_ranking.entries] == [entry.verdict for entry in own.entries]
    assert [entry.expected_loss for entry in mix_ranking.entries] == pytest.approx(
        [e.expected_loss for e in own.entries]
    )


def test_nothing_is_called_the_one_to_use_where_nothing_is_known(client):
    publish(values={"ext4_on_ext4": (100.0, 100.0), "xfs_on_ext4": (99.0, 100.0)})
    assert answer(varmail=50, webserver=50).verdict.kind == "not known"
    page = client.get("/mix/?axis=fs-pair&hypervisor=kvm&varmail=1&webserver=1").content.decode()
    assert ">use<" not in page
    assert "use ext4" not in page.lower()


def test_the_filters_and_the_metric_of_an_answer_narrow_a_mix():
    publish()
    publish("rates", {"xfs_on_ext4": (9.0, 9.0), "ext4_on_ext4": (3.0, 3.0)}, metric="operation_rate", unit="ops/s")
    question = Question("fs-pair", "", hypervisor="kvm")
    by_rate = mix_answer(replace(question, metric="operation_rate"), {"varmail": 1, "webserver": 1})
    assert [entry.key for entry in by_rate.entries] == ["xfs-on-ext4", "ext4-on-ext4"]
    assert mix_answer(question, {"varmail": 1, "webserver": 1}).question.metric == "throughput"
    assert mix_answer(replace(question, grade="A"), {"varmail": 1, "webserver": 1}).entries == ()


def test_a_mix_as_of_a_revision_is_what_it_was(client):
    publish()
    asked = "axis=fs-pair&hypervisor=kvm"
    then = client.get(f"/api/v1/mixes/?{asked}&weights=varmail:1,webserver:1").json()
    publish("other", {"ext4_on_ext4": (1.0, 1.0), "xfs_on_ext4": (9.0, 9.0)})
    now = client.get(f"/api/v1/mixes/?{asked}&weights=varmail:1,webserver:1").json()
    as_of = client.get(f"/api/v1/mixes/?{asked}&weights=varmail:1,webserver:1&as_of=1").json()
    assert as_of == {**then, "pinned": True}
    assert now["entries"] != then["entries"]
    page = client.get(f"/mix/?{asked}&varmail=1&webserver=1&as_of=1", follow=True).content.decode()
    assert "As of knowledge revision 1" in page
    assert client.get(f"/mix/?{asked}&varmail=1&webserver=1&as_of=7").status_code == 404


@pytest.mark.sqlite
def test_a_share_that_only_lists_speak_of_is_answered_by_itself(client, published_evidence):
    """Mail on KVM was published as lists of best and worst pairs: they cannot be mixed, but they say something."""
    mix_ranking = mix_answer(Question("fs-pair", "", hypervisor="kvm"), {"varmail": 60, "fileserver": 40})
    mail = next(share for share in mix_ranking.shares if share.workload == "varmail")
    assert mix_ranking.verdict.kind == "not known"
    assert not mail.has_numbers
    assert "published lists" in mail.verdict.confidence
    assert "no measurement, and no ranking contains it" in mail.forecast
    page = client.get("/mix/?axis=fs-pair&hypervisor=kvm&varmail=60&fileserver=40").content.decode()
    assert "/?axis=fs-pair&amp;workload=varmail&amp;hypervisor=kvm" in page
    assert mail.verdict.sentence in page


def test_what_was_measured_only_without_flushes_is_not_in_a_mix():
    study = make_case_study("lab")
    for guest, value, options in (("btrfs", 900.0, "nobarrier"), ("ext4", 200.0, ""), ("xfs", 100.0, "")):
        configuration = make_configuration(study, guest_fs=guest, guest_mount_options=options)
        for workload in ("varmail", "webserver"):
            make_measurement(value, configuration=configuration, workload=workload)
    lifecycle.publish([study], reason="measured")
    mix_ranking = answer(varmail=75, webserver=25)
    assert [entry.key for entry in mix_ranking.entries] == ["ext4-on-ext4", "xfs-on-ext4"]
    assert any(note.startswith("Measured only with guest mount option nobarrier") for note in mix_ranking.notes)


def test_nothing_in_common_is_no_ranking():
    publish(values={"ext4_on_ext4": (1.0, None), "xfs_on_ext4": (2.0, None)})
    mix_ranking = answer(varmail=50, webserver=50)
    assert (mix_ranking.entries, mix_ranking.ranges) == ((), ())
    assert set(mix_ranking.left_out) == {"ext4-on-ext4", "xfs-on-ext4"}


class FakePart:
    """A part with given effects and no errors to speak of."""

    entries = ()

    def __init__(self, effects: dict[str, float]) -> None:
        self.effects = effects
        self.networks = [type("Net", (), {"treatments": tuple(effects), "trials": ()})]

    def difference(self, a: str, b: str) -> tuple[float, float]:
        return self.effects[a] - self.effects[b], 0.1


effects = st.fixed_dictionaries({key: st.floats(-3, 3) for key in "abcd"})


@given(first=effects, second=effects, share=st.floats(0.05, 0.95), moved=st.floats(0.0, 1.0))
def test_inside_the_range_the_best_stays_and_outside_it_does_not(first, second, share, moved):
    rankings = {
        name: Ranking((FakePart(part),), pd.DataFrame(), pd.DataFrame())
        for name, part in (("one", first), ("two", second))
    }
    together = dict(zip("abcd", (share * first[key] + (1 - share) * second[key] for key in "abcd"), strict=True))

    def posterior(keys):
        means = np.array([[together[key] for key in keys]])
        return Posterior(tuple(keys), np.ones(1), means, 0.01 * np.eye(len(keys))[None], np.zeros((1, 4, 4)))

    mix_ranking = mix(rankings, {"one": share, "two": 1 - share}, posterior)
    best = mix_ranking.entries[0].key
    one = next(workload_range for workload_range in mix_ranking.ranges if workload_range.workload == "one")
    score = {key: moved * first[key] + (1 - moved) * second[key] for key in "abcd"}
    ahead = score[best] - max(value for key, value in score.items() if key != best)
    if one.low + 1e-9 < moved < one.high - 1e-9:
        assert ahead >= -1e-9
    elif moved < one.low - 1e-9 or moved > one.high + 1e-9:
        assert ahead <= 1e-9


# At its two doors


@pytest.mark.usefixtures("laboratories_alike")
def test_page_and_api_say_the_same(client):
    publish()
    body = client.get("/api/v1/mixes/?axis=fs-pair&hypervisor=kvm&weights=varmail:75,webserver:25").json()
    assert [entry["key"] for entry in body["entries"]] == ["ext4-on-ext4", "xfs-on-ext4", "btrfs-on-ext4"]
    assert body["entries"][1]["ratio"] == pytest.approx(1 / math.sqrt(2), rel=0.01)
    assert body["verdict"]["sentence"].startswith("Start with ext4 on ext4.")
    assert body["verdict"]["measured"].startswith("Weighted by these shares, ext4 on ext4 comes out 1.4 times as fast")
    assert body["weights"] == {"varmail": 0.75, "webserver": 0.25}
    page = client.get("/mix/?axis=fs-pair&hypervisor=kvm&varmail=75&webserver=25").content.decode()
    assert body["verdict"]["sentence"] in page
    assert "0.71×" in page
    assert "xfs on ext4 comes first below 50" in page


def test_an_alias_is_a_name_and_the_example_has_the_shape_of_an_answer(client, published_evidence):
    body = client.get("/api/v1/mixes/?axis=hypervisor&weights=mail:1,web:3").json()
    assert body["weights"] == {"varmail": 0.25, "webserver": 0.75}


@pytest.mark.parametrize(
    "weights",
    [
        "",
        "varmail",
        "varmail:x",
        "varmail:-1",
        "atlantis:1",
        "varmail:0",
        "varmail:1,varmail:2",
        "varmail:1e999",
        "varmail:nan",
    ],
)
@pytest.mark.sqlite
def test_weights_that_are_none_are_refused(client, weights):
    publish()
    answer = client.get(f"/api/v1/mixes/?axis=fs-pair&weights={weights}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "weights")


def test_a_form_without_weights_asks_for_them(client):
    publish()
    assert client.get("/mix/").status_code == 200
    answer = client.get("/mix/?axis=fs-pair&varmail=0")
    assert answer.status_code == 400
    assert "Give at least one workload a share" in answer.content.decode()


def test_other_weights_solve_no_ranking_again_and_metrics_that_a_workload_lacks_none_at_all(client, monkeypatch):
    study = make_case_study("lab")
    for guest, value in (("ext4", 100.0), ("xfs", 50.0)):
        arm = {"case_study": study, "guest_fs": guest, "host_fs": "ext4"}
        make_measurement(value, **arm, workload="varmail")
        for workload in ("varmail", "webserver"):
            make_measurement(value, **arm, workload=workload, metric="operation_rate", unit="ops/s")
    lifecycle.publish([study], reason="measured")
    solved = []

    def counted(question, as_of=None):
        solved.append((question.workload, question.metric))
        return ranking_of(question, as_of)

    monkeypatch.setattr(mixes, "ranking_of", counted)
    asked = {"axis": "guest-fs", "hypervisor": "kvm", "weights": "varmail:1,webserver:1"}
    first = client.get("/api/v1/mixes/", asked).json()
    client.get("/api/v1/mixes/", asked | {"weights": "varmail:3,webserver:2"})

    assert first["metric"] == "operation_rate"
    assert sorted(solved) == [("varmail", "operation_rate"), ("webserver", "operation_rate")]


WEIGHTS = st.integers(1, 999_999_999_999).map(lambda millionths: millionths / 1e6)


@given(weight=WEIGHTS | st.sampled_from([0.00005, 1e-06, 999_999.999999, 100_000.0]))
def test_an_address_of_a_mix_says_a_weight_as_it_was_said(weight):
    question = Question("fs-pair", "")
    page = parse_qs(urlsplit(mix_address(question, {"varmail": weight})).query)
    assert float(page["varmail"][0]) == weight
    (text,) = parse_qs(urlsplit(mix_api_address(question, {"varmail": weight})).query)["weights"]
    assert text == f"varmail:{page['varmail'][0]}"
    with patch.object(names, "slug_for", lambda kind, name: name):
        assert WeightsField().clean(text) == {"varmail": weight}


@pytest.mark.sqlite
def test_the_permanent_address_of_a_mix_is_that_of_the_same_mix(client):
    publish()
    asked = {"axis": "fs-pair", "hypervisor": "kvm", "varmail": "0.00005", "webserver": "33.3333333333"}
    page = client.get("/mix/", asked | {"as_of": 1, "method": METHOD}).content.decode()
    address = "/mix/?axis=fs-pair&hypervisor=kvm&varmail=0.00005&webserver=33.333333"
    assert f'href="{escape(address)}"' in page  # The mix now
    weights = "varmail:0.00005,webserver:33.333333"
    data = client.get(f"/api/v1/mixes/?axis=fs-pair&hypervisor=kvm&weights={weights}&as_of=1&method={METHOD}")
    again = client.get(data.json()["permanent"])
    assert (again.status_code, again.json()) == (200, data.json())
    assert PinnedAnswer.objects.filter(is_combined=True).count() == 1
