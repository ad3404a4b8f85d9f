"""The one spelling of a pair, and what people write for it."""

import pytest

from kdb.pairs import LONGEST_PAIR, pair_key, pair_parts, written_pair


def test_a_key_and_its_parts_are_inverse():
    assert pair_parts(pair_key("btrfs", "ext4")) == ("btrfs", "ext4")


@pytest.mark.parametrize("key", ["", "btrfs", "-on-ext4", "btrfs-on-", "a-on-b-on-c", "btrfs on ext4"])
def test_another_form_is_no_key(key):
    with pytest.raises(ValueError, match="write it like btrfs-on-ext4"):
        pair_parts(key)


@pytest.mark.parametrize("text", ["xfs-on-ext4", "xfs on ext4", " xfs  on\text4 ", "xfs ON ext4"])
def test_people_write_a_pair_with_hyphens_or_blanks(text):
    assert written_pair(text) == ("xfs", "ext4")


@pytest.mark.parametrize("text", ["", "xfs", "on ext4", "X/E", "a on b on c", "a" * LONGEST_PAIR + " on b"])
def test_what_is_no_written_pair_is_refused(text):
    with pytest.raises(ValueError, match="is not a pair"):
        written_pair(text)
