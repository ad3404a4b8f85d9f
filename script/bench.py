"""Fill a scratch database with synthetic case studies and measure what an answer costs.

100 configurations (10 case studies of 10) x 10 workloads x N measurements, for N = 10, 100, 1000.
Reported at each size: CPU of this process for one request (request in, response out, through the
middleware and the database driver), warm and cold, as p50 and p95; wall time to fill and to
publish. Ratios between sizes come from one run, side by side; compare those, not milliseconds.

First the networks: one of 1,000 configurations with 100,000 contrasts, estimated with random
effects, P-scores and components, with its wall time and the peak memory of the process. Then rankings of 100 entries
from 1, 10 and 100 case studies, CPU beside that of the smallest, with one thread for matrices and with one a core.

Before both, in a process of its own: 100,000 measurements through the API in one request, beside a bare
COPY (on SQLite a bare INSERT) of the same rows into the same table, and the peak memory of that process.

With --campaigns, as root, instead: what campaigns cost beside the benchmark, on a host of its own with sshd, for
runs of 60 s. Overhead is the wall time of a run without the benchmark (its own set-up included), mkfs and boot.

With --bias, as root: the same benchmark by hand and through KDB on the same device, ten pairs in random order, and the
overhead of a run of 60 s. With fio; with Filebench where --filebench names what manage.py build_filebench made.

With --watching, as root: what so many observed hosts and as many runners cost the server, by script/bench_watching.py.

With --observation, as root: what it costs a host with libvirt that the disks of its machines are watched.

    script/bench [--sizes 10 100 1000] [--requests 300]
With --studies, instead: everything as case studies are added, by script/bench_scale.py. With --copies, new questions
among so many times the published case studies.

With --served, instead: what requests cost through gunicorn, by script/bench_served.py, beside the last record.

    script/bench --rankings
    script/bench --studies 1 10 100
    script/bench --copies 1 2 4 16
    script/bench --imports
    script/bench --campaigns
    script/bench --bias [--filebench FOLDER] [--seconds 60]
    script/bench --observation
    script/bench --watching 200 [--seconds 300]
    script/bench --served [sqlite] [postgresql] [--turns 5] [--record]
"""

import argparse
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

CASE_STUDIES, CONFIGURATIONS, VM_COUNTS = 10, 10, (1, 2)
FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "zfs", "f2fs")
HYPERVISORS = ("kvm", "xen", "esxi", "proxmox", "hyper-v")
WORKLOADS = tuple(f"load-{number}" for number in range(10))
AXES = ("fs-pair", "guest-fs", "host-fs", "host-storage", "hypervisor", "configuration")


def fill(per_cell: int) -> list:
    """Make draft case studies whose values have known effects; returns them."""
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
        about = {"title": f"Study {number}", "vm_counts": VM_COUNTS, "procedure": "Made up."}
        study = models.CaseStudy.objects.create(slug=f"study-{number}", server=server, storage=storage, **about)
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
    """Return CPU milliseconds of each request, in order."""
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
    """Fill, publish and ask at one size. Returns {what: {"p50": ms, "p95": ms}} and prints the rest."""
    from django.core.cache import caches
    from django.core.management import call_command
    from django.test import Client

    from experiments.case_studies import lifecycle
    from experiments.models import Measurement
    from modelling.models import Arm, RankingSnapshot

    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    start = time.perf_counter()
    studies = fill(per_cell)
    filled = time.perf_counter()
    lifecycle.publish(studies, reason="benchmark")
    published = time.perf_counter()
    rows = Measurement.objects.count()
    print(
        f"{rows:>9,} measurements, {Arm.objects.count():,} arms: "
        f"filled in {filled - start:.1f} s, published in {published - filled:.1f} s",
        flush=True,
    )
    client = Client()

    def forget() -> None:
        RankingSnapshot.objects.all().delete()
        caches["worked-out"].clear()

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
        cold = cpu_ms(client, asked[:100], before=forget)
        cpu_ms(client, asked)
        warm = cpu_ms(client, (asked * (requests // len(asked) + 1))[:requests])
        for temperature, spent in (("warm", warm), ("cold", cold)):
            figures[f"{name} {temperature}"] = {"p50": statistics.median(spent), "p95": percentile(spent, 0.95)}
    return figures


def estimate_large_networks() -> None:
    """Print wall seconds for 1,000 configurations (10 hypervisors x 10 guest FS x 10 host FS), 100,000 contrasts."""
    import numpy as np

    from modelling.estimation.components import additive
    from modelling.estimation.network import Trial, networks

    rng = np.random.default_rng(0)
    names = [f"h{n // 100} + g{n // 10 % 10} + d{n % 10}" for n in range(1000)]
    effects = rng.normal(0, 0.5, len(names))
    print("\nNetwork of 1,000 configurations and 100,000 contrasts")
    for arms, trials in ((2, 100_000), (5, 10_000), (46, 97)):  # arms (arms - 1) / 2 contrasts a trial
        chosen = [rng.choice(len(names), arms, replace=False) for _ in range(trials)]
        simulated_trials = [
            Trial.from_arms(
                str(n), [names[i] for i in at], effects[at] + rng.normal(0, 0.07, arms), np.full(arms, 0.005)
            )
            for n, at in enumerate(chosen)
        ]
        start = time.perf_counter()
        networks(simulated_trials)
        estimated = time.perf_counter()
        additive(simulated_trials, {name: tuple(name.split(" + ")) for name in names})
        ended = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{trials:>7,} trials of {arms:>2} arms: network {estimated - start:.2f} s, components "
            f"{ended - estimated:.2f} s, peak memory {peak:.0f} MiB",
            flush=True,
        )


def rank_many_entries() -> None:
    """Print CPU of a ranking of 100 entries by the number of case studies, each of which measured all of them."""
    import numpy as np

    from modelling.answers.estimate import assumptions
    from modelling.estimation.ranking import rank
    from modelling.evidence.axes import AXES
    from tests.modelling.frames import arm, arms, findings

    spent = {}
    for studies in (1, 10, 100):
        rng = np.random.default_rng(0)
        values = np.exp(3 + np.arange(100) / 100 + rng.normal(0, 0.1, (studies, 100)))
        frame = arms(
            *(
                arm(value, case_study=f"s{s}", guest_fs=f"g{n // 10}", host_fs=f"h{n % 10}")
                for (s, n), value in np.ndenumerate(values)
            )
        )
        turns = []
        for _ in range(6):  # the first loads what is loaded when asked for
            start = time.process_time()
            rank(frame, findings(), AXES["fs-pair"], assumptions())
            turns.append(time.process_time() - start)
        spent[studies] = 1000 * min(turns)
    costs = ", ".join(f"{n} case studies {ms:.0f} ms ({ms / spent[1]:.1f})" for n, ms in spent.items())
    print(f"ranking of 100 entries, {os.environ['OPENBLAS_NUM_THREADS']} threads for matrices: {costs}", flush=True)


IMPORTED = 100_000


def bulk_body() -> bytes:
    """Return a CSV of 144 cells with hundreds of repetitions each."""
    rng = random.Random(1)  # noqa: S311
    lines = ["hypervisor,host_fs,guest_fs,workload,benchmark,benchmark_version,vm_count,value,unit,source"]
    pairs = list(product(FILE_SYSTEMS[:3], FILE_SYSTEMS[:3]))
    for number in range(IMPORTED):
        host, guest = pairs[number % 9]
        load, machines = WORKLOADS[number // 9 % 4], 1 + number // 36 % 4
        lines.append(f"kvm,{host},{guest},{load},filebench,1.4.9.1,{machines},{rng.uniform(1, 100):.3f},MiB/s,Table 1")
    return "\n".join([*lines, ""]).encode()


def measure_imports() -> None:
    """Print rows a second of a bulk import and of the bare write of the same rows."""
    from django.contrib.auth import get_user_model
    from django.db import connection, transaction
    from django.test import Client

    from experiments import models
    from experiments.case_studies import measurement_rows
    from kdb.jobs import jobs

    jobs.preload()  # as processes of the worker do: the collector looks at nothing that they loaded
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    for model, slugs in (
        (models.FileSystem, FILE_SYSTEMS),
        (models.Hypervisor, HYPERVISORS),
        (models.Workload, WORKLOADS),
        (models.Benchmark, ["filebench"]),
    ):
        for slug in slugs:
            model.objects.create(slug=slug, name=slug)
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("bench"))
    body = bulk_body()
    shares, peak = [], 0.0
    for turn in range(3):
        draft = {"slug": f"bench-{turn}", "title": "bench", "storage": {"description": "disk"}}
        client.post("/api/v1/drafts/", draft, content_type="application/json")
        begin = time.perf_counter()
        response = client.post(f"/api/v1/drafts/bench-{turn}/measurements/", body, content_type="text/csv")
        seconds = time.perf_counter() - begin
        if response.status_code != 201:
            sys.exit(f"the import failed: {response.content[:500]}")
        # Before the rows are read back for the bare write.
        peak = peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows = models.Measurement.objects.filter(configuration__case_study__slug=f"bench-{turn}")
        written = list(rows.values_list(*measurement_rows.COLUMNS))
        rows.delete()
        begin = time.perf_counter()
        with transaction.atomic():
            measurement_rows.write(written)
        bare = time.perf_counter() - begin
        shares.append(bare / seconds)
        print(
            f"import of {IMPORTED:,} rows: {IMPORTED / seconds:,.0f} rows/s through the API, "
            f"{IMPORTED / bare:,.0f} rows/s bare; {bare / seconds:.2f} of it"
        )
    print(f"median share {statistics.median(shares):.2f}; peak memory of an import {peak:.0f} MiB")
    connection.creation.destroy_test_db(connection.settings_dict["NAME"], verbosity=0)


@contextmanager
def campaign_host():
    """Give a laboratory of its own with a registered host, and a database for it."""
    from django.conf import settings
    from django.db import connection

    from experiments import models
    from tests import factories
    from tests.experiments.laboratory.lab import laboratory, missing

    if why := missing():
        sys.exit(f"no campaigns here: {why}")
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    factories.entry(models.FileSystem, "ext4")
    with laboratory() as lab:
        settings.KDB_KEYS_DIR = lab.folder / "keys"
        about = {"address": "127.0.0.1", "port": lab.port, "login": "root", "key_name": "lab"}
        yield lab, factories.make_host(pools=(str(lab.pool),), **about, host_key=lab.host_key)
    connection.creation.destroy_test_db(connection.settings_dict["NAME"], verbosity=0)


def do_next_run(campaign):
    """Do the active run here as a worker would, and return it."""
    from kdb.jobs import jobs

    run = campaign.runs.get(state="active")
    jobs.run(run.job_id)
    run.refresh_from_db()
    if run.state != "done":
        sys.exit(f"a run failed: {run.reason}")
    return run


def measure_campaigns(seconds: int = 60, repetitions: int = 3) -> None:
    """Print the share of a run's wall time spent neither on the benchmark and its files nor on mkfs."""
    from experiments.campaigns import control
    from tests import factories

    with campaign_host() as (_, host):
        plan = {"repetitions": repetitions, "run_seconds": seconds, "disk_mib": 1024, "scale_percent": 10}
        campaign = control.create(factories.make_campaign(host, **plan), user=None)
        control.start(campaign)
        for _ in range(repetitions):
            print_overhead(do_next_run(campaign), seconds)


def print_overhead(run, seconds: int) -> None:
    from experiments.laboratory.targets import steps

    wall = (run.finished_at - run.started_at).total_seconds()
    lines = list(run.lines.values_list("text", "at"))
    took = {text: (after - at).total_seconds() for (text, at), (_, after) in pairwise(lines)}
    made = sum(
        step_seconds for text, step_seconds in took.items() if text.startswith(("make an image", "make the files"))
    )
    reference = took.get(steps.CALIBRATE, 0.0)
    overhead = wall - run.facts["benchmark_seconds"] - made - reference
    print(
        f"run of {seconds} s: {wall:.1f} s in all, benchmark {run.facts['benchmark_seconds']:.1f} s, "
        f"making file system and files {made:.1f} s, "
        f"reference load {reference:.1f} s, overhead {overhead:.1f} s or {overhead / wall:.1%}"
    )
    print("  " + ", ".join(f"{text}: {step_seconds:.1f} s" for text, step_seconds in took.items()), flush=True)


# The same as a run of KDB, by hand: the same file system, files and load, and nothing that asks, counts or waits.
_BY_HAND = """
set -eu
mkdir "$1"
fallocate --length "$2MiB" "$1/image"
device=$(losetup --find --show --direct-io=on "$1/image" 2>/dev/null) || device=$(losetup --find --show "$1/image")
mkfs.ext4 -q -F "$device" >/dev/null
mkdir "$1/fs"
mount -t ext4 "$device" "$1/fs"
for name in $4; do cp "$3/$name" "$1/$name"; done
cd "$1/fs"
area=$1
shift 4
"$@" >"$area/out" 2>"$area/err" || true
cd /
umount "$area/fs"
losetup --detach "$device"
rm "$area/image"
cat "$area/out" "$area/err"
"""
SETTLE_SECONDS = 3  # before each run
_DROP_CACHES = "sync\necho 3 >/proc/sys/vm/drop_caches\nsleep 1\n"


def measure_bias(tree: str, seconds: int, pairs: int = 10, workload: str = "varmail") -> None:
    """Compare the same benchmark by hand and through KDB on one device, natively, in pairs of random order."""

    from scipy.stats import t as student

    from experiments import readers
    from experiments.campaigns import control, hosts
    from experiments.campaigns.runs.figures import throughput
    from experiments.laboratory.benchmarks import engines
    from experiments.laboratory.images import filebench_tree
    from tests import factories

    disk, percent = 1024, 10
    engine = "filebench" if tree else "fio"
    print(f"{engine}, {workload}, {seconds} s, ext4 on a loop device, {pairs} pairs in random order", flush=True)
    with campaign_host() as (lab, host):
        if tree:
            hosts.install_filebench(host, filebench_tree.read(Path(tree)))
        version = filebench_tree.read(Path(tree)).version if tree else "3"
        program = f"{lab.pool}/.kdb-filebench/bin/filebench" if tree else ""
        host.facts |= {engine: version, f"{engine}_program": program}
        host.save()
        area = f"{lab.pool}/by-hand"
        load = engines.load(engine, version, workload, area, f"{area}/fs", seconds, percent, program=program)
        texts = lab.folder / "texts"
        texts.mkdir()
        for name, text in {**load.files, "barrier": _DROP_CACHES}.items():
            (texts / name).write_text(text)

        def by_hand() -> float:
            # In a session of its own, as the one that KDB starts: the kernel shares processors between sessions.
            words = [
                "setsid",
                "--wait",
                "sh",
                "-c",
                _BY_HAND,
                "by-hand",
                area,
                str(disk),
                str(texts),
                " ".join(load.files),
            ]
            reading = readers.read(lab.inside(*words, *load.command).encode())
            lab.inside("rm", "-rf", area)
            if len(reading.runs) != 1 or reading.runs[0].throughput_mib_s is None:
                sys.exit(f"by hand: {reading.refused}")
            return reading.runs[0].throughput_mib_s

        plan = {"repetitions": pairs, "run_seconds": seconds, "disk_mib": disk, "scale_percent": percent}
        campaign = factories.make_campaign(host, engine=engine, workloads=[workload], **plan)
        control.start(control.create(campaign, user=None))
        ratios = []
        for number in range(1, pairs + 1):
            throughputs = {}
            for way in random.sample(("by hand", "by KDB"), 2):
                os.sync()  # what the run before has removed is no load of this one
                time.sleep(SETTLE_SECONDS)
                throughputs[way] = by_hand() if way == "by hand" else throughput(do_next_run(campaign))
            ratios.append(math.log(throughputs["by KDB"] / throughputs["by hand"]))
            figures = ", ".join(f"{way} {value:.1f} MiB/s" for way, value in throughputs.items())
            print(f"pair {number}: {figures}; ratio {math.exp(ratios[-1]):.3f}", flush=True)
        mean, half = statistics.mean(ratios), student.ppf(0.975, pairs - 1) * statistics.stdev(ratios) / pairs**0.5
        low, high = math.exp(mean - half), math.exp(mean + half)
        print(f"KDB / by hand: {math.exp(mean):.3f}, 95 % interval {low:.3f} to {high:.3f}", flush=True)
    measure_campaigns(60, 1)


# A machine that is paused before its first instruction: QEMU answers libvirt all the same, and costs nothing else.
PAUSED_MACHINE = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{image}'/>
<target dev='vda' bus='virtio'/></disk><memballoon model='none'/></devices></domain>"""


def measure_observation(guests: int = 40, machines: int = 100, repetitions: int = 20) -> None:
    """Measure what observing costs its host: CPU time of all its processes, with machines that do nothing else."""
    from django.conf import settings
    from django.db import connection
    from django.utils.timezone import now

    from experiments.campaigns import hosts
    from experiments.fleet import watching
    from experiments.fleet.driver.libvirt.listing import LibvirtListing
    from experiments.laboratory.targets.libvirt import virsh
    from experiments.models import Host
    from tests import factories
    from tests.experiments.laboratory.lab import PROGRAMS, QEMU_PROGRAMS, laboratory, missing

    if why := missing((*PROGRAMS, *QEMU_PROGRAMS)):
        sys.exit(f"no virtual machines here: {why}")
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    with laboratory(with_libvirt=True) as lab:
        settings.KDB_KEYS_DIR = lab.folder / "keys"
        about = {"address": "127.0.0.1", "port": lab.port, "login": "root", "key_name": "lab", "host_key": lab.host_key}
        host = factories.make_host(pools=(str(lab.pool),), **about)

        def used() -> float:
            """Return CPU seconds of every process of the host, those that ended included."""
            lines = lab.inside("sh", "-c", "cat /proc/[0-9]*/stat").splitlines()
            ticks = sum(int(field) for line in lines for field in line.rpartition(")")[2].split()[11:15])
            return ticks / os.sysconf("SC_CLK_TCK")

        with hosts.connect(host) as machine:
            for number in range(guests):
                image = lab.pool / f"{number}.raw"
                image.touch()
                os.truncate(image, 2**24)
                virsh(
                    machine,
                    "create",
                    "--paused",
                    "/dev/stdin",
                    given=PAUSED_MACHINE.format(name=f"paused-{number}", image=image),
                )
            every = watching.interval(Host._meta.get_field("observed_every").default, machines)
            costs = {}
            for what, ask in (
                ("a command", lambda machine: machine.run(["true"])),
                ("a look", lambda machine: LibvirtListing(machine).read_counters()),
                ("a list", lambda machine: LibvirtListing(machine).list_all()),
            ):
                ask(machine)
                before = used()
                for _ in range(repetitions):
                    ask(machine)
                costs[what] = (used() - before) / repetitions
                print(f"{what}: {1000 * costs[what]:.0f} ms of CPU with {guests} machines")
            # The login's shell does something before each command; that cost is its own, and taken off.
            look = (costs["a look"] - costs["a command"]) * machines / guests
            once = (costs["a list"] - 8 * costs["a command"]) * machines / guests
            whole = look / every + once / watching.LIST_EVERY.total_seconds()
            print(
                f"{machines} machines, a look every {every:g} s: {look / every:.2%} of a core, {whole:.2%} with lists"
            )
            began = time.process_time()
            driver = LibvirtListing(machine)
            watching.save_listing(host, driver.list_all())
            watching.save_looks(host, [(now(), driver.read_counters()) for _ in range(7)])
            print(f"the worker: {1000 * (time.process_time() - began):.0f} ms of CPU a minute for {guests} machines")
    connection.creation.destroy_test_db(connection.settings_dict["NAME"], verbosity=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000], help="measurements a cell (N)")
    parser.add_argument("--requests", type=int, default=600, help="warm requests of each kind")
    parser.add_argument("--studies", type=int, nargs="+", help="case studies, to grow to from size to size")
    parser.add_argument("--copies", nargs="+", type=int, help="of the published case studies, to grow to")
    parser.add_argument("--rankings", action="store_true", help="rankings of many entries only")
    parser.add_argument("--imports", action="store_true", help="imports only")
    parser.add_argument("--campaigns", action="store_true", help="campaigns only")
    parser.add_argument("--bias", action="store_true", help="campaigns beside the same by hand")
    parser.add_argument("--filebench", default="", help="for --bias: a folder of manage.py build_filebench")
    parser.add_argument("--seconds", type=int, default=60, help="of each run of --bias, or count of --watching")
    parser.add_argument("--observation", action="store_true", help="what watching virtual machines costs only")
    served = {"nargs": "*", "metavar": "DATABASE", "choices": ("sqlite", "postgresql")}
    parser.add_argument("--served", **served, help="requests through gunicorn, on sqlite and postgresql unless told")
    parser.add_argument("--watching", type=int, metavar="HOSTS", help="what so many observed hosts and runners cost")
    parser.add_argument("--processes", type=int, nargs="+", help="for --served: answers a second of so many, each")
    parser.add_argument("--turns", type=int, default=5, help="for --served: that share the requests")
    parser.add_argument("--record", action="store_true", help="for --served: compare with these figures from now on")
    options = parser.parse_args()
    if options.watching:
        import bench_watching

        bench_watching.measure_watching(options.watching, options.seconds)
        return
    if options.served is not None:
        import bench_served

        if options.processes:
            bench_served.measure_processes(options.served, options.processes)
            return
        requests = options.requests // options.turns
        bench_served.measure_served(options.served, options.turns, requests, options.record)
        return
    alone = ("imports", "campaigns", "bias", "rankings", "observation", "studies", "copies")
    if not any(getattr(options, name) for name in alone):  # processes of their own: memory, threads
        subprocess.run([sys.executable, __file__, "--imports"], check=True)
        for threads in {1, os.cpu_count() or 1}:
            of_matrices = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads)}
            subprocess.run([sys.executable, __file__, "--rankings"], check=True, env=of_matrices)
    with tempfile.TemporaryDirectory(prefix="kdb-bench-") as folder:
        os.environ["DATA_DIR"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = f"kdb.settings.{'local' if options.copies else 'test'}"
        import django

        django.setup()
        from django.conf import settings
        from django.db import connection

        if options.studies or options.copies:
            import bench_scale

            if options.copies:
                bench_scale.measure_copies(options.copies)
            else:
                bench_scale.measure_scale(options.studies)
            return
        parts = {
            **{"imports": measure_imports, "campaigns": measure_campaigns, "rankings": rank_many_entries},
            "observation": measure_observation,
            "bias": lambda: measure_bias(options.filebench, options.seconds),
        }
        for name, what in parts.items():
            if getattr(options, name):
                what()
                return
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
