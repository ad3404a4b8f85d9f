"""The page of one number: what it says, what it may be compared with, and who may see it."""

import html
import re

import pytest
from django.test import Client

from experiments.case_studies import retraction
from experiments.models import HostStorage, Measurement
from tests.factories import (
    make_case_study,
    make_configuration,
    make_derived_value,
    make_measurement,
    make_publication,
    make_user,
    make_variant,
    publish,
)

pytestmark = pytest.mark.django_db


def page_of(row, client: Client | None = None):
    kind = "measurements" if isinstance(row, Measurement) else "derived-values"
    return (client or Client()).get(f"/{kind}/{row.pk}/")


def read(row):
    return page_of(row).context["page"]


def text_of(response) -> str:
    main = response.content.decode().partition("<main")[2].partition("</main")[0]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", main)))


@pytest.fixture
def study():
    return make_case_study("lab", title="My laboratory", run_seconds=60)


# What it says


def test_conditions_are_named_and_what_the_source_leaves_open_is_said_once(study):
    row = make_measurement(
        10.5,
        configuration=make_configuration(study, guest_fs="xfs", cache_mode="writeback"),
        variant=make_variant("varmail", benchmark_version="1.5", parameters={"files": 1000}),
        block_size_bytes=4096,
        repetitions=3,
        standard_deviation=0.25,
    )
    publish(study)

    page = read(row)

    conditions = dict(page.conditions)
    assert page.value == "10.5 MiB/s"
    assert conditions["Parameters"] == "files = 1000"
    assert conditions["Block size"] == "4\N{NO-BREAK SPACE}KiB"
    assert conditions["Runs"] == "3, averaged"
    assert conditions["Spread of the runs"] == "standard deviation 0.25 MiB/s"
    assert conditions["Length of a run"] == "60 s"
    assert conditions["Disks"] == "One disk (hard disk)"
    assert dict(page.configuration)["Cache mode"] == "writeback"
    assert {"image format", "guest kernel", "I/O mode"} <= set(page.left_open)
    assert not {"cache mode", "runs", "host file system", "load works on", "kind of storage"} & set(page.left_open)
    assert text_of(page_of(row)).count("The source does not state:") == 1


def test_runs_kept_one_by_one_are_counted_with_their_ends(study):
    configuration, variant = make_configuration(study), make_variant("varmail")
    rows = [
        make_measurement(value, repetition=n, configuration=configuration, variant=variant)
        for n, value in ((1, 10.0), (2, 14.0))
    ]
    publish(study)
    conditions = dict(read(rows[0]).conditions)
    assert conditions["Runs"] == "2, kept one by one"
    assert conditions["Spread of the runs"] == "10 to 14 MiB/s"


def test_the_source_is_named_with_its_place_and_leads_out(study):
    study.publication = make_publication(
        "paper", title="A paper on disks", year=2021, address="https://example.org/paper", doi="10.1000/182"
    )
    study.save()
    row = make_measurement(case_study=study, source="Table V")
    publish(study)

    response = page_of(row)

    assert "Table V of A paper on disks . Venue not stated, 2021." in text_of(response).replace(" , ", ", ")
    content = response.content.decode()
    assert '<a href="https://example.org/paper" rel="noopener noreferrer">Read it at example.org</a>' in content
    assert '<a href="https://doi.org/10.1000/182" rel="noopener noreferrer">' in content


def test_a_source_without_an_address_says_so(study):
    study.publication = make_publication("paper")
    study.save()
    row = make_measurement(case_study=study)
    publish(study)
    assert "Its address is not recorded." in text_of(page_of(row))


# What it may be compared with


def test_beside_it_stand_the_numbers_of_its_fair_play_group_with_what_differs(study):
    variant = make_variant("varmail")
    row = make_measurement(10.0, case_study=study, guest_fs="ext4", variant=variant)
    other = make_measurement(30.0, case_study=study, guest_fs="xfs", variant=variant)
    make_measurement(50.0, repetition=2, case_study=study, guest_fs="xfs", variant=variant)
    make_measurement(9.0, case_study=study, guest_fs="btrfs", variant=variant, vm_count=2)
    make_measurement(9.0, case_study=study, guest_fs="zfs", variant=make_variant("fileserver"))
    make_measurement(
        9.0, case_study=study, guest_fs="jfs", variant=variant, excluded_because="A lost cable.", excluded_by="us"
    )
    publish(study)

    beside = read(row).beside

    assert [(number.value, number.ratio, number.is_this) for number in beside] == [
        ("10 MiB/s", 1.0, True),
        ("40 MiB/s", 4.0, False),
    ]
    assert (beside[1].key, beside[1].runs, beside[1].differences) == (other.pk, 2, ["guest file system xfs"])


def test_a_page_shows_the_first_of_a_large_group_and_says_so(study, monkeypatch):
    monkeypatch.setattr("experiments.case_studies.numbers.MAX_NEIGHBOURS", 2)
    variant = make_variant("varmail")
    rows = [make_measurement(case_study=study, guest_fs=f"fs-{n}", variant=variant) for n in range(3)]
    publish(study)
    assert [number.key for number in read(rows[2]).beside] == [rows[2].pk, rows[0].pk]
    assert "Only the first 2 are shown." in text_of(page_of(rows[2]))


def test_a_derived_value_stands_beside_those_that_rankings_use(study):
    variant = make_variant("varmail")
    row, other = (
        make_derived_value(value, low=1.0, high=99.0, case_study=study, guest_fs=fs, variant=variant)
        for value, fs in ((20.0, "ext4"), (30.0, "xfs"))
    )
    make_derived_value(40.0, low=1.0, high=99.0, case_study=study, guest_fs="zfs", variant=variant, is_evidence=False)
    publish(study)
    assert [number.key for number in read(row).beside] == [row.pk, other.pk]
    assert f'href="/derived-values/{other.pk}/"' in page_of(row).content.decode()


def test_a_large_group_costs_no_further_queries(study, django_assert_num_queries):
    variant = make_variant("varmail")
    row = make_measurement(case_study=study, variant=variant)
    publish(study)
    client = Client()
    HostStorage.by_slug()  # cached
    with django_assert_num_queries(4):
        page_of(row, client)
    for number in range(1, 12):
        make_measurement(case_study=study, guest_fs=f"fs-{number}", variant=variant)
    with django_assert_num_queries(4):
        assert len(page_of(row, client).context["page"].beside) == 12


# Who may see it


@pytest.mark.parametrize("make", [make_measurement, make_derived_value])
def test_a_number_of_a_draft_is_seen_by_its_author_alone(make, client):
    author, other = make_user(), make_user()
    row = make(case_study=make_case_study("secret", owner=author))
    for user, status in ((None, 404), (other, 404), (author, 200)):
        client.logout()
        if user:
            client.force_login(user)
        response = page_of(row, client)
        assert response.status_code == status
    assert response["Cache-Control"] == "private, no-store"
    assert "Not published." in text_of(response)
    assert "/api/v1/" not in response.content.decode().partition("<main")[2].partition("</main")[0]


def test_the_draft_as_readers_will_see_it_leads_to_its_numbers(client):
    author = make_user()
    row = make_measurement(case_study=make_case_study("secret", owner=author))
    client.force_login(author)
    assert f'href="/measurements/{row.pk}/"' in client.get("/case-studies/secret/").content.decode()


def test_a_number_of_a_retracted_case_study_says_why(study):
    row = make_measurement(case_study=study)
    publish(study)
    retraction.retract(study, reason="The disk was failing.")
    assert "Its case study is retracted. The disk was failing." in text_of(page_of(row))


# The page and the API


def test_page_and_api_agree(published_evidence, client):
    for row in Measurement.objects.order_by("pk")[::12]:
        page = page_of(row, client).context["page"]
        data = client.get(f"/api/v1/measurements/{row.pk}/").json()
        conditions, shown = dict(page.conditions), page.number
        assert (data["value"], data["unit"], data["metric"]) == (shown.value, shown.unit, shown.metric)
        assert page.value.endswith(data["unit"])
        assert conditions["Operation"] == data["operation"]
        assert (data["block_size_bytes"] is None) == ("Block size" not in conditions)
        assert (data["source"] or "") == shown.source
        assert data["case_study"] == page.case_study.slug
        assert (data["repetitions"] is None) == ("Runs" not in conditions)
