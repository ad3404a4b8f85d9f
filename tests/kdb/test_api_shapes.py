"""Shapes made of dataclasses: what stands beside a field's type reaches the API's document."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from kdb.api.shapes import shape_of
from kdb.content import NOT_SERVED, Among, taken


@dataclass(frozen=True)
class Disk:
    """A disk."""

    component = "Volume"

    kind: Annotated[str, Among(["hdd", "ssd"]), "What it is made of."]
    size: Annotated[int | None, "Bytes; null: not known."]
    secret: Annotated[str, NOT_SERVED] = ""


@dataclass(frozen=True)
class Machine:
    """A machine."""

    disks: tuple[Disk, ...]


@dataclass(frozen=True)
class Strange:
    """It has a field of a type that JSON does not have."""

    value: complex


def test_a_shape_has_the_words_the_values_and_what_may_be_null():
    shape = shape_of(Disk)
    kind, size = shape().fields.values()
    assert (shape.__name__, shape.__doc__) == ("VolumeSerializer", "A disk.")
    assert (list(kind.choices), kind.help_text, kind.allow_null) == (["hdd", "ssd"], "What it is made of.", False)
    assert (size.help_text, size.allow_null, size.required) == ("Bytes; null: not known.", True, True)


def test_what_is_inside_has_its_own_shape():
    disks = shape_of(Machine)().fields["disks"]
    assert isinstance(disks.child, shape_of(Disk))
    assert shape_of(Machine)(Machine((Disk("ssd", None, "x"),))).data == {"disks": [{"kind": "ssd", "size": None}]}


def test_a_type_that_json_does_not_have_is_refused():
    with pytest.raises(KeyError):
        shape_of(Strange)


def test_what_is_not_given_is_taken_from_the_source():
    assert taken(Disk, Disk("hdd", 5, "x"), kind="ssd") == Disk("ssd", 5, "x")
    assert taken(Disk, None, kind="ssd", secret="") == Disk("ssd", None)
