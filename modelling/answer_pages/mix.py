"""The answer under a mix of workloads, for the page and the API."""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import cattrs
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kdb.units import THROUGHPUT
from kdb.web.private import private_with
from modelling.answer_pages.explanations.selectors import forecast_between
from modelling.answer_store import permalinks
from modelling.answer_store.selectors import answer_in, snapshot_at, snapshots_or_none
from modelling.answer_store.staleness import SpeedChange, changes_since, may_be_stale, weaken_verdict
from modelling.answer_store.versions import AnswerVersion, combined_version
from modelling.answer_store.views import at_permanent_addresses
from modelling.answers.content import MixAnswer, Share
from modelling.answers.mix import MixEstimate, answer_mix, estimate_mix, name_workloads
from modelling.answers.words import mix_address, mix_api_address
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.evidence.serialization import page_version
from modelling.evidence.storage import get_or_compute
from modelling.own_lab.selectors import HERE, laboratories_on, laboratory_in, mix_here

from .forms import MixForm
from .layout.mix_page import present_mix


@require_safe
@private_with(HERE)
@at_permanent_addresses
def mix_page(request: HttpRequest) -> HttpResponse:
    """Show which entry suits a mix of workloads, and for which shares another does; to members on theirs."""
    laboratory = laboratory_in(request)
    if not request.GET.keys() - {HERE}:
        return render(request, "modelling/mix.html", {"form": MixForm(), "page": None})
    form, (as_of, method) = MixForm(request.GET), page_version(request)
    if not form.is_valid():
        return render(request, "modelling/mix.html", {"form": form, "page": None}, status=400)
    question, weights = form.question(), form.cleaned_data["weights"]
    edition = mix_version(question, weights, as_of, method, request.user)
    named = edition.address_parameters
    shown = {
        "form": form,
        "page": present_mix(cattrs.structure(edition.result, MixAnswer), question, names.names(), as_of),
        "here": mix_here(question, weights, laboratory) if laboratory and as_of is None else None,
        "on_machines": [] if HERE in request.GET else _links_to_laboratories(question, weights, request.user),
        "as_of": as_of,
        "current_address": mix_address(question, weights),
        "edition": edition,
        "permanent_address": mix_address(question, weights, **named) if named else "",
        "api_address": mix_api_address(question, weights, **(named if as_of else {})),
    }
    return render(request, "modelling/mix.html", shown)


def _links_to_laboratories(question: Question, weights: dict[str, float], user: Any) -> list[tuple[str, str]]:
    """Return the user's laboratories that measured something of the mix, each with the address of the mix there."""
    if not user.is_authenticated:
        return []
    laboratories = {
        laboratory: mix_address(question, weights, **{HERE: laboratory.slug})
        for workload, weight in weights.items()
        for laboratory in (laboratories_on(replace(question, workload=workload), user) if weight else ())
    }
    return [(laboratory.name, address) for laboratory, address in laboratories.items()]


def mix_answer(question: Question, weights: Mapping[str, float], as_of: int | None = None) -> MixAnswer:
    """Return the answer to the question under a mix in place of its workload, now or as of a revision. Cached."""
    shares, revision = _shares(weights), as_of or counts.revision()

    def compute() -> MixAnswer:
        estimate = estimate_mix(question, shares, as_of)
        return answer_mix(estimate, [_share(estimate, workload, as_of) for workload in shares], revision)

    digest = hashlib.sha256(_pin_key(question, shares).encode()).hexdigest()
    return get_or_compute(f"modelling.mixed:{METHOD}:{revision}:{as_of is None}:{digest}", compute)


def mix_version(
    question: Question, weights: Mapping[str, float], as_of: int | None, method: int | None, user: Any
) -> AnswerVersion:
    """Return the mix at its address: pinned if that is permanent, else a step weaker where its evidence is stale."""
    edition = combined_version(
        permalinks.permalink_key("mix", _pin_key(question, _shares(weights))),
        as_of,
        method,
        user,
        work_out=lambda: asdict(mix_answer(question, weights, as_of)),
        is_worth=lambda result: bool(result["entries"]),
    )
    return edition if as_of is not None else _weaken_stale_mix(question, edition)


def _weaken_stale_mix(question: Question, edition: AnswerVersion) -> AnswerVersion:
    """Return the current mix with stale verdicts a step weaker.

    A share is stale where its own answer is, the mix where one of its entries changed under a share with numbers. Two
    queries where something may be stale and the answers are stored, else none.
    """
    by = replace(question, metric=edition.result["question"]["metric"])
    alone = {workload: _question_on(by, workload) for workload in edition.result["weights"]}
    concerned = [own for own in alone.values() if may_be_stale(own)]
    changes = changes_since(snapshots_or_none(concerned)) if concerned else {}
    if not any(changes.values()):
        return edition
    result = copy.deepcopy(edition.result)
    keys = [entry["key"] for entry in result["entries"]]
    of_mix: dict[str, list[SpeedChange]] = {}
    for share in result["shares"]:
        own = alone[share["workload"]]
        own_changes = changes.get(own, ())
        if own_changes:
            weaken_verdict(share["verdict"], [aged.sentence for aged in own_changes])
        of_mix[own.workload] = [aged for aged in own_changes if share["has_numbers"] and aged.concerns(own, keys)]
    if any(of_mix.values()):
        sentences = {workload: [aged.sentence for aged in aged_there] for workload, aged_there in of_mix.items()}
        weaken_verdict(result["verdict"], name_workloads(sentences))
    snapshot = copy.copy(edition.snapshot)
    snapshot.result = result
    return replace(edition, snapshot=snapshot, changes=tuple(aged for there in of_mix.values() for aged in there))


def _question_on(by: Question, workload: str) -> Question:
    """Return the question on one workload of the mix. by : the question with the metric of the mix"""
    return replace(by, workload=workload, metric=None if by.metric == THROUGHPUT else by.metric)


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {workload: weight / total for workload, weight in weights.items() if weight > 0}


def _pin_key(question: Question, shares: Mapping[str, float]) -> str:
    """Return all that the answer depends on, as text."""
    mix = ",".join(f"{workload}:{share!r}" for workload, share in sorted(shares.items()))
    return f"{question.key}|{mix}"


def _share(estimate: MixEstimate, workload: str, as_of: int | None) -> Share:
    """Return the answer to one workload of the mix by itself, with a forecast where it has no numbers."""
    question, rankings = estimate.question, estimate.rankings
    has_numbers = any(part.networks for part in rankings[workload].parts)
    own = answer_in(snapshot_at(_question_on(question, workload), as_of))
    forecast = ""
    if not has_numbers:
        ranked = [[entry.key for part in ranking.parts for entry in part.entries] for ranking in rankings.values()]
        first, second, *_ = [*(entry.key for entry in own.entries), *max(ranked, key=len), None, None]
        if first and second:
            sentence = forecast_between(replace(question, workload=workload), first, second, as_of)
            labels = map(partial(names.label, AXES[question.axis]), (first, second))
            forecast = sentence and f"{' against '.join(labels)}: {sentence}"
    return Share(workload, estimate.shares[workload], has_numbers, own.verdict, forecast)
