"""Series over time: what is one series, its points, its chart, and who sees it."""

import numpy as np
import pytest

from modelling.models import SeriesChange
from modelling.own_lab.changes import detection, gather, presentation, selectors
from tests.factories import make_user
from tests.modelling.own_lab.changes.conftest import CHOICES, make_night

pytestmark = pytest.mark.django_db


def only_line(laboratory):
    (line,) = gather.series_lines(laboratory)
    return line


def test_a_new_release_makes_no_new_series_and_another_setting_does(ours):
    make_night(ours, 0, [1000.0])
    newer = [{**CHOICES[0], "name": "ext4 again", "settings": {"guest_fs": "ext4", "guest_fs_release": "1.48"}}]
    make_night(ours, 1, [1000.0], choices=newer)
    line = only_line(ours)
    assert (line.sittings, line.name) == (2, "ext4 again")
    make_night(ours, 2, [1000.0], choices=[{**CHOICES[0], "settings": {"guest_fs": "ext4", "cache_mode": "none"}}])
    make_night(ours, 3, [1000.0], machine="another")
    make_night(ours, 4, [1000.0], seconds=60)
    make_night(ours, 5, [1000.0], workload="", like={"machine": "lab-1/vm", "job": "[job]"})
    assert len(gather.series_lines(ours)) == 5


def test_a_point_is_the_median_of_the_runs_that_count_with_what_was_new(ours):
    make_night(ours, 0, [900.0], facts={"kernel": "6.1", "measured_at": "a"})
    make_night(
        ours, 1, [1000.0, 1200.0, 1100.0], disturbed=2, facts={"kernel": "6.8", "fio": "3.36", "measured_at": "b"}
    )
    line = only_line(ours)
    _, point = selectors.history(ours, line.series, line.name).points
    assert (point.value, point.slowest, point.fastest) == (pytest.approx(1100), 1000.0, 1200.0)
    assert (point.runs, point.disturbed) == (3, 2)
    assert [(fact.name, fact.before, fact.after) for fact in point.facts] == [
        ("fio", "", "3.36"),
        ("kernel", "6.1", "6.8"),
    ]


def test_a_night_of_which_nothing_counts_is_shown_and_no_part_of_a_level(ours):
    make_night(ours, 0, [1000.0])
    make_night(ours, 1, [], disturbed=2)
    line = only_line(ours)
    told = selectors.history(ours, line.series, line.name)
    assert [point.value for point in told.points] == [pytest.approx(1000), None]
    assert [level.points for level in told.levels] == [1]
    assert presentation.chart(told).data["series"][0]["points"][1] is None


def test_page_and_api_agree_and_levels_begin_with_what_is_suspected(client, ada, ours, nights, asked):
    detection.find_changes(lambda done, total: None)
    key = only_line(ours).key
    assert asked("laboratories/ours/series/")["series"][0]["key"] == key
    told = asked(f"laboratories/ours/series/{key}/")
    assert [level["sitting"] for level in told["levels"]] == [nights[0].pk, nights[20].pk]
    assert [level["is_confirmed"] for level in told["levels"]] == [None, False]
    assert told["levels"][1]["low"] < 0.85 < told["levels"][1]["high"]
    assert told["drift"] is None
    client.force_login(ada)
    page = client.get(f"/laboratories/ours/series/{key}/").content.decode()
    assert f"perhaps {told['levels'][1]['ratio']:.2f} times as fast from here on" in page
    assert "kernel 6.8 (was 6.1)" in page
    assert "ext4" in client.get("/laboratories/ours/series/").content.decode()


def test_a_slow_drift_is_told_with_its_rate_and_as_no_change(client, ada, ours, asked):
    noise = np.exp(np.random.default_rng(2).normal(0, 0.02, 90))
    for night in range(90):
        make_night(ours, night, [1000 * noise[night] * 0.997**night])
    detection.find_changes(lambda done, total: None)
    assert not SeriesChange.objects.exists()
    key = only_line(ours).key
    told = asked(f"laboratories/ours/series/{key}/")
    assert len(told["levels"]) == 1
    assert told["drift"]["low"] < 0.997**30 < told["drift"]["high"]
    client.force_login(ada)
    page = client.get(f"/laboratories/ours/series/{key}/").content.decode()
    assert f"It drifts: {100 * (1 - told['drift']['ratio']):.1f} % slower in 30 nights" in page
    assert "from here on" not in page


def test_strangers_see_none_of_it(client, ours, nights):
    key = only_line(ours).key
    for path in ("/laboratories/ours/series/", f"/laboratories/ours/series/{key}/"):
        assert client.get(path).status_code == 302
    client.force_login(make_user(username="eve"))
    for path in ("/laboratories/ours/series/", f"/laboratories/ours/series/{key}/"):
        assert client.get(path).status_code == 404


def test_more_nights_take_no_more_queries(client, ada, ours, nights, django_assert_num_queries):
    client.force_login(ada)
    key = only_line(ours).key
    with django_assert_num_queries(12):
        client.get(f"/laboratories/ours/series/{key}/")
    for night in range(28, 40):
        make_night(ours, night, [850.0])
    with django_assert_num_queries(12):
        client.get(f"/laboratories/ours/series/{key}/")
