"""Read Filebench's workload model language: text to definitions, in one pass.

Reads both generations of the language, 1.4 and 1.5, as one. A line end is a blank as any other. Nothing in a text is
executed or opened. What no known personality uses is refused: `foreach`, members of random variables, position sets,
several hosts, and the rarer distributions of 1.5.

Where the meaning is clear it accepts more than Filebench: variables of one letter, words of the language as names,
carriage returns, `random(...)` for `randvar(...)`.

Source: parser_lex.l and parser_gram.y of Filebench 1.4.9.1 and 1.5-alpha3.
"""

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .flowops import KINDS
from .tree import Attribute, Attributes, Block, Budget, Definitions, Joined, Place, Random, Value, Variable, WmlError
from .values import LARGEST_NUMBER, Values, as_whole, resolve, suggestion

LONGEST_TEXT = 2**20  # characters
MOST_PARTS = 20  # parts of a value, and parameters of a composite flowop

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

IGNORED: dict[str, tuple[str, ...]] = {  # commands that do not change the load, with the words that may follow
    **dict.fromkeys(("debug", "echo", "log", "quit", "sleep", "usage", "version", "warmup"), ()),
    **dict.fromkeys(("create", "shutdown"), ("files", "file", "filesets", "fileset", "processes", "process")),
    "enable": ("lathist",),
    "stats": ("clear", "snap", "directory", "command", "dump", "xmldump"),
}
REFUSED = {
    "load": "load brings in another file, which is not here; put its text in place of the command",
    "foreach": "foreach is not read here; set the variable to one of its values and run once",
}
MODES = {"quit": ("timeout", "alldone", "firstdone"), "nousestats": ()}

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv}
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
    """Yield the tokens of `text` and an end token; raise WmlError at the first character that begins none."""
    line, line_start, position = 1, 0, 0
    while position < len(text):
        place = Place(line, position - line_start + 1)
        match = _TOKEN.match(text, position)
        if match is None:
            raise WmlError(place, _explain_no_token(text, position))
        start, position = position, match.end()
        if (kind := match.lastgroup) and kind != "blank":
            yield Token(kind, match[0], place, start, position)
        if newlines := match[0].count("\n"):
            line, line_start = line + newlines, start + match[0].rindex("\n") + 1
    yield Token("end", "", Place(line, position - line_start + 1), position, position)


def _explain_no_token(text: str, position: int) -> str:
    if text[position] == '"':
        return "this string is never closed"
    if wrong := _WRONG_NUMBER.match(text, position):
        return f"{wrong[0]!r} is neither a number (digits, then k, m or g or nothing) nor a name"
    if text[position] == "$":
        return "a variable's name follows the $: a letter, then letters, digits and underscores"
    return f"a character that the language does not have: {text[position]!r}"


class Parser:
    """A recursive-descent parser with one token of look-ahead; each token is a step of the budget."""

    def __init__(self, text: str, budget: Budget) -> None:
        if len(text) > LONGEST_TEXT:
            raise WmlError(Place(1, 1), f"the text is longer than {LONGEST_TEXT} characters")
        self.budget = budget
        self.tokens = tokens(text.removeprefix("\ufeff"))
        self.token = next(self.tokens)
        self.last = self.token
        self.defined = Definitions()
        self.first_run: tuple[Token, Definitions] | None = None  # with the definitions at that point
        self.commands = {
            "define": self.define,
            "eventgen": self.eventgen,
            "psrun": self.run,
            "run": self.run,
            "set": self.set,
            "system": self.system,
        }

    def definitions(self) -> Definitions:
        """Read the whole text; return what is defined at the first run, or at the end. Raises WmlError."""
        while self.token.kind != "end":
            self.command()
        return self.first_run[1] if self.first_run else self.defined

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

    def whole(self, value: int | Variable, place: Place, what: str) -> int:
        return as_whole(resolve(value, self.defined.variables), place, what)

    # Commands.

    def command(self) -> None:
        word = self.take("word", "a command")
        if word.text in self.commands:
            self.commands[word.text](word)
            return
        if word.text in REFUSED:
            raise WmlError(word.place, REFUSED[word.text])
        if word.text not in IGNORED:
            known = [*self.commands, *IGNORED]
            raise WmlError(word.place, f"unknown command {word.text[:60]!r}{suggestion(word.text, known)}")
        if IGNORED[word.text]:
            self.take_one_of(IGNORED[word.text])
        if self.token.kind in ("text", "number", "variable"):
            self.advance()

    def note(self, place: Place, text: str) -> None:
        self.defined.notes.append(f"line {place.line}: {text}")

    def system(self, word: Token) -> None:
        self.take("text", 'a string in double quotes ("...")')
        self.note(word.place, "what this system command does is not described")

    def eventgen(self, word: Token) -> None:
        self.defined.eventgen = self.attributes("eventgen") if self.at("rate") else None

    def run(self, word: Token) -> None:
        """Read `run [seconds]` or `psrun [interval [seconds]]`."""
        if self.token.kind == "variable":
            resolve(self.variable(), self.defined.variables)
        while self.token.kind == "number" or (self.last.kind == "number" and self.at(",")):
            self.advance()
        if self.first_run is None:
            self.first_run = word, self.defined.copy()
        else:
            first, described = self.first_run
            described.notes.append(f"line {word.place.line}: only the run on line {first.place.line} is described")

    def set(self, word: Token) -> None:
        if self.accept("mode"):
            mode = self.take_one_of(tuple(MODES))
            if MODES[mode.text]:
                self.take_one_of(MODES[mode.text])
            return
        name = self.variable().name
        self.expect("=")
        place = self.token.place
        value = self.value()
        if self.at("(") and value in ("cvar", "randvar", "random"):
            self.advance()
            value = self.custom_variable(place) if value == "cvar" else self.random_variable(place)
            self.expect(")", "',' or ')'")
        elif isinstance(value, int | Variable) and self.token.text in OPERATORS:
            value = self.arithmetic(value, place)
        self.defined.variables[name] = resolve(value, self.defined.variables)

    def arithmetic(self, left: int | Variable, place: Place) -> int:
        sign = self.advance().text
        sides = left, self.number_or_variable()
        if self.token.text in OPERATORS:
            raise WmlError(self.token.place, "a set command does one operation; put the second into a set of its own")
        numbers = [self.whole(side, place, "a number in set") for side in sides]
        if sign == "/" and numbers[1] == 0:
            raise WmlError(place, "a division by zero")
        result = OPERATORS[sign](*numbers)
        if not 0 <= result <= LARGEST_NUMBER:
            raise WmlError(place, "the result is negative or does not fit into 64 bits")
        return result

    # Random variables.

    def random_variable(self, place: Place) -> Random:
        attributes: Attributes = {}
        table_mean = None
        while True:
            if self.accept("randtable"):
                table_mean = self.table_mean(place)
            else:
                self.add(attributes, self.attribute("random variable"))
            if not self.accept(","):
                break
        kind = attributes.get("type")
        if kind and kind.value not in RANDOM_TYPES:
            raise WmlError(kind.place, f"a random variable's type is one of {', '.join(RANDOM_TYPES)}")
        if kind and kind.value == "tabular" and table_mean is None:
            raise WmlError(place, "a tabular random variable needs a randtable")
        default = "gamma" if table_mean is None else "tabular"
        return Random(str(kind.value) if kind else default, attributes, table_mean)

    def table_mean(self, place: Place) -> float:
        """Read rows of percent, low and high: a share of the draws, uniform between low and high. Return the mean."""
        total, weighted = 0, 0.0
        cells: list[int | Variable] = []
        self.expect("=")
        self.expect("{")
        while not cells or self.accept(","):
            self.expect("{")
            cells = [self.number_or_variable()]
            while len(cells) < 3:
                self.expect(",")
                cells.append(self.number_or_variable())
            self.expect("}")
            percent, low, high = (self.whole(cell, place, "a cell of the table") for cell in cells)
            total += percent
            weighted += percent * (low + high) / 2
        self.expect("}", "',' or '}'")
        if total != 100:
            raise WmlError(place, f"the percentages of the table add up to {total}, not to 100")
        return weighted / 100

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
        return Random(name, attributes, mean)

    def parameters(self, kind: str, attributes: Attributes) -> dict[str, float]:
        """Return the parameters as given: `mean:16384;gamma:1.5`."""
        written = attributes.get("parameters")
        if written is None:
            return {}
        numbers = {}
        for part in filter(None, str(written.value).split(";")):
            name, _, value = (piece.strip() for piece in part.partition(":"))
            if name not in CUSTOM_TYPES[kind]:
                allowed = ", ".join(CUSTOM_TYPES[kind])
                raise WmlError(written.place, f"{kind} has no parameter {name[:60]!r}; it has {allowed}")
            if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", value):
                raise WmlError(written.place, f"the parameter {name} needs a plain number, not {value[:60]!r}")
            numbers[name] = float(value)
        return numbers

    # Definitions.

    def define(self, word: Token) -> None:
        what = self.take("word", "what to define")
        if what.text in ("file", "files", "fileset", "filesets"):
            kind = what.text.removesuffix("s")
            self.defined.files.append(Block(kind, word.place, self.attributes(kind)))
        elif what.text in ("process", "processes"):
            attributes = self.attributes("process")
            threads = self.body("thread", "a process")
            self.defined.processes.append(Block("process", word.place, attributes, body=threads))
        elif what.text == "flowop":
            self.define_composite(word)
        elif what.text == "randvar":
            self.define_random_variable(word)
        else:
            close = suggestion(what.text, ["file", "fileset", "process", "flowop", "randvar"])
            raise WmlError(what.place, f"{what.text[:60]!r} cannot be defined{close}")

    def define_composite(self, word: Token) -> None:
        kind = "composite flowop"
        attributes, parameters = self.attributes_and_arguments(kind)
        name = Values(attributes, self.defined.variables).name(word.place, f"a {kind}")
        if name in KINDS or name in self.defined.composites:
            raise WmlError(word.place, f"there is a flowop {name!r} already")
        flowops = self.body("flowop", f"a {kind}")  # before it is defined: no composite can contain itself
        self.defined.composites[name] = Block(kind, word.place, attributes, parameters, flowops)

    def define_random_variable(self, word: Token) -> None:
        value = self.random_variable(word.place)
        name = value.attributes.pop("name", None)
        if name is None or not isinstance(name.value, Variable):
            raise WmlError(name.place if name else word.place, "a random variable needs a name with $: name=$size")
        self.defined.variables[name.value.name] = value

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
        if kind.text not in KINDS and kind.text not in self.defined.composites:
            close = suggestion(kind.text, [*KINDS, *self.defined.composites])
            raise WmlError(kind.place, f"there is no flowop {kind.text[:60]!r}{close}")
        if self.token.kind not in ("word", "variable") or self.at("flowop"):
            return Block(kind.text, kind.place, {})
        attributes, arguments = self.attributes_and_arguments("flowop")
        for name, argument in arguments.items():
            if argument is None:
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
            self.note(attribute.place, f"{attribute.name} is given twice; Filebench takes the last")
        attributes[attribute.name] = attribute

    def attribute(self, construct: str) -> Attribute:
        token = self.take("word", f"an attribute of the {construct}")
        name = ALIASES.get(token.text, token.text)
        if name not in ATTRIBUTES[construct]:
            raise WmlError(token.place, _explain_no_attribute(construct, token.text))
        if self.accept("="):
            return Attribute(name, self.value(), token.place)
        if name not in FLAGS:
            raise WmlError(token.place, f"{token.text} needs a value: {token.text}=...")
        return Attribute(name, True, token.place)

    def value(self) -> Value:
        """Read a number, a string, or names and variables that follow each other without a gap."""
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


def _explain_no_attribute(construct: str, name: str) -> str:
    if name in FORKS:
        return f"{name!r} belongs to {FORKS[name]} of Filebench, not to Filebench"
    known = ATTRIBUTES[construct] | {alias for alias, name in ALIASES.items() if name in ATTRIBUTES[construct]}
    return f"a {construct} has no attribute {name[:60]!r}{suggestion(name, sorted(known))}"
