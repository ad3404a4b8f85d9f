"""A JSON array of objects becomes JSON lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.readers.json_array import lines_of
from experiments.readers.table import MAX_LINE

cells = st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=9), max_size=4)


@given(st.lists(cells, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_each_object_is_a_line_however_it_is_indented(objects, indent, is_ascii):
    data = json.dumps(objects, indent=indent, ensure_ascii=is_ascii).encode(errors="surrogatepass")
    try:
        data.decode()
    except UnicodeDecodeError:
        return  # half a character, which no UTF-8 can say
    lines = list(lines_of(data))
    assert all(line.count(b"\n") == 1 for line in lines)
    assert [json.loads(line) for line in lines] == objects


def test_names_given_twice_are_left_for_the_reader_to_refuse():
    assert list(lines_of(b'[{"a": 1, "a": 2}]')) == [b'{"a": 1, "a": 2}\n']


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "begins with"),
        ('{"value": 1}', "begins with"),
        ("[1]", "item 1 of the array is no object"),
        ('[{"a": 1}, ]', "item 2 of the array is no object"),
        ('[{"a": 1} {"b": 2}]', "after object 1"),
        ('[{"a": 1}', "after object 1"),
        ('[{"a": 1}] x', "something follows"),
        ('[{"a": 1}, {"b": ', "object 2 of the array"),
        ('[{"a": "' + "x" * (MAX_LINE + 2**16) + '"}]', "object 1 of the array is longer than 1,048,576"),
        ('[{"a": ' + "[" * 100_000, "object 1 of the array"),
    ],
    ids=range(10),
)
def test_what_is_no_array_of_objects_is_refused_with_its_place(text, told):
    with pytest.raises(ValueError, match=told):
        list(lines_of(text.encode()))
