"""The cost of everything as case studies are added: arms grow, not only repetitions. Called by script/bench --studies,
and by script/bench --copies for case studies as small and as varied as the published ones.

Each study is of a laboratory of its own: 100 configurations (5 hypervisors x 5 guest x 4 host file systems) under 10
workloads, 5 repetitions each; 5,000 measurements, 1,000 arms. One database grows from size to size. At each size one
study more is published by itself, and every question that was asked before is answered anew.
"""

import random
import resource
import statistics
import time
from collections.abc import Callable
from itertools import product
from typing import Any

FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "zfs", "f2fs")
HYPERVISORS = ("kvm", "xen", "esxi", "proxmox", "hyper-v")
WORKLOADS = tuple(f"load-{number}" for number in range(10))
REPETITIONS = 5
AXES = ("fs-pair", "guest-fs", "host-fs", "host-storage", "hypervisor", "configuration")
ASKED = [
    *(f"/api/v1/rankings/{axis}/?workload={load}" for axis, load in product(AXES, WORKLOADS[:2])),
    *(f"/api/v1/rankings/{axis}/?workload=load-2&hypervisor=kvm" for axis in AXES),
]
ALL_CELLS = [f"/api/v1/rankings/configuration/?workload={load}" for load in WORKLOADS]


def catalogue() -> dict[str, Any]:
    """Add the entries that studies are filed under: variants by workload, file systems and hypervisors by slug."""
    from experiments import models

    systems = {slug: models.FileSystem.objects.create(slug=slug, name=slug) for slug in FILE_SYSTEMS}
    hypervisors = {slug: models.Hypervisor.objects.create(slug=slug, name=slug, kind="type-1") for slug in HYPERVISORS}
    benchmark = models.Benchmark.objects.create(slug="filebench", name="filebench")
    variants = []
    for slug in WORKLOADS:
        workload = models.Workload.objects.create(slug=slug, name=slug)
        variants.append(models.WorkloadVariant.objects.for_parameters(workload, benchmark, "1.4.9.1", {"threads": 16}))
    return {"systems": systems, "hypervisors": hypervisors, "variants": variants}


def add_study(number: int, entries: dict[str, Any]) -> Any:
    """Make a draft whose values have known effects, a level of its own, and a spread between laboratories of 10 %."""
    from experiments import models
    from experiments.case_studies import measurement_rows

    rng = random.Random(number)  # noqa: S311
    server = models.Server.objects.create(slug=f"server-{number}")
    storage = models.Storage.objects.create(
        slug=f"disk-{number}", server=server, description="disk", kind=rng.choice(("hdd", "ssd", "nvme"))
    )
    study = models.CaseStudy.objects.create(
        slug=f"study-{number}", title=f"Study {number}", server=server, storage=storage, vm_counts=[1]
    )
    configurations = models.Configuration.objects.bulk_create(
        models.Configuration(
            case_study=study,
            slug=f"{hypervisor}-{guest}-on-{host}",
            hypervisor=entries["hypervisors"][hypervisor],
            guest_fs=entries["systems"][guest],
            host_fs=entries["systems"][host],
            virtualisation="full",
        )
        for hypervisor, guest, host in product(HYPERVISORS, FILE_SYSTEMS, FILE_SYSTEMS[:4])
    )
    level, rows = rng.uniform(3, 6), []
    here = {slug: rng.gauss(0, 0.1) for slug in (*FILE_SYSTEMS, *HYPERVISORS)}  # how this laboratory differs
    nothing = dict.fromkeys(measurement_rows.COLUMNS)
    texts = dict.fromkeys(("reference", "excluded_because", "excluded_by", "source", "note"), "")
    for configuration, variant in product(configurations, entries["variants"]):
        guest, hypervisor = configuration.guest_fs.slug, configuration.hypervisor.slug
        effect = level + 0.1 * FILE_SYSTEMS.index(guest) + 0.05 * HYPERVISORS.index(hypervisor)
        effect += here[guest] + here[hypervisor] + 0.03 * FILE_SYSTEMS.index(configuration.host_fs.slug)
        cell = nothing | texts | {"configuration_id": configuration.pk, "variant_id": variant.pk, "vm_count": 1}
        cell |= {"operation": "mixed", "metric": "throughput", "unit": "MiB/s", "quality": "exact"}
        for repetition in range(1, REPETITIONS + 1):
            cell |= {"value": rng.lognormvariate(effect, 0.05), "repetition": repetition}
            rows.append(measurement_rows.MeasurementRow(**cell))
    measurement_rows.write(rows)
    return study


def peak() -> float:
    """Return the MiB that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Costs:
    """CPU milliseconds and queries of requests, by what they are."""

    def __init__(self, client: Any) -> None:
        self.client, self.cpu, self.queries = client, {}, {}

    def of(self, what: str, addresses: list[str], times: int = 1, before: Callable[[], None] = lambda: None) -> None:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        spent, asked = [], 0
        for address in addresses * times:
            before()
            with CaptureQueriesContext(connection) as queries:
                begun = time.process_time()
                response = self.client.get(address)
                _ = b"".join(response.streaming_content) if response.streaming else response.content
                spent.append(1000 * (time.process_time() - begun))
            if response.status_code not in (200, 202):
                raise SystemExit(f"{address} answered {response.status_code}: {response.content[:300]!r}")
            asked = max(asked, len(queries))
        self.cpu[what], self.queries[what] = statistics.median(spent), asked


def measure(studies: int, entries: dict[str, Any], there: int, client: Any) -> Costs:
    """Grow from `there` to this many studies, publish one more and ask for everything."""
    from django.core.cache import caches
    from django.db import connection

    from experiments.case_studies import lifecycle
    from experiments.models import CaseStudy
    from kdb.models import Job
    from modelling.answer_store import snapshots
    from modelling.models import Arm, RankingSnapshot

    def forget() -> None:
        RankingSnapshot.objects.all().delete()
        for cache in caches.all():
            cache.clear()

    begun = time.perf_counter()
    forget()
    for first in range(there, studies - 1, 20):
        lifecycle.publish(
            [add_study(n, entries) for n in range(first, min(first + 20, studies - 1))], reason="benchmark"
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"\n{studies} case studies, filled in {time.perf_counter() - begun:.0f} s", flush=True)
    costs = Costs(client)
    for address in ASKED:
        snapshots.compute_and_store(question(address))
    last = add_study(studies - 1, entries)
    begun, wall = time.process_time(), time.perf_counter()
    lifecycle.publish([last], reason="benchmark")
    costs.cpu["publication: transaction"] = 1000 * (time.process_time() - begun)
    snapshots.answer_waiting_questions(lambda done, total: None)
    costs.cpu["publication: until all answers are new"] = 1000 * (time.process_time() - begun)
    print(f"{len(ASKED)} questions were answered anew after {time.perf_counter() - wall:.1f} s", flush=True)
    Job.objects.all().delete()
    for axis in AXES:
        of_axis = f"/api/v1/rankings/{axis}/?workload=load-0"
        forget()
        begun = time.process_time()
        snapshots.compute_and_store(question(of_axis))
        costs.cpu[f"cold answer: {axis}"] = 1000 * (time.process_time() - begun)
        page = f"/?axis={axis}&workload=load-0"
        costs.of(f"first page: {axis}", [page])
        costs.of(f"warm JSON: {axis}", [of_axis], 30)
        costs.of(f"warm page: {axis}", [page], 30)
    for address in ASKED:
        snapshots.compute_and_store(question(address))
    for load in WORKLOADS:
        snapshots.compute_and_store(question(f"/api/v1/rankings/configuration/?workload={load}"))
    costs.of("100 configurations x 10 workloads", ALL_CELLS, 20)
    slug = CaseStudy.objects.values_list("slug", flat=True).order_by("-pk")[studies // 2]
    pages = {
        "page: case studies": "/case-studies/",
        "page: case study": f"/case-studies/{slug}/",
        "page: search": "/search/?q=study",
        "page: compare": "/compare/?axis=guest-fs&workload=load-0&a=ext4&b=xfs",
        "page: mix": "/mix/?axis=guest-fs&load-0=50&load-1=50",
        "page: claims": "/claims/",
        "JSON: case studies": "/api/v1/case-studies/",
        "JSON: configurations": "/api/v1/configurations/",
        "JSON: configurations of a study": f"/api/v1/configurations/?case_study={slug}",
        "JSON: measurements": "/api/v1/measurements/",
        "JSON: measurements of a study": f"/api/v1/measurements/?case_study={slug}",
        "JSON: heat map": "/api/v1/heat-maps/?workload=load-0",
        "JSON: explanation": "/api/v1/explanations/?axis=guest-fs&workload=load-0&a=f2fs&b=ext4",
        "JSON: mix": "/api/v1/mixes/?axis=guest-fs&weights=load-0:50,load-1:50",
        "JSON: comparison": "/api/v1/comparisons/?axis=guest-fs&workload=load-0&entries=ext4,xfs",
        "JSON: search": "/api/v1/search/?q=study",
    }
    for what, address in pages.items():
        costs.of(what, [address])  # cold for what it keeps
        costs.of(what, [address], 5)
    print(f"{Arm.objects.count():,} arms; peak memory {peak():.0f} MiB", flush=True)
    return costs


def question(address: str) -> Any:
    """Return the question of an address of ASKED."""
    from django.http import QueryDict

    from modelling.evidence.question import Question

    path, _, query = address.partition("?")
    return Question(path.rstrip("/").rpartition("/")[2], **QueryDict(query).dict())


def measure_scale(sizes: list[int]) -> None:
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    entries, client = catalogue(), Client()
    sizes, costs, there = sorted(sizes), {}, 0
    for size in sizes:
        costs[size] = measure(size, entries, there, client)
        there = size
    width = max(map(len, costs[sizes[0]].cpu))
    print(f"\nCPU ms {'':<{width - 6}}" + "".join(f"{size:>9}" for size in sizes) + "   largest / smallest; queries")
    for what, smallest in costs[sizes[0]].cpu.items():
        milliseconds = [costs[size].cpu[what] for size in sizes]
        queries = [str(costs[size].queries[what]) for size in sizes if what in costs[size].queries]
        ratio = f"{milliseconds[-1] / smallest:>8.1f}" if smallest else ""
        print(f"{what:<{width}} " + "".join(f"{ms:>9.1f}" for ms in milliseconds) + f" {ratio}   {' '.join(queries)}")


NEW_QUESTIONS = [  # of each: the first with its choice and load, and one that differs from it in the disk only
    f"/api/v1/rankings/{axis}/?workload={load}"
    for axis, load in product(("hypervisor", "guest-fs", "host-storage", "cache-mode"), ("fileserver", "rand-write"))
]


def copy_published(numbers: range) -> list[Any]:
    """Copy each published case study once a number, as drafts of laboratories of their own. A copy's numbers differ by
    20 % in each configuration."""
    from django.db import connection

    from experiments import models
    from experiments.case_studies import measurement_rows
    from kdb.units import SPEEDS

    copies = []
    for original in models.CaseStudy.objects.filter(status="published", published_revision__number__lte=3):
        configurations = list(original.configurations.all())
        rows = list(
            models.Measurement.objects.filter(configuration__in=configurations, metric__in=SPEEDS).values_list(
                *measurement_rows.COLUMNS
            )
        )
        slugs = {configuration.pk: configuration.slug for configuration in configurations}
        for number in numbers:
            rng = random.Random(f"{original.slug} {number}")  # noqa: S311
            laboratory = f"{original.laboratory or original.publication_id or original.slug}-{number}"
            study = models.CaseStudy.objects.create(
                slug=f"{original.slug[:40]}-{number}",
                title=original.title,
                server=original.server,
                storage=original.storage,
                vm_counts=original.vm_counts,
                repetitions=original.repetitions,
                run_seconds=original.run_seconds,
                procedure=original.procedure,
                laboratory=laboratory[:40],
            )
            for configuration in configurations:
                configuration.pk, configuration.case_study = None, study
            models.Configuration.objects.bulk_create(configurations)
            new = {configuration.slug: configuration.pk for configuration in configurations}
            factors = {pk: rng.lognormvariate(0, 0.2) for pk in new.values()}
            place = {name: number for number, name in enumerate(measurement_rows.COLUMNS)}
            written = []
            for row in rows:
                values = list(row)
                pk = values[place["configuration_id"]] = new[slugs[row[place["configuration_id"]]]]
                for name in ("value", "alternative_value", "standard_deviation", "minimum", "maximum"):
                    if values[place[name]] is not None:
                        values[place[name]] *= factors[pk]
                written.append(measurement_rows.MeasurementRow(*values))
            measurement_rows.write(written)
            copies.append(study)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return copies


def measure_copies(sizes: list[int]) -> None:
    """Print what new questions and a publication cost among so many times the published case studies."""
    from django.core.cache import caches
    from django.core.management import call_command

    from experiments.case_studies import lifecycle
    from experiments.models import CaseStudy
    from modelling.answer_store import snapshots
    from modelling.answers.knowledge import published_knowledge
    from modelling.models import Arm, RankingSnapshot

    call_command("migrate", verbosity=0)
    call_command("load_evidence", verbosity=0)
    there = 1
    for size in sorted(sizes):
        if size > there:
            lifecycle.publish(copy_published(range(there, size)), reason="benchmark")
        there = size
        RankingSnapshot.objects.all().delete()
        for cache in caches.all():
            cache.clear()
        begun = time.process_time()
        cells = published_knowledge(with_native=False).cells
        loaded = 1000 * (time.process_time() - begun)
        spent: dict[str, list[float]] = {"first": [], "next": []}
        for address in NEW_QUESTIONS:
            for name, asked in (("first", address), ("next", f"{address}&storage=ssd")):
                begun = time.process_time()
                snapshots.compute_current(question(asked))
                spent[name].append(1000 * (time.process_time() - begun))
        studies = CaseStudy.objects.filter(status="published").count()
        print(f"{studies} case studies, {Arm.objects.count():,} arms, {len(cells):,} cells", flush=True)
        print(f"    evidence loaded in {loaded:.0f} ms; peak memory {peak():.0f} MiB")
        for name, ms in spent.items():
            print(
                f"    {name} question {min(ms):.0f} to {max(ms):.0f} ms, median {statistics.median(ms):.0f}", flush=True
            )
