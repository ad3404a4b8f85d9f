"""Build a table of answers to one question under several workloads: entries in rows, workloads in columns."""

from collections.abc import Mapping
from typing import Any

from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

# Fields of an entry that a cell shows.
CELL = ("rank", "part", "ratio", "low", "high", "verdict", "grade")


def table(answers: Mapping[Question, RankingSnapshot | None]) -> dict[str, Any]:
    """Return the table, JSON-ready, with null for an entry that an answer does not rank.

    answers : question to its answer; None: a worker computes it
    """
    known = {question: snapshot.result for question, snapshot in answers.items() if snapshot is not None}
    entries: dict[str, str] = {}
    for result in known.values():
        entries |= {entry["key"]: entry["label"] for entry in result["entries"]}
    cells = {
        question.workload: {entry["key"]: {name: entry[name] for name in CELL} for entry in result["entries"]}
        for question, result in known.items()
    }
    return {
        "workloads": [
            {
                "workload": question.workload,
                "metric": result["metric"],
                "revision": result["revision"],
                "superseded_by": getattr(answers[question], "superseded_by", None),
                "status": result["status"],
                "verdict": result["verdict"],
                "laboratories": result["grounds"]["laboratories"],
                "groups": result["grounds"]["groups"],
            }
            for question, result in known.items()
        ],
        "entries": [
            {"key": key, "label": label, "cells": [of_workload.get(key) for of_workload in cells.values()]}
            for key, label in sorted(entries.items())
        ],
        "waiting": [question.workload for question, snapshot in answers.items() if snapshot is None],
    }
