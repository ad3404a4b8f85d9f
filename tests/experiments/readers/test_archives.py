"""ZIPs of result files: what is opened, and what is refused by name."""

import io
import stat
import zipfile

import pytest

from experiments.readers import archives
from experiments.readers.archives import ArchiveError, is_archive, members
from experiments.readers.table import template_xlsx


def packed(*entries: tuple, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP of (name or ZipInfo, content)."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return content.getvalue()


def reason(data: bytes) -> str:
    with pytest.raises(ArchiveError) as caught:
        list(members("results.zip", data))
    return str(caught.value)


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_files_come_out_in_their_order_without_what_systems_leave_behind():
    data = packed(
        ("b/run1.txt", "1"), ("__MACOSX/b/._run1.txt", "x"), ("b/.DS_Store", "x"), ("a.txt", "2"), ("dir/", "")
    )
    assert [(member.name, member.data) for member in members("r.zip", data)] == [("b/run1.txt", b"1"), ("a.txt", b"2")]


def test_a_workbook_is_no_archive():
    assert not is_archive(template_xlsx())
    assert is_archive(packed(("a.txt", "1")))
    assert not is_archive(b"Filebench Version")


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "C:/a", "..\\a", "\\a"])
def test_a_name_that_leaves_the_archive_is_refused(name):
    info = zipfile.ZipInfo("a")
    info.filename = name
    assert "leaves the archive" in reason(packed((info, "x")))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (packed(), "no file"),
        (packed((link("a"), "/etc/passwd")), "a link or device"),
        (packed(("a.zip", packed(("b", "x")))), "an archive inside"),
        (packed(("a.gz", b"\x1f\x8b\x08\x00")), "an archive inside"),
        (packed(("a", b"\0" * 3 * 2**20)), "packed more than 200 times"),
        (packed(("a", "x"), compression=zipfile.ZIP_LZMA), "by a method that is not read"),
        (packed(("a", "x"))[:40], "damaged"),
        (packed(("a", "y" * 100), compression=zipfile.ZIP_STORED).replace(b"yyyy", b"yyyz", 1), "damaged"),
        (packed(*((f"f{n}", "x") for n in range(archives.MAX_MEMBERS + 1))), "at most 1,000"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # the bytes hold the time of day
)
def test_what_is_no_collection_of_results_is_refused(data, words):
    assert words in reason(data)


def test_an_encrypted_member_is_refused():
    data = bytearray(packed(("a", "x")))
    data[6] |= 1  # the flag of the local header, and of the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in reason(bytes(data))


def test_the_same_name_twice_is_refused():
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = packed(("a", "1"), ("a", "2"))
    assert "twice" in reason(data)


def test_the_size_that_a_header_claims_is_not_believed(monkeypatch):
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    data = packed(("a", bytes(range(256)) * 8))
    lied = data.replace((2048).to_bytes(4, "little"), (8).to_bytes(4, "little"))
    assert "a" in reason(lied)


def test_many_members_together_are_bounded(monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", 1000)
    assert "more than 1,000 bytes" in reason(packed(*((f"f{n}", "x" * 300) for n in range(5))))
