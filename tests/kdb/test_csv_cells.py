"""Our CSV is no program in a spreadsheet, and loses nothing on its way back."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.readers.table import read_table
from kdb.api.formats import csv_text
from kdb.csv_cells import escaped, unescaped

FORMULAS = ['=HYPERLINK("http://x.org")', "+1+1", "-1+cmd|' /C calc'!A1", "@SUM(A1)", "\t=1", "\r=1", "-", "'=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_begins_like_a_formula_is_text(text):
    assert escaped(text) == f"'{text}"


@pytest.mark.parametrize("cell", [-0.5, 3, "-0.5", "+1", "-1e-5", "", "KVM", "it's", "'quoted'", "5-3", None, True])
def test_numbers_and_other_texts_stay(cell):
    assert escaped(cell) is cell


@given(st.text(alphabet="'=+-@\t\r1.ea,\"\n"))
def test_what_is_escaped_comes_back(text):
    assert unescaped(escaped(text)) == text


def test_the_csv_of_the_api_has_numbers_and_no_formulas():
    rows = [{"name": "=1+1", "value": -0.5, "codes": ["@a", "b"], "note": "-0.5"}]
    written = csv_text(["name", "value", "codes", "note"], rows)
    assert list(csv.reader(io.StringIO(written)))[1] == ["'=1+1", "-0.5", "'@a b", "-0.5"]


@pytest.mark.parametrize("text", [text.strip() for text in FORMULAS])
def test_an_import_reads_what_an_export_wrote(text):
    row = {"hypervisor": "kvm", "source": text, "value": 5, "unit": "MiB/s"}
    table = read_table(csv_text(row, [row]).encode())
    ((_, cells),) = table.rows()
    assert dict(zip(table.fields, cells, strict=True))["source"] == text
