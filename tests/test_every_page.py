"""Every address that can be opened answers on PostgreSQL, too: what pages say is tested on SQLite alone."""

import pytest
from django.urls import URLPattern, get_resolver, resolve

from experiments.campaigns import control
from experiments.case_studies import lifecycle, retraction
from experiments.imports.tables import wizard
from experiments.records import visible
from tests.factories import (
    make_campaign,
    make_case_study,
    make_host,
    make_import,
    make_machine,
    make_measurement,
    make_output,
    make_raw_file,
    make_series_change,
    make_sitting,
    make_user,
)
from tests.modelling.fleet.moving.fleets import shown
from tests.pages import PRIVATE, PUBLIC

pytestmark = pytest.mark.both

# Beside the pages that a browser checks: like one of them, or no page.
OTHERS = [
    "/?axis=fs-pair&workload=varmail&vm_count=1&origin=measured&storage_kind=hdd",
    "/advisor/?example=varmail",
    "/overview/",
    "/case-studies/?workload=varmail&hypervisor=kvm&q=file",
    "/case-studies/p1/bundle.zip",
    "/case-studies/p1/citation.bib",
    "/case-studies/p1/retract/",
    "/case-studies/p1/end/",
    "/case-studies/p1/again/",
    "/knowledge/revisions/{revision}/",
    "/case-studies/my-lab/preview/",
    "/case-study-bundle.schema.json",
    "/measurements/{measurement}/",
    "/laboratories/sittings/{sitting}/",
    "/laboratories/ours/series/{series}/",
    "/series-changes/{change}/",
    "/derived-values/{derived}/",
    "/choices/?workload=varmail&hypervisor=kvm",
    "/claims/p1/",
    "/claims/p1/P1-C01/",
    "/drafts/my-lab/edit/",
    "/files/{file}/",
    "/feed/?axis=fs-pair&workload=varmail&hypervisor=kvm",
    "/series-changes/feed/",
    "/healthz",
    "/metrics",
    "/imports/{batch}/",
    "/tables/{table}/",
    "/tables/{table}/conditions.toml",
    "/tables/{table}/columns/",
    "/knowledge/hypervisors/kvm/",
    "/laboratory/campaigns/night/plan.json",
    "/laboratory/hosts/lab-1/edit/",
    "/laboratory/hosts/scripts/kdb-facts-esxi.sh",
    "/laboratory/outputs/{output}/",
    "/accounts/login/second/",
    "/accounts/password/",
    "/accounts/reset/",
    "/accounts/reset/sent/",
    "/accounts/reset/MQ/gone/",
    "/results-template.csv",
    "/collect.sh",
    "/kdb.py",
]
# What is only posted to.
DEEDS = {
    "accounts/logout/",
    "accounts/notifications/<uuid:pk>/change/",
    "accounts/notifications/<uuid:pk>/remove/",
    "accounts/notifications/<uuid:pk>/test/",
    "accounts/tokens/<int:pk>/revoke/",
    "case-studies/<slug:slug>/<slug:step>/",
    "drafts/<slug:slug>/imports/",
    "drafts/<slug:slug>/upload/",
    "drafts/bundle/",
    "following/<int:pk>/stop/",
}


def routes(resolver, prefix: str = ""):
    for entry in resolver.url_patterns:
        if isinstance(entry, URLPattern):
            yield f"{prefix}{entry.pattern}"
        else:
            yield from routes(entry, f"{prefix}{entry.pattern}")


def test_no_address_is_left_out():
    pages = {route for route in routes(get_resolver()) if not route.startswith(("admin/", "api/v1/"))}
    walked = {resolve(address.partition("?")[0]).route for address in PUBLIC + PRIVATE + OTHERS if "{" not in address}
    walked |= {"tables/<int:pk>/", "tables/<int:pk>/conditions.toml", "tables/<int:pk>/<slug:step>/"}
    walked |= {"files/<int:pk>/", "imports/<int:pk>/", "laboratory/outputs/<int:pk>/"}
    walked |= {"laboratories/sittings/<int:pk>/", "laboratories/<slug:slug>/series/<slug:key>/"}
    walked |= {"measured/<slug:slug>/"}  # tests/modelling/own_lab
    walked |= {f"contributors/<slug:slug>/{end}" for end in ("", "badge.svg")}  # tests/experiments
    walked |= {f"series/<slug:address>/{end}" for end in ("", "badge.svg", "<int:sitting>/")}  # the same
    walked |= {"series-changes/<int:pk>/", "guidance/<slug:code>/"}  # tests/modelling/guidance
    walked |= {"measurements/<int:pk>/", "derived-values/<int:pk>/", "knowledge/revisions/<int:number>/"}
    assert pages - DEEDS == walked  # a new one is named in tests/pages.py or OTHERS
    assert pages > DEEDS


@pytest.mark.nightly
@pytest.mark.postgresql
def test_every_page_answers(client, published_evidence):
    user = make_user("", username="ada", is_superuser=True)
    draft = make_case_study("my-lab", owner=user)
    make_measurement(case_study=draft)
    batch = make_import(draft, uploaded_by=user)
    study = visible.case_studies().get(slug="p3-cs1")
    campaign = control.create(
        make_campaign(make_host("lab-1", registered_by=user), slug="night", replicates=study), user=user
    )
    control.start(campaign)
    shown(campaign.host)
    make_machine(campaign.host, pk=1)
    gone = make_case_study("gone")
    lifecycle.publish([gone], reason="measured")
    sitting = make_sitting(user)
    change = make_series_change(sitting.laboratory)
    ids = {
        "revision": retraction.retract(gone, reason="wrong disk").number,
        "measurement": visible.measurements().first().pk,
        "derived": visible.derived_values().first().pk,
        "batch": batch.pk,
        "table": wizard.start(user, "", b"FS,IOPS\next4,12\n", {}).pk,
        "file": make_raw_file(draft).pk,
        "sitting": sitting.pk,
        "series": change.series,
        "change": change.pk,
        "output": make_output(campaign.runs.first(), "host.txt").pk,
    }
    client.force_login(user)
    statuses = {}
    for address in PUBLIC + PRIVATE + OTHERS:
        response = client.get(address.format(**ids), follow=True)
        statuses[address] = response.status_code
        if response.streaming:
            b"".join(response)
    assert {address: status for address, status in statuses.items() if status != 200} == {}
