"""A campaign's results become a draft as rows: its numbers as they are, each with the output that it comes from."""

from datetime import UTC, datetime
from itertools import product

import pytest
from django.db import transaction

from experiments.campaigns import control, drafts, plans
from experiments.imports import pipeline
from experiments.models import (
    Benchmark,
    Campaign,
    CampaignRun,
    FileSystem,
    HostStorage,
    Hypervisor,
    Measurement,
    OperatingSystem,
    Workload,
)
from experiments.records.checklist import protocol_of
from experiments.records.files import raw_files
from tests import factories

pytestmark = pytest.mark.django_db

EXACT = (1.0000000000000002, 3.0000000000000004)  # MiB/s: neither is a short decimal number


@pytest.fixture
def campaign() -> Campaign:
    """Make a campaign of two machines, whose host gives its parts the worst names there may be."""
    for model, slug in (
        *((Workload, "varmail"), (Benchmark, "fio"), (FileSystem, "ext4"), (FileSystem, "xfs")),
        *((Hypervisor, "kvm"), (OperatingSystem, "debian-12")),
        *((HostStorage, "file"), (HostStorage, "raw")),
    ):
        factories.entry(model, slug)
    host = factories.make_host(stated={"virtual_devices": '=1+1, "quoted"'})
    host.facts |= {"running": "QEMU 8", "libvirt": "9"}
    host.facts["guest_image"] |= {"distribution": "Debian GNU/Linux 12", "distribution_id": "debian"}
    host.save()
    campaign = factories.make_campaign(
        host, state="finished", driver="libvirt", guest_file_systems=["xfs"], vm_counts=[2], vm_ram_mib=512, vm_vcpus=2
    )
    campaign.save()
    return campaign


def done(campaign: Campaign, printed: bytes = b"printed", **fields):
    machine = {"mount_options": "rw", "host_mount_options": "rw", "kernel": "6.1"}
    facts = {
        **{"tool_version": "fio-3.33", "working_set_bytes": 2**30, "machines": [machine] * 2, "accelerator": "kvm"},
        "parameters": {"threads": 16, "share": 0.1, "personality": "1.0"},
    }
    figures = [
        {"machine": number, "operation": "mixed", "throughput_mib_s": value, "ops_per_s": None, "latency_ms": None}
        for number, value in enumerate(EXACT, start=1)
    ]
    run = factories.make_run(
        campaign, **{"state": "done", "facts": facts, "figures": figures, "guest_fs": "xfs", "vm_count": 2} | fields
    )
    factories.make_output(run, "machine-1.txt", printed + b" 1")
    factories.make_output(run, "machine-2.txt", printed + b" 2")
    return run


def filed(campaign: Campaign):
    draft, batch = drafts.create_draft(campaign, user=factories.make_user())
    assert pipeline.finish(batch).state == "filed", batch.report
    return draft, batch


def test_a_figure_reaches_the_draft_as_the_float_it_is_with_the_output_it_comes_from(campaign):
    run = done(campaign)
    draft, batch = filed(campaign)
    (row,) = Measurement.objects.filter(configuration__case_study=draft)
    assert (row.value, row.repetition, row.source) == (sum(EXACT) / 2, run.repetition, f"run {run.position}")
    assert row.variant.parameters == {"threads": 16, "share": 0.1, "personality": "1.0"}
    assert raw_files.content(row.raw_file) == b"printed 1"
    assert row.note == "machine 1: 1 MiB/s; machine 2: 3 MiB/s"
    assert row.configuration.virtual_devices == "virtio-blk"  # what was found stands before what was stated
    assert [file["left_out"] for file in batch.report["files"]] == [False, True, True]
    assert batch.report["files"][0]["format"] == "campaign"


def test_the_disks_are_filed_as_the_campaign_made_them(campaign):
    chosen = {"cache_mode": "writeback", "io_mode": "io_uring", "image_format": "qcow2", "allocation": "metadata"}
    chosen |= {"disk_bus": "scsi", "iothread": "yes"}
    Campaign.objects.filter(pk=campaign.pk).update(**chosen, pinned_cpus=[4, 5, 6, 7])
    done(campaign)
    draft, _ = filed(campaign)
    configuration = draft.configurations.get()
    assert {name: getattr(configuration, name) for name in chosen} == chosen
    assert (configuration.discard, configuration.backend, configuration.virtual_devices) == (
        "ignore",
        "file",
        "virtio-scsi",
    )
    assert "pinned to a CPU of its own of the host, in this order: 4, 5, 6, 7." in draft.procedure


def test_each_value_of_a_setting_is_filed_as_a_configuration_of_its_own(campaign):
    campaign.disk = {"cache_mode": ["none", "writeback"], "discard": ["unmap"]}
    campaign.save()
    for mode, number in (("none", 1), ("none", 2), ("writeback", 1)):
        done(campaign, disk=f"cache_mode={mode}", repetition=number)
    draft, _ = filed(campaign)
    by_cache_mode = {configuration.cache_mode: configuration for configuration in draft.configurations.all()}
    assert {mode: configuration.discard for mode, configuration in by_cache_mode.items()} == {
        "none": "unmap",
        "writeback": "unmap",
    }
    assert [
        Measurement.objects.filter(configuration=by_cache_mode[mode]).count() for mode in ("none", "writeback")
    ] == [2, 1]


@pytest.mark.parametrize(("ram_mib", "expected"), [(1024, ""), (1025, "yes")])  # the files take 1 GiB
def test_a_campaign_says_when_it_measured_and_whether_its_files_fit_into_memory(campaign, ram_mib, expected):
    campaign.vm_ram_mib = ram_mib
    campaign.save()
    done(campaign, finished_at=datetime(2025, 12, 31, tzinfo=UTC))
    draft, _ = filed(campaign)
    assert (draft.fits_cache, draft.measured_year) == (expected, 2025)


def test_what_exceeds_the_reference_load_is_told_when_it_is_filed_and_a_warm_up_is_not_filed(campaign):
    Campaign.objects.filter(pk=campaign.pk).update(calibrations=[{"before": "the warm-up", "read_mib_s": 2.0}])
    for repetition in (0, 1, 2):
        done(campaign, repetition=repetition)  # two machines with 4 MiB/s in all
    draft, batch = filed(campaign)
    assert Measurement.objects.filter(configuration__case_study=draft).count() == 2
    assert (draft.warm_up_seconds, "The first run warmed up" in draft.procedure) == (60, True)
    (finding,) = [finding for finding in batch.report["lint"] if finding["rule"] == "no disk's number"]
    assert "4 MB/s, where the reference load past the caches moved 2" in finding["message"]
    assert [number.flag for number in protocol_of(draft).flagged] == ["above the reference load"]


def test_files_of_unknown_size_are_not_said_to_fit_into_memory(campaign):
    run = done(campaign)
    run.facts["working_set_bytes"] = None
    run.save()
    assert filed(campaign)[0].fits_cache == ""


def test_a_volume_is_filed_as_what_it_is_with_what_lies_below(campaign):
    done(campaign, host_fs="raw")
    draft, _ = filed(campaign)
    configuration = draft.configurations.get()
    assert (configuration.host_fs, configuration.backend, configuration.host_storage) == (None, "raw", "raw")
    assert configuration.below == "a loop device on a file on ext4"
    assert (configuration.image_format, configuration.allocation) == ("raw", "")


def test_runs_that_left_the_same_bytes_keep_a_row_each(campaign):
    runs = [done(campaign), done(campaign)]
    draft, _ = filed(campaign)
    rows = Measurement.objects.filter(configuration__case_study=draft).order_by("repetition")
    assert [row.repetition for row in rows] == [run.repetition for run in runs]
    assert len({row.raw_file_id for row in rows}) == 1
    assert draft.raw_files.count() == 3


def test_an_import_of_a_campaign_is_read_again_without_its_hosts(campaign):
    """The import files what was found at the time, whatever the host is called by now."""
    done(campaign)
    OperatingSystem.objects.all().delete()
    draft, batch = drafts.create_draft(campaign, user=factories.make_user())
    assert pipeline.finish(batch).state == "faulty"  # nobody has said what debian-12 is
    campaign.runs.update(figures=[{"machine": 1}])
    factories.entry(OperatingSystem, "debian-12")
    pipeline.correct(batch, batch.answers)
    assert pipeline.finish(batch).state == "ready", batch.report
    pipeline.confirm(batch)
    assert pipeline.finish(batch).state == "filed", batch.report
    assert Measurement.objects.get(configuration__case_study=draft).value == sum(EXACT) / 2
    pipeline.discard(batch, user=draft.owner)
    assert not Measurement.objects.filter(configuration__case_study=draft).exists()


def test_a_campaign_that_is_filed_does_not_go_on_by_start_or_by_itself(campaign):
    done(campaign)
    campaign.state, campaign.look_at = "paused", datetime(2026, 11, 1, tzinfo=UTC)
    campaign.save()
    drafts.create_draft(campaign, user=factories.make_user())
    with pytest.raises(control.CampaignError, match="The campaign is filed"):
        control.start(campaign)
    control.resume(campaign)
    campaign.refresh_from_db()
    assert campaign.state == "paused"


def test_a_run_whose_output_is_gone_is_not_filed(campaign):
    run = done(campaign)
    run.artifacts.get(name="machine-1.txt").delete()
    with pytest.raises(control.CampaignError, match=r"its output machine-1\.txt is gone"):
        drafts.create_draft(campaign, user=None)


def test_the_plan_is_among_the_files_of_the_case_study(campaign):
    done(campaign)
    draft, _ = filed(campaign)
    kept = draft.raw_files.get(name="plan.json")
    assert raw_files.content(kept).decode() == plans.text(campaign)


def in_state(campaign: Campaign, state: str, disturbed: str, **fields):
    """Return a run whose row is as a whole run leaves it, but in this state; it has figures if it is done."""
    figures = {} if state == "done" else {"figures": []}
    reason = "The benchmark ended with exit status 1." if state == "failed" else ""
    return done(campaign, state=state, disturbed=disturbed, reason=reason, **figures, **fields)


def test_a_campaign_is_filed_or_says_why_not_whatever_became_of_its_runs_and_their_repeats(campaign):
    states, disturbances = CampaignRun.State.values, ("", "Others used 1.2 CPU-seconds a second on the host.")
    repeats = [None, *product(states, disturbances)]
    user = factories.make_user()
    for campaign_state, state, disturbed, repeat in product(("finished", "paused"), states, disturbances, repeats):
        if state == "active" and repeat is not None and repeat[0] == "active":
            continue  # a host has one run under way
        as_it_was = transaction.savepoint()
        Campaign.objects.filter(pk=campaign.pk).update(state=campaign_state)
        run = in_state(campaign, state, disturbed, lost_attempts=1, attempt=2)
        again = None
        if repeat is not None:
            again = in_state(campaign, *repeat, repeats=run, repetition=run.repetition)
        counting = next(
            (candidate for candidate in (again, run) if candidate is not None and candidate.state == "done"), None
        )
        if counting is None:
            with pytest.raises(control.CampaignError, match="No run is done, so there is nothing to file"):
                drafts.create_draft(campaign, user=user)
        else:
            draft, _ = drafts.create_draft(campaign, user=user)
            assert sum(len(file.rows) for file in draft.raw_files.all()) == 1
            assert draft.quiet_host == ("no" if counting.disturbed else "yes")
            assert draft.raw_files.filter(name=f"run-{counting.position:04d}/machine-1.txt").exists()
            if disturbed:
                (note,) = [note for note in draft.notes if note.startswith(f"{run}: {disturbed}")]
                what_counts = "It counts." if counting is run else f"Run {again.position}, its repeat, counts."
                assert note.endswith(what_counts)
        transaction.savepoint_rollback(as_it_was)


def test_what_a_run_that_was_disturbed_and_failed_says_of_itself_is_that_it_does_not_count(campaign):
    done(campaign)
    failed = in_state(campaign, "failed", "Others used 1.2 CPU-seconds a second on the host.")
    draft, _ = drafts.create_draft(campaign, user=factories.make_user())
    assert f"{failed}: {failed.disturbed} It is failed and does not count." in draft.notes


def test_a_campaign_is_filed_after_its_host_moved_to_another_address(campaign):
    """The host's last check is forgotten with the old address; what the runs found is not."""
    run = done(campaign, host_fs="raw")
    run.facts["guest_image"] = {"distribution": "Debian GNU/Linux 12", "sha256": {}}
    run.save()
    campaign.host.facts, campaign.host.checked_at = {}, None
    campaign.host.save()
    draft, batch = drafts.create_draft(campaign, user=factories.make_user())
    assert pipeline.finish(batch).state in ("faulty", "ready", "filed")
    assert draft.raw_files.count() == 3


def test_a_benchmark_that_prints_where_errors_go_is_filed_with_that(campaign):
    run = done(campaign)
    run.artifacts.filter(name="machine-1.txt").update(data=b"")
    factories.make_output(run, "machine-1.errors.txt", b"printed as errors")
    draft, _ = filed(campaign)
    (row,) = Measurement.objects.filter(configuration__case_study=draft)
    assert raw_files.content(row.raw_file) == b"printed as errors"


def test_a_short_name_that_others_have_gets_a_number(campaign):
    done(campaign)
    factories.make_case_study(campaign.slug)
    factories.make_server(slug=f"{campaign.slug}-2")  # of a case study that was deleted
    draft, _ = filed(campaign)
    assert draft.slug == f"{campaign.slug}-3"


def test_outputs_that_cannot_be_kept_are_told_and_no_error_of_the_server(campaign, monkeypatch):
    done(campaign)
    monkeypatch.setattr(raw_files.take, "__kwdefaults__", {"largest": 4})
    with pytest.raises(control.CampaignError, match=r"larger than 4 bytes, the most that one file may have\.$"):
        drafts.create_draft(campaign, user=factories.make_user())


def test_a_campaign_of_more_outputs_than_an_upload_may_have_is_filed(campaign, monkeypatch):
    monkeypatch.setattr(pipeline, "MAX_FILES", 2)
    done(campaign)
    draft, _ = filed(campaign)
    assert draft.raw_files.count() == 3
