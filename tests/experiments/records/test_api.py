"""Facts as data: who sees what, how lists are paged and filtered, and what a row says."""

import csv
import io
import json

import pytest

from experiments.api_urls import router
from experiments.case_studies import retraction
from experiments.models import CaseStudy, Claim, Measurement, Publication, Server, Storage, Workload
from kdb.units import METRICS
from tests import factories

LISTS = [f"/api/v1/{name}/" for name in (*(prefix for prefix, _, _ in router.registry), "configurations", "claims")]
TABLES = [f"/api/v1/{name}/" for name in ("configurations", "measurements", "derived-values", "findings", "claims")]

# Queries of one page, whatever its length: rows, and one for each kind of row fetched along.
QUERIES = {
    "/api/v1/hypervisors/": 1,
    "/api/v1/file-systems/": 2,  # + mechanisms
    "/api/v1/host-storages/": 1,
    "/api/v1/operating-systems/": 1,
    "/api/v1/benchmarks/": 1,
    "/api/v1/workloads/": 1,
    "/api/v1/workload-variants/": 1,
    "/api/v1/components/": 2,  # + names
    "/api/v1/publications/": 2,  # + case studies
    "/api/v1/servers/": 1,
    "/api/v1/storage/": 1,
    "/api/v1/case-studies/": 2,  # + endings
    "/api/v1/configurations/": 1,
    "/api/v1/measurements/": 5,  # + configurations, variants, workloads, benchmarks
    "/api/v1/derived-values/": 5,
    "/api/v1/findings/": 2,  # + case studies
    "/api/v1/claims/": 4,  # + case studies, workloads, verdicts
    "/api/v1/printed-ratios/": 1,
    "/api/v1/raw-files/": 1,
    "/api/v1/revisions/": 3,  # + published and retracted case studies
}


def listed(client, path, **query):
    response = client.get(path, query)
    assert response.status_code == 200, response.content
    return response.json()["results"]


def every(client, path):
    """Return all rows of a list, page after page."""
    rows = []
    while path:
        page = client.get(path).json()
        rows += page["results"]
        path = page["next"]
    return rows


def errors(response):
    assert response.status_code == 400
    return {error["field"]: error for error in response.json()["errors"]}


@pytest.fixture
def hidden(db):
    """Make one of everything that belongs to a case study, all with "secret" in a text, and none published."""
    publication = factories.make_publication("secret-paper", title="secret")
    storage = factories.make_storage(
        slug="secret-disk", description="secret", server=factories.make_server(slug="secret-server", model="secret")
    )
    study = factories.make_case_study("secret", title="secret", publication=publication, storage=storage)
    variant = factories.make_variant(parameters={"secret": 1})
    cell = {"case_study": study, "variant": variant, "note": "secret"}
    measurement = factories.make_measurement(**cell)
    derived = factories.make_derived_value(**cell)
    finding = factories.make_finding(case_studies=[study], publication=publication, variant=variant)
    ratio = factories.make_printed_ratio(case_study=study, variant=variant, note="secret")
    claim = factories.make_claim(code="secret", statement="secret", publication=publication)
    claim.case_studies.set([study])
    return {
        "study": study,
        "addresses": [
            "publications/secret-paper/",
            "servers/secret-server/",
            "storage/secret-disk/",
            "case-studies/secret/",
            f"configurations/secret/{measurement.configuration.slug}/",
            f"workload-variants/{variant.pk}/",
            f"measurements/{measurement.pk}/",
            f"derived-values/{derived.pk}/",
            f"findings/{finding.pk}/",
            f"printed-ratios/{ratio.pk}/",
            "claims/secret/",
            f"raw-files/{factories.make_raw_file(study).pk}/",
        ],
    }


# Who sees what


@pytest.mark.parametrize("status", [CaseStudy.Status.DRAFT, CaseStudy.Status.SUBMITTED])
def test_what_is_not_published_is_in_no_list(client, hidden, status):
    CaseStudy.objects.update(status=status)
    for path in [*LISTS, *(f"{path}?format=csv" for path in TABLES)]:
        assert "secret" not in client.get(path).content.decode(), path


def test_what_is_not_published_has_no_address(client, hidden):
    for address in hidden["addresses"]:
        assert client.get(f"/api/v1/{address}").status_code == 404, address


def test_a_filter_does_not_tell_a_draft_from_nothing(client, hidden):
    draft = errors(client.get("/api/v1/measurements/?case_study=secret"))["case_study"]["message"]
    nothing = errors(client.get("/api/v1/measurements/?case_study=nothin"))["case_study"]["message"]
    assert draft.replace("secret", "nothin") == nothing
    assert "configuration" in errors(client.get("/api/v1/measurements/?configuration=kvm-ext4-ext4"))
    assert "publication" in errors(client.get("/api/v1/claims/?publication=secret-paper"))
    assert "server" in errors(client.get("/api/v1/storage/?server=secret-server"))


def test_everything_is_there_once_it_is_published(client, hidden):
    factories.publish(hidden["study"])
    for address in hidden["addresses"]:
        assert client.get(f"/api/v1/{address}").status_code == 200, address
    shown = [path for path in LISTS if "secret" in client.get(path).content.decode()]
    assert len(shown) == len(hidden["addresses"]) + 1  # the revision names the case study


def test_what_is_retracted_stays_and_says_so(client, hidden):
    study = hidden["study"]
    factories.publish(study)
    revision = retraction.retract(study, reason="The disk was broken.")
    row = client.get("/api/v1/case-studies/secret/").json()
    assert (row["status"], row["retraction_reason"]) == ("retracted", "The disk was broken.")
    assert row["retracted_revision"] == revision.number
    for kind in ("configurations", "measurements", "derived-values"):
        assert [row["retracted"] for row in listed(client, f"/api/v1/{kind}/")] == [True]
        assert listed(client, f"/api/v1/{kind}/", retracted="false") == []
    for kind in ("findings", "claims"):
        assert [row["retracted_case_studies"] for row in listed(client, f"/api/v1/{kind}/")] == [["secret"]]
    assert listed(client, "/api/v1/revisions/", action="retracted")[0]["retracted"] == ["secret"]


def test_a_statement_about_a_published_and_a_draft_case_study_names_only_the_published_one(client, hidden):
    known = factories.make_case_study("known")
    factories.publish(known)
    paper = factories.make_publication("open-paper")
    claim = factories.make_claim(code="both", publication=paper)
    claim.case_studies.set([known, hidden["study"]])
    finding = factories.make_finding(case_studies=[known, hidden["study"]], publication=paper)
    assert client.get("/api/v1/claims/both/").json()["case_studies"] == ["known"]
    assert client.get(f"/api/v1/findings/{finding.pk}/").json()["case_studies"] == ["known"]


def test_background_work_is_not_part_of_the_api(client, db):
    assert not [name for name in client.get("/api/v1/").json()["endpoints"] if "job" in name or "worker" in name]


@pytest.mark.sqlite
def test_facts_can_only_be_read(client, db):
    for path in LISTS:
        for method in ("post", "put", "patch", "delete"):
            assert getattr(client, method)(path).status_code == 405, (method, path)


# Lists


def test_every_list_has_a_budget():
    assert sorted(QUERIES) == sorted(LISTS)


@pytest.mark.sqlite
def test_a_list_costs_the_same_queries_whatever_its_length(client, published_evidence, django_assert_num_queries):
    for name in ("first", "second", "third"):
        factories.make_raw_file(CaseStudy.objects.get(slug="p0"), content=name.encode())
    for path in LISTS:
        for size in (2, 1000):
            with django_assert_num_queries(QUERIES[path], info=path):
                assert len(listed(client, path, page_size=size)) >= 1


def test_walking_the_pages_meets_every_row_once(client, published_evidence):
    for path in LISTS:
        whole = listed(client, path, page_size=1000)
        by_pages = every(client, f"{path}?page_size={max(7, len(whole) // 3)}")
        assert by_pages == whole, path


def test_the_published_evidence_is_complete(client, published_evidence):
    totals = {"measurements": 158, "derived-values": 98, "findings": 36, "claims": 282, "case-studies": 7}
    for name, total in totals.items():
        assert len(every(client, f"/api/v1/{name}/")) == total


def test_pages_have_a_default_and_a_greatest_size(client, published_evidence):
    assert len(listed(client, "/api/v1/claims/")) == 100
    assert len(listed(client, "/api/v1/claims/", page_size=1000)) == 282
    for size in ("0", "-1", "1001", "many", "9" * 5000):
        assert "1000" in errors(client.get("/api/v1/claims/", {"page_size": size}))["page_size"]["message"]


def test_a_made_up_cursor_is_refused(client, published_evidence):
    for cursor in ("x", "cD1hYmM=", "cD0tMQ==", "bz1h", "\x00", "cD0" + "5" * 4000):
        assert "next" in errors(client.get("/api/v1/claims/", {"cursor": cursor}))["cursor"]["message"], cursor


def test_the_link_header_leads_through_a_csv_list(client, published_evidence):
    path, ids = "/api/v1/measurements/?format=csv&page_size=100", []
    while path:
        response = client.get(path)
        ids += [row["id"] for row in csv.DictReader(io.StringIO(response.content.decode(), newline=""))]
        links = dict(reversed(part.split("; rel=")) for part in response.get("Link", "").split(", ") if part)
        path = links.get('"next"', "").strip("<>")
    assert len(ids) == len(set(ids)) == 158


@pytest.mark.sqlite
def test_a_list_one_has_is_not_sent_again(client, published_evidence):
    for path in LISTS:
        tag = client.get(path)["ETag"]
        response = client.get(path, headers={"if-none-match": tag})
        assert (response.status_code, response.content) == (304, b""), path


# Filters


def test_filters_narrow_by_slug_and_alias(client, published_evidence):
    query = {"case_study": "p1", "workload": "mail", "hypervisor": "proxmox", "guest_fs": "xfs", "vm_count": 1}
    rows = listed(client, "/api/v1/measurements/", **query)
    assert rows
    for row in rows:
        assert {name: row[name] for name in query} == {**query, "workload": "varmail"}
    assert Measurement.objects.filter(configuration__case_study__slug="p1").count() == len(
        listed(client, "/api/v1/measurements/", case_study="p1")
    )


def test_yes_and_no_split_a_list(client, published_evidence):
    native = listed(client, "/api/v1/measurements/", native="true")
    virtual = listed(client, "/api/v1/measurements/", native="false", page_size=1000)
    assert {row["vm_count"] for row in native} == {0}
    assert 0 not in {row["vm_count"] for row in virtual}
    assert len(native) + len(virtual) == 158


FILTERED = [
    ("hypervisors", {"kind": "type-1"}, None),
    ("workload-variants", {"workload": "rfa"}, None),
    ("case-studies", {"publication": "p3"}, 3),
    ("case-studies", {"hypervisor": "hyper-v"}, 2),
    ("configurations", {"case_study": "p0", "native": "true"}, 1),
    ("derived-values", {"case_study": "p0", "is_evidence": "true"}, None),
    ("findings", {"workload": "web", "text_list": "worst"}, None),
    ("claims", {"case_study": "p1", "kind": "ordering"}, None),
    ("claims", {"workload": "mail"}, None),
    ("revisions", {"action": "published"}, 1),
]


def test_lists_are_filtered(client, published_evidence):
    for name, query, count in FILTERED:
        path = f"/api/v1/{name}/"
        filtered, whole = every_of(client, path, query), every_of(client, path, {})
        assert 0 < len(filtered) <= len(whole), (path, query)
        assert count is None or len(filtered) == count, (path, query)
        assert all(row in whole for row in filtered), (path, query)


def every_of(client, path, query):
    return listed(client, path, **query, page_size=1000)


def test_an_unknown_value_is_refused_with_what_is_allowed(client, published_evidence):
    path = "/api/v1/measurements/?hypervisor=bhyve&workload=gaming&metric=weight&native=perhaps&vm_count=two"
    by_field = errors(client.get(path))
    assert by_field["hypervisor"]["allowed"] == ["esxi", "hyper-v", "kvm", "proxmox", "qemu-tcg", "xen"]
    assert by_field["workload"]["allowed"] == [*Workload.objects.values_list("slug", flat=True)]
    assert by_field["metric"]["allowed"] == [*METRICS]
    assert by_field["native"]["allowed"] == ["true", "false"]
    assert "whole number" in by_field["vm_count"]["message"]


def test_an_unknown_filter_is_refused(client, db):
    for path in LISTS:
        by_field = errors(client.get(f"{path}?colour=blue"))
        assert {"cursor", "page_size", "format"} <= set(by_field["colour"]["allowed"]), path


def test_one_row_takes_no_filters(client, published_evidence):
    assert errors(client.get("/api/v1/hypervisors/kvm/?kind=type-2"))["kind"]["allowed"] == ["format"]


def test_hostile_values_are_refused_or_find_nothing(client, published_evidence):
    for value in ("\x00", "9" * 30, "-1", "%s", "' OR 1=1 --"):
        for name in ("case_study", "vm_count", "operation", "variant", "block_size_bytes", "workload"):
            response = client.get("/api/v1/measurements/", {name: value})
            assert response.status_code == 400 or response.json()["results"] == [], (name, value)


def test_a_number_too_large_for_the_database_is_not_found(client, published_evidence):
    assert client.get(f"/api/v1/measurements/{10**30}/").status_code == 404


# Rows


def test_a_measurement_says_where_it_belongs_and_in_which_unit(client, published_evidence):
    row = listed(client, "/api/v1/measurements/", case_study="p0", workload="fileserver", native="true")[0]
    assert (row["value"], row["unit"], row["vm_count"]) == (3885.14, "MiB/s", 0)
    assert (row["workload"], row["benchmark"], row["benchmark_version"]) == ("fileserver", "filebench", "1.4.9.1-3")
    assert row["source"].startswith("Section 6.1")


def test_what_a_source_does_not_say_is_null_never_zero_or_blank(client, published_evidence):
    row = listed(client, "/api/v1/measurements/", case_study="p0", native="true")[0]
    for name in ("hypervisor", "guest_fs", "block_size_bytes", "repetitions", "standard_deviation", "value_scope"):
        assert row[name] is None
    for path in LISTS:
        for row in listed(client, path, page_size=1000):
            assert "" not in row.values(), (path, row)


def test_both_readings_of_an_ambiguous_number_are_given(client, published_evidence):
    rows = listed(client, "/api/v1/measurements/", quality="ocr-ambiguous")
    assert rows
    assert all(row["alternative_value"] not in (None, row["value"]) for row in rows)


def test_a_file_system_brings_its_mechanisms(client, published_evidence):
    mechanisms = client.get("/api/v1/file-systems/btrfs/").json()["mechanisms"]
    assert [cell["code"] for cell in mechanisms] == [f"C3.{number}" for number in range(1, 8)]
    assert client.get("/api/v1/file-systems/ntfs/").json()["mechanisms"] == []


def test_a_component_brings_its_name_in_each_paper(client, published_evidence):
    components = listed(client, "/api/v1/components/")
    assert [component["number"] for component in components] == [1, 2, 3, 4, 5, 6, 7]
    assert {len(component["names"]) for component in components} == {Publication.objects.count()}


def test_limits_of_storage_have_a_unit(client, published_evidence):
    rows = listed(client, "/api/v1/storage/")
    assert {row["limits_unit"] for row in rows} == {"MB/s"}
    assert len(rows) == Storage.objects.count()
    assert len(listed(client, "/api/v1/servers/")) == Server.objects.count()


def test_a_configuration_is_found_inside_its_case_study(client, published_evidence):
    for row in listed(client, "/api/v1/configurations/"):
        assert client.get(f"/api/v1/configurations/{row['case_study']}/{row['slug']}/").json() == row
    assert client.get("/api/v1/configurations/p0/none/").status_code == 404


def test_csv_says_what_json_says(client, published_evidence):
    for path in TABLES:
        response = client.get(f"{path}?format=csv&page_size=1000")
        assert response["Content-Type"] == "text/csv; charset=utf-8"
        assert response["Content-Disposition"].startswith('attachment; filename="kdb-')
        csv_rows = list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))
        rows = listed(client, path, page_size=1000)
        assert len(csv_rows) == len(rows) > 0
        for as_text, row in zip(csv_rows, rows, strict=True):
            assert as_text == {name: in_csv(value) for name, value in row.items()}


def in_csv(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return json.dumps(value)
    return " ".join(value) if isinstance(value, list) else str(value)


def test_one_row_as_csv_and_an_empty_list_have_the_same_header(client, published_evidence):
    claim = Claim.objects.first()
    one = client.get(f"/api/v1/claims/{claim.code}/?format=csv").content.decode().splitlines()
    Claim.objects.all().delete()
    none = client.get("/api/v1/claims/?format=csv").content.decode().splitlines()
    assert len(one) == 2
    assert none == one[:1]
