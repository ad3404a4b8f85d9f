"""Research groups left out in turn: who is compared, what counts, and what answers say of forms that failed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from modelling.answer_store import caveats
from modelling.estimation.cells import COLUMNS
from modelling.estimation.hierarchy import Knowledge
from modelling.models import QualityReport
from modelling.prediction.validation import left_out_groups, reports, tables
from modelling.prediction.validation.content import Differing, Form
from modelling.prediction.validation.left_out_groups import forecast_left_out_groups, forms
from tests.modelling.scales import ALIKE, variances

WHERE = {"workload": "mail", "load": "write", "storage": "ssd"}


def cells(*rows: tuple[str, dict[str, str], float]) -> pd.DataFrame:
    """Return cells of (group, choices, ln speed), comparable inside a group."""
    records = [
        dict.fromkeys(COLUMNS, "")
        | WHERE
        | made_of
        | {"laboratory": group, "group": group, "configuration": place, "level": group, "outcome": y, "variance": 0.005}
        for place, (group, made_of, y) in enumerate(rows)
    ]
    frame = pd.DataFrame(records)
    return frame.assign(level=pd.factorize(frame["level"])[0])


def of_guests(group: str, difference: float) -> list[tuple[str, dict[str, str], float]]:
    return [(group, {"guest_fs": "xfs"}, difference), (group, {"guest_fs": "ext4"}, 0.0)]


AGREED = [row for number in range(6) for row in of_guests(f"g{number}", 1.0 + 0.02 * number)]


def leave_groups_out(frame) -> list[Form]:
    """Say how forecasts of each group from all others did, form by form."""
    contrasts = forecast_left_out_groups(frame, ALIKE)
    return [] if contrasts is None else forms(contrasts)


def test_groups_that_agree_are_foretold_better_than_by_no_difference():
    by_name = {(form.by, form.name): form for form in leave_groups_out(cells(*AGREED))}

    form = by_name["choice", "guest-fs"]
    assert (form.groups, form.contrasts, form.weight) == (6, 6, 6.0)
    assert form.is_better
    assert form.inside_95 == 1.0
    assert (form.sure, form.right) == (6.0, 1.0)
    assert {name for by, name in by_name if by == "choice"} == {"guest-fs", "fs-pair", "configuration"}


def test_groups_that_contradict_each_other_are_not():
    rows = [row for number in range(6) for row in of_guests(f"g{number}", 1.0 if number % 2 else -1.0)]

    assert leave_groups_out(cells(*rows))[0].is_better is False


def test_what_a_group_measured_itself_does_not_foretell_it():
    rest = AGREED[2:]
    alone = Knowledge(cells(*rest), ALIKE).posterior(cells(*of_guests("new", 0.0)))

    for measured in (1.0, -1.0):
        contrasts = forecast_left_out_groups(cells(*of_guests("g0", measured), *rest), ALIKE)
        (own,) = contrasts[contrasts["group"] == "g0"].itertuples()
        assert own.measured == measured
        for share in (0.1, 0.5, 0.9):
            expected = alone.contrast(0, 1, 2 * 0.005).quantile(share)
            assert own.forecast.quantile(share) == pytest.approx(expected, abs=0.02)


def test_two_groups_are_too_few_to_tell_and_one_is_nothing():
    assert leave_groups_out(cells(*AGREED[:4]))[0].is_better is None
    assert leave_groups_out(cells(*AGREED[:2])) == []


def test_contrasts_of_a_level_count_together_once():
    three = [("g9", {"guest_fs": fs}, speed) for fs, speed in (("xfs", 1.0), ("ext4", 0.0), ("btrfs", 0.5))]

    everything = leave_groups_out(cells(*AGREED, *three))[0]

    assert (everything.contrasts, everything.weight) == (9, pytest.approx(7.0))


def test_the_error_of_a_score_is_that_of_groups():
    """Three groups are 0.1, 0.2 and 0.6 above the rival N(0, 1): 0.3 ± 0.2646 / √3, however many contrasts each has."""
    rival = -np.log(np.sqrt(2 * np.pi)) - 0.5
    rows = pd.DataFrame({"group": ["a", "b", "c", "c"], "log_score": rival + np.array([0.1, 0.2, 0.5, 0.7])})
    rows = rows.assign(weight=[1.0, 1.0, 0.5, 0.5], measured=1.0, below=0.5, faster=0.6)
    form = left_out_groups._form("all", "", rows)
    assert (form.log_score - form.no_difference, form.error) == pytest.approx((0.3, 0.2646 / np.sqrt(3)), abs=1e-4)
    told = {"groups": {"forms": [{**vars(form)}]}}
    names = {"storage": {}}
    beginning = "forecasts are better than “no difference” (log score)"
    assert tables.describe_success(told, names) == [
        f"In a laboratory that nobody has seen {beginning} by more than the standard error: everything together "
        "(0.30 ± 0.15)."
    ]
    told["groups"]["forms"][0] |= {"by": "laboratory", "log_score": rival - 1.0, "name": "guest-fs"}
    known = "In a laboratory that is known under other workloads"
    assert tables.describe_success(told, names) == [f"{known} {beginning} not: Guest file system (−1.00 ± 0.15)."]


def test_a_laboratory_is_foretold_better_from_its_other_workloads():
    """Three that differ from each other, each the same under both of its workloads."""
    rows = [row for number, lead in enumerate((1.0, -1.0, 0.5)) for row in of_guests(f"g{number}", lead)]
    mail = cells(*rows)
    web = mail.assign(workload="web", level=mail["level"] + 3, configuration=mail["configuration"] + 9)
    scales = replace(ALIKE, variances=variances(shared=0.01, own_guest_fs=1.0))
    contrasts = forecast_left_out_groups(pd.concat([mail, web], ignore_index=True), scales)
    told, others = (contrasts[contrasts["is_conditional"] == is_conditional] for is_conditional in (True, False))
    assert (len(told), len(others)) == (6, 6)
    middles = [forecast.quantile(0.5) for forecast in told["forecast"]]
    np.testing.assert_allclose(middles, told["measured"], atol=0.1)
    assert told["log_score"].mean() > others["log_score"].mean() + 0.5
    by_name = {(form.by, form.name): form.contrasts for form in forms(contrasts)}
    assert by_name["all", ""] == by_name["laboratory", ""] == by_name["laboratory", "guest-fs"] == 6


class Certain:
    """A forecast whose quantiles are said to be these."""

    def __init__(self, low: float, middle: float, high: float) -> None:
        self.at = {0.025: low, 0.5: middle, 0.975: high}

    def quantile(self, probability: float) -> float:
        return self.at[probability]


def foretold(*rows: tuple[float, float, float, float]) -> pd.DataFrame:
    """Return contrasts of (place of what was measured, probability that the first is faster, ln measured, weight)."""
    return pd.DataFrame(rows, columns=["below", "faster", "measured", "weight"])


def test_calibration_counts_by_weight_what_came_true():
    """The first two lie in the central half, of weight 3 in 4; at 95 % all but the last do."""
    points = left_out_groups.calibration(
        foretold((0.5, 0.9, 1.0, 2.0), (0.3, 0.15, 1.0, 1.0), (0.9, 0.65, 1.0, 0.5), (0.99, 0.55, -1.0, 0.5))
    )
    intervals = {point.said: point.came_true for point in points if point.of == "interval"}
    assert (intervals[0.1], intervals[0.5], intervals[0.9], intervals[0.95]) == pytest.approx((0.5, 0.75, 0.875, 0.875))
    directions = [(point.said, point.came_true, point.weight) for point in points if point.of == "direction"]
    # 0.9 came true and 0.85 for the second did not; both are of the surest bin, 2 of 3 by weight
    assert directions == [
        pytest.approx((0.55, 0.0, 0.5)),
        pytest.approx((0.65, 1.0, 0.5)),
        pytest.approx(((2 * 0.9 + 0.85) / 3, 2 / 3, 3.0)),
    ]


def test_an_example_is_conditional_of_the_one_forecast_to_be_faster():
    row = {"group": "g", "load": "read", "storage": "ssd", "differing": (Differing("guest_fs", "xfs", "ext4"),)}
    slower = row | {"forecast": Certain(*np.log([0.25, 0.5, 2.0])), "measured": np.log(0.8)}
    faster = row | {"forecast": Certain(*np.log([0.5, 2.0, 4.0])), "measured": np.log(1.25)}
    turned, kept = left_out_groups.examples(pd.DataFrame([slower, faster]))
    assert (turned.forecast, turned.low, turned.high, turned.found) == pytest.approx((2.0, 0.5, 4.0, 1.25))
    assert (kept.forecast, kept.low, kept.high, kept.found) == pytest.approx((2.0, 0.5, 4.0, 1.25))
    assert turned.differing == (Differing("guest_fs", "ext4", "xfs"),)
    assert kept.differing == (Differing("guest_fs", "xfs", "ext4"),)


@pytest.mark.parametrize(
    ("differ", "forms"),
    [
        ({"cache_mode"}, ("configuration", "cache-mode")),
        ({"host_fs", "pair"}, ("fs-pair", "host-fs", "host-storage", "configuration")),
        ({"backend", "image_format"}, ("host-storage",)),
        ({"hypervisor", "container", "host_fs"}, ("hypervisor", "configuration")),
        ({"hypervisor", "guest_fs"}, ("configuration",)),
    ],
)
def test_a_contrast_is_of_the_axes_on_which_it_would_be_asked(differ, forms):
    assert left_out_groups.Contrast(0, 1, tuple(differ)).choices == forms


@pytest.mark.django_db
def test_an_answer_says_what_the_newest_report_found_against_its_form(client, published_evidence):
    address = {"axis": "hypervisor", "workload": "fileserver"}
    caveats.clear_cache()
    assert client.get("/api/v1/rankings/hypervisor/", {"workload": "fileserver"}).json()["doubt"] == ""
    forms = [{"by": "choice", "name": "hypervisor", "is_better": False}]
    report = QualityReport.objects.create(method=reports.METHOD, revision=1, result={"groups": {"forms": forms}})
    caveats.clear_cache()

    answer = client.get("/api/v1/rankings/hypervisor/", {"workload": "fileserver"}).json()
    assert "our predictions failed so far" in answer["doubt"]
    assert answer["doubt"] in client.get("/", address).content.decode()
    pinned = client.get("/api/v1/rankings/hypervisor/", {"workload": "fileserver", "as_of": 1}).json()
    assert pinned["doubt"] == ""

    forms[0]["is_better"] = True
    QualityReport.objects.filter(pk=report.pk).update(result={"groups": {"forms": forms}})
    caveats.clear_cache()
    assert caveats.forecast_caveat("hypervisor") == ""
    assert "too few research groups compared this" in caveats.forecast_caveat("guest-fs")
    caveats.clear_cache()
