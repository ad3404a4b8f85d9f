"""Keys of entries as anybody may write them: one parser, one printer, and no answer of 500."""

from contextlib import suppress

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.models import CaseStudy, Configuration
from kdb.disk_path import SETTINGS
from kdb.pairs import pair_key, pair_parts
from modelling.answer_pages.forms import entry_choices
from modelling.evidence import names
from modelling.evidence.axes import AXES, entry_key, entry_parts
from tests.factories import make_measurement, publish

pytestmark = pytest.mark.both

PIECES = ("kvm", "xen", "ext4", "btrfs", "-on-", "on", "-", ":", ",", " ", "writeback", "invented", "(file:)", "é", "%")
ODD_KEYS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=7).map("".join)
MALFORMED = (
    "kvm:btrfs-on-ext4:x:a-on-b",
    "kvm:btrfs-on-ext4:invented",
    "kvm:btrfs-on-ext4:",
    "kvm:a-on-b-on-c",
    "kvm",
    ":btrfs-on-ext4",
    "kvm:btrfs-on-",
    "::",
    "nonsense:btrfs-on-ext4",
)


@given(st.sampled_from(list(AXES.values())), ODD_KEYS)
def test_a_key_is_refused_or_printed_as_it_was_read(axis, key):
    try:
        parts = entry_parts(axis, key)
    except ValueError:
        return
    assert entry_key(axis, tuple(parts[column] for column in axis.entry)) == key


@given(ODD_KEYS)
def test_a_pair_is_refused_or_printed_as_it_was_read(key):
    with suppress(ValueError):
        assert pair_key(*pair_parts(key)) == key


@given(axis=st.sampled_from([*AXES, "axis", ""]), a=ODD_KEYS, b=ODD_KEYS, workload=st.sampled_from(["varmail", "axis"]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.sqlite
def test_no_key_brings_a_page_or_the_api_down(published_evidence, client, axis, a, b, workload):
    asked = {"axis": axis, "workload": workload}
    for address, query in (
        ("/compare/", {"a": a, "b": b}),
        ("/api/v1/explanations/", {"a": a, "b": b}),
        ("/api/v1/comparisons/", {"entries": f"{a},{b}"}),
        ("/api/v1/heat-maps/", {"guest_fs": a, "host_fs": b}),
        ("/api/v1/mixes/", {"weights": f"{a}:{b}"}),
        ("/mix/", {"weights": a, a: b}),
        ("/", {"hypervisor": a, "guest_fs": b}),
        ("/api/v1/claims/", {"workload": a}),
        ("/case-studies/", {"workload": a, "guest_fs": b}),
    ):
        parameters = {**asked, **query} if address not in ("/api/v1/heat-maps/", "/api/v1/claims/") else query
        assert client.get(address, parameters).status_code in (200, 302, 400, 404, 422), (address, parameters)


@pytest.mark.sqlite
def test_a_malformed_key_gets_a_sentence(published_evidence, client):
    for key in MALFORMED:
        asked = {"axis": "configuration", "workload": "varmail", "a": key, "b": "kvm:ext4-on-ext4"}
        page = client.get("/compare/", asked)
        assert page.status_code == 400, key
        assert "not an entry" in page.content.decode() or "not known here; allowed are" in page.content.decode()
        answer = client.get("/api/v1/explanations/", asked)
        assert answer.status_code == 400, key
        assert key in answer.content.decode()


def test_an_invented_cache_mode_is_refused_with_those_there_are(published_evidence, client):
    Configuration.objects.filter(case_study__slug="p0").update(cache_mode="writeback")
    names.clear_cache()
    asked = {"axis": "configuration", "workload": "varmail", "entries": "kvm:xfs-on-ext4:invented,xen:xfs-on-ext4"}
    answer = client.get("/api/v1/comparisons/", asked)
    assert (answer.status_code, "'invented'" in answer.content.decode()) == (400, True)
    assert "allowed are none, writethrough, writeback" in answer.content.decode()
    asked["entries"] = asked["entries"].replace("invented", "writeback")
    assert client.get("/api/v1/comparisons/", asked).status_code == 200


def test_a_cache_mode_with_a_colon_is_a_cache_mode(published_evidence):
    key = entry_key(AXES["configuration"], ("xen", "ext4", "ext4", "loopback (file:)"))
    assert names.label(AXES["configuration"], key) == "ext4 on ext4 under Xen (loopback (file:) cache)"


def test_every_choice_of_an_entry_reads_as_its_label(published_evidence):
    releases = {setting.column: "2.1" for setting in SETTINGS.values() if setting.of}
    stated = {"volume_block_bytes": 65536, "disk_bus": "virtio", **releases}
    Configuration.objects.filter(case_study__slug="p0").update(**stated)
    names.clear_cache()
    for axis in AXES:
        choices = entry_choices(axis, names.names())
        assert choices, axis
        assert [(key, names.label(AXES[axis], key)) for key, _ in choices[:40]] == choices[:40]


def test_the_database_refuses_what_a_key_cannot_say(published_evidence):
    with connection.cursor() as cursor, pytest.raises(Exception, match="slug_fits_addresses_and_keys"):
        cursor.execute("UPDATE experiments_filesystem SET slug = 'a-on-b' WHERE slug = 'xfs'")


def test_an_empty_answer_says_in_which_metric_the_load_was_measured(db, client):
    for guest_fs, value in (("ext4", 100.0), ("xfs", 200.0)):  # in a case study each
        make_measurement(value, workload="varmail", guest_fs=guest_fs, metric="operation_rate", unit="ops/s")
    for case_study in CaseStudy.objects.all():
        publish(case_study)
    missing = client.get("/api/v1/rankings/guest-fs/", {"workload": "varmail"}).json()["missing"]
    assert missing[0].endswith("for the workload varmail.")
    assert "measured the operation rate in ops/s, but nothing that may be compared here." in missing[1]


def test_a_table_is_headed_by_what_it_measures(db, client):
    measurement = make_measurement(3.5, metric="latency", unit="ms", source="Table I")
    case_study = measurement.configuration.case_study
    publish(case_study)
    page = client.get(f"/case-studies/{case_study.slug}/").content.decode()
    assert "Throughput" not in page
    assert "Latency in ms" in page or ">Value<" in page


def test_the_quality_of_the_models_is_in_the_footer(published_evidence, client):
    page = client.get("/about/").content.decode()
    assert 'href="/model-quality/"' in page.partition("<footer")[2]
