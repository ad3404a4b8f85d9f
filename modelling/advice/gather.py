"""Gathers advice for a profile: the one place where modelling.advice.reasoning meets the database."""

from dataclasses import asdict, replace
from typing import Any

from experiments.models import CaseStudy, Configuration
from kdb.pairs import pair_key
from modelling.answers import words
from modelling.answers.selectors import current_ranking
from modelling.evidence import counts
from modelling.evidence import names as catalogue
from modelling.evidence.axes import AXES
from modelling.evidence.cost_matrix import cost_matrix
from modelling.evidence.names import label
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from modelling.workloads.mechanisms import Matrix, Term, is_stated
from modelling.workloads.profiles import Profile, known_profiles

from . import reasoning
from . import words as advice_words
from .reasoning import Expectation, Neighbour, Predicted

AXIS = "fs-pair"


def advise(profile: Profile, *, hypervisor: str | None = None, host_fs: str | None = None) -> dict[str, Any]:
    """Advice for a load with this profile, JSON-ready, the same for page and API.

    hypervisor, host_fs : slugs that are decided already, or None. Where the nearest workload has no
    answer under them, the answer with fewer of them is given and `without` names those left out.
    """
    matrix = cost_matrix()
    names = catalogue.names()
    # A catalogue that is empty has no workload to be near to.
    known = {slug: known for slug, known in known_profiles().items() if slug in names["workload"]}
    near = reasoning.neighbours(profile, known)
    hosts = _hosts(hypervisor, host_fs, matrix)
    guests = [slug for slug in names["file_system"] if is_stated(slug, matrix)]
    expected = reasoning.expect(guests, hosts, matrix, profile)
    recommended = [
        _recommendation(neighbour, hypervisor, host_fs, matrix, profile) for neighbour in near if neighbour.speaks
    ]
    is_far = not near or near[0].is_far
    return {
        "filters": {"hypervisor": hypervisor, "host_fs": host_fs},
        "summary": advice_words.summary(recommended, expected, is_far, names),
        "profile": {key: value for key, value in asdict(profile).items() if key != "notes"},
        "assumptions": list(profile.notes),
        "nearest": [{"label": names["workload"][found.workload], **asdict(found)} for found in near],
        "is_far": is_far,
        "far_beyond": reasoning.FAR,
        "recommendation": recommended,
        "prediction": _prediction(expected),
        "notes": advice_words.notes(expected, hosts, matrix, names),
        "revision": counts.revision(),
    }


def _hosts(hypervisor: str | None, host_fs: str | None, matrix: Matrix) -> list[str]:
    """The host file systems to choose between: the given one, that of a hypervisor that brings its own, or all stated.

    Own means that it is no file system of which mechanisms are stated: VMFS of ESXi, NTFS of Hyper-V.
    """
    if host_fs:
        return [host_fs]
    if hypervisor:
        ran = Configuration.objects.filter(
            case_study__in=CaseStudy.objects.published(), hypervisor__slug=hypervisor, guest_fs__slug__in=list(matrix)
        )
        found = sorted(set(ran.values_list("host_fs__slug", flat=True)) - {None})
        if found and not any(is_stated(slug, matrix) for slug in found):
            return found
    return [slug for slug in catalogue.names()["file_system"] if is_stated(slug, matrix)]


def _recommendation(
    neighbour: Neighbour, hypervisor: str | None, host_fs: str | None, matrix: Matrix, profile: Profile
) -> dict[str, Any]:
    asked = Question(AXIS, neighbour.workload, hypervisor=hypervisor, host_fs=host_fs)
    question, snapshot = _answered(asked)
    result, names = snapshot.result, catalogue.names()
    held = reasoning.agreement(result["entries"], matrix, profile)
    return {
        "workload": neighbour.workload,
        "label": names["workload"][neighbour.workload],
        "distance": neighbour.distance,
        "is_far": neighbour.is_far,
        "question": question.as_dict(),
        "title": words.title(question, names),
        "url": words.address(question),
        "api_url": words.api_address(question),
        "without": [name for name in asked.filters if name not in question.filters],
        "parts": [_part(result, part) for part in result["parts"]],
        "missing": result["missing"],
        "agreement": {"verdict": held.verdict, **asdict(held), "text": advice_words.agreement(held)},
    }


def _part(result: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """What to use and what to avoid of one part of the answer."""
    entries = [entry for entry in result["entries"] if entry["part"] == part["part"]]
    best, worst = ([entry for entry in entries if entry["key"] in result[name]] for name in ("best", "worst"))
    return {
        "part": part["part"],
        "name": part["name"],
        "text": part["verdict"]["sentence"],
        "best": [_entry(entry) for entry in best],
        "worst": [_entry(entry) for entry in worst],
    }


def _answered(asked: Question) -> tuple[Question, RankingSnapshot]:
    """The question with as many of its filters as have an answer; as it was asked where none has."""
    unanswered = asked, current_ranking(asked)
    if unanswered[1].result["entries"]:
        return unanswered
    for left_out in (["host_fs"], ["hypervisor"], ["host_fs", "hypervisor"]):
        if all(getattr(asked, name) for name in left_out):
            wider = replace(asked, **dict.fromkeys(left_out))
            snapshot = current_ranking(wider)
            if snapshot.result["entries"]:
                return wider, snapshot
    return unanswered


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("key", "label", "grade", "ratio", "low", "high")}


def _prediction(expected: Expectation) -> dict[str, Any]:
    return {
        "basis": "model",
        "against": _pair(pair_key(*expected.against)) if expected.against else None,
        "pairs": [_predicted(predicted) for predicted in expected.pairs],
    }


def _predicted(predicted: Predicted) -> dict[str, Any]:
    pair = _pair(pair_key(*predicted.pair))
    terms = [_term(term) for term in predicted.terms]
    return {"rank": predicted.rank, **pair, "score": predicted.score, "terms": terms}


def _pair(key: str) -> dict[str, str]:
    return {"key": key, "label": label(AXES[AXIS], key)}


def _term(term: Term) -> dict[str, Any]:
    assert term.a is not None
    assert term.b is not None
    return {
        "side": term.side,
        "operation": term.operation,
        "label": term.label,
        "mechanism": term.a._asdict(),
        "against": term.b._asdict(),
        "sign": term.sign,
        "weight": term.weight,
        "contribution": term.contribution,
        "hypotheses": list(term.hypotheses),
    }
