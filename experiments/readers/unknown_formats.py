"""Recognise well-known files that are no results or have no reader, to tell the user what to send instead."""

import re

TABLE = "enter the figures into the table template"

# First bytes, and what to tell the user.
_BINARY = (
    (b"\x89PNG", "a PNG picture; " + TABLE),
    (b"\xff\xd8\xff", "a JPEG picture; " + TABLE),
    (b"%PDF", "a PDF document; " + TABLE),
    (b"\x7fELF", "a program"),
    (b"\x00\x05\x16\x07", "a macOS resource file; send the file it belongs to"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x1f\x8b", "gzip; unpack it, or send a ZIP"),
    (b"\xfd7zXZ", "xz; unpack it, or send a ZIP"),
    (b"7z\xbc\xaf", "7-Zip; unpack it, or send a ZIP"),
    (b"PK\x03\x04", "a document of an office program, without a sheet that has a header of the table template"),
    (b"\xd0\xcf\x11\xe0", "an old office document; save it as XLSX or CSV"),
)
_TEXT = (
    (r"\A<(?:!doctype html|html)", "an HTML page; send the file that the benchmark wrote"),
    (r"\[RESULT\]\s{1,80}(?:BW|IOPS|ior-|mdtest-)|IO500", "IO500, a benchmark of clusters; it is not read here"),
    (r"ATTO Disk Benchmark", "ATTO Disk Benchmark; " + TABLE),
    (
        r"(?m)^[ \t]{0,80}define[ \t]{1,80}(?:fileset|process|flowop|file)\b",
        "a Filebench personality, no result; the advisor reads it",
    ),
    (
        r"(?m)^[ \t]{0,80}(?:rw|ioengine|iodepth)[ \t]{0,80}=[ \t]{0,80}\w",
        "a fio job file, not its result; run it with --output-format=json",
    ),
    (
        r"(?m)^error: maximum number of jobs \(\d{1,6}\) reached",
        "fio's message that it was given more jobs than it can run at once: it measured nothing; run fewer of them",
    ),
    (r"(?m)^fio: .{0,120}(?:fail|error|not |unrecognized)", "a failed run of fio, which measured nothing"),
    (r"(?m)\(g=\d{1,6}\): rw=\w", "the begin of a run of fio, without a result: it did not finish, or it was cut"),
    (r"\A<\?xml|\A<\w", "XML that is no composite.xml of the Phoronix Test Suite"),
    (r"\A[\[{]", "JSON that is neither fio's nor lines of the table template"),
    (r"\A[^\n,;\t]*[,;\t][^\n]*\n", "a table without the headers of the table template"),
)
_SNIFFED_BYTES = 2**16


def describe_content(data: bytes) -> str:
    """Return what content without a reader looks like, and what to send instead."""
    start = data[:_SNIFFED_BYTES]
    for sign, words in _BINARY:
        if start.startswith(sign):
            return words
    if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "binary data"
    text = start.decode("utf-8", errors="replace").lstrip()
    for pattern, words in _TEXT:
        if re.search(pattern, text, re.IGNORECASE):
            return words
    return "text of no benchmark that is known here"
