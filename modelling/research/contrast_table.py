"""Contrast tables as researchers exchange them, read and answered. No Django, no files.

Columns: study, treat1, treat2, effect (treat1 - treat2), se. A study of many arms gives all its
pairs. A treatment that combines components writes them "A + B".
"""

import csv
import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from kdb.csv_cells import escaped
from modelling.estimation.bayes import Posterior, posterior
from modelling.estimation.components import Components, additive, components_of
from modelling.estimation.network import EvidenceError, Network, Trial, networks

COLUMNS = ("study", "treat1", "treat2", "effect", "se")


class TableError(ValueError):
    """The table cannot be read: every problem with its line, one a line; the text is fit to show."""


def read(text: str) -> list[Trial]:
    """Return the trials of a CSV table. Raises TableError naming every bad line, field and value."""
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise TableError(f"line 1: the columns {', '.join(missing)} are missing; needed are {', '.join(COLUMNS)}")
    problems: list[str] = []
    studies: dict[str, list[tuple[str, str, float, float]]] = {}
    for row in rows:
        line = rows.line_num
        values: dict[str, Any] = {}
        for column in ("effect", "se"):
            try:
                values[column] = float(row[column])
            except (TypeError, ValueError):
                problems.append(f"line {line}: {column} is {row[column]!r}; a number is needed")
        for column in ("study", "treat1", "treat2"):
            values[column] = (row[column] or "").strip()
            if not values[column]:
                problems.append(f"line {line}: {column} is empty")
        if len(values) == len(COLUMNS):
            contrast = (values["treat1"], values["treat2"], values["effect"], values["se"])
            studies.setdefault(values["study"], []).append(contrast)
    trials = []
    for study, contrasts in studies.items():
        try:
            trials.append(Trial.from_contrasts(f"study {study}", contrasts))
        except EvidenceError as error:
            problems.append(str(error))
    if not problems and not trials:
        problems = ["the table has no contrast"]
    if problems:
        raise TableError("\n".join(problems))
    return trials


def answer(trials: list[Trial], *, reference: str | None, with_components: bool) -> dict[str, list[dict[str, Any]]]:
    """Name of each result table to its rows.

    `estimates`, `pscores` and `summary` for the network estimate, one summary row for each connected
    part; with components `components` and a `summary` that compares both models. `reference` keeps
    only the estimates against this treatment; with components it is the inactive one.
    Raises EvidenceError where the reference is in no trial.
    """
    known = {treatment for trial in trials for treatment in trial.treatments}
    if reference is not None and reference not in known:
        raise EvidenceError(f"{reference!r} is in no study; known are {', '.join(sorted(known))}")
    parts = networks(trials)
    if with_components:
        return _component_tables(additive(trials, {t: components_of(t, reference) for t in known}), parts)
    return {
        "estimates": [row for part in parts for row in _estimates(part, reference)],
        "pscores": [row for part in parts for row in _p_scores(part)],
        "summary": [_summary(part) for part in parts],
    }


def integrated(trials: list[Trial], *, reference: str | None, tau_scale: float) -> dict[str, list[dict[str, Any]]]:
    """Return the tables `bayes`, `probabilities` and `tau` of the estimate with tau integrated out.

    `reference` keeps only the contrasts against this treatment, which `answer` found in some trial. One row of
    `tau` for each connected part, in the order of `answer`. Raises EvidenceError as bayes.posterior does.
    """
    posteriors = [posterior(part.treatments, part.trials, tau_scale) for part in networks(trials)]
    return {
        "bayes": [row for part in posteriors for row in _contrasts(part, reference)],
        "probabilities": [row for part in posteriors for row in _probabilities(part)],
        "tau": [
            dict(zip(("median", "low", "high"), part.tau_quantiles([0.5, 0.025, 0.975]), strict=True))
            for part in posteriors
        ],
    }


def _contrasts(part: Posterior, reference: str | None) -> list[dict[str, Any]]:
    names = part.treatments
    second, first = np.divmod(np.arange(len(names) ** 2), len(names))
    if reference is not None:
        asked = np.array(names)[second] == reference
        first, second = first[asked], second[asked]
    effects = part.effects
    rows = zip(
        first,
        second,
        effects[first] - effects[second],
        part.mean_quantiles(first, second, (0.025, 0.975)),
        part.new_quantiles(first, second, (0.025, 0.975)),
        strict=True,
    )
    return [
        {
            "treat1": names[i],
            "treat2": names[j],
            "mean": mean,
            "mean_low": of_mean[0],
            "mean_high": of_mean[1],
            "new_low": new[0],
            "new_high": new[1],
        }
        for i, j, mean, of_mean, new in rows
    ]


def _probabilities(part: Posterior) -> list[dict[str, Any]]:
    """Return what choosing each means in a new laboratory. The loss, in percent, does not depend on the margin."""
    forecast = part.forecast(0.1)
    return [
        {"treatment": name, "probability_best": best, "expected_loss": 100 * loss}
        for name, best, loss in zip(part.treatments, forecast.best, forecast.loss, strict=True)
    ]


def _estimates(part: Network, reference: str | None) -> Iterable[dict[str, Any]]:
    errors = part.common.errors(), part.random.errors()
    for j, second in enumerate(part.treatments):
        if reference not in (None, second):
            continue
        for i, first in enumerate(part.treatments):
            yield {
                "treat1": first,
                "treat2": second,
                "te_common": part.common.effects[i] - part.common.effects[j],
                "se_common": errors[0][i, j],
                "te_random": part.random.effects[i] - part.random.effects[j],
                "se_random": errors[1][i, j],
            }


def _p_scores(part: Network) -> list[dict[str, Any]]:
    scores = zip(part.treatments, part.common.p_scores(), part.random.p_scores(), strict=True)
    return [{"treat": name, "pscore_common": common, "pscore_random": random} for name, common, random in scores]


def _summary(part: Network) -> dict[str, Any]:
    """Return a row on the network as a whole; tau2 and i2 are empty where no two trials can disagree."""
    pairs = sum(len(trial.treatments) * (len(trial.treatments) - 1) // 2 for trial in part.trials)
    return {
        "studies": len(part.trials),
        "treatments": len(part.treatments),
        "comparisons": pairs,
        "tau2": part.tau2,
        "q": part.q,
        "df_q": part.freedom,
        "i2": part.i2,
        "q_heterogeneity": part.q_heterogeneity,
        "q_inconsistency": part.q_inconsistency,
    }


def _component_tables(model: Components, parts: list[Network]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of components; one that cannot be told apart has no estimates, and names its aliases."""
    aliased = {name: group for group in model.aliases for name in group}
    rows = []
    for index, name in enumerate(model.names):
        row: dict[str, Any] = {"component": name}
        for kind, fit in (("common", model.common), ("random", model.random)):
            told = bool(model.estimable[index])
            row[f"beta_{kind}"] = fit.effects[index] if told else None
            row[f"se_{kind}"] = fit.errors()[index] if told else None
        if model.aliases:
            row["aliased_with"] = " / ".join(other for other in aliased.get(name, ()) if other != name)
        rows.append(row)
    q_standard, df_standard = sum(part.q for part in parts), sum(part.freedom for part in parts)
    summary = {
        "tau2": model.tau2,
        "q_additive": model.q,
        "df_additive": model.freedom,
        "q_standard": q_standard,
        "df_standard": df_standard,
        "q_diff": model.q - q_standard,
        "df_diff": model.freedom - df_standard,
    }
    return {"components": rows, "summary": [summary]}


def written(rows: list[dict[str, Any]]) -> str:
    """Return the rows as CSV with full precision; None is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _plain(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, np.floating) else escaped(value)
