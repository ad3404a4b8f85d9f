"""The grammar of Filebench's workload model language: text to tree, in one pass.

Two dialects are read. 1.4 (1.4.8 to 1.4.9.1) has usage, load, foreach, arithmetic in `set` and `define
randvar`; 1.5 has cvar(...), randvar(...) and psrun instead. The first construct that only one of them
knows decides, and a construct of the other after that is refused: no Filebench reads such a text.
Line ends mean nothing in this language, so a definition may go on over lines without a sign.

Nothing in a text is executed or opened: `system` and `echo` are kept as words, `load` is refused.

Where meaning is clear this reads what Filebench would not: variables of one letter, words of the
language as names, carriage returns, `random(...)` for `randvar(...)`.

Source: parser_lex.l and parser_gram.y of Filebench 1.4.9.1 and 1.5-alpha3.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .tree import (
    Arithmetic,
    Attribute,
    Attributes,
    Budget,
    Command,
    CustomVariable,
    DefineFiles,
    DefineFlowop,
    DefineProcess,
    DefineThread,
    EventGenerator,
    FlowopCall,
    Foreach,
    Joined,
    Note,
    Place,
    RandomVariable,
    Run,
    Set,
    Statement,
    TableRow,
    Tree,
    Value,
    Variable,
    refuse,
)

OLD, NEW = DIALECTS = ("1.4", "1.5")

LONGEST_TEXT = 2**20  # characters
LARGEST_NUMBER = 2**63 - 1  # Filebench's numbers are signed 64-bit
DEEPEST_NESTING = 20  # of foreach
MOST_PARTS = 20  # of a value made of parts, and parameters of a composite flowop

SIZES = {"k": 2**10, "m": 2**20, "g": 2**30}

# Attribute names. An alias is another spelling; a fork's names are known so that the reason can say so.
ALIASES = {"filesetname": "filename", "filesize": "size"}
FILE = {"name", "path", "size", "prealloc", "paralloc", "reuse", "trusttree", "readonly", "writeonly"}
FILESET = FILE | {"entries", "dirwidth", "dirdepthrv", "dirgamma", "leafdirs"}
PROCESS = {"name", "instances", "nice"}
THREAD = {"name", "memsize", "useism", "instances", "ioprio"}
FLOWOP = {
    *("name", "filename", "fd", "srcfd", "opennext", "random", "dsync", "directio", "noreadahead", "indexed"),
    *("iosize", "iters", "workingset", "value", "target", "blocking", "highwater"),
}
ATTRIBUTES = {  # of each construct: in both dialects, and in 1.4 only
    "file": (FILE, FILESET - FILE | {"cached", "filesizegamma"}),
    "fileset": (FILESET, {"cached", "filesizegamma"}),
    "process": (PROCESS, THREAD - PROCESS | {"procname"}),
    "thread": (THREAD, PROCESS - THREAD | {"procname"}),
    "flowop": (FLOWOP, {"possetname"}),
    "composite flowop": ({"name", "iters"}, set()),
    "eventgen": ({"rate"}, set()),
    "random variable": ({"name", "seed", "gamma", "mean", "min", "round", "type", "randsrc"}, set()),
    "cvar": ({"type", "parameters", "min", "max", "round"}, set()),
    "posset": ({"name", "type", "seed", "entries", "max"}, set()),
    "multi": ({"master", "client"}, set()),
    "domultisync": ({"value"}, set()),
    "fscheck": ({"path", "fstype"}, set()),
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

ENTITIES = ("files", "file", "filesets", "fileset", "processes", "process", "thread")
RANDOM_TYPES = ("gamma", "uniform", "tabular")
CUSTOM_TYPES = {  # with the parameters of each; docs/models/profiles.md has the means
    "cvar-erlang": ("shape", "rate"),
    "cvar-exponential": ("mean",),
    "cvar-gamma": ("mean", "gamma"),
    "cvar-lognormal": ("shape", "scale"),
    "cvar-normal": ("mean", "sigma"),
    "cvar-triangular": ("lower", "upper", "mode"),
    "cvar-uniform": ("lower", "upper"),
    "cvar-weibull": ("shape", "scale"),
}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # word, number, variable, member, text, symbol, end
    text: str
    place: Place
    start: int
    stop: int


_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r\f\v\n]+|\#[^\n]*)++)
    |(?P<text>"[^"]*")
    |(?P<variable>\$(?:\([A-Za-z0-9_]+\)|\{[A-Za-z0-9_.]+\}|[A-Za-z][A-Za-z0-9_]*))
    |(?P<member>\.(?:type|seed|gamma|mean|min|round|randsrc)(?![A-Za-z0-9_]))
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
            raise refuse(place, _no_token(text, position))
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


def parse_tree(text: str, dialect: str | None = None, budget: Budget | None = None) -> Tree:
    """Read a personality into its tree.

    Raises WmlError; `dialect` ("1.4", "1.5") holds the text to one dialect, else the text decides.
    Each token is a step of the budget.
    """
    if len(text) > LONGEST_TEXT:
        raise refuse(Place(1, 1), f"the text is longer than {LONGEST_TEXT} characters")
    return Parser(text.removeprefix("\ufeff"), dialect, budget or Budget()).tree()


class Parser:
    """Recursive descent with one token of look-ahead. Only foreach nests, to DEEPEST_NESTING."""

    def __init__(self, text: str, dialect: str | None, budget: Budget) -> None:
        self.budget = budget
        self.tokens = tokens(text)
        self.token = next(self.tokens)
        self.last = self.token
        self.dialect = dialect
        self.decided_by = f"WML {dialect} was asked for" if dialect else ""
        self.notes: list[Note] = []
        self.nesting = 0
        self.commands = {
            **dict.fromkeys(("echo", "system"), self.string_command),
            **dict.fromkeys(("usage", "log"), self.old(self.string_command)),
            **dict.fromkeys(("version", "quit"), self.bare_command),
            **dict.fromkeys(("vars", "help", "exit"), self.old(self.bare_command)),
            **dict.fromkeys(("enable_osprof", "disable_osprof"), self.old(self.bare_command)),
            "warmup": self.old(self.number_command),
            **dict.fromkeys(("sleep", "debug"), self.number_command),
            **dict.fromkeys(("fscheck", "fsflush"), self.old(self.fscheck)),
            **dict.fromkeys(("run", "psrun"), self.run),
            "create": self.create,
            "shutdown": self.old(self.entity_command),
            "define": self.define,
            "domultisync": self.domultisync,
            "enable": self.enable,
            "eventgen": self.eventgen,
            "foreach": self.old(self.foreach),
            "list": self.list,
            "load": self.load,
            "set": self.set,
            "stats": self.old(self.stats),
        }

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
        return refuse(self.token.place, f"{wanted} should follow here, {actual}")

    def expect(self, symbol: str, wanted: str = "") -> Token:
        if not self.at(symbol):
            raise self.wrong(wanted or repr(symbol))
        return self.advance()

    def take(self, kind: str, wanted: str) -> Token:
        if self.token.kind != kind:
            raise self.wrong(wanted)
        return self.advance()

    def number(self, negative: bool = False) -> int:
        token = self.take("number", "a number")
        digits = token.text.rstrip("kmg")
        value = int(digits) * SIZES.get(token.text[-1], 1) if len(digits) < 30 else LARGEST_NUMBER + 1
        if abs(value) > LARGEST_NUMBER:
            raise refuse(token.place, "the number does not fit into 64 bits")
        if value < 0 and not negative:
            raise refuse(token.place, "a negative number has no meaning here")
        return value

    def variable(self) -> Variable:
        token = self.take("variable", "a variable ($name)")
        return Variable(token.text[1:], token.place)

    def number_or_variable(self) -> int | Variable:
        return self.variable() if self.token.kind == "variable" else self.number()

    # Dialects.

    def only(self, dialect: str, construct: str, place: Place) -> None:
        """Note that `construct` belongs to one dialect; refuse it in a text of the other."""
        if self.dialect is None:
            self.dialect, self.decided_by = dialect, f"{construct} on line {place.line} belongs to WML {dialect}"
        if self.dialect != dialect:
            raise refuse(place, f"{construct} belongs to WML {dialect}, but {self.decided_by}")

    def old(self, command: Callable[[Token], Statement]) -> Callable[[Token], Statement]:
        def parse(word: Token) -> Statement:
            self.only(OLD, f"the command {word.text!r}", word.place)
            return command(word)

        return parse

    # Statements.

    def tree(self) -> Tree:
        statements = []
        while self.token.kind != "end":
            statements.append(self.statement())
        return Tree(self.dialect or NEW, tuple(statements), tuple(self.notes))

    def statement(self) -> Statement:
        word = self.take("word", "a command")
        if word.text not in self.commands:
            raise refuse(word.place, f"unknown command {word.text[:60]!r}{suggestion(word.text, list(self.commands))}")
        return self.commands[word.text](word)

    def bare_command(self, word: Token) -> Command:
        return Command(word.text, (), word.place)

    def string_command(self, word: Token) -> Command:
        return Command(word.text, (self.string(),), word.place)

    def string(self) -> str:
        return self.take("text", 'a string in double quotes ("...")').text[1:-1]

    def number_command(self, word: Token) -> Command:
        return Command(word.text, (self.number_or_variable(),), word.place)

    def entity_command(self, word: Token) -> Command:
        entity = self.take("word", "what to " + word.text)
        if entity.text not in ENTITIES:
            raise refuse(entity.place, f"there is nothing called {entity.text[:60]!r} to {word.text}")
        return Command(word.text, (entity.text,), word.place)

    def create(self, word: Token) -> Command:
        command = self.entity_command(word)
        if command.arguments != ("files",):
            self.only(OLD, f"'create {command.arguments[0]}'", word.place)
        return command

    def domultisync(self, word: Token) -> Command:
        self.attributes("domultisync")
        return Command(word.text, (), word.place)

    def fscheck(self, word: Token) -> Command:
        while self.token.text in ATTRIBUTES["fscheck"][0]:
            self.attribute("fscheck")
        return Command(word.text, (), word.place)

    def load(self, word: Token) -> Statement:
        raise refuse(word.place, "load brings in another file, which is not here; put its text in place of the command")

    def list(self, word: Token) -> Command:
        if self.token.kind == "word" and self.token.text in ("flowop", "fileset", "filesets"):
            return Command(word.text, (self.advance().text,), word.place)
        self.only(OLD, "'list' by itself", word.place)
        return Command(word.text, (), word.place)

    def enable(self, word: Token) -> Command:
        if self.accept("lathist"):
            self.only(NEW, "'enable lathist'", word.place)
            return Command(word.text, ("lathist",), word.place)
        self.expect("multi", "'lathist' or 'multi'")
        if self.token.text in ATTRIBUTES["multi"][0]:
            self.attributes("multi")
        return Command(word.text, ("multi",), word.place)

    def stats(self, word: Token) -> Command:
        action = self.take("word", "what to do with the statistics")
        if action.text in ("snap", "clear"):
            return Command(word.text, (action.text,), word.place)
        if action.text == "directory":
            parts = self.joined()
            return Command(word.text, (action.text, *parts), word.place)
        if action.text in ("command", "dump", "xmldump", "multidump"):
            return Command(word.text, (action.text, self.string()), word.place)
        raise refuse(action.place, f"stats has no action {action.text[:60]!r}")

    def joined(self) -> tuple[str | Variable, ...]:
        """Return a variable or a name, and all that is written right after it without a gap."""
        parts: list[str | Variable] = []
        while self.token.kind in ("word", "variable") and (not parts or self.token.start == self.last.stop):
            parts.append(self.variable() if self.token.kind == "variable" else self.advance().text)
            if len(parts) > MOST_PARTS:
                raise refuse(self.last.place, f"a value has more than {MOST_PARTS} parts")
        if not parts:
            raise self.wrong("a name")
        return tuple(parts)

    def eventgen(self, word: Token) -> EventGenerator:
        return EventGenerator(self.attributes("eventgen") if self.at("rate") else {}, word.place)

    def run(self, word: Token) -> Run:
        if word.text == "run":
            given = self.token.kind in ("number", "variable")
            return Run(word.text, self.number_or_variable() if given else None, None, word.place)
        self.only(NEW, "the command 'psrun'", word.place)
        interval = self.number(negative=True) if self.token.kind == "number" else None
        if interval is not None:
            self.accept(",")
        return Run(word.text, self.number() if self.token.kind == "number" else None, interval, word.place)

    def foreach(self, word: Token) -> Foreach:
        name = self.variable().name
        self.expect("in")
        values: list[int | str] = []
        while not values or self.accept(","):
            values.append(self.string() if self.token.kind == "text" else self.number())
        self.expect("{")
        self.nesting += 1
        if self.nesting > DEEPEST_NESTING:
            raise refuse(word.place, f"foreach is nested more than {DEEPEST_NESTING} deep")
        body = []
        while not self.accept("}"):
            body.append(self.statement())
        self.nesting -= 1
        return Foreach(name, tuple(values), tuple(body), word.place)

    def set(self, word: Token) -> Statement:
        if self.accept("mode"):
            return self.set_mode(word)
        name = self.variable()
        if self.token.kind == "member" and self.token.start == self.last.stop:
            member = self.advance().text[1:]
            self.only(OLD, f"'set ${name.name}.{member}'", word.place)
            self.expect("=")
            return Set(name.name, self.plain_value(), word.place, member)
        self.expect("=")
        return Set(name.name, self.assigned_value(), word.place)

    def set_mode(self, word: Token) -> Command:
        if self.accept("nousestats"):
            return Command("set mode", ("nousestats",), word.place)
        self.expect("quit", "'quit' or 'nousestats'")
        when = self.take("word", "when to quit")
        if when.text not in ("timeout", "alldone", "firstdone"):
            raise refuse(when.place, f"quit on timeout, alldone or firstdone, not on {when.text[:60]!r}")
        return Command("set mode", ("quit", when.text), word.place)

    def assigned_value(self) -> Value:
        if self.token.kind == "text":
            return self.string()
        if self.token.kind in ("number", "variable"):
            place = self.token.place
            if self.token.kind == "variable":
                self.only(OLD, "a variable set to another", place)
            return self.arithmetic(self.number_or_variable(), place)
        word = self.take("word", "a value")
        if self.at("(") and word.text == "cvar":
            return self.cvar(word)
        if self.at("(") and word.text in ("randvar", "random"):
            return self.new_random(word)
        return {"true": True, "false": False}.get(word.text, word.text)

    def arithmetic(self, left: int | Variable, place: Place) -> Value:
        if not any(self.at(operator) for operator in "+-*/"):
            return left
        self.only(OLD, "arithmetic", self.token.place)
        operator = self.advance().text
        right = self.number_or_variable()
        if any(self.at(other) for other in "+-*/"):
            raise refuse(self.token.place, "a set command does one operation; put the second into a set of its own")
        return Arithmetic(left, operator, right, place)

    # Random variables.

    def new_random(self, word: Token) -> RandomVariable:
        self.only(NEW, f"{word.text}(...)", word.place)
        if word.text == "random":
            self.notes.append(Note(word.place, "random(...) is read as randvar(...), as Filebench 1.5 spells it"))
        self.expect("(")
        value = self.random_variable(word.place)
        self.expect(")", "',' or ')'")
        return value

    def define_randvar(self, word: Token) -> Set:
        self.only(OLD, "'define randvar'", word.place)
        value = self.random_variable(word.place)
        name = value.attributes.get("name")
        if name is None or not isinstance(name.value, Variable):
            raise refuse(name.place if name else word.place, "a random variable needs a name with $: name=$size")
        return Set(name.value.name, value, word.place)

    def random_variable(self, place: Place) -> RandomVariable:
        attributes: Attributes = {}
        table: tuple[TableRow, ...] = ()
        while True:
            if self.at("randtable"):
                self.advance()
                table = self.random_table()
            else:
                self.add(attributes, self.attribute("random variable"))
            if not self.accept(","):
                break
        kind = attributes.get("type")
        if kind and kind.value not in RANDOM_TYPES:
            raise refuse(kind.place, f"a random variable's type is one of {', '.join(RANDOM_TYPES)}")
        if kind and kind.value == "tabular" and not table:
            raise refuse(place, "a tabular random variable needs a randtable")
        return RandomVariable(attributes, table, place)

    def random_table(self) -> tuple[TableRow, ...]:
        self.expect("=")
        self.expect("{")
        rows: list[TableRow] = []
        while not rows or self.accept(","):
            self.expect("{")
            percent = self.number_or_variable()
            self.expect(",")
            low = self.number_or_variable()
            self.expect(",")
            rows.append(TableRow(percent, low, self.number_or_variable()))
            self.expect("}")
        self.expect("}", "',' or '}'")
        return tuple(rows)

    def cvar(self, word: Token) -> CustomVariable:
        self.only(NEW, "cvar(...)", word.place)
        self.expect("(")
        attributes = self.attributes("cvar")
        self.expect(")", "',' or ')'")
        kind = attributes.get("type")
        if kind is None:
            raise refuse(word.place, "a custom variable needs a type")
        if kind.value not in CUSTOM_TYPES:
            close = suggestion(str(kind.value), list(CUSTOM_TYPES))
            raise refuse(
                kind.place, f"{str(kind.value)[:60]!r} is no type of custom variable that Filebench has{close}"
            )
        return CustomVariable(kind.value, self.parameters(kind.value, attributes), attributes, word.place)

    def parameters(self, kind: str, attributes: Attributes) -> dict[str, float]:
        given = attributes.get("parameters")
        numbers: dict[str, float] = {}
        if given is None:
            return numbers
        if not isinstance(given.value, str):
            raise refuse(given.place, "parameters look like mean:16384;gamma:1.5")
        for part in filter(None, given.value.split(";")):
            name, _, value = (piece.strip() for piece in part.partition(":"))
            if name not in CUSTOM_TYPES[kind]:
                wanted = ", ".join(CUSTOM_TYPES[kind])
                raise refuse(given.place, f"{kind} has no parameter {name[:60]!r}; it has {wanted}")
            if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", value):
                raise refuse(given.place, f"the parameter {name} needs a plain number, not {value[:60]!r}")
            numbers[name] = float(value)
        return numbers

    # Definitions.

    def define(self, word: Token) -> Statement:
        what = self.take("word", "what to define")
        if re.fullmatch(r"files?|filesets?", what.text):
            if what.text == "files":
                self.only(OLD, "'define files'", what.place)
            kind = "fileset" if what.text.startswith("fileset") else "file"
            return DefineFiles(kind, self.attributes(kind), word.place)
        if what.text in ("process", "processes"):
            return self.define_process(word)
        if what.text == "flowop":
            return self.define_flowop(word)
        if what.text == "randvar":
            return self.define_randvar(word)
        if what.text in ("posset", "possets"):
            self.only(OLD, "'define posset'", what.place)
            self.attributes("posset")
            return Command("define posset", (), word.place)
        known = ["file", "fileset", "process", "flowop", "randvar", "posset"]
        raise refuse(what.place, f"{what.text[:60]!r} cannot be defined{suggestion(what.text, known)}")

    def define_process(self, word: Token) -> DefineProcess:
        attributes = self.attributes("process")
        self.expect("{", "',' or '{'")
        threads = []
        while not self.at("}"):
            thread = self.expect("thread", "'thread' or '}'")
            inner = self.attributes("thread")
            threads.append(DefineThread(inner, self.flowops(), thread.place))
        if not threads:
            raise refuse(self.token.place, "a process needs at least one thread")
        self.advance()
        return DefineProcess(attributes, tuple(threads), word.place)

    def define_flowop(self, word: Token) -> DefineFlowop:
        attributes: Attributes = {}
        parameters: dict[str, Attribute | None] = {}
        while True:
            if self.token.kind == "variable":
                name, given = self.argument()
                parameters[name] = given
                if len(parameters) > MOST_PARTS:
                    raise refuse(self.last.place, f"a composite flowop has more than {MOST_PARTS} parameters")
            else:
                self.add(attributes, self.attribute("composite flowop"))
            if not self.accept(","):
                break
        return DefineFlowop(attributes, parameters, self.flowops(), word.place)

    def argument(self) -> tuple[str, Attribute | None]:
        name = self.variable()
        given = Attribute(name.name, self.plain_value(), name.place) if self.accept("=") else None
        return name.name, given

    def flowops(self) -> tuple[FlowopCall, ...]:
        self.expect("{", "',' or '{'")
        flowops = []
        while not self.at("}"):
            self.expect("flowop", "'flowop' or '}'")
            flowops.append(self.flowop())
        if not flowops:
            raise refuse(self.token.place, "at least one flowop belongs here")
        self.advance()
        return tuple(flowops)

    def flowop(self) -> FlowopCall:
        kind = self.take("word", "the kind of flowop")
        attributes: Attributes = {}
        arguments: Attributes = {}
        more = self.token.kind == "variable" or (self.token.kind == "word" and self.token.text != "flowop")
        while more:
            if self.token.kind == "variable":
                name, given = self.argument()
                if given is None:
                    raise self.wrong(f"'=' and a value for ${name}")
                arguments[name] = given
            else:
                self.add(attributes, self.attribute("flowop"))
            more = self.accept(",")
        return FlowopCall(kind.text, attributes, arguments, kind.place)

    # Attributes.

    def attributes(self, construct: str) -> Attributes:
        attributes: Attributes = {}
        while not attributes or self.accept(","):
            self.add(attributes, self.attribute(construct))
        return attributes

    def add(self, attributes: Attributes, attribute: Attribute) -> None:
        if attribute.name in attributes:
            self.notes.append(Note(attribute.place, f"{attribute.name} is given twice; Filebench takes the last"))
        attributes[attribute.name] = attribute

    def attribute(self, construct: str) -> Attribute:
        token = self.take("word", f"an attribute of the {construct}")
        name = ALIASES.get(token.text, token.text)
        both, old = ATTRIBUTES[construct]
        if name in old:
            self.only(OLD, f"the attribute {token.text!r} of a {construct}", token.place)
        elif name not in both:
            raise refuse(token.place, self.no_attribute(construct, token.text))
        if self.accept("="):
            in_files = construct in ("file", "fileset")
            return Attribute(name, self.joined_value() if in_files else self.plain_value(), token.place)
        if name not in FLAGS:
            raise refuse(token.place, f"{token.text} needs a value: {token.text}=...")
        return Attribute(name, True, token.place)

    def no_attribute(self, construct: str, name: str) -> str:
        if name in FORKS:
            return f"{name!r} belongs to {FORKS[name]} of Filebench, not to Filebench"
        both, old = ATTRIBUTES[construct]
        known = sorted(
            both | old | ({"filesetname", "filesize"} if construct in ("file", "fileset", "flowop") else set())
        )
        return f"a {construct} has no attribute {name[:60]!r}{suggestion(name, known)}"

    def plain_value(self) -> Value:
        kind = self.token.kind
        if kind == "number":
            return self.number()
        if kind == "variable":
            return self.variable()
        if kind == "text":
            self.only(NEW, "a value in quotes", self.token.place)
            return self.string()
        word = self.take("word", "a value")
        return {"true": True, "false": False}.get(word.text, word.text)

    def joined_value(self) -> Value:
        place = self.token.place
        value = self.plain_value()
        if self.token.kind not in ("word", "variable") or self.token.start != self.last.stop:
            return value
        self.only(OLD, "a value made of parts", place)
        if not isinstance(value, str | Variable):
            raise refuse(place, "only names and variables can be joined")
        return Joined((value, *self.joined()), place)
