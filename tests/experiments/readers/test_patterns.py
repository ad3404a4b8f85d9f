"""Regular expressions that see users' text: none may take work that grows with the square of the text.

Two repeats without an end that may share their signs try every way of dividing them; a search that begins with a
repeat without an end tries it from every place.
"""

import ast
import importlib
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("experiments", "modelling", "kdb")
    for path in (ROOT / package).rglob("*.py")
    if re.search(r"\bre\.[a-z]+\(", path.read_text())
)
# These apply their patterns to one line of at most MAX_LINE characters; what they search whole texts by is bounded.
CUT_LINES = {f"experiments.readers.formats.{name}" for name in ("crystaldiskmark", "dbench", "filebench", "iozone")}
TOKENS = {"modelling.workloads.wml.grammar"}  # matched where the last one ended
FUNCTIONS = ("compile", "search", "match", "fullmatch", "sub", "split", "finditer", "findall", "find", "number")
ANCHORED = ("match", "fullmatch")
REPEATS = (re._constants.MAX_REPEAT, re._constants.MIN_REPEAT)


class Known(Mapping):
    """A module's names, and a letter for those that only a function knows."""

    def __init__(self, module):
        self.names = vars(module)

    def __getitem__(self, name):
        return self.names.get(name, "x")

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)


def patterns(name: str) -> Iterator[tuple[int, str, str | bytes]]:
    """Line, function and pattern of each regular expression that a module spells out."""
    module = importlib.import_module(name)
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            called = node.func.attr
            is_ours = isinstance(node.func.value, ast.Name) and node.func.value.id in ("re", "part")
            if is_ours and called in FUNCTIONS and isinstance(node.args[0], ast.Constant | ast.JoinedStr | ast.BinOp):
                expression = compile(ast.Expression(node.args[0]), name, "eval")
                yield node.lineno, called, eval(expression, {}, Known(module))
    for table in ("_TEXT", "_LABELS"):
        entries = vars(module).get(table, ())
        texts = entries.values() if isinstance(entries, dict) else (pair[0] for pair in entries)
        yield from ((0, "search", pattern) for pattern in texts)


def flat(items) -> Iterator[tuple]:
    """Give the items of a pattern in their order, those in groups too."""
    for operation, argument in items:
        if operation is re._constants.SUBPATTERN:
            yield from flat(argument[3])
        elif operation is re._constants.BRANCH:
            for branch in argument[1]:
                yield from flat(branch)
        else:
            yield operation, argument


def is_endless(operation, argument) -> bool:
    return operation in REPEATS and argument[1] is re._constants.MAXREPEAT


def signs(state, argument) -> set[str]:
    """Return the signs that what is repeated may consist of."""
    made = re._compiler.compile(re._parser.SubPattern(state, list(argument[2])))
    is_bytes = isinstance(state.str, bytes)
    return {sign for sign in string.printable if made.match(sign.encode() if is_bytes else sign)}


def problems(function: str, pattern: str | bytes) -> Iterator[str]:
    parsed = re._parser.parse(pattern)
    items = list(flat(parsed))
    for number, (operation, argument) in enumerate(items):
        if not is_endless(operation, argument):
            continue
        own = signs(parsed.state, argument)
        if any(operation in REPEATS for operation, _ in flat(argument[2])):
            yield "a repeat without an end of something that repeats"
        for follower, its_argument in items[number + 1 :]:
            if is_endless(follower, its_argument) and own & signs(parsed.state, its_argument):
                yield "two repeats without an end that may share signs"
            is_optional = follower in REPEATS and not its_argument[0]
            if not is_optional and not own & signs(parsed.state, (1, 1, [(follower, its_argument)])):
                break  # something else stands between them
        is_first = all(o is re._constants.AT and a is re._constants.AT_BEGINNING for o, a in items[:number])
        if is_first and len(items) > number + 1 and function not in ANCHORED and ("\n" in own or not number):
            yield "a search that begins with a repeat without an end"


@pytest.mark.parametrize("name", MODULES)
def test_no_pattern_takes_the_square_of_a_text(name):
    faults = [
        f"line {line}: {pattern!r}: {problem}"
        for line, function, pattern in patterns(name)
        for problem in problems(function, pattern)
    ]
    assert name in CUT_LINES | TOKENS or not faults


@pytest.mark.parametrize(
    ("function", "pattern"),
    [
        ("search", r"(?m)^\s*define\b"),
        ("search", r"(?m)^Time:\s*\n?\s*(\d+)"),
        ("search", r"(?m)^Time:\s*\n\s*(\d+)"),
        ("split", r"\s+on\s+|-on-"),
        ("match", r"^(.*?)\s*[\[(]([^\])]{1,12})[\])]\s*$"),
        ("match", r"(?:a+)+b"),
    ],
)
def test_patterns_that_did_are_found(function, pattern):
    assert [*problems(function, pattern)]
