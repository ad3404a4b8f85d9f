"""Numbers are printed with sensible digits, and never as a zero or a NaN for what is missing."""

import pytest

from experiments.templatetags import kdb_format

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (16700.44, "16,700.44"),
        (3885.14, "3,885.14"),
        (2.6, "2.6"),
        (100.0, "100"),
        (0.9, "0.9"),
        (0.041234, "0.0412"),
        (0.000012345, "0.0000123"),
        (1 / 3, "0.333"),
        (0, "0"),
        (-1.5, "-1.5"),
        (None, "not stated"),
        (NAN, "not stated"),
        (float("inf"), "not stated"),
    ],
)
def test_a_number_keeps_what_its_source_prints_and_no_more(value, text):
    assert kdb_format.number(value) == text


def test_a_quantity_has_its_unit_on_the_same_line():
    assert kdb_format.quantity(13.04, "MB/s") == "13.04\N{NO-BREAK SPACE}MB/s"
    assert "not stated" in kdb_format.quantity(None, "MB/s")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.00×"),
        (1.6349, "1.63×"),
        (0.0412, "0.0412×"),
        (12.34, "12.3×"),
        (1234.5, "1,234×"),
        (None, "not stated"),
    ],
)
def test_a_ratio_has_three_significant_digits(value, text):
    assert kdb_format.ratio(value) == text


def test_an_interval_may_be_open_at_one_end():
    assert kdb_format.interval(0.52, 0.61, "MiB/s") == "0.52 to 0.61\N{NO-BREAK SPACE}MiB/s"
    assert kdb_format.interval(None, 0.61) == "at most 0.61"
    assert kdb_format.interval(0.52, None) == "at least 0.52"
    assert kdb_format.interval(None, None) == "not stated"
    assert kdb_format.ratio_interval(0.521, 0.614) == "0.52–0.61×"
    assert kdb_format.ratio_interval(NAN, 0.614) == "not stated"


def test_a_share_is_printed_in_percent():
    assert kdb_format.percent(0.05) == "5\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(
    ("size", "text"), [(512, "512 B"), (4096, "4 KiB"), (8 * 2**20, "8 MiB"), (2**30, "1 GiB"), (1500, "1500 B")]
)
def test_a_block_size_reads_as_benchmarks_name_it(size, text):
    assert kdb_format.block_size(size).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(("count", "text"), [(0, "Native"), (1, "1 VM"), (3, "3 VMs"), (None, "several counts")])
def test_a_count_of_machines_is_in_words(count, text):
    assert kdb_format.vm_count(count).replace("\N{NO-BREAK SPACE}", " ") == text


def test_zero_is_stated_and_nothing_is_not():
    assert kdb_format.stated(0) == 0
    for missing in (None, "", NAN, []):
        assert "not stated" in kdb_format.stated(missing)


def test_a_table_is_reached_by_its_name():
    assert kdb_format.anchor("Section 7, Mail") == "section-7-mail"
    assert kdb_format.anchor("Section 6.1") == "section-6-1"
