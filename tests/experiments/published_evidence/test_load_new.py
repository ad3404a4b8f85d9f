"""An upgrade brings the case studies that the database lacks, as one revision, and changes nothing that is there."""

from io import StringIO

import pytest
from django.core.management import call_command

from experiments.case_studies import lifecycle, retraction
from experiments.models import CaseStudy, Claim, Ending, FileSystem, KnowledgeRevision, Measurement, Storage
from experiments.published_evidence import load as evidence
from experiments.published_evidence.files import EvidenceError
from kdb import __version__
from tests.factories import make_case_study
from tests.test_architecture import ROOT

from .test_load_evidence import rows_in_database

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
OUTSIDE = ROOT / "fixtures" / "outside"


def bring(outside=None) -> evidence.Report:
    return evidence.load_new(evidence.DIRECTORY, outside, reason="The evidence of KDB 9")


def test_what_a_release_has_beside_what_is_published_comes_as_one_revision(published_evidence):
    lifecycle.publish([make_case_study("ours")], reason="ours")
    before = set(Measurement.objects.values_list("pk", "value", "configuration", "variant"))
    report = bring(OUTSIDE)
    assert report.published == CaseStudy.objects.count() - 8 > 20
    assert KnowledgeRevision.objects.count() == report.revision == 3
    assert KnowledgeRevision.objects.get(number=3).reason.startswith("The evidence of KDB 9: ")
    assert set(Measurement.objects.values_list("pk", "value", "configuration", "variant")) > before
    assert bring(OUTSIDE).lines() == ["nothing to add: the database holds all of the published evidence"]
    assert KnowledgeRevision.objects.count() == 3


def test_what_is_published_stays_though_the_files_say_it_otherwise(published_evidence):
    measured = Measurement.objects.filter(configuration__case_study__slug="p1")
    Storage.objects.filter(slug="p1").update(description="as it was published")
    FileSystem.objects.filter(slug="ext4").update(name="Ext 4")
    Claim.objects.filter(code="P0-C01").delete()
    measured.update(value=7.0)
    CaseStudy.objects.filter(slug="p4").update(slug="p4-renamed")  # so that there is something to bring
    claims = Claim.objects.count()
    bring()
    assert Storage.objects.get(slug="p1").description == "as it was published"
    assert FileSystem.objects.get(slug="ext4").name == "Ext 4"
    assert set(measured.values_list("value", flat=True)) == {7.0}
    assert not Claim.objects.filter(code="P0-C01").exists()
    assert Claim.objects.count() >= claims


def test_a_retracted_case_study_stays_retracted(published_evidence):
    retraction.retract(CaseStudy.objects.get(slug="p2"), reason="in doubt")
    before = rows_in_database()
    bring()
    assert rows_in_database() == before


def test_what_cannot_stand_beside_what_is_there_is_refused_whole(published_evidence):
    FileSystem.objects.create(slug="mine", name="CephFS")
    before = rows_in_database()
    with pytest.raises(EvidenceError):
        bring(OUTSIDE)
    assert rows_in_database() == before


@pytest.mark.parametrize(("wanted", "revisions"), [(True, 3), (False, 1)])
def test_prepare_brings_it_where_the_operator_wants_it(published_evidence, settings, wanted, revisions):
    settings.KDB_OUTSIDE, settings.KDB_RELEASE_EVIDENCE = OUTSIDE, wanted
    stdout = StringIO()
    call_command("prepare", stdout=stdout)
    assert KnowledgeRevision.objects.count() == revisions
    assert ("case studies that are there stay as they are" in stdout.getvalue()) is wanted
    reasons = KnowledgeRevision.objects.order_by("number").values_list("reason", flat=True)[1:2]
    assert any(reason.startswith(f"The evidence of KDB {__version__}: ") for reason in reasons) is wanted
    assert [ending.case_study.slug for ending in Ending.objects.all()] == ["ibm_roks_kubevirt"] * wanted


def test_prepare_starts_all_the_same_where_it_cannot_be_brought(published_evidence, settings):
    settings.KDB_OUTSIDE = OUTSIDE
    FileSystem.objects.create(slug="mine", name="CephFS")
    stderr = StringIO()
    call_command("prepare", stderr=stderr)
    assert "was not brought, and nothing was changed" in stderr.getvalue()
    assert KnowledgeRevision.objects.count() == 1


def test_what_a_draft_brought_under_a_name_of_the_release_is_not_made_public_as_it_says_it(published_evidence):
    """The entry becomes that of the release, which the draft refers to from then on."""
    mine = FileSystem.objects.create(slug="cephfs", name="My secret", description="of nobody's business", is_draft=True)
    theirs = FileSystem.objects.create(slug="their-own", name="Their own", is_draft=True)
    bring(OUTSIDE)
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.is_draft, mine.description == "of nobody's business", mine.name) == (False, False, "CephFS")
    assert (theirs.is_draft, theirs.name) == (True, "Their own")


def test_a_draft_with_the_slug_of_a_case_study_of_the_release_stays_a_draft_and_that_is_said(settings):
    settings.KDB_OUTSIDE = settings.KDB_SIGNATURES = None
    draft = make_case_study("p4", title="My own")
    lifecycle.publish([make_case_study("ours")], reason="ours")
    stderr = StringIO()
    for _ in range(2):  # also when there is nothing else to bring
        call_command("prepare", stderr=stderr)
    draft.refresh_from_db()
    assert (draft.status, draft.title, draft.configurations.count()) == (CaseStudy.Status.DRAFT, "My own", 0)
    assert stderr.getvalue().count("Case study p4 of this release was not brought: a draft has its slug.") == 2
    assert CaseStudy.objects.filter(status=CaseStudy.Status.PUBLISHED, slug__startswith="p").count() > 3
