"""Cells of a campaign that look like no disk's numbers, before they are filed: held against its own reference load."""

from collections.abc import Iterable
from statistics import mean

from experiments.laboratory.targets import drivers
from experiments.models import Campaign, CampaignRun
from experiments.rules import plausibility
from experiments.rules.protocol import Number, is_direct, memory_of


def flagged_cells(campaign: Campaign, runs: Iterable[CampaignRun]) -> dict[str, str]:
    """Return the reason for each cell that is flagged, by its words. runs : all of the campaign's"""
    disks = plausibility.Disks(reference_load=plausibility.reference_load(campaign.calibrations or ()))
    figures: dict[tuple[str, str], list[float]] = {}
    latest: dict[str, CampaignRun] = {}
    for run in runs:
        for figure in run.figures if run.counts else ():
            if figure["throughput_mib_s"]:
                latest[run.cell] = run
                figures.setdefault((run.cell, figure["operation"]), []).append(figure["throughput_mib_s"])
    values = []
    for (cell, operation), throughputs in figures.items():
        run, number = latest[cell], number_of(campaign, latest[cell])
        value = plausibility.MeasuredValue(
            key=cell,
            configuration=run.configuration,
            load=(run.workload, operation),
            group=(run.vm_count,),
            value=mean(throughputs),
            unit="MiB/s",
            machines=max(run.vm_count, 1),
            is_direct=number.passes_caches,
            fits=number.fits_memory,
            disks=disks,
        )
        values.append(value)
    return {value.key: flag.reason for value, flag in plausibility.implausible(values)}


def number_of(campaign: Campaign, run: CampaignRun) -> Number:
    """Return what is known of the files and the memory of a run that is done."""
    parameters, ram_mib = run.facts.get("parameters", {}), campaign.host.facts.get("ram_mib")
    is_native, is_made = not run.guest_fs, campaign.driver in drivers.HYPERVISORS
    guest_gib = campaign.vm_ram_mib / 1024 if is_made else None
    guest, host = memory_of(parameters, is_native=is_native, guest_gib=guest_gib, host_gib=ram_mib and ram_mib / 1024)
    return Number(
        files_bytes=run.facts.get("working_set_bytes"),
        machines=run.vm_count,
        guest_bytes=guest,
        host_bytes=host,
        is_direct=is_direct(parameters),
        cache_mode=None if is_native else run.options.cache_mode if is_made else "",
    )
