"""Personalities are understood, or refused where they stop making sense."""

import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelling.workloads import profiles, wml

DATA = Path(__file__).parents[2] / "data" / "wml"
PERSONALITIES = sorted([*DATA.glob("*.f"), *profiles.PERSONALITIES.glob("*.f")])

FILESET = "define fileset name=box,path=/srv,size=4k,entries=10,dirwidth=5\n"
OPEN = "flowop openfile name=o,filesetname=box,fd=1"


def with_thread(*flowops: str, before: str = FILESET) -> str:
    return before + "define process name=p\n{\nthread name=t\n{\n" + "\n".join(flowops) + "\n}\n}\n"


def only_flow(*flowops: str, before: str = FILESET) -> wml.Flow:
    return wml.parse(with_thread(*flowops, before=before)).threads[0].flows[-1]


def refusal(text: str) -> str:
    with pytest.raises(wml.WmlError) as caught:
        wml.parse(text)
    return str(caught.value)


@pytest.mark.parametrize(("written", "value"), [("7", 7), ("2k", 2048), ("3m", 3 * 2**20), ("1g", 2**30), ("08", 8)])
def test_sizes_are_powers_of_two(written, value):
    assert only_flow(f"flowop read name=r,filename=box,iosize={written}").io_bytes == value


def test_a_variable_has_the_value_it_has_at_the_first_run():
    # Filebench keeps a reference in the definition: "load fileserver; set $nfiles=..." relies on it.
    text = (
        "set $n=5\n" + FILESET.replace("=10", "=$n") + "set $n=7\n" + with_thread(OPEN, before="") + "run\nset $n=9\n"
    )

    assert wml.parse(text).filesets["box"].entries == 7


def test_a_second_run_is_said_not_to_be_described():
    notes = wml.parse(with_thread(OPEN) + "run 5\nset $x=1\nrun 6\n").notes

    assert notes == ("line 11: only the run on line 9 is described",)


@pytest.mark.parametrize(("sum_", "value"), [("6 + 2", 8), ("6 - 2", 4), ("$a * 2", 12), ("6 / $b", 3), ("$a", 6)])
def test_set_commands_reckon(sum_, value):
    text = f"set $a=6\nset $b=2\nset $n={sum_}\n" + with_thread(OPEN, before=FILESET.replace("=10", "=$n"))

    assert wml.parse(text).filesets["box"].entries == value


# Means worked by hand from the distributions' definitions.
MEANS = {
    "randvar(type=gamma, mean=16k, gamma=1500)": 16384,
    "randvar(type=gamma, gamma=2000)": 2,  # without a mean it is gamma / 1000
    "randvar(type=uniform, min=2, mean=10)": 10,  # even over 2..18
    "randvar(type=tabular, randtable={{25, 0, 8}, {75, 8, 16}})": 0.25 * 4 + 0.75 * 12,
    "cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)": 16384,
    "cvar(type=cvar-uniform,parameters=lower:4096;upper:8192)": 6144,
    "cvar(type=cvar-normal,parameters=mean:100,min=200)": 200,
    "cvar(type=cvar-exponential,parameters=mean:64)": 64,
    "cvar(type=cvar-triangular,parameters=lower:3;upper:9;mode:6)": 6,
}


@pytest.mark.parametrize(("variable", "mean"), MEANS.items(), ids=list(MEANS))
def test_a_random_variable_enters_by_its_mean(variable, mean):
    flow = only_flow("flowop write name=w,filename=box,iosize=$size", before=FILESET + f"set $size={variable}\n")

    assert flow.io_bytes == pytest.approx(mean)


COMPOSITES = (
    "define flowop name=touch, $where, $times=2\n{\n"
    "flowop statfile name=s,filesetname=$where,iters=$times\n}\n"
    "define flowop name=both, $there\n{\n"
    "flowop touch name=one, $where=$there\nflowop touch name=two, $where=box,$times=5\n}\n"
)


def test_composite_flowops_hand_their_arguments_down():
    flow = only_flow("flowop both name=b, iters=3, $there=box", before=FILESET + COMPOSITES)

    assert flow.iterations == 3
    assert [inner.body[0].iterations for inner in flow.body] == [2, 5]
    assert {inner.body[0].fileset for inner in flow.body} == {"box"}


def test_instances_of_process_and_thread_multiply():
    text = with_thread(OPEN).replace("name=p", "name=p,instances=3").replace("name=t", "name=t,instances=4")

    assert wml.parse(text).threads[0].instances == 12


def test_commands_that_say_nothing_of_the_load_are_passed_over_and_nothing_is_run():
    commands = (
        'usage "a $b"\nlog "x"\nstats clear\nstats dump "f"\ncreate filesets\nshutdown processes\nwarmup 5\n'
        'debug 1\nversion\nsleep $nap\ncreate files\nenable lathist\necho "x"\nset mode quit firstdone\n'
        'set mode nousestats\nsystem "rm -rf $dir; echo $(id)"\nquit\n'
    )
    assert wml.parse(commands + with_thread(OPEN)).notes == ("line 16: what this system command does is not described",)


@pytest.mark.parametrize("text", ["\ufeff" + with_thread(OPEN), with_thread(OPEN).replace("\n", "\r\n")])
def test_texts_of_other_systems_are_read(text):
    assert wml.parse(text).threads[0].flows[0].fileset == "box"


# What is refused: the text, and the start of what is said.
REFUSED = {
    "empty": ("", "line 1, column 1: no process is defined"),
    "no instances": (
        with_thread(OPEN).replace("name=t", "name=t,instances=0"),
        "line 2, column 1: no process has an instance",
    ),
    "undefined variable": (
        with_thread("flowop finishoncount name=f,value=$count"),
        "line 6, column 35: the variable $count is not set",
    ),
    "variable set too late": (
        "run $time\nset $time=5\n",
        "line 1, column 5: the variable $time is not set before it is needed",
    ),
    "foreach": ("foreach $a in 1, 2 { run }", "line 1, column 1: foreach is not read here; set the variable to one of"),
    "environment": (
        with_thread(OPEN).replace("name=t", "name=t,instances=$(THREADS)"),
        "line 4, column 25: $(THREADS) has a value only where",
    ),
    "misspelt flowop": (
        with_thread(OPEN, "flowop writeholefile name=w,fd=1"),
        "line 7, column 8: there is no flowop 'writeholefile'; did you mean 'writewholefile'?",
    ),
    "undefined fileset": (
        with_thread("flowop openfile name=o,filesetname=bax,fd=1"),
        "line 6, column 24: there is no file or fileset 'bax'; did you mean 'box'?",
    ),
    "misspelt command": (
        "defin file name=x,path=/y",
        "line 1, column 1: unknown command 'defin'; did you mean 'define'?",
    ),
    "deduplication fork": (
        "define fileset name=x,path=/y,datasource=z",
        "line 1, column 31: 'datasource' belongs to the deduplication fork of Filebench",
    ),
    "load": ("load varmail", "line 1, column 1: load brings in another file"),
    "open string": ('echo "half', "line 1, column 6: this string is never closed"),
    "upper case": ("set $a=16K", "line 1, column 8: '16K' is neither a number"),
    "long number": ("set $a=" + "9" * 5000, "line 1, column 8: the number does not fit into 64 bits"),
    "negative": ("set $a=-5", "line 1, column 8: a negative number"),
    "strange character": ("set $a=5;", "line 1, column 9: a character that the language does not have: ';'"),
    "no comma": (
        with_thread("flowop openfile name=o fd=1"),
        "line 6, column 24: 'flowop' or '}' should follow here, not 'fd'",
    ),
    "empty thread": (with_thread(""), "line 7, column 1: a thread needs at least one flowop"),
    "value missing": ("define file name,path=/x", "line 1, column 13: name needs a value"),
    "path missing": (
        with_thread(OPEN, before="define file name=box\n"),
        "line 1, column 1: the file 'box' needs a path",
    ),
    "fileset twice": (with_thread(OPEN, before=FILESET * 2), "line 2, column 1: the fileset 'box' is defined twice"),
    "number for a flag": (
        with_thread("flowop read name=r,filename=box,iosize=4k,random=yes"),
        "line 6, column 43: random needs true or false",
    ),
    "random instances": (
        "set $n=randvar(mean=3)\n" + with_thread(OPEN).replace("name=t", "name=t,instances=$n"),
        "line 5, column 15: instances cannot be random",
    ),
    "table below 100": (
        with_thread(
            OPEN, before="set $s=randvar(type=tabular,randtable={{60,1,2},{30,2,3}})\n" + FILESET.replace("4k", "$s")
        ),
        "line 1, column 8: the percentages of the table add up to 90",
    ),
    "unknown library": (
        "set $s=cvar(type=cvar-gama)",
        "line 1, column 13: 'cvar-gama' is not read here: a custom variable's type is one of cvar-exponential",
    ),
    "negative mean": (
        with_thread(OPEN, before=FILESET.replace("4k", "$s") + "set $s=cvar(type=cvar-normal,parameters=mean:-5)\n"),
        "line 1, column 35: the mean of size is negative",
    ),
    "read of nothing": (
        with_thread(OPEN, "flowop read name=r,fd=2,iosize=4k"),
        "line 7, column 8: nothing in this thread opens a file for fd 2",
    ),
    "open of nothing": (with_thread("flowop openfile name=o,fd=1"), "line 6, column 8: openfile needs a filesetname"),
    "no iosize": (with_thread("flowop read name=r,filename=box"), "line 6, column 8: read needs an iosize above 0"),
    "no target": (
        with_thread(OPEN, "flowop iopslimit name=l,target=oo"),
        "line 7, column 8: the target 'oo' is no flowop's name",
    ),
    "composite that contains itself": (
        "define flowop name=c { flowop c name=d }",
        "line 1, column 31: there is no flowop 'c'",
    ),
    "unknown parameter": (
        with_thread("flowop touch name=t,$wher=box", before=FILESET + COMPOSITES),
        "line 15, column 21: the flowop 'touch' has no parameter $wher",
    ),
    "parameter of a plain flowop": (
        with_thread(OPEN + ",$x=1"),
        "line 6, column 45: $x is given, but 'openfile' is no composite flowop",
    ),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_not_understood_is_refused_with_line_column_and_reason(text, said):
    assert refusal(text).startswith(said)


# Bombs: small texts that would become large work.


def doubling(levels: int, call: str = "flowop c{0} name=a\nflowop c{0} name=b") -> str:
    first = "define flowop name=c0 { flowop statfile name=s,filesetname=box }\n"
    rest = "".join(f"define flowop name=c{n + 1} {{ {call.format(n)} }}\n" for n in range(levels))
    return with_thread(f"flowop c{levels} name=x", before=FILESET + first + rest)


BOMBS = {
    "composites that double": (doubling(19), "more than 50,000 steps"),
    "composites in composites": (doubling(30, "flowop c{0} name=a"), "nested more than 20 deep"),
    "one long string": ('usage "' + "x" * 2**20, "longer than"),
    "one long number": ("set $a=" + "1" * 1_000_000, "64 bits"),
    "a name of many parts": ("define fileset name=" + "$a" * 100_000, "more than 20 parts"),
    "many parameters": (
        "define flowop name=f" + ",$a" + ",$a".join(map(str, range(100_000))) + "{}",
        "more than 20 param",
    ),
    "a long list of numbers": ("run " + "1," * 400_000, "more than 50,000 steps"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), BOMBS.values(), ids=list(BOMBS))
def test_a_small_text_cannot_become_large_work(text, said):
    started = time.process_time()

    assert said in refusal(text)
    assert time.process_time() - started < 5


# Whatever comes in, it is read or refused.


def read_or_refused(text: str) -> None:
    refused = None
    try:
        assert wml.parse(text).threads
    except wml.WmlError as error:
        refused = error
    if refused:
        lines = text.removeprefix("\ufeff").split("\n")
        assert refused.reason
        assert 1 <= refused.line <= len(lines)
        assert 1 <= refused.column <= len(lines[refused.line - 1]) + 1


@given(st.text())
def test_any_text_is_read_or_refused(text):
    read_or_refused(text)


@st.composite
def mutated(draw) -> str:
    """A real personality with a few pieces cut out, doubled, swapped or replaced."""
    text = draw(st.sampled_from(PERSONALITIES)).read_text()
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 30)))
        other = draw(st.integers(0, len(text)))
        new = draw(
            st.one_of(
                st.just(""),
                st.just(text[start:stop] * 2),
                st.just(text[other : other + 40]),
                st.text(alphabet=string.printable, max_size=5),
                st.sampled_from(["$a", "=", ",", "{", "}", "7", "8k", "set", "flowop", "randvar(", "run"]),
            )
        )
        text = text[:start] + new + text[stop:]
    return text


@pytest.mark.slow
@given(mutated())
def test_a_damaged_personality_is_read_or_refused(text):
    read_or_refused(text)
