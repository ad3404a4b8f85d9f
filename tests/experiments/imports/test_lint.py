"""Each rule of plausibility on the smallest example it fires on, and silent beside its threshold."""

import random

import pytest

from experiments.imports import lint
from experiments.imports.lint import Cell, DraftFacts, check
from experiments.rules.plausibility import Disks


def cell(mean: float = 100.0, **fields) -> Cell:
    defaults = {
        "configuration": "kvm-ext4",
        "workload": "varmail",
        "benchmark": "filebench",
        "benchmark_version": "1.4.9.1",
        "parameters": {},
        "operation": "mixed",
        "block_size_bytes": None,
        "vm_count": 1,
        "machine": None,
        "metric": "throughput",
        "unit": "MiB/s",
        "count": 1,
        "least": fields.pop("least", mean),
        "greatest": fields.pop("greatest", mean),
        "place": "a.csv, line 2",
    }
    fields = defaults | fields
    return Cell(**fields, total=mean * fields["count"])


def facts(*cells: Cell, **others) -> DraftFacts:
    configurations = others.pop("configurations", {})
    machines = {c.configuration: {"hypervisor": "kvm", "vm_ram_gib": 4, "vm_vcpus": 2} for c in cells}
    disks = {name: others.pop(name) for name in ("interface_limit", "sequential_limit") if name in others}
    told = {"is_described": True, "disks": Disks(**disks)} | others
    return DraftFacts(cells=cells, configurations=machines | configurations, **told)


def rules(*cells: Cell, **others) -> set[str]:
    return {finding.rule for finding in check(facts(*cells, **others))}


RATE = {"metric": "operation_rate", "unit": "ops/s"}
LATENCY = {"metric": "latency", "unit": "ms"}
THREE_AT_ONE_RATE = [cell(766.9, **RATE, configuration=str(n), workload="append") for n in (5, 6, 7)]


@pytest.mark.parametrize(
    ("rule", "fires", "silent"),
    [
        (
            "below the minimum",
            facts(cell(parameters={"runtime": "4"}), is_described=True),
            facts(cell(parameters={"runtime": "4"}, count=2)),
        ),
        ("below the minimum", facts(cell(), is_described=False), facts(cell(), is_described=False, repetitions=3)),
        ("below the minimum", facts(cell(), run_seconds=29), facts(cell(), run_seconds=30, is_described=False)),
        ("impossible throughput", facts(cell(1_000_001)), facts(cell(999_999))),
        (
            "no disk's number",
            facts(cell(101), interface_limit=105.9),  # 101 MiB/s are 105.906 MB/s
            facts(cell(100), interface_limit=105.9),
        ),
        (
            "no disk's number",
            facts(cell(50, vm_count=3), sequential_limit=150, value_scope="per-vm"),
            facts(cell(50, vm_count=3), sequential_limit=150),
        ),
        (
            "no disk's number",
            facts(*THREE_AT_ONE_RATE, *(cell(n, configuration=str(n)) for n in (5, 6, 7))),
            facts(*THREE_AT_ONE_RATE, *(cell(5, configuration=str(n)) for n in (5, 6, 7))),
        ),
        (
            "fits into memory",
            facts(cell(parameters={"files": 1000, "mean_file_size": "16k"})),
            facts(cell(parameters={"files": 1_000_000, "mean_file_size": "16k"})),
        ),
        (
            "fits into memory",
            facts(cell(working_set_bytes=5 * 2**30), server_ram_gib=64),
            facts(cell(working_set_bytes=65 * 2**30), server_ram_gib=64),
        ),
        ("identical repetitions", facts(cell(5, count=3)), facts(cell(5, count=2))),
        ("identical repetitions", facts(cell(5, zero_deviations=1)), facts(cell(5))),
        ("wide spread", facts(cell(5, least=1, greatest=2)), facts(cell(5, least=1, greatest=1.99))),
        (
            "Little's law",
            facts(cell(1000, **RATE, parameters={"threads": 16}), cell(33, **LATENCY, parameters={"threads": 16})),
            facts(cell(1000, **RATE, parameters={"threads": 16}), cell(31, **LATENCY, parameters={"threads": 16})),
        ),
        (
            "unit",
            facts(cell(4.0, block_size_bytes=4096), cell(1, **RATE, block_size_bytes=4096)),
            facts(cell(4.1, block_size_bytes=4096), cell(1024, **RATE, block_size_bytes=4096)),
        ),
        (
            "unit",
            facts(cell(), cell(vm_count=2, unit="MB/s")),
            facts(cell(), cell(vm_count=2, unit="MB/s", workload="fileserver")),
        ),
        (
            "different machines",
            facts(cell(), cell(configuration="xen"), configurations={"xen": {"hypervisor": "xen", "vm_ram_gib": 8}}),
            facts(cell(), cell(configuration="xen"), configurations={"xen": {"hypervisor": "xen", "vm_ram_gib": 4}}),
        ),
        (
            "mixed versions",
            facts(cell(), cell(benchmark_version="1.5")),
            facts(cell(), cell(benchmark_version="1.5", workload="fileserver")),
        ),
        (
            "changed parameters",
            facts(cell(parameters={"threads": 1}), cell(parameters={"threads": 2})),
            facts(cell(parameters={"threads": 1}), cell(parameters={"threads": 1}, vm_count=2)),
        ),
    ],
)
def test_a_rule_fires_and_stays_silent_beside_its_threshold(rule, fires, silent):
    assert rule in {finding.rule for finding in check(fires)}
    assert rule not in {finding.rule for finding in check(silent)}


def test_a_latency_that_leaves_operations_out_is_not_held_to_littles_law():
    load = {"parameters": {"threads": 1, "latency_of": "reads and writes"}}
    assert "Little's law" not in rules(cell(1000, **RATE, **load), cell(99, **LATENCY, **load))


def test_threads_are_spoken_of_only_where_they_are_stated():
    load = {"parameters": {"iodepth": 1}}
    assert "Little's law" not in rules(cell(1000, **RATE, **load), cell(99, **LATENCY, **load))


def test_only_what_cannot_be_is_an_error():
    assert {rule.name for rule in lint.RULES if rule.severity == "error"} == {"impossible throughput"}


def test_a_finding_names_its_cells_and_says_how_many():
    (finding,) = check(facts(*(cell(2e6, vm_count=n, place=f"line {n}") for n in range(1, 9))))
    assert finding.places == tuple(f"line {n}" for n in range(1, 6))
    assert finding.message.endswith("(8 cells)")


def test_the_order_of_cells_does_not_matter():
    cells = [
        cell(n * 10 + 1, vm_count=n % 4 + 1, workload=("varmail", "web")[n % 2], benchmark_version=str(n % 3))
        for n in range(20)
    ]
    shuffled = random.Random(1).sample(cells, len(cells))
    assert [(f.rule, f.message) for f in check(facts(*cells, interface_limit=100))] == [
        (f.rule, f.message) for f in check(facts(*shuffled, interface_limit=100))
    ]


def test_every_rule_is_explained_in_the_documentation(request):
    page = (request.config.rootpath / "docs/models/lint.md").read_text()
    for rule in lint.RULES:
        assert f"**{rule.name}**" in page
        assert rule.look.__doc__
