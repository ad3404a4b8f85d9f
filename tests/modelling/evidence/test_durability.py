"""Which stated options can lose acknowledged writes."""

import pytest

from modelling.evidence.durability import losing_options


@pytest.mark.parametrize(
    ("cache_mode", "guest", "host", "found"),
    [
        ("unsafe", "", "", ("cache mode unsafe",)),
        ("Write back (unsafe)", "", "", ("cache mode Write back (unsafe)",)),
        ("writeback cache.no-flush=on", "", "", ("cache mode writeback cache.no-flush=on",)),
        ("", "rw,noatime,nobarrier", "", ("guest mount option nobarrier",)),
        ("none", "defaults, barrier = 0", "NOBARRIER", ("guest mount option barrier=0", "host mount option nobarrier")),
        ("", "", "sync=disabled;atime=off", ("host mount option sync=disabled",)),
    ],
)
def test_options_that_keep_flushes_from_the_disk_are_named_as_their_source_states_them(cache_mode, guest, host, found):
    assert losing_options(cache_mode, guest, host) == found


@pytest.mark.parametrize("mode", ["", "writeback", "writethrough", "none", "directsync", "default"])
def test_a_cache_that_hands_flushes_on_loses_nothing_that_was_acknowledged(mode):
    assert losing_options(mode, "", "") == ()


@pytest.mark.parametrize(
    "options", ["", "barrier=1", "barrier", "async", "data=writeback", "sync=standard", "nobarriers"]
)
def test_options_that_only_look_alike_are_not_held_against_a_source(options):
    assert losing_options("", options, options) == ()
