"""The content of the pages of hosts, campaigns and runs, in a constant number of queries."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from experiments import permissions
from experiments.laboratory.benchmarks import calibration
from experiments.laboratory.targets import disks, drivers
from experiments.laboratory.targets.drivers import machine_name
from experiments.laboratory.transport import health
from experiments.models import Campaign, CampaignRun, Host, RunArtifact, RunLine, StoragePool
from experiments.permissions import User
from experiments.runner import queue
from kdb.disk_path import SETTINGS
from kdb.models import Job

from . import checks, hosts, plans, statements
from . import control as campaigns
from .flagged import flagged_cells
from .forms import OperatorsForm
from .runs.content import BackgroundLoad
from .runs.figures import throughput
from .troubleshooting import Diagnosis, diagnose

RunState = CampaignRun.State
_ACCELERATORS = {
    "kvm": "hardware virtualisation, as seen by starting one",
    "qemu": "software emulation, as seen by starting one",
    "xen": "Xen, as seen by starting one",
}
LOG_LINES = 8  # of the run under way, on the campaign's page


@dataclass(frozen=True)
class HostPage:
    """A host's page. fingerprints : of the accepted and of the offered key; empty where there is none"""

    accepted: str
    offered: str
    facts: list[tuple[str, str]]
    missing: list[dict[str, str]]
    pools: list[dict[str, Any]]
    machines: list[Host]
    campaigns: list[Campaign]
    left_overs: list[str]
    is_asking: bool
    is_heard: bool  # its runner, of late
    failure: str
    diagnosis: Diagnosis | None
    scripts: list[str]  # for hypervisors that no worker asks
    untried: list[str]  # of its drivers: on no real host
    group: OperatorsForm  # beside its owner


def host_rows(user: User) -> dict[str, list[Host]]:
    """Return the user's hosts in use, and archived ones."""
    rows = list(permissions.hosts_visible_to(user).select_related("runs_on", "hypervisor").order_by("slug"))
    return {
        "hosts": [row for row in rows if row.archived_at is None],
        "archived": [row for row in rows if row.archived_at],
    }


def host_page(host: Host) -> HostPage:
    open_states = (Job.State.QUEUED, Job.State.RUNNING)
    pools = [_pool(host, pool) for pool in host.pools.select_related("host_fs")]
    failure = host.job.error if host.job and host.job.state == Job.State.FAILED else ""
    return HostPage(
        accepted=hosts.fingerprint(host.host_key) if host.host_key else "",
        offered=hosts.fingerprint(host.offered_key) if host.offered_key else "",
        facts=_facts(host),
        missing=host.facts.get("missing", []),
        pools=pools,
        machines=list(host.machines.order_by("slug")),
        campaigns=list(host.campaigns.order_by("-pk")[:20]),
        left_overs=host.left_overs.splitlines(),
        is_asking=bool(host.job and host.job.state in open_states),
        is_heard=queue.is_heard(host),
        failure=failure,
        diagnosis=diagnose(failure, host) if failure else None,
        scripts=list(statements.SCRIPTS) if Host.Driver.ATTACHED in host.drivers else [],
        untried=[driver for driver in host.drivers if checks.is_untried(driver)],
        group=OperatorsForm(initial={"operators": " ".join(sorted(map(str, host.operators.all())))}),
    )


def _facts(host: Host) -> list[tuple[str, str]]:
    """Return what the last check found, in words; nothing where there was none."""
    if host.checked_at is None:
        return []
    facts = host.facts
    checked = ("Checked", f"{host.checked_at:%Y-%m-%d %H:%M} UTC")
    if host.is_by_api:
        return [checked, ("Proxmox VE", facts.get("pve", ""))]
    lines = [
        checked,
        ("Machine", facts.get("model", "")),
        ("Processor", f"{facts.get('cpu', '')}, {facts.get('cores', '?')} cores".removeprefix(", ")),
        ("Memory", f"{facts['ram_mib']:,} MiB" if "ram_mib" in facts else ""),
        ("System", f"{facts.get('distribution', '')}, kernel {facts.get('kernel', '')}"),
        ("Load", facts.get("load", "")),
        ("fio", facts.get("fio") or "not installed"),
        ("Filebench", facts.get("filebench") or "not installed"),
        ("Proxmox VE", facts.get("pve", "")),
        ("Xen", facts.get("xen", "")),
        ("libvirt", f"{facts['libvirt']}, {facts.get('running', '')}" if facts.get("libvirt") else ""),
        ("Guests run by", _ACCELERATORS.get(facts.get("accelerator", ""), "")),
    ]
    if (image := facts.get("guest_image")) and "kernel" in image:
        lines.append(("Guest image", f"{image['distribution']}, kernel {image['kernel']}"))
    return [(label, text) for label, text in [*lines, *health.in_words(facts.get("health", {}))] if text]


def _pool(host: Host, pool: StoragePool) -> dict[str, Any]:
    about = host.facts.get("pools", {}).get(pool.path, {})
    limits = host.facts.get("limits", {}).get(pool.path, {})
    return {
        "pool": pool,
        "file_system": "not there" if about.get("is_missing") else about.get("file_system", "not checked"),
        "mount_options": about.get("mount_options", ""),
        "free_mib": about.get("free_mib", ""),
        "disk": about.get("disk", ""),
        "read": limits.get("read", "not measured"),
        "write": limits.get("write", "not measured"),
    }


def campaign_rows(user: User) -> list[Campaign]:
    """Return the user's campaigns, newest first, with the numbers of their runs."""
    return list(
        permissions.campaigns_visible_to(user)
        .select_related("host", "owner")
        .annotate(
            all_runs=Count("runs"),
            done_runs=Count("runs", filter=Q(runs__state=RunState.DONE)),
            failed_runs=Count("runs", filter=Q(runs__state=RunState.FAILED)),
        )
    )


@dataclass(frozen=True)
class Row:
    """One configuration of a campaign: its cells in the order of the columns, each with its runs."""

    host_fs: str
    guest_fs: str
    disk: str
    cells: list[dict[str, Any]]

    @property
    def label(self) -> str:
        return CampaignRun(host_fs=self.host_fs, guest_fs=self.guest_fs, disk=self.disk).configuration


@dataclass(frozen=True)
class CampaignPage:
    """A campaign's page. columns : (workload, number of machines); counts : state's label to number of runs"""

    columns: list[tuple[str, int]]
    rows: list[Row]
    counts: list[tuple[str, str, int]]
    planned: int
    ended: int
    seconds_left: int
    estimate: checks.Estimate
    active: CampaignRun | None
    log: list[RunLine]
    is_live: bool
    waits_for: str  # what the next run waits for
    diagnosis: Diagnosis | None  # where it paused by itself
    can: dict[str, bool]
    failures: list[CampaignRun]
    is_untried: bool  # its driver, on a real host
    disk: list[tuple[str, str]]  # the options of the virtual disks that the campaign makes, in words
    calibrations: list[dict[str, Any]]  # before which part, and its figures in the order of `calibrated`
    calibrated: list[str]  # names of the columns
    deviations: list[str]  # from the plan
    flagged: dict[str, str]  # cells that look like no disk's, each with the reason
    copy_query: str  # of the address that plans another one like it


def campaign_page(campaign: Campaign) -> CampaignPage:
    order = ("host_fs", "guest_fs", "disk", "workload", "vm_count", "repetition", "position")
    runs = list(campaign.runs.defer("curves").select_related("job", "repeated_by").order_by(*order))
    columns = sorted({(run.workload, run.vm_count) for run in runs})
    by_row: dict[tuple[str, str, str], dict[tuple[str, int], list[CampaignRun]]] = {}
    for run in runs:
        row = by_row.setdefault((run.host_fs, run.guest_fs, run.disk), {})
        row.setdefault((run.workload, run.vm_count), []).append(run)
    counted = {state: sum(run.state == state for run in runs) for state in RunState.values}
    active = next((run for run in runs if run.state == RunState.ACTIVE), None)
    log = list(reversed(RunLine.objects.filter(run=active).order_by("-pk")[:LOG_LINES])) if active else []
    waiting = counted[RunState.WAITING] + counted[RunState.ACTIVE]
    estimate = checks.estimate(campaign)
    state, is_filed = campaign.state, campaign.case_study_id is not None
    in_use = campaign.archived_at is None
    return CampaignPage(
        columns=columns,
        rows=[Row(*key, [_cell(cells.get(column, [])) for column in columns]) for key, cells in by_row.items()],
        counts=[(value, label, counted[value]) for value, label in RunState.choices if counted[value]],
        planned=len(runs),
        ended=len(runs) - waiting,
        seconds_left=_seconds_left(estimate, runs, waiting),
        estimate=estimate,
        active=active,
        log=log,
        is_live=state == Campaign.State.RUNNING or active is not None,
        waits_for=campaigns.why_no_run(campaign.host) if state == Campaign.State.RUNNING and not active else "",
        diagnosis=diagnose(campaign.state_reason, campaign.host) if campaign.state_reason else None,
        can={
            "start": in_use and state in ("planned", "paused") and not is_filed,
            "pause": in_use and state == "running",
            "cancel": in_use and state in ("planned", "running", "paused"),
            "top_up": in_use and state != "cancelled" and not is_filed,
            "draft": state != "running" and not is_filed and counted[RunState.DONE] > 0,
            "remove": in_use and state != "running" and active is None,
        },
        failures=[run for run in runs if run.state == RunState.FAILED][:20],
        disk=_disk(campaign),
        is_untried=checks.is_untried(campaign.driver),
        calibrations=[
            {**calibrated, "figures": [calibrated.get(name) for name in calibration.FIGURES]}
            for calibrated in campaign.calibrations or []
        ],
        calibrated=[f"{words}, {unit}" for words, unit in calibration.FIGURES.values()],
        deviations=plans.deviations(campaign, runs)[:40],
        flagged=flagged_cells(campaign, runs),
        copy_query=plans.copy_query(campaign),
    )


def _disk(campaign: Campaign) -> list[tuple[str, str]]:
    """Return the options of what the campaign makes, in words: of virtual disks, or natively of its file systems."""
    makes_disks = campaign.driver in drivers.HYPERVISORS
    return [
        (SETTINGS[name].label, ", ".join(SETTINGS[name].value_label(value) for value in chosen))
        for name, chosen in campaign.disk.items()
        if (makes_disks if name not in disks.OF_FILE_SYSTEM else chosen != [disks.USUAL[name]])
    ]


def _cell(runs: list[CampaignRun]) -> dict[str, Any]:
    values = [value for run in runs if run.counts and (value := throughput(run)) is not None]
    return {"runs": runs, "mean": sum(values) / len(values) if values else None, "values": len(values)}


def _seconds_left(estimate: checks.Estimate, runs: list[CampaignRun], waiting: int) -> int:
    """Return the seconds left by what the runs before took; as estimated, where there are none."""
    took = [
        (run.finished_at - run.started_at).total_seconds()
        for run in runs
        if run.state == RunState.DONE and run.finished_at and run.started_at
    ]
    if took:
        return round(sum(took) / len(took) * waiting)
    return round(estimate.seconds * waiting / max(len(runs), 1))


def _background(used: BackgroundLoad) -> str:
    steal = f", {used['steal']:.2f} stolen" if used["steal"] else ""
    moved = "reads and writes not known"
    if used["read_mib_s"] is not None:
        moved = f"{used['read_mib_s']:.1f} MiB/s read and {used['write_mib_s']:.1f} MiB/s written"
    return f"{used['cpu']:.2f} CPU-seconds a second{steal}, {moved} during the run"


@dataclass(frozen=True)
class CurvePage:
    """Throughput over the time of a run.

    machines : names of the columns; rows : the end of an interval, and MiB/s of each machine
    """

    words: list[str]
    chart: dict[str, Any]
    machines: list[str]
    rows: list[tuple[float, list[float | None]]]


def _curve_page(run: CampaignRun) -> CurvePage | None:
    """Return the curves of a run as its page shows them; None where the run kept no intervals."""
    if not run.curves:
        return None
    words, series, machines = [], [], []
    longest = max(run.curves, key=lambda curve: len(curve["until_s"]))["until_s"]
    for curve in run.curves:
        name, warm_up, values = machine_name(curve["machine"]), curve["warm_up_intervals"], curve["mib_s"]
        machines.append(name)
        mean = f"{sum(values) / len(values):,.1f} MiB/s over all"
        if warm_up is None:
            words.append(f"{name}: no steady part is seen; {mean}.")
        else:
            steady = values[warm_up:]
            ends = (
                f"the first {curve['until_s'][warm_up - 1]:.0f} s are warm-up"
                if warm_up
                else "steady from the beginning"
            )
            words.append(f"{name}: {ends}; {sum(steady) / len(steady):,.1f} MiB/s then, {mean}.")
        # The curve up to the end of the warm-up, and from there on.
        parts = [("warm-up", 0, warm_up + 1), ("steady", warm_up, len(values))] if warm_up else [("", 0, len(values))]
        for part, first, last in parts:
            points = [
                {"value": value, "low": None, "high": None} if first <= number < last else None
                for number, value in enumerate(values + [0.0] * (len(longest) - len(values)))
            ]
            series.append({"name": f"{name}, {part}".removesuffix(", "), "points": points})
    label = (
        "Line chart: MiB/s read and written by the benchmark in each interval of the run. The table has the numbers."
    )
    chart = {
        **{"id": "chart-curve", "data_id": "chart-curve-data", "size": "short", "label": label},
        "data": {
            **{"kind": "line", "horizontal": False, "unit": "MiB/s", "axis": "MiB/s", "across": "s"},
            **{"labels": [f"{until:.0f}" for until in longest], "series": series, "tones": None, "reference": None},
        },
    }
    rows = [
        (until, [curve["mib_s"][number] if number < len(curve["mib_s"]) else None for curve in run.curves])
        for number, until in enumerate(longest)
    ]
    return CurvePage(words, chart, machines, rows)


@dataclass(frozen=True)
class RunPage:
    """A run's page. machines : name to what was found there; again : the run that is done in its place"""

    machines: list[tuple[str, str]]
    lines: list[RunLine]
    artifacts: list[RunArtifact]
    throughput: float | None
    curve: CurvePage | None
    may_retry: bool
    again: CampaignRun | None


def run_page(run: CampaignRun) -> RunPage:
    machines = [
        (
            machine["name"],
            "; ".join(filter(None, [f"kernel {machine['kernel']}", machine["mount_options"], machine.get("mkfs")])),
        )
        for machine in run.facts.get("machines", [])
    ]
    machines += [(f"Others on {others['where']}", _background(others)) for others in run.facts.get("background", [])]
    if "start_spread_seconds" in run.facts:
        unsure = run.facts["start_spread_unsure_seconds"]
        machines.append(("Began apart", f"{run.facts['start_spread_seconds']:.2f} s, known to {unsure:.2f} s"))
    machines += health.in_words(run.facts.get("health", {}))
    has_ended = run.state not in (RunState.WAITING, RunState.ACTIVE)
    is_held = run.state == RunState.WAITING and run.campaign.state == Campaign.State.PAUSED
    return RunPage(
        machines=machines,
        lines=list(run.lines.all()),
        artifacts=list(run.artifacts.defer("data")),
        throughput=throughput(run),
        curve=_curve_page(run),
        may_retry=((has_ended and run.repetition > 0) or is_held) and run.campaign.case_study_id is None,
        again=getattr(run, "repeated_by", None),
    )
