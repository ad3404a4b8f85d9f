"""Rows are numbered by what they agree in, whatever the columns are and however many."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelling.evidence.fairplay import (
    convert_to_metric,
    deduplicate_work,
    find_confounders,
    first_indices,
    number_rows,
    varies,
)
from tests.modelling.frames import arm, arms

VALUES = {"text": ["", "a", None], "category": ["a", "b", None], "number": [0.0, 1.5, None], "flag": [True, False]}
TYPES = {"category": pd.CategoricalDtype(["b", "a", "of no row"]), "number": float, "flag": bool}


@st.composite
def frames(draw):
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=6))
    rows = draw(st.integers(0, 12))
    columns = {}
    for place, kind in enumerate(kinds):
        values = draw(st.lists(st.sampled_from(VALUES[kind]), min_size=rows, max_size=rows))
        dtype = TYPES.get(kind, "str")
        columns[f"{kind} {place}"] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(columns)


@pytest.mark.slow
@given(frames())
def test_rows_have_one_number_where_all_columns_agree_and_missing_agrees_with_missing(frame):
    expected = frame.groupby(list(frame), sort=False, dropna=False, observed=True).ngroup()
    number = number_rows(frame, frame)
    assert number.tolist() == expected.tolist()
    assert first_indices(number).tolist() == np.flatnonzero(~pd.Series(number).duplicated()).tolist()


def test_rows_that_differ_in_the_first_of_very_many_columns_differ():
    """More combinations than an integer holds."""
    values = pd.Categorical(["a", "a"], categories=["a", "b", "c"])
    frame = pd.DataFrame({0: ["a", "b"], **dict.fromkeys(range(1, 40), values)})
    assert number_rows(frame, frame).tolist() == [0, 1]


@pytest.mark.slow
@given(frames(), st.data())
def test_a_missing_value_is_one_that_rows_can_differ_in(frame, data):
    column = frame.iloc[:, 0]
    number, _ = pd.factorize(np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(frame), max_size=len(frame)))))
    expected = column.groupby(number).nunique(dropna=False) > 1
    assert varies(number, column).tolist() == expected.tolist()


def test_work_that_is_reported_by_throughput_and_by_rate_counts_once_by_throughput():
    rate, throughput = {"metric": "operation_rate", "unit": "ops/s"}, {"metric": "throughput"}
    rows = arms(
        arm(10_240.0, **rate, configuration_id=1),
        arm(40.0, **throughput, configuration_id=1),
        arm(9_000.0, **rate, configuration_id=2),
        arm(35.0, **throughput, configuration_id=1, vm_count=2),
        arm(80.0, **throughput, configuration_id=1, origin="derived"),
    )

    assert list(deduplicate_work(rows).index) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("metric", "unit", "value", "wanted", "expected"),
    [
        ("operation_rate", "ops/s", 10_240.0, "throughput", 40.0),
        ("throughput", "MB/s", 41.94304, "operation_rate", 10_240.0),
        ("throughput", "MiB/s", 40.0, "operation_rate", 10_240.0),
    ],
)
def test_a_number_is_converted_by_the_size_of_its_blocks(metric, unit, value, wanted, expected):
    rows = arms(arm(value, metric=metric, unit=unit, block_size_bytes=4096))
    rows = rows.assign(metric=rows["metric"].astype("category"), unit=rows["unit"].astype("category"))
    converted = convert_to_metric(rows, wanted)
    assert np.exp(converted["mean_log"]).tolist() == pytest.approx([expected])
    assert converted["unit"].tolist() == ["MiB/s" if wanted == "throughput" else "ops/s"]


@pytest.mark.parametrize(
    ("hypervisors", "modes", "may_be"),
    [
        (("kvm", "xen"), ("none", "none"), False),
        (("kvm", "xen"), ("none", "writeback"), True),
        (("kvm", "xen"), ("none", ""), True),
        (("kvm", "xen"), ("", ""), True),
        (("kvm", "kvm"), ("none", ""), True),
        (("kvm", "kvm"), ("", ""), False),
    ],
)
def test_a_setting_may_be_the_cause_where_it_differs_or_is_open_under_two_hypervisors(hypervisors, modes, may_be):
    """What one states and the other does not may differ, and each hypervisor has a default of its own."""
    rows = arms(*(arm(1.0, hypervisor=one, cache_mode=mode) for one, mode in zip(hypervisors, modes, strict=True)))
    causes = find_confounders(rows.assign(fair_play_group=1), ["cache_mode"], {"cache_mode"})
    assert causes["cache_mode"].tolist() == [may_be] * 2
