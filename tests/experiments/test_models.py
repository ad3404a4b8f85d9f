"""The database itself refuses what must never be there, on SQLite as on PostgreSQL."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models
from django.utils.timezone import now

from experiments.models import (
    Benchmark,
    CaseStudy,
    ComponentName,
    Ending,
    FileSystem,
    Hypervisor,
    KnowledgeRevision,
    LoadedCaseStudy,
    Measurement,
    MechanismCost,
    ModelComponent,
    OperatingSystem,
    Origin,
    RawChunk,
    RunArtifact,
    Signature,
    Storage,
    Workload,
    WorkloadVariant,
)
from kdb.accounts import tokens
from kdb.models import OidcIdentity
from kdb.notifications.models import Delivery, Subscription
from modelling.models import (
    Arm,
    ClaimVerdict,
    DetectedHour,
    DetectionModel,
    FollowedQuestion,
    HypothesisScore,
    KeptMachine,
    PinnedAnswer,
    PlacementMove,
    PlacementPolicy,
    QualityReport,
    RankingSnapshot,
    Sitting,
    StatedMix,
)
from tests.evidence import own_models
from tests.factories import (
    make_case_study,
    make_claim,
    make_configuration,
    make_derived_value,
    make_finding,
    make_host,
    make_import,
    make_job,
    make_machine,
    make_measurement,
    make_minutes,
    make_pool,
    make_printed_ratio,
    make_publication,
    make_raw_file,
    make_run,
    make_series_change,
    make_sitting,
    make_user,
    make_variant,
)

pytestmark = pytest.mark.both

MODELS = [*own_models(), *apps.get_app_config("kdb").get_models()]
CONSTRAINTS = {constraint.name: constraint for model in MODELS for constraint in model._meta.constraints}


def revision(number: int) -> KnowledgeRevision:
    return KnowledgeRevision.objects.create(number=number, action=KnowledgeRevision.Action.PUBLISHED)


def make_retracted(published: int, retracted: int | None, reason: str) -> CaseStudy:
    return make_case_study(
        status=CaseStudy.Status.RETRACTED,
        published_revision=revision(published),
        retracted_revision=retracted and revision(retracted),
        retraction_reason=reason,
    )


def make_twice(make: Callable, **fields) -> None:
    make(**fields)
    make(**fields)


def make_run_twice(**fields) -> None:
    campaign = make_run().campaign
    make_run(campaign, **fields)
    make_run(campaign, **fields)


def make_mechanism(file_system: FileSystem, code: str) -> MechanismCost:
    return MechanismCost.objects.create(file_system=file_system, operation=1, mechanism="B+ tree", code=code)


def make_component(number: int) -> ModelComponent:
    return ModelComponent.objects.create(number=number, slug=f"component-{number}", name="Component")


def make_arm(**fields) -> Arm:
    coordinates = {"vm_count": 1, "unit": "MiB/s", "origin": Arm.Origin.MEASURED, "measurements": 1, "mean_log": 4.6}
    if "configuration" not in fields:
        coordinates |= {"configuration": make_configuration(), "variant": make_variant()}
    return Arm.objects.create(**coordinates | fields)


def make_snapshot(**fields) -> RankingSnapshot:
    defaults = {"method": 1, "question": "fs-pair?workload=varmail", "revision": 2, "workload": "varmail", "result": {}}
    return RankingSnapshot.objects.create(**defaults | fields)


def make_quality_report() -> QualityReport:
    return QualityReport.objects.create(method=1, revision=2, result={}, digest="0")


def make_judgement(model: type[models.Model], **fields) -> models.Model:
    defaults = {"held": 1, "failed": 0, "undecided": 0, "evidence": {}, "comparisons": [], "revision": 1}
    return model.objects.create(**defaults | fields)


def twice(make: Callable, **fields) -> None:
    """Check that of two rows that agree in `fields` the second is refused, and the first is not."""
    make(**fields)
    make(**fields)


def change_twice(shared: str) -> None:
    """Check that two changes of one series and the same `shared` are refused, whatever else differs."""
    first = make_series_change(make_sitting(make_user()).laboratory)
    make_series_change(first.laboratory, **{shared: getattr(first, shared)})


def refuse_two_letters() -> None:
    for slug in ("ext4", "ext5"):
        FileSystem.objects.create(slug=slug, name=slug, letter="E")


def refuse_two_mechanisms() -> None:
    file_system = FileSystem.objects.create(slug="xfs", name="XFS")
    make_mechanism(file_system, "C2.1")
    make_mechanism(file_system, "C2.2")


def refuse_two_variants() -> None:
    variant = make_variant(parameters={"threads": 16})
    WorkloadVariant.objects.create(
        workload=variant.workload,
        benchmark=variant.benchmark,
        benchmark_version=variant.benchmark_version,
        digest=variant.digest,
    )


def make_component_name(symbol: str, position: int | None, times: int = 1) -> None:
    component, publication = make_component(1), make_publication()
    for _ in range(times):
        ComponentName.objects.create(component=component, publication=publication, symbol=symbol, position=position)


def one_cell() -> dict:
    return {"configuration": make_configuration(), "variant": make_variant()}


def one_pair() -> dict:
    return {"publication": make_publication(), "variant": make_variant()}


# (constraint, what is wrong with the row, how the row is made)
def make_signature(**fields) -> Signature:
    counts = (
        "reads",
        "read_bytes",
        "read_seconds",
        "writes",
        "write_bytes",
        "write_seconds",
        "flushes",
        "flush_seconds",
    )
    known = {"workload": "varmail", "starts_after": 0, "seconds": 10, **dict.fromkeys(counts, 1)}
    return Signature.objects.create(**known | fields)


def make_detection_model() -> DetectionModel:
    return DetectionModel.objects.create(method=1, digest="0" * 64, signatures=1, training={}, report={})


def make_hour(machine, model, **fields) -> DetectedHour:
    known = {"starts_at": now(), "minutes": 5, "idle": 0, "unlike": 0, "shares": {}, "certainty": 0}
    return DetectedHour.objects.create(machine=machine, model=model, **known | fields)


def make_ending(**fields) -> Ending:
    case_study = fields.pop("case_study", None) or make_case_study()
    known = {"kind": "doubted", "is_whole": True, "reason": "The disk was failing.", "revision": revision(1)}
    return Ending.objects.create(case_study=case_study, **known | fields)


def refuse_a_replacement_by_itself() -> None:
    case_study = make_case_study()
    make_ending(case_study=case_study, kind="superseded", replaced_by=case_study)


def make_loaded(**fields) -> LoadedCaseStudy:
    return LoadedCaseStudy.objects.create(case_study=make_case_study(), slug="theirs", number=1, digest="0", **fields)


def refuse_two_of_a_release() -> None:
    origin = Origin.objects.create(identity=uuid4(), name="Another installation")
    twice(make_loaded, origin=origin, signer=origin)


BAD_ROWS = [
    ("experiments_ending_superseded_by_something", "superseded by nothing", lambda: make_ending(kind="superseded")),
    (
        "experiments_ending_superseded_by_something",
        "doubted and replaced",
        lambda: make_ending(replaced_by=make_case_study()),
    ),
    ("experiments_ending_has_a_reason", "ended for no reason", lambda: make_ending(reason="")),
    ("experiments_ending_is_replaced_by_another", "replaced by itself", refuse_a_replacement_by_itself),
    ("experiments_loadedcasestudy_once_a_release", "a case study of a release twice", refuse_two_of_a_release),
    (
        "modelling_serieschange_once_a_place",
        "a change told twice",
        lambda: change_twice("sitting"),
    ),
    (
        "modelling_serieschange_one_a_test",
        "two changes of one test",
        lambda: change_twice("test"),
    ),
    (
        "modelling_serieschange_ratio_is_positive",
        "a machine that stands still",
        lambda: make_series_change(make_sitting(make_user()).laboratory, ratio=0),
    ),
    (
        "modelling_serieschange_excuse_has_reason_and_end",
        "an excuse for good",
        lambda: make_series_change(make_sitting(make_user()).laboratory, state="excused", reason="a scrub"),
    ),
    (
        "modelling_sittingrun_one_number",
        "a run's number twice",
        lambda: make_sitting(make_user()).runs.create(block=1, number=1, choice=0),
    ),
    (
        "modelling_sittingrun_value_is_positive",
        "a run that did nothing",
        lambda: make_sitting(make_user()).runs.update(value=0),
    ),
    (
        "modelling_sitting_has_one_load",
        "the load of a machine beside a workload",
        lambda: Sitting.objects.filter(pk=make_sitting(make_user()).pk).update(like={"machine": "vm-1"}),
    ),
    (
        "experiments_host_window_has_both_ends",
        "maintenance that begins and never ends",
        lambda: make_host(window_start="22:00"),
    ),
    (
        "experiments_host_runner_has_no_address",
        "a host that is logged in to and has a runner",
        lambda: make_host(is_by_runner=True),
    ),
    (
        "experiments_host_by_api_has_an_address",
        "a host that is asked by its API, nowhere",
        lambda: make_host(address="", is_by_api=True),
    ),
    (
        "experiments_askedcommand_what_ended_has_a_status",
        "a command that ended with nothing",
        lambda: make_host().asked_commands.create(outcome="done", seconds=1, most_bytes=1, expires_at=now()),
    ),
    ("experiments_host_port_is_a_port", "port 0", lambda: make_host(port=0)),
    (
        "experiments_host_address_is_unique",
        "a machine twice",
        lambda: [make_host(address=address) for address in ("a.example", "A.example")],
    ),
    (
        "experiments_storagepool_path_is_unique",
        "a pool twice",
        lambda: make_host(pools=("/srv/pool", "/srv/pool")),
    ),
    (
        "experiments_storagepool_a_path_or_a_storage",
        "a folder that is a storage",
        lambda: make_host(pools=()).pools.create(path="/srv/pool", kind="storage"),
    ),
    (
        "experiments_storagepool_a_path_or_a_storage",
        "a pool of images without a path",
        lambda: make_host(pools=("local-lvm",)),
    ),
    ("experiments_campaignrun_is_run_once", "a run twice", lambda: make_run_twice(repetition=1)),
    ("experiments_campaignrun_one_a_host", "two active runs on a host", lambda: make_run_twice(state="active")),
    ("experiments_campaignrun_done_has_figures", "a result without figures", lambda: make_run(state="done")),
    ("experiments_campaignrun_failure_has_a_reason", "a failure without a reason", lambda: make_run(state="failed")),
    (
        "experiments_runartifact_name_is_unique",
        "an output twice",
        lambda: make_twice(RunArtifact.objects.create, run=make_run(), attempt=1, name="host.txt", data=b"", sha256=""),
    ),
    (
        "experiments_casestudy_published_has_a_revision",
        "published without a revision",
        lambda: make_case_study(status=CaseStudy.Status.PUBLISHED),
    ),
    (
        "experiments_casestudy_published_has_a_revision",
        "a draft with a revision",
        lambda: make_case_study(published_revision=revision(1)),
    ),
    (
        "experiments_casestudy_retraction_has_revision_and_reason",
        "retracted without a revision",
        lambda: make_retracted(published=1, retracted=None, reason="wrong disk"),
    ),
    (
        "experiments_casestudy_retraction_has_revision_and_reason",
        "retracted without a reason",
        lambda: make_retracted(published=1, retracted=2, reason=""),
    ),
    (
        "experiments_casestudy_retraction_has_revision_and_reason",
        "retracted before it was published",
        lambda: make_retracted(published=2, retracted=1, reason="wrong disk"),
    ),
    (
        "experiments_casestudy_retraction_has_revision_and_reason",
        "a draft that was retracted",
        lambda: make_case_study(retracted_revision=revision(1)),
    ),
    ("experiments_filesystem_letter_is_unique", "two file systems with one letter", refuse_two_letters),
    ("experiments_mechanismcost_one_per_operation", "two mechanisms for one operation", refuse_two_mechanisms),
    ("experiments_workloadvariant_parameters_are_unique", "one variant twice", refuse_two_variants),
    ("experiments_modelcomponent_number_is_1_to_7", "an eighth component", lambda: make_component(8)),
    ("experiments_modelcomponent_number_is_1_to_7", "a component 0", lambda: make_component(0)),
    (
        "experiments_componentname_one_per_publication",
        "two names for one component in one paper",
        lambda: make_component_name("g_k", 2, times=2),
    ),
    (
        "experiments_componentname_symbol_with_position",
        "a symbol without its position",
        lambda: make_component_name("g_k", None),
    ),
    (
        "experiments_componentname_symbol_with_position",
        "a position without its symbol",
        lambda: make_component_name("", 2),
    ),
    (
        "kdb_job_running_has_an_owner_and_a_heartbeat",
        "running without an owner",
        lambda: make_job(state="running", heartbeat_at=now()),
    ),
    (
        "kdb_job_running_has_an_owner_and_a_heartbeat",
        "running without a heartbeat",
        lambda: make_job(state="running", owner="worker"),
    ),
    (
        "experiments_importbatch_filed_has_a_time",
        "filed at no time",
        lambda: make_import(filed_at=None),
    ),
    (
        "experiments_importbatch_idempotency_key_is_unique",
        "one key of one user twice",
        lambda: make_twice(make_import, uploaded_by=make_user(), idempotency_key="k"),
    ),
    (
        "experiments_rawfile_same_bytes_once",
        "the same bytes twice in a case study",
        lambda: make_twice(make_raw_file, batch=make_import()),
    ),
    (
        "experiments_rawchunk_number_is_unique",
        "a part of a file twice",
        lambda: make_twice(RawChunk.objects.create, file=make_raw_file(), number=1, data=b"x"),
    ),
    (
        "kdb_apitoken_name_is_unique",
        "two tokens of one name",
        lambda: make_twice(partial(tokens.make, scopes=["read"]), user=make_user(), name="laptop"),
    ),
    ("kdb_job_ended_has_an_end", "done without an end", lambda: make_job(state="done")),
    ("kdb_job_ended_has_an_end", "queued with an end", lambda: make_job(finished_at=now())),
    ("experiments_measurement_value_is_positive", "a throughput of zero", lambda: make_measurement(0.0)),
    (
        "experiments_measurement_ambiguous_has_both_readings",
        "ambiguous with one reading",
        lambda: make_measurement(quality="ocr-ambiguous"),
    ),
    (
        "experiments_measurement_ambiguous_has_both_readings",
        "exact with two readings",
        lambda: make_measurement(alternative_value=110.0),
    ),
    (
        "experiments_measurement_deviation_is_not_negative",
        "a negative deviation",
        lambda: make_measurement(standard_deviation=-1.0),
    ),
    (
        "experiments_measurement_cell_is_unique",
        "one cell twice, without a block size",
        lambda: twice(make_measurement, **one_cell()),
    ),
    (
        "experiments_measurement_cell_is_unique",
        "one cell twice, with a block size",
        lambda: twice(make_measurement, **one_cell(), block_size_bytes=4096),
    ),
    ("experiments_derivedvalue_value_is_positive", "a value of zero", lambda: make_derived_value(0.0, low=-1.0)),
    (
        "experiments_derivedvalue_has_a_limit",
        "no limit at all",
        lambda: make_derived_value(None, low=None, high=None, is_evidence=False),
    ),
    (
        "experiments_derivedvalue_low_is_below_high",
        "limits the wrong way round",
        lambda: make_derived_value(None, low=110.0, high=90.0, is_evidence=False),
    ),
    (
        "experiments_derivedvalue_value_is_within_its_limits",
        "a value under its limits",
        lambda: make_derived_value(80.0),
    ),
    (
        "experiments_derivedvalue_value_is_within_its_limits",
        "a value over its limits",
        lambda: make_derived_value(120.0),
    ),
    ("experiments_derivedvalue_evidence_has_an_interval", "evidence without a value", lambda: make_derived_value(None)),
    (
        "experiments_derivedvalue_evidence_has_an_interval",
        "evidence with one limit",
        lambda: make_derived_value(high=None),
    ),
    (
        "experiments_derivedvalue_evidence_has_an_interval",
        "evidence of no VM count",
        lambda: make_derived_value(vm_count=None),
    ),
    (
        "experiments_derivedvalue_route_is_unique",
        "one route twice",
        lambda: twice(make_derived_value, **one_cell(), vm_count=None, is_evidence=False),
    ),
    ("experiments_ordinalfinding_one_per_pair", "one pair twice", lambda: twice(make_finding, **one_pair())),
    ("experiments_printedratio_least_is_positive", "rounded to nothing", lambda: make_printed_ratio(0.004)),
    ("experiments_printedratio_greatest_is_above_least", "a range upside down", lambda: make_printed_ratio(greatest=1)),
    (
        "experiments_printedratio_is_unique",
        "one ratio twice",
        lambda: twice(make_printed_ratio, case_study=make_case_study(), variant=make_variant(), numerator=None),
    ),
    (
        "experiments_configuration_slug_is_unique",
        "one slug twice in a case study",
        lambda: twice(make_configuration, case_study=make_case_study(), slug="kvm"),
    ),
    (
        "experiments_configuration_native_has_no_guest",
        "native with memory for guests",
        lambda: make_configuration(hypervisor=None, vm_ram_gib=4.0),
    ),
    (
        "experiments_configuration_raw_device_has_no_guest_fs",
        "a raw device with a file system",
        lambda: make_configuration(guest_access="raw-device"),
    ),
    (
        "experiments_configuration_native_has_no_guest",
        "virtual without virtualisation",
        lambda: make_configuration(virtualisation="none"),
    ),
    (
        "experiments_measurement_value_is_within_its_range",
        "a mean above its greatest run",
        lambda: make_measurement(120.0, maximum=110.0),
    ),
    (
        "experiments_measurement_exclusion_has_reason_and_author",
        "excluded by nobody",
        lambda: make_measurement(excluded_because="another machine was busy"),
    ),
    (
        "experiments_measurement_machine_is_one_of_them",
        "the second of one machine",
        lambda: make_measurement(vm_count=1, machine=2),
    ),
    (
        "experiments_measurement_ratio_has_a_reference",
        "a ratio to nothing",
        lambda: make_measurement(1.4, metric="relative"),
    ),
    *(
        (
            "experiments_configuration_backend_is_a_key",
            f"a backend {key}",
            partial(make_configuration, backend=key, host_fs=None),
        )
        for key in ("dir-ext4", "zfs", "LINSTOR", "a,b")
    ),
    (
        "experiments_configuration_volume_has_no_host_fs",
        "a volume on a file system",
        lambda: make_configuration(backend="lvm-thin", host_fs="ext4"),
    ),
    (
        "experiments_configuration_native_has_no_backend",
        "images without a hypervisor",
        lambda: make_configuration(hypervisor=None, backend="file"),
    ),
    *(
        (
            f"experiments_{model._meta.model_name}_slug_fits_addresses_and_keys",
            f"a slug {slug}",
            partial(model.objects.bulk_create, [model(slug=slug, name="Another")]),
        )
        for model in (Benchmark, FileSystem, Hypervisor, OperatingSystem, Workload)
        for slug in ("a-on-b", "axis", "Capital", "a:b")
    ),
    (
        "experiments_configuration_cache_mode_has_no_comma",
        "a cache mode with a comma",
        lambda: make_configuration(cache_mode="none, direct"),
    ),
    ("modelling_arm_variance_is_not_negative", "a negative variance", lambda: make_arm(variance=-1e-9)),
    ("modelling_arm_rests_on_measurements", "an arm of nothing", lambda: make_arm(measurements=0)),
    ("modelling_arm_one_per_group_at_a_time", "one arm twice", lambda: twice(make_arm, **one_cell())),
    ("modelling_snapshot_one_per_revision", "one answer twice", lambda: twice(make_snapshot)),
    (
        "modelling_pinnedanswer_one_each",
        "two answers at one address",
        lambda: twice(PinnedAnswer.objects.create, asked="0", revision=1, method=1, body=b"", given_at=now()),
    ),
    ("modelling_qualityreport_one_per_revision", "one report twice", lambda: twice(make_quality_report)),
    ("modelling_snapshot_superseded_later", "superseded at once", lambda: make_snapshot(superseded_by=2)),
    (
        "modelling_keptmachine_one_per_name",
        "two machines of one name",
        lambda: twice(KeptMachine.objects.create, owner=make_user(), name="a"),
    ),
    (
        "modelling_followedquestion_once_each",
        "a question followed twice",
        lambda: twice(FollowedQuestion.objects.create, user=make_user(), question="a", method=1, revision=1),
    ),
    (
        "kdb_oidcidentity_is_of_one_account",
        "one identity of two accounts",
        lambda: twice(lambda: OidcIdentity.objects.create(user=make_user(), issuer="https://a", subject="1")),
    ),
    (
        "notifications_subscription_is_unique",
        "one subscription twice",
        lambda: twice(Subscription.objects.create, user=make_user(), way="mail"),
    ),
    (
        "notifications_subscription_webhook_has_an_address",
        "a webhook to nowhere",
        lambda: Subscription.objects.create(user=make_user(), way="webhook"),
    ),
    (
        "notifications_subscription_off_has_a_reason",
        "switched off for no reason",
        lambda: Subscription.objects.create(user=make_user(), way="mail", off_at=now()),
    ),
    (
        "notifications_delivery_ends_once",
        "a delivery that waits for nothing",
        lambda: Delivery.objects.create(
            subscription=Subscription.objects.create(user=make_user(), way="mail"), topic="test"
        ),
    ),
    (
        "modelling_keptmachine_has_a_name",
        "a machine without a name",
        lambda: KeptMachine.objects.create(owner=make_user()),
    ),
    (
        "modelling_claimverdict_one_per_scope",
        "two verdicts on one claim",
        lambda: twice(partial(make_judgement, ClaimVerdict), claim=make_claim(), scope="own", verdict="partly"),
    ),
    (
        "modelling_hypothesisscore_one_per_source",
        "two scores by one source",
        lambda: twice(partial(make_judgement, HypothesisScore), code="H0.1", source="p1"),
    ),
    (
        "experiments_observedpool_path_is_unique",
        "a pool twice",
        lambda: twice(make_pool, host=make_host()),
    ),
    (
        "experiments_observedpool_load_is_positive",
        "a pool that carries nothing",
        lambda: make_pool(make_host(), most_load=0),
    ),
    (
        "experiments_observedmachine_uuid_is_unique",
        "a machine twice",
        lambda: twice(make_machine, host=make_host(), uuid=uuid4()),
    ),
    (
        "experiments_observedmachine_guest_fs_has_a_source",
        "a guest file system from nowhere",
        lambda: make_machine(guest_fs="ext4"),
    ),
    (
        "experiments_observeddisk_target_is_unique",
        "a disk twice",
        lambda: make_machine().disks.create(target="vda", path="/x", size_bytes=1, allocated_bytes=1, seen_at=now()),
    ),
    (
        "experiments_diskstatistics_span_is_unique",
        "a minute twice",
        lambda: twice(make_minutes, machine=make_machine(), minutes=1, begin=now()),
    ),
    (
        "experiments_diskstatistics_time_was_watched",
        "a minute that nobody watched",
        lambda: make_minutes(make_machine(), 1, seconds=0, busy_seconds=0),
    ),
    (
        "experiments_signature_stretch_is_unique",
        "a stretch twice",
        lambda: twice(make_signature, run=make_run()),
    ),
    (
        "experiments_signature_time_was_watched",
        "a stretch of no time",
        lambda: make_signature(seconds=0),
    ),
    (
        "modelling_detectionmodel_one_per_signatures",
        "two models of the same signatures",
        lambda: twice(make_detection_model),
    ),
    (
        "modelling_detectedhour_is_unique",
        "an hour twice",
        lambda: twice(make_hour, machine=make_machine(), model=make_detection_model(), starts_at=now()),
    ),
    (
        "modelling_detectedhour_minutes_were_watched",
        "more minutes idle than watched",
        lambda: make_hour(make_machine(), make_detection_model(), idle=9),
    ),
    *(
        (
            f"experiments_publication_{name}_is_of_the_web",
            "what a browser would run",
            partial(make_publication, **{name: "javascript:alert(1)"}),
        )
        for name in ("address", "archive_address")
    ),
    (
        "modelling_placementmove_one_a_host",
        "two moves of a host at once",
        lambda: (moving(host := make_host(), disk="vda"), moving(host, disk="vdb")),
    ),
    (
        "modelling_placementmove_one_a_disk",
        "a disk that is to go two ways",
        lambda: (moving(host := make_host(), state="waiting"), moving(host, state="waiting")),
    ),
    (
        "modelling_placementmove_failure_has_a_reason",
        "a failure without a reason",
        lambda: moving(make_host(), state="failed"),
    ),
    (
        "modelling_placementmove_moved_has_a_time",
        "a machine that moved at no time",
        lambda: moving(make_host(), state="kept"),
    ),
    (
        "modelling_placementpolicy_bounds_are_shares",
        "a probability of seven",
        lambda: PlacementPolicy.objects.create(host=make_host(), least_gaining=7),
    ),
    (
        "modelling_statedmix_says_something",
        "a mix of nothing",
        lambda: StatedMix.objects.create(machine=make_machine(), shares={}),
    ),
]


def moving(host, **fields) -> PlacementMove:
    fields = {"state": "copying", "disk": "vda", "token": uuid4().hex[:13]} | fields
    machine = {"machine_uuid": "6a7b2a3c-0000-4000-8000-000000000001", "machine_name": "mail-1"}
    images = {"old_path": "/srv/a/mail-1", "new_path": "/srv/b/mail-1", "size_bytes": 1, "revision": 0}
    return PlacementMove.objects.create(host=host, **machine | images | fields)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "make"), [pytest.param(name, make, id=f"{wrong}: {name}") for name, wrong, make in BAD_ROWS]
)
def test_the_database_refuses(name, make):
    with pytest.raises(IntegrityError) as refusal:
        make()
    assert names_constraint(str(refusal.value), CONSTRAINTS[name])


def names_constraint(message: str, constraint: models.BaseConstraint) -> bool:
    """SQLite names the columns of a unique constraint on plain fields, and every other by its name."""
    columns = [f".{field}" for field in getattr(constraint, "fields", ())]
    return constraint.name in message or (bool(columns) and all(column in message for column in columns))


def test_every_constraint_has_a_bad_row():
    assert {name for name, _, _ in BAD_ROWS} == set(CONSTRAINTS)


@pytest.mark.django_db
def test_parameters_in_another_order_are_the_same_variant():
    assert make_variant(parameters={"threads": 16, "files": 1000}) == make_variant(
        parameters={"files": 1000, "threads": 16}
    )


@pytest.mark.django_db
def test_other_parameters_or_another_version_are_another_variant():
    variants = [
        make_variant(parameters={"threads": 16}),
        make_variant(parameters={"threads": 50}),
        make_variant(parameters={"threads": 16}, benchmark_version="1.5"),
    ]
    assert len({variant.pk for variant in variants}) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parts", "pair", "text"),
    [
        ({"guest_fs": "xfs", "host_fs": "ext4"}, "xfs-on-ext4", "kvm, xfs on ext4"),
        ({"guest_fs": "xfs", "host_fs": None}, "", "kvm, xfs on a host file system not stated"),
        ({"hypervisor": None, "host_fs": "btrfs"}, "", "Native, btrfs"),
    ],
)
def test_a_configuration_says_which_file_systems_it_has(parts, pair, text):
    configuration = make_configuration(**parts)
    assert (configuration.pair, str(configuration)) == (pair, text)


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [0.0, -1.0])
def test_what_storage_can_do_at_most_is_more_than_nothing(limit):
    Storage(interface_limit=600.0).clean()
    with pytest.raises(ValidationError, match="MB/s: more than 0; empty where it is not stated"):
        Storage(sequential_read_limit=limit).clean()


@pytest.mark.django_db
def test_published_and_retracted_case_studies_are_visible_and_drafts_are_not():
    make_case_study("draft")
    make_case_study("published", status=CaseStudy.Status.PUBLISHED, published_revision=revision(1))
    make_case_study(
        "retracted",
        status=CaseStudy.Status.RETRACTED,
        published_revision=revision(2),
        retracted_revision=revision(3),
        retraction_reason="wrong disk",
    )
    assert [study.slug for study in CaseStudy.objects.published()] == ["published"]
    assert [study.slug for study in CaseStudy.objects.visible()] == ["published", "retracted"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [
        {"configuration": "of another"},
        {"variant": "of another"},
        {"vm_count": 3},
        {"operation": "read"},
        {"block_size_bytes": 8192},
        {"metric": "latency", "unit": "ms"},
        {"repetition": 2},
        {"machine": 1},
        {"machine": 2},
    ],
    ids=lambda other: ", ".join(map(str, other.items())),
)
def test_measurements_that_differ_in_one_part_of_their_cell_are_both_kept(other):
    makers = {"configuration": make_configuration, "variant": lambda: make_variant("webserver")}
    other = {name: makers[name]() if name in makers else value for name, value in other.items()}
    cell = {**one_cell(), "vm_count": 2, "block_size_bytes": 4096}
    make_measurement(**cell)
    make_measurement(**{**cell, **other})
    assert Measurement.objects.count() == 2
