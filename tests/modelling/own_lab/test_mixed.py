"""A mix of workloads on the machine of a laboratory: what was measured there under each of them, by its share."""

from html import unescape
from math import log

import pytest
from django.test import Client

from modelling.evidence.question import Question
from modelling.own_lab.content import Choice
from modelling.own_lab.selectors import answer_here, mix_here
from tests.factories import make_sitting, make_user
from tests.modelling.answer_pages.test_pages import text_of
from tests.modelling.answers.test_mix import publish
from tests.modelling.own_lab.test_local_answer import CHOICES, SPEED, measured

MAIL = {"ext4": 2000.0, "xfs": 1000.0, "btrfs": 500.0}
ASKED = Question("guest-fs", "")


@pytest.fixture
def ada():
    return make_user(username="ada")


@pytest.mark.django_db
def test_a_mix_is_the_weighted_geometric_mean_of_what_was_measured_there(ada):
    measured(ada)
    laboratory = measured(ada, MAIL, workload="varmail")
    here = mix_here(ASKED, {"fileserver": 3, "varmail": 1, "webserver": 0}, laboratory)
    ratios = {}
    for workload in ("fileserver", "varmail"):
        of = {row.key: row.ratio for row in answer_here(Question("guest-fs", workload), laboratory).entries}
        ratios[workload] = log(of["ext4"] / of["xfs"])
    ext4 = next(row for row in here.entries if row.key == "ext4")
    assert (here.entries[0].key, here.machine, here.place, here.missing) == ("xfs", "box", "vdb", ())
    assert log(ext4.ratio) == pytest.approx(0.75 * ratios["fileserver"] + 0.25 * ratios["varmail"], abs=0.02)
    assert ext4.runs == sum(
        next(row.runs for row in answer_here(Question("guest-fs", workload), laboratory).entries if row.key == "ext4")
        for workload in ratios
    )
    assert mix_here(ASKED, {"fileserver": 1, "varmail": 3}, laboratory).entries[0].key == "ext4"


@pytest.mark.django_db
def test_a_mix_of_one_workload_says_what_the_answer_says(ada, published_evidence):
    laboratory = measured(ada)
    alone, here = (
        answer_here(Question("guest-fs", "fileserver"), laboratory),
        mix_here(ASKED, {"fileserver": 2}, laboratory),
    )
    assert (here.kind, here.sentence, here.sittings) == (alone.kind, alone.sentence, alone.sittings)
    for one, other in zip(here.entries, alone.entries, strict=True):
        assert vars(one) == pytest.approx(vars(other), nan_ok=True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "more",
    [
        {"workload": "webserver"},
        {"workload": "varmail", "machine": "other"},
        {"workload": "varmail", "choices": [Choice(name, "vdc", {"guest_fs": name}) for name in MAIL]},
        {
            **{"workload": "varmail"},
            "choices": [Choice(name, "vdb", {"guest_fs": name, "cache_mode": "none"}) for name in MAIL],
        },
    ],
    ids=["under another workload", "of another machine", "on another disk", "with other settings"],
)
def test_what_was_not_measured_alike_under_each_is_missing_and_what_was_tells_of_it(ada, more):
    laboratory = measured(ada, MAIL, **{"choices": CHOICES, **more})
    measured(ada)
    here = mix_here(ASKED, {"fileserver": 1, "varmail": 1}, laboratory)
    assert (here.missing, here.machine) == (("varmail",), "box")
    assert " Nothing was measured there under varmail" in here.sentence
    assert {row.key: row.runs > 0 for row in here.entries} == dict.fromkeys(SPEED, True)


@pytest.mark.django_db
def test_other_workloads_tell_and_choices_that_no_two_have_in_common(ada):
    nothing = mix_here(ASKED, {"fileserver": 1, "webserver": 1}, make_sitting(ada).laboratory)
    assert (nothing.missing, nothing.machine, nothing.entries) == (("fileserver", "webserver"), "", ())
    assert nothing.sentence.startswith("Measure first: no two of these choices were measured, under fileserver and ")
    laboratory = measured(ada, MAIL, CHOICES[:2], workload="varmail")
    here = mix_here(ASKED, {"fileserver": 1, "webserver": 1}, laboratory)
    assert (here.missing, here.machine, here.entries[0].key) == (("fileserver", "webserver"), "box", "ext4")
    measured(ada, {"btrfs": 900.0, "f2fs": 300.0}, [Choice(n, "vdb", {"guest_fs": n}) for n in ("btrfs", "f2fs")])
    here = mix_here(ASKED, {"fileserver": 1, "varmail": 1}, laboratory)
    assert (here.missing, {row.key for row in here.entries}) == ((), {*MAIL, "f2fs"})


@pytest.mark.django_db
def test_a_mix_that_was_measured_under_one_workload_is_less_sure_than_that_workload(ada, published_evidence):
    laboratory = measured(ada, MAIL, CHOICES[:2], workload="varmail")
    widths = []
    for webserver in (0, 1, 4):
        here = mix_here(ASKED, {"varmail": 1, "webserver": webserver}, laboratory)
        row = next(row for row in here.entries[1:] if row.key in MAIL and row.key != "btrfs")
        widths.append(log(row.high / row.low))
    assert widths == sorted(widths)


@pytest.mark.django_db
def test_a_machine_that_was_measured_under_each_comes_before_a_newer_one_that_was_not(ada):
    measured(ada)
    measured(ada, MAIL, workload="varmail")
    laboratory = measured(ada, machine="laptop")
    box = [
        *laboratory.sittings.filter(machine="box", ended_at__isnull=False).order_by("pk").values_list("pk", flat=True)
    ]
    here = mix_here(ASKED, {"fileserver": 1, "varmail": 1}, laboratory)
    assert (here.machine, here.missing, here.sittings[:2]) == ("box", (), (box[1], box[0]))


@pytest.mark.django_db
def test_page_and_data_say_the_same_and_no_cache_keeps_it(client: Client, ada):
    publish()  # under these two workloads
    measured(ada, choices=CHOICES[:2], workload="webserver")
    laboratory = measured(ada, MAIL, CHOICES[:2], workload="varmail")
    client.force_login(ada)
    plain = "/mix/?axis=guest-fs&varmail=40&webserver=60"
    assert f"{plain}&here=ours" in unescape(client.get(plain).content.decode())
    page = client.get(f"{plain}&here=ours")
    assert page["Cache-Control"] == "private, no-store"
    assert page.context["here"].missing == ()
    assert '<input type="hidden" name="here" value="ours">' in page.content.decode()
    address = "/api/v1/mixes/?axis=guest-fs&weights=varmail:40,webserver:60"
    data = client.get(f"{address}&here=ours")
    assert (data["Cache-Control"], "ETag" in data) == ("private, no-store", False)
    assert f"On your machine {data.json()['here']['sentence']}" in text_of(page)
    assert {**data.json(), "here": None} == client.get(address).json()
    assert client.get(f"{address}&here=ours&as_of=1").json()["errors"][0]["field"] == "here"
    laboratory.sittings.filter(workload="webserver").delete()
    page = client.get(f"{plain}&here=ours")
    assert page.context["here"].missing == ("webserver",)
    assert page.context["here"].sentence in text_of(page)
