"""A campaign's way into the knowledge: planned, run by the command, filed, previewed, published."""

import io

import pytest
from django.core.management import call_command

from experiments.campaigns import control, drafts
from experiments.case_studies import lifecycle, reviews
from experiments.imports import pipeline
from experiments.laboratory.targets import libvirt
from experiments.laboratory.targets.libvirt import domain_xml
from experiments.models import CaseStudy, Measurement
from tests import factories
from tests.experiments.laboratory.conftest import SHORT, registered, started, work_off

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_a_native_campaign_becomes_a_draft_with_facts_and_outputs(plain_lab, keys, published_evidence):
    keys(plain_lab)
    host = registered(plain_lab)
    campaign = control.create(
        factories.make_campaign(host, slug="lab-native", host_file_systems=["ext4", "xfs"], repetitions=2, **SHORT),
        user=None,
    )
    printed = io.StringIO()
    call_command("run_campaign", "lab-native", "--draft", stdout=printed)
    assert "filed as lab-native: in the case study" in printed.getvalue()
    draft = CaseStudy.objects.get(slug="lab-native")
    campaign.refresh_from_db()
    assert campaign.case_study == draft
    assert draft.server.cpu == host.facts["cpu"]
    rows = Measurement.objects.filter(configuration__case_study=draft, metric="throughput")
    for run in campaign.runs.all():
        value = sum(figure["throughput_mib_s"] for figure in run.figures)
        row = rows.get(configuration__host_fs__slug=run.host_fs, repetition=run.repetition)
        assert row.value == value
        assert row.source == f"run {run.position}"
        assert row.raw_file.sha256 == run.artifacts.get(name="host.txt").sha256
    configuration = draft.configurations.get(host_fs__slug="xfs")
    assert configuration.is_native
    assert configuration.host_kernel == host.facts["kernel"]
    reviews.submit(draft, user=None)
    lifecycle.publish([draft], reason="measured here")
    with pytest.raises(control.CampaignError, match="is filed as lab-native"):
        drafts.create_draft(campaign, user=None)


@pytest.mark.nightly
def test_a_guest_campaign_becomes_a_draft_of_what_it_is(qemu_lab, keys, monkeypatch, published_evidence):
    """Two cache modes. Emulated guests are not filed as KVM's."""
    keys(qemu_lab)
    defined = []
    monkeypatch.setattr(libvirt, "domain_xml", lambda *guest: defined.append(domain_xml(*guest)) or defined[-1])
    host = registered(qemu_lab, drivers=["libvirt"], guest_image=str(qemu_lab.image))
    campaign = started(
        host,
        **SHORT | {"slug": "lab-guests", "driver": "libvirt", "host_file_systems": ["xfs"]},
        **{"guest_file_systems": ["ext4"], "vm_counts": [1], "vm_ram_mib": 512},
        disk={"cache_mode": ["none", "writeback"]},
    )
    defined.clear()
    work_off(campaign)
    assert not campaign.runs.exclude(state="done").exists(), [run.reason for run in campaign.runs.all()]
    modes = [run.options.cache_mode for run in campaign.runs.order_by("position")]
    assert sorted(modes) == ["none", "writeback"]
    assert [f'cache="{mode}"' in xml for mode, xml in zip(modes, defined, strict=True)] == [True, True]
    draft, batch = drafts.create_draft(campaign, user=None)
    pipeline.finish(batch)
    assert batch.state == "filed", batch.report
    emulated = host.facts["accelerator"] == "qemu"
    for configuration in draft.configurations.all():
        assert configuration.hypervisor.slug == ("qemu-tcg" if emulated else "kvm")
        assert configuration.virtualisation == ("emulated" if emulated else "full")
        assert configuration.guest_kernel == host.facts["guest_image"]["kernel"]
        assert configuration.vm_ram_gib == 0.5
    draft.refresh_from_db()
    assert (draft.vm_counts, draft.value_scope) == ([1], "per-vm")
    for run in campaign.runs.all():
        row = Measurement.objects.get(
            configuration__case_study=draft, configuration__cache_mode=run.options.cache_mode, metric="throughput"
        )
        assert row.value == run.figures[0]["throughput_mib_s"]
    assert qemu_lab.left_overs() == []
