"""Advice in sentences, and a profile as the rows of a table. No Django."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from modelling.answers.words import GRADES
from modelling.evidence.words import capital, listed, load, percent, size
from modelling.workloads.mechanisms import Matrix, Term, is_stated
from modelling.workloads.profiles import Profile
from modelling.workloads.track_record import TrackRecord, how_often

from .content import Advice, NamedNeighbour, PredictedPair, Recommendation
from .reasoning import FAR, Agreement, Expectation

Names = Mapping[str, Mapping[str, str]]

SAME = 0.005  # a distance that is printed as 0.00

_KINDS = ("Random reads", "Sequential reads", "Random writes", "Sequential writes")  # in the order of Accesses
_FILTERS = {"hypervisor": "the hypervisor", "host_fs": "the host file system"}


def summary(recommended: Sequence[Recommendation], expected: Expectation, is_far: bool, names: Names) -> list[str]:
    """What to do, the most important sentence first: from the evidence where it carries over, else from the model."""
    if not recommended:
        return ["The knowledge base is empty, so there is nothing to hold this load against."]
    if not is_far:
        return [sentence for each in recommended for sentence in _transferred(each)]
    nearest = recommended[0]
    sentences = [
        f"Nothing that was measured is like this load. The nearest, {load(nearest.label)}, is at distance "
        f"{nearest.distance:.2f}, and beyond {FAR} no answer carries over."
    ]
    if expected.pairs:
        sentences.append(f"{_first_pair(expected, names)} {_doubt(nearest)}")
    return sentences


def _transferred(recommended: Recommendation) -> Iterable[str]:
    """ "As for a mail server: no clear winner among Btrfs on ext4 and ext4 on XFS."."""
    workload, parts = load(recommended.label), recommended.parts
    if not parts:
        yield f"It is most like {workload}, for which no comparison is published."
    elif len(parts) == 1:
        yield f"As for {workload}: {_lower(parts[0].text)}"
    else:
        yield f"As for {workload}, whose evidence falls into {len(parts)} parts that cannot be held against each other."
        yield from (f"{capital(part.name)}: {_lower(part.text)}" for part in parts)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _first_pair(expected: Expectation, names: Names) -> str:
    file_systems = names["file_system"]
    first = [
        " on ".join(file_systems.get(name, name) for name in predicted.pair)
        for predicted in expected.pairs
        if predicted.rank == 1
    ]
    return f"The model alone would put {listed(first)} first."


def _doubt(nearest: Recommendation) -> str:
    doubts = {
        "agrees": "It agrees with the evidence of that workload, which says little about this one",
        "mixed": "It is right only in part about that workload",
        "contradicts": "It is mostly wrong about that workload",
    }
    doubt = doubts.get(nearest.agreement.verdict, "No evidence of that workload tests it")
    return f"{doubt}: measure before you rely on it."


def agreement(held: Agreement) -> str:
    """How the model's expectation for this load stands against the evidence on a workload."""
    decided = held.agrees + held.contradicts + held.silent
    if not decided:
        return "This evidence decides no comparison on which the mechanisms have an opinion."
    verdict = {
        "agrees": "The prediction agrees with this evidence",
        "mixed": "The prediction agrees with this evidence only in part",
        "contradicts": "This evidence contradicts the prediction",
        "silent": "The mechanisms predict no difference where this evidence finds one",
    }[held.verdict]
    follows = "" if held.verdict == "agrees" else " The recommendation follows the evidence."
    if decided == 1:
        return f"{verdict}, in the one comparison that it decides.{follows}"
    orders = [f"{held.agrees or 'none'} in the predicted order", f"{held.contradicts or 'none'} in the opposite one"]
    orders += [f"{held.silent} without a prediction"] if held.silent else []
    return f"{verdict}: of the {decided} comparisons that it decides, {listed(orders)}.{follows}"


def notes(expected: Expectation, record: TrackRecord, hosts: Sequence[str], matrix: Matrix, names: Names) -> list[str]:
    """What a careful reader must know about the prediction."""
    file_systems = names["file_system"]
    unstated = [file_systems.get(host, host) for host in hosts if not is_stated(host, matrix)]
    found = []
    if not record.beats_chance:
        found.append(
            f"The mechanisms give no order here: {how_often(record)}, not better than chance. What they say of two "
            "file systems stands in the explanation of an answer."
        )
    elif not expected.pairs:
        found.append("No source states the mechanisms of these file systems, so there is no prediction.")
    elif unstated:
        found.append(
            f"No source states the mechanisms of {listed(unstated)}; being the same on the host of every pair, it "
            "leaves the guest file systems to be told apart."
        )
    return found


def without(names: Sequence[str], workload: str) -> str:
    """Which filters had to go for the workload to have an answer, or ""."""
    if not names:
        return ""
    filters = listed(_FILTERS[name] for name in names)
    return f"With {filters} asked for, no published case study compares pairs for {load(workload)}; this is without."


@dataclass(frozen=True)
class ProfileRow:
    """A kind of operation: its share of the operations and of the bytes, None where it moves none."""

    label: str
    operations: str
    bytes: str | None


@dataclass(frozen=True)
class AdvicePage:
    """Everything the advice's template prints.

    facts : what else the profile holds, label and value; recommended : each with why it is without some filters
    pairs : of the prediction, each with what it should gain and lose by, as side and kinds of operations
    """

    advice: Advice
    basis: str
    grades: list[tuple[str, str]]
    rows: list[ProfileRow]
    facts: list[tuple[str, str]]
    recommended: list[tuple[Recommendation, str]]
    pairs: list[tuple[PredictedPair, list[tuple[str, str]], list[tuple[str, str]]]]


def page(advice: Advice) -> AdvicePage:
    """Advice made ready for its template."""
    shown = [part for each in advice.recommendation if not each.is_far for part in each.parts]
    grades = {entry.grade for part in shown for entry in part.best + part.worst}
    return AdvicePage(
        advice=advice,
        basis=_basis(advice.nearest[0]) if advice.nearest else "",
        grades=[(grade, text) for grade, text in GRADES.items() if grade in grades],
        rows=_rows(advice.profile),
        facts=_facts(advice.profile),
        recommended=[(each, without(each.without, each.label)) for each in advice.recommendation],
        pairs=[(pair, _causes(pair.terms, 1), _causes(pair.terms, -1)) for pair in advice.prediction.pairs],
    )


def _basis(nearest: NamedNeighbour) -> str:
    """What the advice rests on, in a word to the reader."""
    if nearest.is_far:
        return "No evidence carries over to this load."
    if nearest.distance < SAME:
        return "The load has the profile of that workload."
    return "Transferred from the evidence on the nearest workload; nobody measured this load itself."


def _rows(profile: Profile) -> list[ProfileRow]:
    kinds = zip(_KINDS, profile.operations.shares(), profile.bytes.shares(), strict=True)
    return [
        *(ProfileRow(label, percent(share), percent(moved)) for label, share, moved in kinds),
        ProfileRow("Metadata operations", percent(profile.metadata_share), None),
        ProfileRow("Flushes (fsync)", percent(profile.flush_share), None),
    ]


def _facts(profile: Profile) -> list[tuple[str, str]]:
    """What else the profile holds, as (label, value with unit); what is not known is left out."""
    numbers = {"Threads at work": profile.concurrency, "Files": profile.files}
    sizes = {
        "Mean file size": profile.mean_file_bytes,
        "Working set": profile.working_set_bytes,
        "Mean request": profile.mean_io_bytes,
    }
    writes = profile.operations.random_write + profile.operations.sequential_write
    facts = [("Synchronous", f"{percent(profile.sync_share)} of the writes" if writes else "no writes")]
    facts += [(label, f"{number:,}") for label, number in numbers.items() if number is not None]
    facts += [(label, size(number)) for label, number in sizes.items() if number is not None]
    return facts


def _causes(terms: Iterable[Term], sign: int) -> list[tuple[str, str]]:
    """The terms of one sign by side: ("Guest", "small file embedding, file block access")."""
    by_side: dict[str, list[str]] = {}
    for term in terms:
        if term.sign == sign:
            by_side.setdefault(term.side, []).append(term.label)
    return [(capital(side), ", ".join(labels)) for side, labels in sorted(by_side.items())]
