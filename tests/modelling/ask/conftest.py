"""The catalogue with what others than the papers measured, as a server has it."""

import json
from pathlib import Path

import pytest

from experiments.models import Benchmark, FileSystem, Hypervisor, Workload
from modelling.evidence import names

_OTHERS = Path(__file__).parents[3] / "fixtures" / "outside" / "catalogue.json"
_MODELS = {"file_systems": FileSystem, "hypervisors": Hypervisor, "workloads": Workload, "benchmarks": Benchmark}


@pytest.fixture
def whole_catalogue(published_evidence: None) -> None:
    others = json.loads(_OTHERS.read_text())
    for kind, model in _MODELS.items():
        for entry in others[kind]:
            facts = {"name": entry["name"], "aliases": entry.get("aliases", []), "description": ""}
            model.objects.get_or_create(slug=entry["slug"], defaults=facts)
    names.clear_cache()
