"""Read Filebench's workload model language: text to statements, in one pass.

Both generations of the language, 1.4 and 1.5, are read as one. Line ends mean nothing in it. Nothing in a text is
executed or opened. What no known personality uses is refused: `foreach`, members of random variables, position sets,
several hosts, and the rarer distributions of 1.5.

Where meaning is clear this reads what Filebench would not: variables of one letter, words of the language as names,
carriage returns, `random(...)` for `randvar(...)`.

Source: parser_lex.l and parser_gram.y of Filebench 1.4.9.1 and 1.5-alpha3.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .tree import (
    Arithmetic,
    Attribute,
    Attributes,
    Block,
    Budget,
    Joined,
    Place,
    Random,
    Set,
    Statement,
    Value,
    Variable,
    WmlError,
)

LONGEST_TEXT = 2**20  # characters
LARGEST_NUMBER = 2**63 - 1  # Filebench's numbers are signed 64-bit
MOST_PARTS = 20  # of a value made of parts, and parameters of a composite flowop

SIZES = {"k": 2**10, "m": 2**20, "g": 2**30}

ALIASES = {"filesetname": "filename", "filesize": "size"}
FILES = {
    *("name", "path", "size", "entries", "dirwidth", "dirdepthrv", "dirgamma", "leafdirs", "filesizegamma"),
    *("prealloc", "paralloc", "reuse", "trusttree", "readonly", "writeonly", "cached"),
}
PROCESS = {"name", "instances", "nice", "memsize", "useism", "ioprio", "procname"}
ATTRIBUTES = {
    "file": FILES,
    "fileset": FILES,
    "process": PROCESS,
    "thread": PROCESS,
    "flowop": {
        *("name", "filename", "fd", "srcfd", "opennext", "random", "dsync", "directio", "noreadahead", "indexed"),
        *("iosize", "iters", "workingset", "value", "target", "blocking", "highwater"),
    },
    "composite flowop": {"name", "iters"},
    "eventgen": {"rate"},
    "random variable": {"name", "seed", "gamma", "mean", "min", "round", "type", "randsrc"},
    "cvar": {"type", "parameters", "min", "max", "round"},
}
FLAGS = {  # attributes that may stand without a value
    *("prealloc", "paralloc", "reuse", "trusttree", "readonly", "writeonly", "cached", "useism"),
    *("opennext", "random", "dsync", "directio", "noreadahead", "blocking"),
}
FORKS = {
    "datasource": "the deduplication fork",
    "entropy": "the deduplication fork",
    "devid": "the Assise and Strata forks",
}

IGNORED: dict[str, tuple[str, ...]] = {  # commands that say nothing of the load, with the words that may follow
    **dict.fromkeys(("debug", "echo", "log", "quit", "sleep", "usage", "version", "warmup"), ()),
    **dict.fromkeys(("create", "shutdown"), ("files", "file", "filesets", "fileset", "processes", "process")),
    "enable": ("lathist",),
    "stats": ("clear", "snap", "directory", "command", "dump", "xmldump"),
}
NOT_READ = {
    "load": "load brings in another file, which is not here; put its text in place of the command",
    "foreach": "foreach is not read here; set the variable to one of its values and run once",
}
MODES = {"quit": ("timeout", "alldone", "firstdone"), "nousestats": ()}

RANDOM_TYPES = ("gamma", "uniform", "tabular")
CUSTOM_TYPES = {  # parameters with their defaults; docs/models/profiles.md has the means
    "cvar-exponential": {"mean": 1.0},
    "cvar-gamma": {"mean": 4096.0, "gamma": 1.5},
    "cvar-normal": {"mean": 0.0, "sigma": 1.0},
    "cvar-triangular": {"lower": 0.0, "upper": 1.0, "mode": 0.5},
    "cvar-uniform": {"lower": 0.0, "upper": 1.0},
}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # word, number, variable, text, symbol, end
    text: str
    place: Place
    start: int
    stop: int


_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r\f\v\n]+|\#[^\n]*)++)
    |(?P<text>"[^"]*")
    |(?P<variable>\$(?:\([A-Za-z0-9_]+\)|\{[A-Za-z0-9_.]+\}|[A-Za-z][A-Za-z0-9_]*))
    |(?P<number>-?[0-9]+[kmg]?)(?![A-Za-z0-9_.])
    |(?P<word>[/A-Za-z-][/A-Za-z0-9._:;-]*)
    |(?P<symbol>[{}(),=+*])""",
    re.VERBOSE,
)
_WRONG_NUMBER = re.compile(r"[0-9][A-Za-z0-9_.]{0,30}")


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of `text` and an end token; raise WmlError at what is none."""
    line, line_start, position = 1, 0, 0
    while position < len(text):
        place = Place(line, position - line_start + 1)
        match = _TOKEN.match(text, position)
        if match is None:
            raise WmlError(place, _no_token(text, position))
        start, position = position, match.end()
        if (kind := match.lastgroup) and kind != "blank":
            yield Token(kind, match[0], place, start, position)
        if newlines := match[0].count("\n"):
            line, line_start = line + newlines, start + match[0].rindex("\n") + 1
    yield Token("end", "", Place(line, position - line_start + 1), position, position)


def _no_token(text: str, position: int) -> str:
    if text[position] == '"':
        return "this string is never closed"
    if wrong := _WRONG_NUMBER.match(text, position):
        return f"{wrong[0]!r} is neither a number (digits, then k, m or g or nothing) nor a name"
    if text[position] == "$":
        return "a variable's name follows the $: a letter, then letters, digits and underscores"
    return f"a character that the language does not have: {text[position]!r}"


def suggestion(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word[:40], known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


class Parser:
    """Recursive descent with one token of look-ahead; each token is a step of the budget. Nothing nests."""

    def __init__(self, text: str, budget: Budget) -> None:
        if len(text) > LONGEST_TEXT:
            raise WmlError(Place(1, 1), f"the text is longer than {LONGEST_TEXT} characters")
        self.budget = budget
        self.tokens = tokens(text.removeprefix("\ufeff"))
        self.token = next(self.tokens)
        self.last = self.token
        self.notes: list[str] = []
        self.commands = {
            "define": self.define,
            "eventgen": self.eventgen,
            "psrun": self.run,
            "run": self.run,
            "set": self.set,
            "system": self.system,
        }

    def statements(self) -> list[Statement]:
        """Read the whole text. Raises WmlError."""
        statements = []
        while self.token.kind != "end":
            if statement := self.statement():
                statements.append(statement)
        return statements

    # Tokens.

    def advance(self) -> Token:
        self.budget.spend(1, self.token.place)
        self.last, self.token = self.token, next(self.tokens, self.token)
        return self.last

    def at(self, text: str) -> bool:
        return self.token.text == text and self.token.kind in ("word", "symbol")

    def accept(self, text: str) -> bool:
        if is_there := self.at(text):
            self.advance()
        return is_there

    def wrong(self, wanted: str) -> Exception:
        actual = f"not {self.token.text[:60]!r}" if self.token.text else "but the text ends"
        return WmlError(self.token.place, f"{wanted} should follow here, {actual}")

    def expect(self, symbol: str, wanted: str = "") -> Token:
        if not self.at(symbol):
            raise self.wrong(wanted or repr(symbol))
        return self.advance()

    def take(self, kind: str, wanted: str) -> Token:
        if self.token.kind != kind:
            raise self.wrong(wanted)
        return self.advance()

    def take_one_of(self, words: Sequence[str]) -> Token:
        if self.token.kind != "word" or self.token.text not in words:
            raise self.wrong(" or ".join(map(repr, words)))
        return self.advance()

    def number(self) -> int:
        token = self.take("number", "a number")
        digits = token.text.rstrip("kmg")
        value = int(digits) * SIZES.get(token.text[-1], 1) if len(digits) < 30 else LARGEST_NUMBER + 1
        if abs(value) > LARGEST_NUMBER:
            raise WmlError(token.place, "the number does not fit into 64 bits")
        if value < 0:
            raise WmlError(token.place, "a negative number has no meaning here")
        return value

    def variable(self) -> Variable:
        token = self.take("variable", "a variable ($name)")
        return Variable(token.text[1:], token.place)

    def number_or_variable(self) -> int | Variable:
        return self.variable() if self.token.kind == "variable" else self.number()

    # Commands.

    def statement(self) -> Statement | None:
        """Read one command; None for one that says nothing of the load."""
        word = self.take("word", "a command")
        if word.text in self.commands:
            return self.commands[word.text](word)
        if word.text in NOT_READ:
            raise WmlError(word.place, NOT_READ[word.text])
        if word.text not in IGNORED:
            known = [*self.commands, *IGNORED]
            raise WmlError(word.place, f"unknown command {word.text[:60]!r}{suggestion(word.text, known)}")
        if IGNORED[word.text]:
            self.take_one_of(IGNORED[word.text])
        if self.token.kind in ("text", "number", "variable"):
            self.advance()
        return None

    def system(self, word: Token) -> Block:
        self.take("text", 'a string in double quotes ("...")')
        return Block("system", word.place)

    def eventgen(self, word: Token) -> Block:
        return Block("eventgen", word.place, self.attributes("eventgen") if self.at("rate") else {})

    def run(self, word: Token) -> Block:
        """Read `run [seconds]` or `psrun [interval [seconds]]`; only a variable is kept, which must be set."""
        attributes: Attributes = {}
        if self.token.kind == "variable":
            attributes["seconds"] = Attribute("seconds", self.variable(), self.last.place)
        while self.token.kind == "number" or (self.last.kind == "number" and self.at(",")):
            self.advance()
        return Block("run", word.place, attributes)

    def set(self, word: Token) -> Set | None:
        if self.accept("mode"):
            mode = self.take_one_of(tuple(MODES))
            if MODES[mode.text]:
                self.take_one_of(MODES[mode.text])
            return None
        name = self.variable().name
        self.expect("=")
        place = self.token.place
        value = self.value()
        if self.at("(") and value in ("cvar", "randvar", "random"):
            self.advance()
            value = self.custom_variable(place) if value == "cvar" else self.random_variable(place)
            self.expect(")", "',' or ')'")
        elif isinstance(value, int | Variable) and self.token.text in ("+", "-", "*", "/"):
            value = self.arithmetic(value)
        return Set(name, value, place)

    def arithmetic(self, left: int | Variable) -> Arithmetic:
        operator = self.advance().text
        right = self.number_or_variable()
        if self.token.text in ("+", "-", "*", "/"):
            raise WmlError(self.token.place, "a set command does one operation; put the second into a set of its own")
        return Arithmetic(left, operator, right)

    # Random variables.

    def random_variable(self, place: Place) -> Random:
        attributes: Attributes = {}
        table: tuple[tuple[int | Variable, ...], ...] = ()
        while True:
            if self.accept("randtable"):
                table = self.random_table()
            else:
                self.add(attributes, self.attribute("random variable"))
            if not self.accept(","):
                break
        kind = attributes.get("type")
        if kind and kind.value not in RANDOM_TYPES:
            raise WmlError(kind.place, f"a random variable's type is one of {', '.join(RANDOM_TYPES)}")
        if kind and kind.value == "tabular" and not table:
            raise WmlError(place, "a tabular random variable needs a randtable")
        default = "tabular" if table else "gamma"
        return Random(str(kind.value) if kind else default, attributes, place, table)

    def random_table(self) -> tuple[tuple[int | Variable, ...], ...]:
        self.expect("=")
        self.expect("{")
        rows: list[tuple[int | Variable, ...]] = []
        while not rows or self.accept(","):
            self.expect("{")
            row = [self.number_or_variable()]
            while len(row) < 3:
                self.expect(",")
                row.append(self.number_or_variable())
            self.expect("}")
            rows.append(tuple(row))
        self.expect("}", "',' or '}'")
        return tuple(rows)

    def custom_variable(self, place: Place) -> Random:
        attributes = self.attributes("cvar")
        kind = attributes.get("type")
        if kind is None:
            raise WmlError(place, "a custom variable needs a type")
        name = str(kind.value)
        if name not in CUSTOM_TYPES:
            allowed = f"a custom variable's type is one of {', '.join(CUSTOM_TYPES)}"
            raise WmlError(kind.place, f"{name[:60]!r} is not read here: {allowed}")
        numbers = CUSTOM_TYPES[name] | self.parameters(name, attributes)
        mean = numbers["mean"] if "mean" in numbers else sum(numbers.values()) / len(numbers)
        return Random(name, attributes, place, custom_mean=mean)

    def parameters(self, kind: str, attributes: Attributes) -> dict[str, float]:
        """Return the parameters as given: `mean:16384;gamma:1.5`."""
        given = attributes.get("parameters")
        if given is None:
            return {}
        numbers = {}
        for part in filter(None, str(given.value).split(";")):
            name, _, value = (piece.strip() for piece in part.partition(":"))
            if name not in CUSTOM_TYPES[kind]:
                allowed = ", ".join(CUSTOM_TYPES[kind])
                raise WmlError(given.place, f"{kind} has no parameter {name[:60]!r}; it has {allowed}")
            if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", value):
                raise WmlError(given.place, f"the parameter {name} needs a plain number, not {value[:60]!r}")
            numbers[name] = float(value)
        return numbers

    # Definitions.

    def define(self, word: Token) -> Statement:
        what = self.take("word", "what to define")
        if what.text in ("file", "files", "fileset", "filesets"):
            kind = what.text.removesuffix("s")
            return Block(kind, word.place, self.attributes(kind))
        if what.text in ("process", "processes"):
            return Block("process", word.place, self.attributes("process"), body=self.body("thread", "a process"))
        if what.text == "flowop":
            attributes, parameters = self.attributes_and_arguments("composite flowop")
            return Block("define flowop", word.place, attributes, parameters, self.body("flowop", "a composite flowop"))
        if what.text == "randvar":
            return self.define_randvar(word)
        known = ["file", "fileset", "process", "flowop", "randvar"]
        raise WmlError(what.place, f"{what.text[:60]!r} cannot be defined{suggestion(what.text, known)}")

    def define_randvar(self, word: Token) -> Set:
        value = self.random_variable(word.place)
        name = value.attributes.pop("name", None)
        if name is None or not isinstance(name.value, Variable):
            raise WmlError(name.place if name else word.place, "a random variable needs a name with $: name=$size")
        return Set(name.value.name, value, word.place)

    def body(self, kind: str, owner: str) -> tuple[Block, ...]:
        """Read the threads of a process, or the flowops of a thread or a composite flowop."""
        self.expect("{", "',' or '{'")
        blocks = []
        while not self.at("}"):
            word = self.expect(kind, f"'{kind}' or '}}'")
            blocks.append(self.thread(word) if kind == "thread" else self.flowop())
        if not blocks:
            raise WmlError(self.token.place, f"{owner} needs at least one {kind}")
        self.advance()
        return tuple(blocks)

    def thread(self, word: Token) -> Block:
        return Block("thread", word.place, self.attributes("thread"), body=self.body("flowop", "a thread"))

    def flowop(self) -> Block:
        kind = self.take("word", "the kind of flowop")
        if self.token.kind not in ("word", "variable") or self.at("flowop"):
            return Block(kind.text, kind.place)
        attributes, arguments = self.attributes_and_arguments("flowop")
        for name, given in arguments.items():
            if given is None:
                raise self.wrong(f"'=' and a value for ${name}")
        return Block(kind.text, kind.place, attributes, arguments)

    # Attributes.

    def attributes(self, construct: str) -> Attributes:
        attributes: Attributes = {}
        while not attributes or self.accept(","):
            self.add(attributes, self.attribute(construct))
        return attributes

    def attributes_and_arguments(self, construct: str) -> tuple[Attributes, dict[str, Attribute | None]]:
        """Read attributes, and `$name=value` or `$name` among them."""
        attributes: Attributes = {}
        arguments: dict[str, Attribute | None] = {}
        while not (attributes or arguments) or self.accept(","):
            if self.token.kind != "variable":
                self.add(attributes, self.attribute(construct))
                continue
            name = self.variable()
            arguments[name.name] = Attribute(name.name, self.value(), name.place) if self.accept("=") else None
            if len(arguments) > MOST_PARTS:
                raise WmlError(self.last.place, f"a composite flowop has more than {MOST_PARTS} parameters")
        return attributes, arguments

    def add(self, attributes: Attributes, attribute: Attribute) -> None:
        if attribute.name in attributes:
            line = attribute.place.line
            self.notes.append(f"line {line}: {attribute.name} is given twice; Filebench takes the last")
        attributes[attribute.name] = attribute

    def attribute(self, construct: str) -> Attribute:
        token = self.take("word", f"an attribute of the {construct}")
        name = ALIASES.get(token.text, token.text)
        if name not in ATTRIBUTES[construct]:
            raise WmlError(token.place, _no_attribute(construct, token.text))
        if self.accept("="):
            return Attribute(name, self.value(), token.place)
        if name not in FLAGS:
            raise WmlError(token.place, f"{token.text} needs a value: {token.text}=...")
        return Attribute(name, True, token.place)

    def value(self) -> Value:
        """Read a number, a string, or a name or variable with all that is written right behind it."""
        if self.token.kind == "number":
            return self.number()
        if self.token.kind == "text":
            return self.advance().text[1:-1]
        place, parts = self.token.place, list[str | Variable]()
        while self.token.kind in ("word", "variable") and (not parts or self.token.start == self.last.stop):
            parts.append(self.variable() if self.token.kind == "variable" else self.advance().text)
            if len(parts) > MOST_PARTS:
                raise WmlError(self.last.place, f"a value has more than {MOST_PARTS} parts")
        if not parts:
            raise self.wrong("a value")
        if len(parts) > 1:
            return Joined(tuple(parts), place)
        return parts[0] == "true" if parts[0] in ("true", "false") else parts[0]


def _no_attribute(construct: str, name: str) -> str:
    if name in FORKS:
        return f"{name!r} belongs to {FORKS[name]} of Filebench, not to Filebench"
    known = ATTRIBUTES[construct] | {alias for alias, of in ALIASES.items() if of in ATTRIBUTES[construct]}
    return f"a {construct} has no attribute {name[:60]!r}{suggestion(name, sorted(known))}"
