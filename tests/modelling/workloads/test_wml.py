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


def test_a_definition_may_go_on_over_lines_and_past_comments():
    flow = only_flow("flowop read name=r,\n   filename=box, # the box\n\n iosize\n = 4k , random")

    assert (flow.io_bytes, flow.random) == (4096, True)


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
    "randvar(mean=3k, min=1k)": 3072,
    "randvar(type=gamma, gamma=2000)": 2,  # without a mean it is gamma / 1000
    "randvar(type=uniform, min=2, mean=10)": 10,  # even over 2..18
    "randvar(type=tabular, randtable={{25, 0, 8}, {75, 8, 16}})": 0.25 * 4 + 0.75 * 12,
    "randvar(type=tabular, mean=7, randtable={{100, 1, 3}})": 7,
    "random(type=uniform, mean=5)": 5,
    "cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)": 16384,
    "cvar(type=cvar-gamma)": 4096,
    "cvar(type=cvar-uniform,parameters=lower:4096;upper:8192)": 6144,
    "cvar(type=cvar-normal,parameters=mean:100.5;sigma:3)": 100.5,
    "cvar(type=cvar-normal,parameters=mean:100,min=200)": 200,
    "cvar(type=cvar-exponential,parameters=mean:64)": 64,
    "cvar(type=cvar-triangular,parameters=lower:3;upper:9;mode:6)": 6,
}


@pytest.mark.parametrize(("variable", "mean"), MEANS.items(), ids=list(MEANS))
def test_a_random_variable_enters_by_its_mean(variable, mean):
    flow = only_flow("flowop write name=w,filename=box,iosize=$size", before=FILESET + f"set $size={variable}\n")

    assert flow.io_bytes == pytest.approx(mean)


def test_the_random_size_of_a_file_is_its_mean():
    size = wml.parse((DATA / "randomfileaccess-1.4.f").read_text()).filesets["tree"].mean_bytes

    assert size == pytest.approx((0.5 * 4 + 0.4 * 16 + 0.1 * 63) * 1024)


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


@pytest.mark.parametrize("run", ["psrun", "psrun -5", "psrun -5 60", "psrun -5,60", "run", "run 60"])
def test_a_run_ends_the_description(run):
    assert wml.parse(f"{with_thread(OPEN)}{run}\nset $x=1").threads


@pytest.mark.parametrize("text", ["\ufeff" + with_thread(OPEN), with_thread(OPEN).replace("\n", "\r\n")])
def test_texts_of_other_systems_are_read(text):
    assert wml.parse(text).threads[0].flows[0].fileset == "box"


def test_reserved_words_may_be_names():
    assert wml.parse(with_thread("flowop openfile name=file,filesetname=size", before=FILESET.replace("box", "size")))


# What is refused: the text, and the start of what is said.
REFUSED = {
    "empty": ("", "line 1, column 1: no process is defined"),
    "no process": (FILESET, "line 1, column 1: no process is defined"),
    "no instances": (
        with_thread(OPEN).replace("name=t", "name=t,instances=0"),
        "line 2, column 1: no process has an instance",
    ),
    "undefined variable": (
        with_thread("flowop finishoncount name=f,value=$count"),
        "line 6, column 35: the variable $count is not set",
    ),
    "undefined variable in what has no part in the profile": (
        with_thread(OPEN).replace("name=t", "name=t,memsize=$mem"),
        "line 4, column 23: the variable $mem is not set",
    ),
    "variable set too late": (
        "run $time\nset $time=5\n",
        "line 1, column 5: the variable $time is not set before it is needed",
    ),
    "misspelt variable": (
        "set $nthreads=4\n" + with_thread(OPEN).replace("name=t", "name=t,instances=$nthread"),
        "line 5, column 25: the variable $nthread is not set before it is needed; did you mean '$nthreads'?",
    ),
    "foreach": ("foreach $a in 1, 2 { run }", "line 1, column 1: foreach is not read here; set the variable to one of"),
    "member": ("set $a.mean=5", "line 1, column 7: a character that the language does not have: '.'"),
    "what may be enabled": ("enable multi", "line 1, column 8: 'lathist' should follow here, not 'multi'"),
    "when to quit": (
        "set mode quit later",
        "line 1, column 15: 'timeout' or 'alldone' or 'firstdone' should follow here, not 'later'",
    ),
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
    "misspelt attribute": (
        with_thread("flowop openfile name=o,filesetnam=box"),
        "line 6, column 24: a flowop has no attribute 'filesetnam'; did you mean 'filesetname'?",
    ),
    "misspelt command": (
        "defin file name=x,path=/y",
        "line 1, column 1: unknown command 'defin'; did you mean 'define'?",
    ),
    "what cannot be defined": ("define filset name=x", "line 1, column 8: 'filset' cannot be defined; did you mean"),
    "attribute of another construct": (
        "define fileset name=x,path=/y,iosize=4k",
        "line 1, column 31: a fileset has no attribute 'iosize'",
    ),
    "deduplication fork": (
        "define fileset name=x,path=/y,datasource=z",
        "line 1, column 31: 'datasource' belongs to the deduplication fork of Filebench",
    ),
    "entropy": (
        with_thread("flowop write name=w,entropy=3"),
        "line 6, column 21: 'entropy' belongs to the deduplication",
    ),
    "devid": ("define process name=p,devid=1 {", "line 1, column 23: 'devid' belongs to the Assise and Strata forks"),
    "load": ("load varmail", "line 1, column 1: load brings in another file"),
    "two operations": ("set $a=1 + 2 + 3", "line 1, column 14: a set command does one operation"),
    "division by zero": ("set $a=1 / 0", "line 1, column 8: a division by zero"),
    "below zero": ("set $a=1 - 2", "line 1, column 8: the result is negative"),
    "open string": ('echo "half', "line 1, column 6: this string is never closed"),
    "upper case": ("set $a=16K", "line 1, column 8: '16K' is neither a number"),
    "decimal": ("set $a=1.5", "line 1, column 8: '1.5' is neither a number"),
    "long number": ("set $a=" + "9" * 5000, "line 1, column 8: the number does not fit into 64 bits"),
    "large size": ("set $a=9999999999g", "line 1, column 8: the number does not fit into 64 bits"),
    "negative": ("set $a=-5", "line 1, column 8: a negative number"),
    "strange character": ("set $a=5;", "line 1, column 9: a character that the language does not have: ';'"),
    "bare dollar": ("set $=5", "line 1, column 5: a variable's name follows the $"),
    "ends early": (
        "define process name=p\n{",
        "line 2, column 2: 'thread' or '}' should follow here, but the text ends",
    ),
    "no comma": (
        with_thread("flowop openfile name=o fd=1"),
        "line 6, column 24: 'flowop' or '}' should follow here, not 'fd'",
    ),
    "empty thread": (with_thread(""), "line 7, column 1: a thread needs at least one flowop"),
    "empty process": ("define process name=p { }", "line 1, column 25: a process needs at least one thread"),
    "value missing": ("define file name,path=/x", "line 1, column 13: name needs a value"),
    "name missing": (
        with_thread("flowop openfile filesetname=box"),
        "line 6, column 8: the flowop 'openfile' needs a name",
    ),
    "path missing": (
        with_thread(OPEN, before="define file name=box\n"),
        "line 1, column 1: the file 'box' needs a path",
    ),
    "fileset twice": (with_thread(OPEN, before=FILESET * 2), "line 2, column 1: the fileset 'box' is defined twice"),
    "text for a number": (
        with_thread("flowop read name=r,filename=box,iosize=big"),
        "line 6, column 33: iosize needs a number, not 'big'",
    ),
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
    "tabular without table": ("set $s=randvar(type=tabular)", "line 1, column 8: a tabular random variable needs a"),
    "unknown distribution": ("set $s=randvar(type=normal)", "line 1, column 16: a random variable's type is one of"),
    "unknown library": (
        "set $s=cvar(type=cvar-gama)",
        "line 1, column 13: 'cvar-gama' is not read here: a custom variable's type is one of cvar-exponential",
    ),
    "size in parameters": (
        "set $s=cvar(type=cvar-gamma,parameters=mean:16k)",
        "line 1, column 29: the parameter mean needs a plain number, not '16k'",
    ),
    "negative mean": (
        with_thread(OPEN, before=FILESET.replace("4k", "$s") + "set $s=cvar(type=cvar-normal,parameters=mean:-5)\n"),
        "line 1, column 35: the mean of size is negative",
    ),
    "read of nothing": (
        with_thread(OPEN, "flowop read name=r,fd=2,iosize=4k"),
        "line 7, column 8: nothing in this thread opens a file for fd 2",
    ),
    "source of nothing": (
        with_thread(OPEN, "flowop writewholefile name=w,fd=1,srcfd=3"),
        "line 7, column 8: nothing in this thread opens a file for srcfd 3",
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
    "parameter left out": (
        with_thread("flowop touch name=t", before=FILESET + COMPOSITES),
        "line 4, column 36: the variable $where is not set",
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
    "braces": ("define process name=p {" * 40_000, "'thread' or '}' should follow"),
    "one long string": ('usage "' + "x" * 2**20, "longer than"),
    "an open string": ('usage "' + "x" * 500_000, "never closed"),
    "one long word": ("a" * 1_000_000, "unknown command"),
    "one long number": ("set $a=" + "1" * 1_000_000, "64 bits"),
    "a number and a letter": ("set $a=" + "1" * 1_000_000 + "z", "neither a number"),
    "a name of many parts": ("define fileset name=" + "$a" * 100_000, "more than 20 parts"),
    "many parameters": (
        "define flowop name=f" + ",$a" + ",$a".join(map(str, range(100_000))) + "{}",
        "more than 20 param",
    ),
    "nothing but spaces": (" " * 2**20, "no process"),
    "a long list of numbers": ("run " + "1," * 400_000, "more than 50,000 steps"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), BOMBS.values(), ids=list(BOMBS))
def test_a_small_text_cannot_become_large_work(text, said):
    started = time.process_time()

    assert said in refusal(text)
    assert time.process_time() - started < 5


def test_a_long_table_used_often_is_summed_once():
    rows = ",".join(["{0,1,2}"] * 2_000)
    before = FILESET + f"set $s=randvar(type=tabular,randtable={{{rows},{{100,1,3}}}})\n"
    text = with_thread(*["flowop write name=w,filename=box,iosize=$s"] * 1_000, before=before)
    started = time.process_time()

    assert wml.parse(text).threads[0].flows[-1].io_bytes == 2
    assert time.process_time() - started < 10


def test_reading_takes_time_in_proportion_to_length():
    def seconds(count: int) -> float:
        text = with_thread(*["flowop statfile name=s,filesetname=box"] * count)
        started = time.process_time()
        wml.parse(text)
        return time.process_time() - started

    seconds(100)  # warm
    few, many = (min(seconds(count) for _ in range(3)) for count in (250, 2_500))
    assert many < 60 * max(few, 0.02)  # a square of that would be 100 times; caches of a busy machine are allowed for


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
