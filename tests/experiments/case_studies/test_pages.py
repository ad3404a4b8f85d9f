"""The pages of facts: status, contents against the published evidence, queries, and what is hidden."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from experiments.case_studies import retraction, tables
from experiments.models import CaseStudy, FileSystem, Hypervisor, Workload
from tests.factories import (
    make_case_study,
    make_configuration,
    make_derived_value,
    make_job,
    make_measurement,
    make_raw_file,
    make_variant,
    publish,
)

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    """Return what a reader reads: no tags, and white space as one blank."""
    content = re.sub(r"<script.*?</script>", " ", response.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", content))


def rows_of(response, section: str) -> list[str]:
    """Return the text of each row of the tables in the section with this id."""
    content = response.content.decode()
    start = content.index(f'id="{section}"')
    inside = content[start : content.index("</section>", start)]
    rows = re.findall(r"<tr>(.*?)</tr>", inside, flags=re.DOTALL)
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in rows]


# The list


def test_the_list_names_every_published_case_study(client: Client, published_evidence):
    response = client.get(reverse("case-study-list"))
    assert response.status_code == 200
    for case_study in CaseStudy.objects.all():
        assert case_study.title in text_of(response)


@pytest.mark.parametrize("number", [1, 12])
def test_the_list_costs_eight_queries_for_any_number_and_then_two(client: Client, django_assert_num_queries, number):
    for _ in range(number):
        publish(make_configuration().case_study)
    for queries in (8, 2):
        with django_assert_num_queries(queries):
            client.get(reverse("case-study-list"))


def test_a_list_that_is_kept_has_what_was_published_since_and_no_filter_s(client: Client):
    address = reverse("case-study-list")
    publish(make_case_study("one", title="The first"))
    assert "The first" in text_of(client.get(address))
    publish(make_case_study("two", title="The second"))
    assert "The second" in text_of(client.get(address))
    assert "The second" not in text_of(client.get(address, {"storage": "nvme"}))
    assert "The second" in text_of(client.get(address))


@pytest.mark.sqlite
def test_a_long_list_comes_in_pages(client: Client):
    for _ in range(21):
        publish(make_case_study())
    assert "Page 1 of 2" in text_of(client.get(reverse("case-study-list")))
    assert "Page 2 of 2" in text_of(client.get(reverse("case-study-list"), {"page": 2}))
    assert "Page 2 of 2" in text_of(client.get(reverse("case-study-list"), {"page": 99}))


def test_an_empty_list_says_how_to_fill_it(client: Client):
    assert "load_evidence" in text_of(client.get(reverse("case-study-list")))


# One case study


@pytest.mark.parametrize("slug", ["p0", "p1", "p2", "p3-cs1", "p3-cs2", "p3-cs3", "p4"])
def test_every_published_case_study_has_a_page(client: Client, published_evidence, slug):
    response = client.get(reverse("case-study-detail", args=[slug]))
    assert response.status_code == 200
    assert CaseStudy.objects.get(slug=slug).title in text_of(response)


def test_a_table_stands_as_the_paper_prints_it(client: Client, published_evidence):
    response = client.get(reverse("case-study-detail", args=["p1"]))
    assert rows_of(response, "table-iii") == [
        "Configuration 1 VM 2 VMs 3 VMs",
        "ESXi, ext4 on VMFS 2.6 1.3 0.9",
        "ESXi, XFS on VMFS 3.5 1.6 1.2",
        "ESXi, Btrfs on VMFS 3.5 1.8 1.0",
        "Proxmox VE, ext4 on ext4 3.0 1.5 1.1",
        "Proxmox VE, XFS on ext4 3.5 1.7 1.2",
        "Proxmox VE, Btrfs on ext4 3.9 1.9 1.5",
    ]


def test_a_table_by_block_size_has_block_sizes_as_columns(client: Client, published_evidence):
    response = client.get(reverse("case-study-detail", args=["p2"]))
    heading, hyper_v, *_ = rows_of(response, "table-iii")
    assert heading == "Configuration 4 KiB 32 KiB 512 KiB 8 MiB"
    assert hyper_v == "Hyper-V, NTFS on NTFS 13.89 32.73 46.54 45.31"


def test_both_readings_of_an_unclear_scan_are_shown(client: Client, published_evidence):
    text = text_of(client.get(reverse("case-study-detail", args=["p4"])))
    assert "13.04" in text
    assert "can also be read as 12.04 MiB/s" in text


def test_the_chart_of_a_table_has_the_numbers_of_the_table(client: Client, published_evidence):
    response = client.get(reverse("case-study-detail", args=["p1"]))
    (series, *_) = [
        chart["data"]["series"] for chart in [table.chart for table in response.context["page"].tables] if chart
    ]
    assert [point["value"] for point in series[0]["points"]] == [2.6, 1.3, 0.9]


def test_derived_values_stand_apart_from_reported_ones(client: Client, published_evidence):
    response = client.get(reverse("case-study-detail", args=["p0"]))
    text = text_of(response).partition("Single values in the text")[2]  # above, the gate names numbers of both kinds
    assert 0 < text.index("not printed by the source") < text.index("1,429.19")
    assert [len(group.used) for group in response.context["page"].derived] == [4, 4, 4, 4]
    assert response.context["page"].derived[0].anchor == "section-6-1"


def test_the_two_lists_of_a_finding_stand_side_by_side(client: Client, published_evidence):
    response = client.get(reverse("case-study-detail", args=["p3-cs1"]))
    rows = [
        row for row in re.findall(r"<tr>(.*?)</tr>", response.content.decode(), flags=re.DOTALL) if "disagree" in row
    ]
    words = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in rows]
    assert words == ["XFS on ext4 they disagree not listed worst", "Btrfs on XFS they disagree best worst"]


def test_what_a_source_leaves_open_is_named_in_a_line(client: Client, published_evidence):
    text = text_of(client.get(reverse("case-study-detail", args=["p3-cs1"])))
    testbed, protocol, *_ = re.findall(r"Not stated: ([^.]*)\.", text)
    assert "Sequential read limit" in testbed.split(", ")
    assert "Runs averaged" in protocol.split(", ")
    assert "nan" not in text.lower().split()
    assert "None" not in text.replace("None of", "")


@pytest.mark.parametrize("slug", ["p0", "p1", "p2", "p3-cs1", "p4"])
def test_a_case_study_costs_fifteen_queries_at_most(
    client: Client, published_evidence, django_assert_max_num_queries, slug
):
    with django_assert_max_num_queries(15):  # five of them for the ticks, one for what replaced what
        client.get(reverse("case-study-detail", args=[slug]))


@pytest.mark.parametrize("status", [CaseStudy.Status.DRAFT, CaseStudy.Status.SUBMITTED])
def test_what_is_not_published_is_not_found(client: Client, status):
    draft = make_case_study("secret", status=status)
    assert client.get(reverse("case-study-detail", args=[draft.slug])).status_code == 404
    assert draft.title not in text_of(client.get(reverse("case-study-list")))


def test_a_retracted_case_study_stays_with_the_reason(client: Client):
    case_study = make_case_study("withdrawn")
    publish(case_study)
    case_study.refresh_from_db()
    retraction.retract(case_study, reason="The disk was failing.")
    text = text_of(client.get(reverse("case-study-detail", args=["withdrawn"])))
    assert "Retracted at knowledge revision 2." in text
    assert "The disk was failing." in text
    assert "retracted" in text_of(client.get(reverse("case-study-list")))


def test_repetitions_share_a_cell_as_their_mean(client: Client):
    first = make_measurement(100.0, repetition=1)
    make_measurement(110.0, repetition=2, configuration=first.configuration, variant=first.variant)
    make_measurement(50.0, vm_count=2, configuration=first.configuration, variant=first.variant)
    publish(first.configuration.case_study)
    text = text_of(client.get(reverse("case-study-detail", args=[first.configuration.case_study.slug])))
    assert "105 (2 runs, 100 to 110)" in text


def test_a_case_study_with_very_many_values_says_that_it_shows_the_first(client: Client, monkeypatch):
    monkeypatch.setattr("experiments.case_studies.pages.MAX_VALUES", 2)
    first = make_measurement(100.0)
    for number in (2, 3):
        make_measurement(100.0, repetition=number, configuration=first.configuration, variant=first.variant)
    publish(first.configuration.case_study)
    text = text_of(client.get(reverse("case-study-detail", args=[first.configuration.case_study.slug])))
    assert "Only the first values are shown" in text


def test_text_from_a_case_study_cannot_become_markup(client: Client):
    measurement = make_measurement(100.0, note="<script>alert(1)</script>", source="<b>Table</b>")
    make_measurement(
        50.0, vm_count=2, source="<b>Table</b>", configuration=measurement.configuration, variant=measurement.variant
    )
    publish(measurement.configuration.case_study)
    content = client.get(
        reverse("case-study-detail", args=[measurement.configuration.case_study.slug])
    ).content.decode()
    assert "<script>alert" not in content
    assert "<b>Table" not in content


# Knowledge


def test_knowledge_shows_the_cost_matrix_and_the_seven_components(client: Client, published_evidence):
    text = text_of(client.get(reverse("knowledge")))
    assert "Free list operations linear bitmap C1.4 B+ tree C2.4 B+ tree C3.4" in text
    assert "Hyp_proc [5]" in text
    assert "p3 Table 1" in text


def test_knowledge_costs_ten_queries(client: Client, published_evidence, django_assert_num_queries):
    with django_assert_num_queries(10):
        client.get(reverse("knowledge"))


def test_knowledge_is_a_page_before_anything_is_known(client: Client):
    assert client.get(reverse("knowledge")).status_code == 200


def test_every_catalogue_entry_has_a_page(client: Client, published_evidence):
    for model, name in (
        (FileSystem, "file-system-detail"),
        (Hypervisor, "hypervisor-detail"),
        (Workload, "workload-detail"),
    ):
        for entry in model.objects.all():
            response = client.get(reverse(name, args=[entry.slug]))
            assert response.status_code == 200
            assert entry.name in text_of(response)


@pytest.mark.parametrize(
    ("name", "slug", "number"),
    [("file-system-detail", "btrfs", 3), ("hypervisor-detail", "kvm", 2), ("workload-detail", "varmail", 3)],
)
def test_an_entry_costs_a_constant_number_of_queries(
    client: Client, published_evidence, django_assert_num_queries, name, slug, number
):
    with django_assert_num_queries(number):
        client.get(reverse(name, args=[slug]))


def test_a_file_system_without_stated_mechanisms_says_so(client: Client, published_evidence):
    assert "state none of its mechanisms" in text_of(client.get(reverse("file-system-detail", args=["ntfs"])))


def test_a_workload_names_its_variants_and_their_evidence(client: Client, published_evidence):
    text = text_of(client.get(reverse("workload-detail", args=["varmail"])))
    assert "mean_directory_width = 1000000" in text
    assert "Hyper-V and KVM under full virtualisation" in text
    assert "Hyper-V, ESXi and XenServer" not in text


def test_a_draft_shows_on_no_page_of_the_catalogue(client: Client):
    draft = make_measurement(guest_fs="xfs", hypervisor="kvm").configuration.case_study
    for name, slug in (("file-system-detail", "xfs"), ("hypervisor-detail", "kvm"), ("workload-detail", "varmail")):
        assert draft.title not in text_of(client.get(reverse(name, args=[slug])))


@pytest.mark.parametrize("name", ["file-system-detail", "hypervisor-detail", "workload-detail"])
def test_an_unknown_entry_is_not_found(client: Client, name):
    response = client.get(reverse(name, args=["nothing"]))
    assert response.status_code == 404
    assert "There is no such page" in text_of(response)


# The administration site


def test_administrators_may_look_at_evidence_but_not_type_it_in(admin_client: Client):
    measurement = make_measurement()
    assert admin_client.get("/admin/").status_code == 200
    assert admin_client.get("/admin/experiments/measurement/").status_code == 200
    assert admin_client.get(f"/admin/experiments/measurement/{measurement.pk}/change/").status_code == 200
    assert admin_client.get("/admin/experiments/measurement/add/").status_code == 403
    assert admin_client.get("/admin/experiments/hypervisor/add/").status_code == 200


# Where each number comes from


def test_each_number_of_a_table_says_where_it_comes_from_and_leads_to_its_row(client):
    case_study = make_case_study("lab")
    variant = make_variant("varmail", benchmark_version="1.5")
    common = {"case_study": case_study, "variant": variant, "source": "Table V"}
    first = make_measurement(10.5, vm_count=1, repetitions=3, standard_deviation=0.25, **common)
    make_measurement(7.25, vm_count=2, **common)
    publish(case_study)
    page = client.get("/case-studies/lab/").content.decode()
    assert f'href="/measurements/{first.pk}/"' in page
    assert 'data-provenance="Table V; filebench 1.5; mean of 3 runs; standard deviation 0.25 MiB/s"' in page
    assert 'data-provenance="Table V; filebench 1.5; number of runs not stated"' in page
    assert 'data-value="10.5"' in page
    assert client.get(f"/api/v1/measurements/{first.pk}/").json()["value"] == 10.5


def test_a_number_has_a_page_that_a_person_can_read(client):
    study = make_case_study("lab")
    common = {"variant": make_variant("varmail", benchmark_version="1.5"), "source": "Table V"}
    common |= {"configuration": make_configuration(study, guest_fs="xfs", cache_mode="writeback")}
    first, second = (make_measurement(value, repetition=n, **common) for n, value in ((1, 10.5), (2, 11.5)))
    publish(study)

    page = client.get(f"/measurements/{first.pk}/").content.decode()

    for words in ("10.5 MiB/s", "Table V; filebench 1.5", 'href="/case-studies/lab/#', "writeback", "xfs on ext4"):
        assert words in page
    assert f'href="/measurements/{second.pk}/"' in page
    assert f'href="/api/v1/measurements/{first.pk}/"' in page


def test_a_derived_number_has_a_page_with_its_arithmetic(client):
    value = make_derived_value(20.0, low=18.0, high=22.0, formula="2 x 10", case_study=make_case_study("lab"))
    publish(value.configuration.case_study)
    page = client.get(f"/derived-values/{value.pk}/").content.decode()
    assert "2 x 10" in page
    assert "not printed by the source" in page


def test_a_number_of_a_draft_has_no_public_page(client):
    assert client.get(f"/measurements/{make_measurement().pk}/").status_code == 404
    assert client.get(f"/derived-values/{make_derived_value().pk}/").status_code == 404


def test_a_number_of_a_file_names_its_line():
    study = make_case_study("lab")
    file = make_raw_file(study, name="run-1.log")
    measurement = make_measurement(10.5, case_study=study, raw_file=file, line=12, repetitions=1)
    assert tables.provenance([measurement]) == "run-1.log, line 12; filebench 1.4.9.1; one run"


# The list of case studies


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("hypervisor=xen", {"p0", "p2"}),
        ("hypervisor=kvm&guest_fs=btrfs", {"p3-cs1", "p3-cs2", "p3-cs3"}),
        ("host_fs=vmfs", {"p0", "p1"}),
        ("workload=atto", {"p2"}),
        ("storage=nvme", set()),
    ],
)
def test_the_list_is_filtered_by_what_the_address_says(query, slugs, published_evidence, client):
    response = client.get(f"/case-studies/?{query}")
    assert {line.case_study.slug for line in response.context["lines"]} == slugs
    assert ("No case study matches" in response.content.decode()) == (not slugs)


def test_a_filter_that_is_not_known_is_told(published_evidence, client):
    response = client.get("/case-studies/?hypervisor=bhyve")
    assert response.status_code == 400
    assert "could not be understood" in response.content.decode()


@pytest.mark.sqlite
def test_pages_of_a_filtered_list_keep_the_filter(client):
    for number in range(21):
        case_study = make_case_study(f"lab-{number}")
        make_measurement(5.0, case_study=case_study, hypervisor="kvm")
        publish(case_study)
    page = client.get("/case-studies/?hypervisor=kvm").content.decode()
    assert 'href="?hypervisor=kvm&amp;page=2"' in page


# Surfaces


def make_sweep(metric: str = "operation_rate", unit: str = "ops/s", **fields) -> CaseStudy:
    """Make random reads at depths 1 and 16 by 1 and 4 jobs; the faster, the more are in flight."""
    configuration = fields.pop("configuration", None) or make_configuration()
    for depth, jobs in ((1, 1), (16, 1), (1, 4), (16, 4)):
        variant = make_variant(parameters={"rw": "randread", "iodepth": depth, "numjobs": jobs})
        fields |= {"variant": variant, "operation": "random-read", "metric": metric, "unit": unit}
        make_measurement(1000.0 * depth * jobs, configuration=configuration, **fields)
    return configuration.case_study


def tables_of(response) -> list[list[str]]:
    """Return the text of each row of each table with tints."""
    bodies = re.findall(r"<table>(.*?)</table>", response.content.decode(), flags=re.DOTALL)
    rows = [re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL) for body in bodies if "heat-" in body]
    return [[re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in table] for table in rows]


def test_a_load_at_several_depths_and_numbers_of_jobs_is_one_table_of_depth_by_jobs(client):
    case_study = make_sweep()
    make_sweep("latency_p99", "ms", configuration=case_study.configurations.get())
    publish(case_study)
    response = client.get(reverse("case-study-detail", args=[case_study.slug]))
    rates, percentiles = tables_of(response)
    assert rates == ["Configuration depth 1 depth 16", "jobs: 1 1,000 16,000", "jobs: 4 4,000 64,000"]
    assert percentiles == rates
    content = response.content.decode()
    assert re.findall(r'class="num heat-(\d)"', content) == [
        "0",
        "3",
        "1",
        "4",
        "4",
        "1",
        "3",
        "0",
    ]  # less ms is better
    assert "Single values" not in content
    assert "Latency p99 in ms, by queue depth and number of jobs" in text_of(response)


def test_a_surface_links_its_numbers_as_csv(client):
    publish(case_study := make_sweep())
    page = client.get(reverse("case-study-detail", args=[case_study.slug])).content.decode()
    address = re.search(r'href="(/api/v1/measurements/[^"]*format=csv)"', page)[1].replace("&amp;", "&")
    header, *lines = (line.split(",") for line in client.get(address).content.decode().splitlines())
    at = [header.index(name) for name in ("queue_depth", "jobs", "value")]
    assert [[line[n] for n in at] for line in lines] == [
        *(["1", "1", "1000.0"], ["16", "1", "16000.0"], ["1", "4", "4000.0"], ["16", "4", "64000.0"]),
    ]


def test_the_surface_of_a_draft_has_no_link_that_only_published_numbers_have(client, django_user_model):
    case_study = make_sweep()
    client.force_login(django_user_model.objects.create_superuser("admin"))
    page = client.get(reverse("case-study-detail", args=[case_study.slug])).content.decode()
    assert 'class="num heat-4"' in page
    assert "/api/v1/measurements/?" not in page


def test_several_configurations_at_several_depths_stand_below_one_another(client):
    case_study = make_case_study("lab")
    for guest_fs in ("xfs", "ext4"):
        configuration = make_configuration(case_study, slug=guest_fs, guest_fs=guest_fs)
        for depth in (4, 1):
            variant = make_variant(parameters={"queue_depth": depth})
            make_measurement(10.0 * depth, configuration=configuration, variant=variant)
    publish(case_study)
    (table,) = tables_of(client.get(reverse("case-study-detail", args=["lab"])))
    assert table[0] == "Configuration depth 1 depth 4"
    assert [row.split()[-2:] for row in table[1:]] == [["10", "40"], ["10", "40"]]


def test_configurations_that_were_each_measured_at_one_depth_are_no_surface(client):
    case_study = make_case_study("lab")
    for depth, guest_fs in ((1, "xfs"), (4, "ext4")):
        variant = make_variant(parameters={"iodepth": depth})
        configuration = make_configuration(case_study, slug=guest_fs, guest_fs=guest_fs)
        make_measurement(10.0, configuration=configuration, variant=variant)
    publish(case_study)
    assert tables_of(client.get(reverse("case-study-detail", args=["lab"]))) == []


# Revisions of the knowledge


def test_every_publication_and_retraction_is_listed_with_its_reason(client):
    case_study = make_case_study("lab", title="My laboratory")
    publish(case_study, reason="Checked against the files.")
    retraction.retract(case_study, reason="The disk was another.")
    page = text_of(client.get("/knowledge/revisions/"))
    assert page.index("The disk was another.") < page.index("Checked against the files.")
    assert page.count("My laboratory") == 2


def test_what_is_being_worked_in_is_shown_until_it_is_done(client):
    job = make_job(kind="recompute_rankings", progress=3, total=12)
    make_job(kind="contact_host")
    fragment = client.get("/knowledge/revisions/", headers={"hx-request": "true"}).content.decode()
    assert "Rankings: waiting, 3 of 12" in fragment
    assert "every 2s" in fragment
    assert "host" not in fragment
    job.delete()
    fragment = client.get("/knowledge/revisions/", headers={"hx-request": "true"}).content.decode()
    assert "Everything published is processed." in fragment
    assert "every 2s" not in fragment


def test_the_list_of_revisions_costs_the_same_for_any_number(client, django_assert_num_queries):
    for _ in range(5):
        publish(make_configuration().case_study)
    with django_assert_num_queries(6):
        client.get("/knowledge/revisions/")
