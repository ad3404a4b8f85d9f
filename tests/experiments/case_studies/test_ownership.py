"""Entries that a draft brings: seen by nobody else before publication, public with it, gone with its deletion."""

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from experiments.campaigns import drafts as campaign_drafts
from experiments.case_studies import bundles, lifecycle, pages, retraction, reviews
from experiments.imports import pipeline
from experiments.models import (
    AuditEntry,
    Benchmark,
    CaseStudy,
    Claim,
    FileSystem,
    HostStorage,
    Hypervisor,
    ImportBatch,
    OperatingSystem,
    OrdinalFinding,
    PrintedRatio,
    Publication,
    Server,
    Storage,
    Workload,
    WorkloadVariant,
)
from experiments.records import references, visible
from experiments.records.files import raw_files
from kdb.api.urls import urlpatterns as api_patterns
from modelling.answer_store import snapshots
from modelling.claims import verdicts
from modelling.evidence import dataframes, summaries
from modelling.evidence.question import Question
from modelling.models import ClaimVerdict
from tests import factories
from tests.experiments.imports.test_pipeline import changed

pytestmark = pytest.mark.django_db

WORD = "quokka"  # stands in every name that a draft brings, and nowhere else
MOST_PAGES = 1100
ORIGINS = {"kernel_origin": "its own", "virtual_device_origin": "its own"}


@pytest.fixture
def paper() -> Publication:
    """Return a published paper with a case study, a list and a claim of its own."""
    Hypervisor.objects.create(slug="kvm", name="KVM", kind="type-1", **ORIGINS)
    publication = factories.make_publication("paper", title="A published paper")
    study = factories.make_case_study("old", publication=publication)
    for guest_fs, value in (("ext4", 100.0), ("xfs", 90.0)):
        factories.make_measurement(value, case_study=study, guest_fs=guest_fs)
    factories.make_claim(code="OLD-1", publication=publication).case_studies.add(study)
    factories.make_finding(publication=publication, case_studies=[study])
    factories.publish(study)
    return publication


def quokkas(paper: Publication) -> CaseStudy:
    """Return a case study in which everything that can be new is new."""
    own = factories.make_publication("quokka-report", title="Quokka report", authors=["Q. Quokka"], venue="Quokka days")
    server = factories.make_server(model="Quokka 1000")
    storage = factories.make_storage(server=server, description="Quokka disks")
    study = factories.make_case_study(
        "quokka-lab",
        title="Quokkas under load",
        publication=own,
        storage=storage,
        procedure="As quokkas do.",
        notes=["Quokka"],
    )
    named = {"name": "Quokka", "aliases": ["the quokka"], "description": "A quokka.", "source": "Quokka, 1"}
    hypervisor = Hypervisor.objects.create(slug="quokka-visor", kind="type-1", **named, **ORIGINS)
    file_system = FileSystem.objects.create(slug="quokka-fs", **named)
    HostStorage.objects.create(slug="quokka-sds", family="quokkas", kind="managed", **named)
    system = OperatingSystem.objects.create(slug="quokka-os", family="other", **named)
    benchmark = Benchmark.objects.create(slug="quokka-bench", **named)
    workload = Workload.objects.create(slug="quokka-load", **named)
    variant = factories.make_variant(workload, benchmark=benchmark, parameters={"quokkas": 3})
    for guest_fs, value in ((file_system, 50.0), ("ext4", 40.0)):
        backend = {"host_fs": file_system, "backend": "quokka-sds"}
        configuration = factories.make_configuration(
            study, hypervisor=hypervisor, guest_fs=guest_fs, guest_os=system, note="quokka", **backend
        )
        factories.make_measurement(value, configuration=configuration, variant=variant, source="Quokka table")
    factories.make_derived_value(configuration=configuration, variant=variant, operation="read")
    factories.make_printed_ratio(
        case_study=study, variant=variant, numerator="quokka-visor", denominator="kvm", source="Quokka chart"
    )
    for code, publication in (("QUOKKA-1", own), ("QUOKKA-2", paper)):
        details = {"location": "p. 1", "scope": "quokkas", "predicate": "a > b", "checkable_from": "a table"}
        claim = factories.make_claim(code=code, publication=publication, statement="Quokkas are faster.", **details)
        claim.case_studies.add(study)
        claim.workloads.add(workload, factories.entry(Workload, "varmail"))
    for publication in (own, paper):
        factories.make_finding(
            publication=publication,
            **{"variant": variant, "hypervisor": hypervisor, "guest_fs": file_system, "host_fs": "ext4"},
            **{"case_studies": [study], "text_source": "Quokka list", "table_source": "Table 1"},
        )
    factories.make_raw_file(study, b"quokka 1.0", name="quokka.txt")
    return study


@pytest.fixture
def bundle(paper) -> bytes:
    """Return its bundle, from a database that does not hold it."""
    content = io.BytesIO()
    with transaction.atomic():
        bundles.export(quokkas(paper), content)
        transaction.set_rollback(True)
    return content.getvalue()


def brought(bundle: bytes, slug: str = "quokka-lab") -> CaseStudy:
    """Return a researcher's draft of the bundle, under this name."""
    renamed = changed(bundle, "case-study.json", b'"quokka-lab"', f'"{slug}"'.encode())
    return bundles.import_bundle(renamed, user=factories.make_user(), door=ImportBatch.Door.BROWSER)[0]


CREATED = {
    "hypervisor": {"Quokka hypervisor": {"slug": "quokka-two", "name": "Quokka two", "kind": "type-2", **ORIGINS}},
    "file_system": {"QuokkaPool": {"slug": "quokkapool", "name": "QuokkaPool", "description": "A quokka's."}},
    "host_storage": {"Quokka store": {"slug": "quokkastore", "name": "Quokka store", "kind": "managed"}},
    "operating_system": {"quokkix": {"slug": "quokkix", "name": "Quokkix", "family": "other"}},
    "workload": {"quokking": {"slug": "quokking", "name": "Quokking"}},
    "benchmark": {"quokkagauge": {"slug": "quokkagauge", "name": "QuokkaGauge"}},
}
TABLE = (
    "hypervisor,host_fs,backend,guest_fs,guest_os,workload,benchmark,vm_count,value,unit\n"
    "Quokka hypervisor,ext4,Quokka store,QuokkaPool,quokkix,quokking,quokkagauge,1,12.5,MiB/s\n"
)


def imported(slug: str, *, create: dict | None = None, table: str = TABLE, user=None) -> ImportBatch:
    """Return the results of TABLE in a draft, its unknown names made into entries."""
    draft = factories.make_case_study(slug, title="Quokkas imported", owner=user or factories.make_user())
    return received(draft, create=create, table=table)


def received(draft: CaseStudy, *, create: dict | None = None, table: str = TABLE) -> ImportBatch:
    answers = {"create": CREATED if create is None else create}
    upload = raw_files.take("quokka.csv", [table.encode()])
    options = {"user": draft.owner, "door": ImportBatch.Door.BROWSER, "is_confirmed": True}
    return pipeline.finish(pipeline.receive(draft, [upload], answers=answers, **options)[0])


# Every door


def crawl(client: Client, most_alike: int) -> Iterator[tuple[str, str]]:
    """Every page that links lead to from the first one and from the lists of the API, with its text: of pages that are
    alike only so many, first those about what the draft names, too."""
    api = [reverse(f"v1:{pattern.name}") for pattern in flat(api_patterns) if is_plain(str(pattern.pattern))]
    waiting = ["/", "/knowledge/", "/search/?q=old", "/case-studies/", "/mix/", "/advisor/", "/claims/", *api]
    seen, alike = set(waiting), Counter()
    while waiting:
        address = min(waiting, key=lambda place: not is_about_what_the_draft_names(place))
        waiting.remove(address)
        alike[kind(address)] += 1
        if alike[kind(address)] > most_alike:
            continue
        _, text = got(client, address)
        yield address, text
        links = re.findall(r'(?:href|hx-get|action)="([^"#]+)', text)
        links += re.findall(r'"(?:next|url)":\s*"([^"]+)"', text)
        for link in links:
            parts = urlsplit(link)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            if parts.netloc in ("", "testserver") and path.startswith("/") and path not in seen:
                seen.add(path)
                waiting.append(path)
    assert len(seen) < MOST_PAGES


def is_about_what_the_draft_names(address: str) -> bool:
    return bool(re.search(r"\b(?:kvm|ext4|varmail|paper|old)\b", address, re.IGNORECASE))


def kind(address: str) -> tuple:
    """Return what is equal for all pages that one view makes from the same parameters."""
    parts = urlsplit(address)
    try:
        route = resolve(parts.path).route
    except Resolver404:  # what the web server answers without a view
        route = parts.path
    return route, *sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})


def flat(patterns) -> Iterator:
    for pattern in patterns:
        yield from flat(pattern.url_patterns) if hasattr(pattern, "url_patterns") else [pattern]


def is_plain(route: str) -> bool:
    return "<" not in route and not route.startswith("^")


def hidden_addresses(*studies: CaseStudy) -> list[str]:
    """Return the address of each thing a draft has, public once it is: pages and API."""
    addresses = []
    for study in studies:
        addresses += [f"/case-studies/{study.slug}/{page}" for page in ("", "claims/", "fair-play/", "bundle.zip")]
        addresses += [f"/case-studies/{study.slug}/citation.bib", f"/api/v1/case-studies/{study.slug}/"]
        addresses += [f"/api/v1/configurations/{study.slug}/{row.slug}/" for row in study.configurations.all()]
        only = CaseStudy.objects.filter(pk=study.pk)
        addresses += [f"/api/v1/workload-variants/{row.pk}/" for row in references.variants(only)]
        addresses += [f"/claims/{row.publication.slug}/{row.code}/" for row in study.claims.all()]
        addresses += [f"/api/v1/claims/{row.code}/" for row in study.claims.all()]
        addresses += [f"/api/v1/findings/{row.pk}/" for row in study.findings.all()]
        for model, page, api in (
            (Publication, "claims", "publications"),
            (Hypervisor, "knowledge/hypervisors", "hypervisors"),
            (FileSystem, "knowledge/file-systems", "file-systems"),
            (HostStorage, "", "host-storages"),
            (Workload, "knowledge/workloads", "workloads"),
            (OperatingSystem, "", "operating-systems"),
            (Benchmark, "", "benchmarks"),
        ):
            for row in references.used_by(model, only).filter(slug__icontains="quokk"):
                addresses += [f"/api/v1/{api}/{row.slug}/", *([f"/{page}/{row.slug}/"] if page else [])]
    return addresses


def status(client: Client, address: str) -> int:
    return got(client, address)[0]


def got(client: Client, address: str) -> tuple[int, str]:
    """Status and text, headers included, read to the end."""
    response = client.get(address)
    text = unescape(b"".join(response).decode(errors="replace"))
    return response.status_code, text + str(response.headers)


ASKED = [  # answered with an error that names what is allowed, before publication
    "/api/v1/rankings/fs-pair/?workload=quokka-load",
    "/api/v1/measurements/?hypervisor=quokka-visor",
    "/api/v1/case-studies/?publication=quokka-report",
    "/?workload=quokka-load&axis=fs-pair",
    "/mix/?weights=quokka-load:1",
    "/search/?q=quokka",
    "/api/v1/search/?q=quokka",
    "/api/v1/rankings/fs-pair/?workload=nothing",
    "/api/v1/measurements/?hypervisor=nothing",
    "/case-studies/?hypervisor=quokka-visor",
]


@pytest.mark.sqlite
@pytest.mark.parametrize("most_alike", [1, pytest.param(MOST_PAGES, marks=[pytest.mark.nightly, pytest.mark.slow])])
def test_nobody_meets_what_a_draft_brings_until_it_is_published(client, bundle, most_alike):
    draft = brought(bundle)
    other = imported("quokka-import")
    assert other.state == "filed", other.report
    drafts = (draft, other.case_study)
    reviews.submit(draft, user=draft.owner)
    summaries.rebuild_arms([draft.pk])  # as a preview does
    texts = dict(crawl(client, most_alike))
    assert [address for address, text in texts.items() if "quokk" in text.lower()] == []
    assert len(texts) > 100
    addresses = hidden_addresses(*drafts)
    assert len(addresses) > 40
    statuses = {address: status(client, address) for address in addresses}
    assert set(statuses.values()) == {404}, statuses
    for address in ASKED:  # what was asked is echoed in small letters; names have a capital
        text = client.get(address).content.decode()
        assert not re.search("Quokk|quokkapool", text), address

    for study in drafts:
        factories.publish(study)
    for address in (
        *("/knowledge/", "/case-studies/", "/api/v1/hypervisors/", "/api/v1/file-systems/", "/api/v1/workloads/"),
        *("/api/v1/operating-systems/", "/api/v1/benchmarks/", "/api/v1/publications/", "/api/v1/claims/"),
        *("/api/v1/findings/", "/api/v1/workload-variants/", "/api/v1/printed-ratios/", "/claims/", "/claims/paper/"),
        *("/", "/api/v1/servers/", "/api/v1/storage/", "/api/v1/measurements/", "/mix/"),
    ):
        assert "quokk" in got(client, address)[1].lower(), address
    statuses = {address: status(client, address) for address in addresses}
    assert set(statuses.values()) == {200}, statuses
    assert "Quokkas are faster" in client.get("/search/?q=quokkas").content.decode()


def test_what_only_a_deleted_draft_brought_is_gone_from_the_database(bundle):
    drafts = (brought(bundle), imported("quokka-import").case_study)
    assert left_over() != []
    for draft in drafts:
        lifecycle.delete_draft(draft)
    assert left_over() == []
    assert visible.claims().count() == visible.findings().count() == 1


def left_over() -> list[str]:
    """Return the rows of any table that hold the word."""
    return [
        f"{model.__name__}: {row}"
        for model in apps.get_models(include_auto_created=True)
        if model is not AuditEntry  # who deleted what is kept
        for row in map(str, model._base_manager.values_list().iterator())
        if "quokk" in row.lower()
    ]


def test_an_import_taken_out_again_takes_its_names_along(paper):
    batch = imported("lab")
    assert FileSystem.objects.get(slug="quokkapool").is_draft
    pipeline.discard(batch, user=batch.case_study.owner)
    for model in references.SHARED:
        assert not model.objects.filter(is_draft=True).exists()
    assert not WorkloadVariant.objects.filter(workload__slug="quokking").exists()


def test_a_name_to_be_created_that_no_row_has_is_not_created(paper):
    factories.make_variant()
    table = (
        "hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,value,unit\nkvm,ext4,xfs,varmail,filebench,1,9,MiB/s\n"
    )
    batch = imported("lab", create={"workload": CREATED["workload"]}, table=table)
    assert batch.state == "filed", batch.report
    assert not Workload.objects.filter(slug="quokking").exists()


def test_a_campaign_files_its_system_as_the_drafts_own(client):
    for model, slug in ((Workload, "varmail"), (Benchmark, "fio"), (FileSystem, "ext4")):
        factories.entry(model, slug)
    host = factories.make_host()
    host.facts |= {"distribution_id": "quokka", "distribution_version": "12"}
    host.save()
    campaign = factories.make_campaign(host, state="finished")
    campaign.save()
    machine = {"mount_options": "", "kernel": "6.1"}
    figure = {"machine": 1, "operation": "mixed", "throughput_mib_s": 9.5, "ops_per_s": None, "latency_ms": None}
    facts = {"tool_version": "fio-3.33", "working_set_bytes": 2**30, "parameters": {}, "machines": [machine]}
    run = factories.make_run(campaign, state="done", facts=facts, figures=[figure])
    factories.make_output(run, "machine-1.txt")
    draft, batch = campaign_drafts.create_draft(campaign, user=factories.make_user())
    assert pipeline.finish(batch).state == "faulty"  # nobody has said what the system is
    system = {"slug": "quokka-12", "name": "Quokka 12", "family": "linux"}
    pipeline.correct(batch, {**batch.answers, "create": {"operating_system": {"quokka-12": system}}})
    pipeline.finish(batch)
    pipeline.confirm(batch)
    assert pipeline.finish(batch).state == "filed", batch.report
    assert client.get("/api/v1/operating-systems/quokka-12/").status_code == 404
    lifecycle.delete_draft(draft)
    assert not OperatingSystem.objects.filter(slug="quokka-12").exists()


# Two drafts


def test_two_drafts_may_bring_the_same_and_it_goes_with_the_last(client, bundle):
    first, second = brought(bundle, "lab-1"), brought(bundle, "lab-2")
    assert FileSystem.objects.filter(slug="quokka-fs").count() == 1
    lifecycle.delete_draft(first)
    assert FileSystem.objects.get(slug="quokka-fs").is_draft
    assert HostStorage.objects.get(slug="quokka-sds").is_draft
    assert list(Claim.objects.get(code="QUOKKA-1").case_studies.all()) == [second]
    lifecycle.delete_draft(second)
    assert not FileSystem.objects.filter(slug="quokka-fs").exists()
    assert not HostStorage.objects.filter(slug="quokka-sds").exists()
    assert not Claim.objects.filter(code="QUOKKA-1").exists()


def test_an_earlier_bundle_has_no_more_than_the_slug_of_a_host_storage(bundle):
    earlier = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as before, zipfile.ZipFile(earlier, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "case-study.json":
                document = json.loads(data)
                del document["catalogue"]["host_storages"]
                data = json.dumps(document).encode()
            after.writestr(name, data)

    bundles.import_bundle(earlier.getvalue(), user=factories.make_user(), door=ImportBatch.Door.BROWSER)

    assert HostStorage.objects.get(slug="quokka-sds").name == "quokka-sds"


def test_what_one_draft_published_stays_when_the_other_is_deleted(client, bundle):
    first, second = brought(bundle, "lab-1"), brought(bundle, "lab-2")
    factories.publish(first)
    lifecycle.delete_draft(second)
    assert client.get("/knowledge/file-systems/quokka-fs/").status_code == 200
    assert client.get("/api/v1/claims/QUOKKA-2/").json()["case_studies"] == ["lab-1"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"description": "A quokka."', b'"description": "A wombat."', "with another description"),
        (b"Quokkas are faster.", b"Wombats are faster.", "with another statement"),
        (b'"title": "Quokka report"', b'"title": "Wombat report"', "with another title"),
        (b'"table_list": "best"', b'"table_list": "worst"', "with another table list|with another table_list"),
    ],
)
def test_a_draft_does_not_get_what_another_says_otherwise(bundle, old, new, words):
    brought(bundle, "lab-1")
    with pytest.raises(bundles.BundleError, match=words):
        brought(changed(bundle, "case-study.json", old, new), "lab-2")
    assert not CaseStudy.objects.filter(slug="lab-2").exists()


def test_an_import_does_not_learn_the_names_of_another_draft(client, paper):
    for slug in ("ext4", "xfs"):
        factories.entry(FileSystem, slug)
    imported("lab-1")
    batch = imported("lab-2", create={})
    assert {unknown["name"] for unknown in batch.report["unknown"]} >= {"QuokkaPool", "quokking"}
    client.force_login(batch.case_study.owner)
    page = client.get(reverse("import-detail", args=[batch.pk])).content.decode()
    assert 'value="quokkapool"' not in page
    mapped = {"file_system": {"QuokkaPool": "quokkapool"}}
    pipeline.correct(batch, {"names": mapped})
    assert "a slug of the catalogue" in pipeline.finish(batch).report["faults"][0]["expected"]
    other = {**CREATED, "file_system": {"QuokkaPool": {"slug": "quokkapool", "name": "Another"}}}
    pipeline.correct(batch, {"create": other})
    assert "brings a different 'quokkapool'" in pipeline.finish(batch).report["faults"][0]["expected"]
    pipeline.correct(batch, {"create": CREATED})
    pipeline.finish(batch)
    pipeline.confirm(batch)
    assert pipeline.finish(batch).state == "filed", batch.report
    assert FileSystem.objects.filter(slug="quokkapool").count() == 1


def test_a_draft_may_name_what_it_brought_again(client, paper):
    batch = imported("lab")
    client.force_login(batch.case_study.owner)
    assert 'value="quokkapool"' in client.get(reverse("draft-detail", args=["lab"])).content.decode()
    more = received(batch.case_study, create={}, table=TABLE.replace("12.5", "13.5"))
    assert more.state == "filed", more.report


# What counts


def test_claims_and_findings_of_a_draft_are_not_judged_and_change_no_answer(client, paper):
    question = Question("fs-pair", "varmail", storage="hdd")
    before = snapshots.compute_past(question, 1).result, list(dataframes.findings(question).itertuples(index=False))
    draft = factories.make_case_study("new", publication=paper)
    configuration = factories.make_configuration(draft, cache_mode="none")
    factories.make_measurement(1.0, configuration=configuration)
    OrdinalFinding.objects.get().case_studies.add(draft)
    factories.make_finding("worst", guest_fs="xfs", publication=paper, case_studies=[draft])
    claim = factories.make_claim(publication=paper)
    claim.case_studies.add(draft)
    claim.workloads.add(Workload.objects.get(slug="varmail"))
    verdicts.recompute()
    assert not ClaimVerdict.objects.filter(claim=claim).exists()
    assert (
        snapshots.compute_past(question, 1).result,
        list(dataframes.findings(question).itertuples(index=False)),
    ) == before
    ssd = Storage.objects.create(server=Server.objects.first(), slug="ssd", description="SSD", kind="ssd")
    CaseStudy.objects.filter(pk=draft.pk).update(storage=ssd)
    assert dataframes.findings(Question("fs-pair", "varmail", storage="ssd")).empty
    factories.publish(draft)
    assert len(dataframes.findings(Question("fs-pair", "varmail", storage="ssd"))) == 2


def test_after_retraction_it_stays_to_be_seen(client, bundle):
    draft = brought(bundle)
    addresses = hidden_addresses(draft)
    factories.publish(draft)
    retraction.retract(draft, reason="A mistake.")
    assert {status(client, address) for address in addresses} == {200}
    assert dataframes.findings(Question("fs-pair", "quokka-load")).empty


def test_what_belongs_to_no_case_study_is_hidden(client, paper):
    lone = factories.make_publication("lone", title="Lone paper")
    claim = factories.make_claim(publication=paper, code="LONE")
    finding = factories.make_finding("worst", publication=lone)
    assert lone not in visible.publications()
    assert claim not in visible.claims()
    assert finding not in visible.findings()
    assert client.get("/api/v1/claims/LONE/").status_code == 404


# The draft's own pages


def test_a_reviewer_reads_what_publication_makes_public(client, bundle, django_assert_num_queries):
    draft = brought(bundle)
    reviews.submit(draft, user=draft.owner)
    OrdinalFinding.objects.exclude(publication__slug="quokka-report").first()
    Claim.objects.get(code="OLD-1").case_studies.add(draft)
    client.force_login(factories.make_user("reviewers"))
    page = unescape(client.get(reverse("draft-detail", args=["quokka-lab"])).content.decode())
    assert "What else becomes public with it" in page
    for word in ("Quokka report", "A quokka.", "Quokkas are faster.", "QUOKKA-2", "Quokka list", '["the quokka"]'):
        assert word in page, word
    assert page.count("public already, to be said of this case study too") == 1
    with django_assert_num_queries(10):
        rows = pages.added_rows(draft)
    assert len(rows) == len(references.SHARED) + 1 + 3 + 2  # a variant, three claims, two findings


# The published evidence


def test_the_published_evidence_shows_what_a_draft_had_brought(published_evidence):
    FileSystem.objects.filter(slug="xfs").update(is_draft=True)
    draft = factories.make_case_study("lab")
    claim, finding = Claim.objects.first(), OrdinalFinding.objects.first()
    claim.case_studies.add(draft)
    finding.case_studies.add(draft)
    factories.make_finding(publication=claim.publication, hypervisor="xen", case_studies=[draft])
    call_command("load_evidence", verbosity=0)
    assert not FileSystem.objects.get(slug="xfs").is_draft
    assert draft in claim.case_studies.all()
    assert draft in finding.case_studies.all()


def test_every_relation_to_a_case_study_is_among_its_belongings():
    """A model that comes to refer to a shared row is looked at by used_by, or not part of a case study."""
    looked_at = {"CaseStudy", "Configuration", "PrintedRatio", "OrdinalFinding", "Claim", "WorkloadVariant"}
    others = {"MechanismCost", "ComponentName", "Host", "StoragePool"}
    for model in references.SHARED:
        for relation in model._meta.related_objects:
            assert relation.related_model.__name__ in looked_at | others
    assert PrintedRatio._meta.get_field("denominator").related_model is Hypervisor
