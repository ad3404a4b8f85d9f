"""Fill a scratch database with synthetic case studies and measure what an answer costs.

100 configurations (10 case studies of 10) x 10 workloads x N measurements, for N = 10, 100, 1000.
Reported at each size: CPU of this process for one request (request in, response out, through the
middleware and the database driver), warm and cold, as p50 and p95; wall time to fill and to
publish. Ratios between sizes come from one run, side by side; compare those, not milliseconds.

First the estimators: a network of 1,000 configurations with 100,000 contrasts, estimated with random
effects, P-scores and components, with its wall time and the peak memory of the process.

    script/bench [--sizes 10 100 1000] [--requests 300]
"""

import argparse
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

CASE_STUDIES, CONFIGURATIONS, VM_COUNTS = 10, 10, (1, 2)
FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "zfs", "f2fs")
HYPERVISORS = ("kvm", "xen", "esxi", "proxmox", "hyper-v")
WORKLOADS = tuple(f"load-{number}" for number in range(10))
AXES = ("fs-pair", "guest-fs", "host-fs", "hypervisor", "configuration")


def fill(per_cell: int) -> list:
    """Draft case studies whose values have known effects; returns them."""
    from django.db import connection

    from experiments import models

    rng = random.Random(per_cell)  # noqa: S311
    catalogue = {
        models.FileSystem: [{"slug": slug} for slug in FILE_SYSTEMS],
        models.Hypervisor: [{"slug": slug, "kind": "type-1"} for slug in HYPERVISORS],
        models.Workload: [{"slug": slug} for slug in WORKLOADS],
        models.Benchmark: [{"slug": "filebench"}],
    }
    entry = {
        model: {row["slug"]: model.objects.create(name=row["slug"], **row) for row in rows}
        for model, rows in catalogue.items()
    }
    benchmark = entry[models.Benchmark]["filebench"]
    variants = [
        models.WorkloadVariant.objects.for_parameters(workload, benchmark, "1.4.9.1", {"threads": 16})
        for workload in entry[models.Workload].values()
    ]
    pairs = list(product(FILE_SYSTEMS, FILE_SYSTEMS))
    studies, rows = [], []
    for number in range(CASE_STUDIES):
        server = models.Server.objects.create(slug=f"server-{number}")
        storage = models.Storage.objects.create(slug=f"disk-{number}", server=server, description="disk", kind="ssd")
        study = models.CaseStudy.objects.create(
            slug=f"study-{number}", title=f"Study {number}", server=server, storage=storage, vm_counts=VM_COUNTS
        )
        studies.append(study)
        level = rng.uniform(3, 6)
        for place in range(CONFIGURATIONS):
            guest_fs, host_fs = pairs[(number * 7 + place // 2) % len(pairs)]
            hypervisor = HYPERVISORS[(number + place % 2) % len(HYPERVISORS)]
            configuration = models.Configuration.objects.create(
                case_study=study,
                slug=f"{hypervisor}-{guest_fs}-on-{host_fs}",
                hypervisor=entry[models.Hypervisor][hypervisor],
                guest_fs=entry[models.FileSystem][guest_fs],
                host_fs=entry[models.FileSystem][host_fs],
                virtualisation="full",
            )
            effect = level + 0.1 * FILE_SYSTEMS.index(guest_fs) + 0.05 * HYPERVISORS.index(hypervisor)
            for variant, vm_count in product(variants, VM_COUNTS):
                for repetition in range(1, per_cell // len(VM_COUNTS) + 1):
                    value = rng.lognormvariate(effect, 0.05)
                    rows.append((configuration.pk, variant.pk, vm_count, value, repetition))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO experiments_measurement (configuration_id, variant_id, vm_count, value, repetition, operation,"
            " metric, unit, source, note, quality) VALUES (%s, %s, %s, %s, %s, 'mixed', 'throughput', 'MiB/s', '', '',"
            " 'exact')",
            rows,
        )
    return studies


def cpu_ms(client, addresses: list[str], before=lambda: None) -> list[float]:
    """CPU milliseconds of each request, in order."""
    spent = []
    for address in addresses:
        before()
        start = time.process_time()
        response = client.get(address)
        spent.append((time.process_time() - start) * 1000)
        if response.status_code != 200:
            raise SystemExit(f"{address} answered {response.status_code}")
    return spent


def percentile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]


def measure(per_cell: int, requests: int) -> dict[str, dict[str, float]]:
    """One size: fill, publish, ask. Returns {what: {"p50": ms, "p95": ms}} and prints the rest."""
    from django.core.management import call_command
    from django.test import Client

    from experiments.models import Measurement
    from experiments.services import case_studies
    from modelling.models import Arm, RankingSnapshot

    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    start = time.perf_counter()
    studies = fill(per_cell)
    filled = time.perf_counter()
    case_studies.publish(studies, reason="benchmark")
    published = time.perf_counter()
    rows = Measurement.objects.count()
    print(
        f"{rows:>9,} measurements, {Arm.objects.count():,} arms: "
        f"filled in {filled - start:.1f} s, published in {published - filled:.1f} s",
        flush=True,
    )
    client = Client()
    questions = [f"workload={w}&hypervisor={h}" for w, h in product(WORKLOADS, HYPERVISORS)]
    questions += [f"workload={w}" for w in WORKLOADS]
    addresses = [
        (f"/api/v1/rankings/{axis}/?{query}", f"/?axis={axis}&{query}") for axis, query in product(AXES, questions)
    ]
    random.Random(1).shuffle(addresses)  # noqa: S311
    figures = {}
    for kind, name in enumerate(("JSON", "page")):
        asked = [pair[kind] for pair in addresses]
        cpu_ms(client, asked[:5])
        cold = cpu_ms(client, asked[:100], before=lambda: RankingSnapshot.objects.all().delete())
        cpu_ms(client, asked)
        warm = cpu_ms(client, (asked * (requests // len(asked) + 1))[:requests])
        for temperature, spent in (("warm", warm), ("cold", cold)):
            figures[f"{name} {temperature}"] = {"p50": statistics.median(spent), "p95": percentile(spent, 0.95)}
    return figures


def estimate_large_networks() -> None:
    """Wall seconds for 1,000 configurations (10 hypervisors x 10 guest FS x 10 host FS), 100,000 contrasts."""
    import numpy as np

    from modelling.components import additive, components_of
    from modelling.network import Trial, networks

    rng = np.random.default_rng(0)
    names = [f"h{n // 100} + g{n // 10 % 10} + d{n % 10}" for n in range(1000)]
    effects = rng.normal(0, 0.5, len(names))
    print("\nNetwork of 1,000 configurations and 100,000 contrasts")
    for arms, trials in ((2, 100_000), (5, 10_000), (46, 97)):  # arms (arms - 1) / 2 contrasts a trial
        chosen = [rng.choice(len(names), arms, replace=False) for _ in range(trials)]
        found = [
            Trial.from_arms(
                str(n), [names[i] for i in at], effects[at] + rng.normal(0, 0.07, arms), np.full(arms, 0.005)
            )
            for n, at in enumerate(chosen)
        ]
        start = time.perf_counter()
        (network,) = networks(found)
        network.random.p_scores()
        estimated = time.perf_counter()
        additive(found, {name: components_of(name) for name in names})
        ended = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{trials:>7,} trials of {arms:>2} arms: network {estimated - start:.2f} s, components "
            f"{ended - estimated:.2f} s, peak memory {peak:.0f} MiB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000], help="measurements a cell (N)")
    parser.add_argument("--requests", type=int, default=600, help="warm requests of each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kdb-bench-") as folder:
        os.environ["DATA_DIR"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "kdb.settings.test"
        import django

        django.setup()
        from django.conf import settings
        from django.db import connection

        print(f"{connection.vendor}, default spread {settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION:.0%}")
        estimate_large_networks()
        figures = {size: measure(size, options.requests) for size in options.sizes}
    smallest, largest = min(figures), max(figures)
    print(f"\nCPU ms a request       {'':>6}" + "".join(f"  N={size:<6}" for size in figures) + "  largest / smallest")
    for what, shares in figures[smallest].items():
        for share in shares:
            values = [figures[size][what][share] for size in figures]
            ratio = figures[largest][what][share] / figures[smallest][what][share]
            print(f"ranking {what:<14} {share:>6}" + "".join(f"  {value:>8.2f}" for value in values) + f"  {ratio:.2f}")


if __name__ == "__main__":
    main()
