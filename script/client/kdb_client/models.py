"""The shapes of the API, made from its OpenAPI document (tests/test_client.py). Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Ability(TypedDict):
    slug: str
    name: str
    question: str
    all_of: list[str]
    any_of: list[str]


AbilityEnum: TypeAlias = Literal['snapshot', 'live-migration', 'shared-access', 'checksums', 'replication', 'encryption', 'thin-provisioning', 'compression', 'online-growth', 'trim', 'windows-boot', 'little-memory', 'support']


AbilityFactKindEnum: TypeAlias = Literal['hypervisor', 'file-system', 'host-storage', 'image-format']


AbilityFoundEnum: TypeAlias = Literal['yes', 'with limits', 'no']


class AbilityGround(TypedDict):
    text: str
    source: str
    read_on: str


class Accesses(TypedDict):
    random_read: float
    sequential_read: float
    random_write: float
    sequential_write: float


ActionEnum: TypeAlias = Literal['published', 'retracted', 'superseded', 'doubted']


class AdviceFilters(TypedDict):
    hypervisor: str | None
    host_fs: str | None


AllocationEnum: TypeAlias = Literal['sparse', 'metadata', 'falloc', 'full']


class AnswerRelease(TypedDict):
    fact: str
    of: str
    label: str
    stated: list[str]
    not_stated_by: int
    newest: str
    seen_in: str
    case_study: str
    is_behind: bool


AnswerStatusEnum: TypeAlias = Literal['ranked', 'indistinguishable', 'ranked apart', 'no comparison']


class Answers(TypedDict):
    context: NotRequired[dict[str, str]]
    files: NotRequired[dict[str, dict[str, Any]]]
    names: NotRequired[dict[str, dict[str, Any]]]
    create: NotRequired[dict[str, dict[str, Any]]]
    columns: NotRequired[dict[str, str]]


class Artifact(TypedDict):
    id: int
    attempt: int
    name: str
    sha256: str


class AuditEntry(TypedDict):
    action: str
    actor: NotRequired[str | None]
    detail: str
    at: str


class Axis(TypedDict):
    axis: str
    label: str
    url: str


AxisEnum: TypeAlias = Literal['fs-pair', 'guest-fs', 'host-fs', 'host-storage', 'hypervisor', 'configuration', 'cache-mode', 'disk-bus', 'image-format', 'allocation', 'io-mode', 'discard', 'iothread', 'volume-block-size', 'compression', 'encryption', 'snapshot', 'pool-layout', 'pool-devices', 'hypervisor-release', 'host-kernel', 'host-fs-release', 'guest-kernel', 'guest-fs-release', 'disk-driver-release']


BackendEnum: TypeAlias = Literal['file', 'lvm', 'lvm-thin', 'zvol', 'rbd', 'iscsi', 'nvme-tcp', 'raw', 'rook', 'longhorn', 'openebs-zfs', 'openebs-lvm', 'vsan', 'virtiofs', '9p', 'nfs', 'openebs-local', 'storage-spaces', 's2d']


class Benchmark(TypedDict):
    slug: str
    name: str
    aliases: list[str]
    description: str | None
    source: str | None
    printed_unit: str | None


BlankEnum: TypeAlias = Literal['']


ByEnum: TypeAlias = Literal['all', 'choice', 'load', 'storage', 'group']


class Calibration(TypedDict):
    before: str
    run: int
    at: str
    write_mib_s: NotRequired[float]
    read_mib_s: NotRequired[float]
    sync_writes_s: NotRequired[float]
    hash_mib_s: NotRequired[float]


class CalibrationBin(TypedDict):
    low: float
    high: float
    signatures: int
    mean: float
    right: float


CampaignStateEnum: TypeAlias = Literal['planned', 'running', 'paused', 'finished', 'cancelled']


class CaseStudyEvidence(TypedDict):
    case_study: str
    title: str
    measurements: int
    derived: int
    findings: int
    sources: list[str]
    protocol: str


CaseStudyStatusEnum: TypeAlias = Literal['draft', 'submitted', 'published', 'retracted', 'superseded', 'doubted']


CellStandingEnum: TypeAlias = Literal['best', 'between', 'avoid', 'no evidence']


ChangeHandlingStateEnum: TypeAlias = Literal['new', 'acknowledged', 'excused', 'confirmed']


class ChangedFact(TypedDict):
    name: str
    before: str
    after: str


class ChoiceFields(TypedDict):
    name: str
    place: str
    settings: NotRequired[dict[str, str]]


ClaimKindEnum: TypeAlias = Literal['ordering', 'hypothesis', 'winner_list', 'relative_to_native', 'ratio', 'best_pairs', 'worst_pairs', 'recommend', 'avoid', 'scaling', 'cache']


class Commands(TypedDict):
    commands: str


ComparedPairBasisEnum: TypeAlias = Literal['side by side', 'through others', 'lists', 'not at all']


class ComponentName(TypedDict):
    publication: str
    symbol: str | None
    position: int | None
    source: str


class ConflictSide(TypedDict):
    group: str
    case_studies: list[str]
    ratio: float
    low: float
    high: float


class Contrast(TypedDict):
    ratio: float
    low: float
    high: float


class Curve(TypedDict):
    machine: int
    until_s: list[float]
    mib_s: list[float]
    warm_up_intervals: int | None


class Decision(TypedDict):
    reason: str
    content_digest: NotRequired[str]


class Deed(TypedDict):
    deed: str


DeedEnum: TypeAlias = Literal['acknowledge', 'excuse', 'confirm', 'reopen']


DeliveryStateEnum: TypeAlias = Literal['waiting', 'sent', 'given up']


class DetectedMix(TypedDict):
    shares: dict[str, float]
    probability: float
    minutes: int
    idle: float
    unlike: float
    others: dict[str, float]
    why_not: str | None
    why_not_planned: str | None


class DetectionReport(TypedDict):
    workloads: list[str]
    others: list[str]
    signatures: dict[str, int]
    runs: dict[str, int]
    too_few: dict[str, int]
    idle: dict[str, int]
    cached: dict[str, int]
    confusion: dict[str, dict[str, int]]
    confusion_of_runs: dict[str, dict[str, int]]
    without_class: dict[str, dict[str, int]]
    held_back: dict[str, dict[str, int]]
    sureness: dict[str, float]
    calibration: list[CalibrationBin]
    known_right: float | None
    foreign_told: float | None


class Deviations(TypedDict):
    deviations: list[str]


class DifferingChoice(TypedDict):
    column: str
    first: str
    second: str


class DifferingSetting(TypedDict):
    name: str
    first: list[str]
    second: list[str]


DiscardEnum: TypeAlias = Literal['unmap', 'ignore']


class DiskToMove(TypedDict):
    disk: str
    pool: str


DoorEnum: TypeAlias = Literal['browser', 'api', 'command', 'campaign', 'bundle']


DriverEnum: TypeAlias = Literal['native', 'libvirt', 'proxmox', 'xen', 'attached']


class Duel(TypedDict):
    naive: str
    better: int
    alike: int
    worse: int


EffectsStateEnum: TypeAlias = Literal['none', 'computing', 'ready']


EncryptionEnum: TypeAlias = Literal['none', 'block', 'file-system', 'image', 'guest']


Measurement: TypeAlias = int


class EndingFields(TypedDict):
    reason: str
    replaced_by: NotRequired[str]
    measurements: NotRequired[list[Measurement]]


EndingKindEnum: TypeAlias = Literal['superseded', 'doubted']


EngineEnum: TypeAlias = Literal['filebench', 'fio']


EntryAbilityFoundEnum: TypeAlias = Literal['yes', 'with limits', 'no', 'not known', 'left open']


class EntryHere(TypedDict):
    key: str
    label: str
    runs: int
    ratio: float
    low: float
    high: float
    within: float
    loss: float
    elsewhere_ratio: float | None
    elsewhere_low: float | None
    elsewhere_high: float | None


class EnvironmentFact(TypedDict):
    fact: str
    differs: bool
    values: list[list[str]]


class Evidence(TypedDict):
    measurements: list[int]
    derived_values: list[int]
    printed_ratios: list[int]
    findings: list[int]


EvidenceEnum: TypeAlias = Literal['papers']


FactStateEnum: TypeAlias = Literal['matches', 'matches in part', 'assumed equal', 'differs', 'not stated', 'not given', 'what the answer chooses']


class FailingQuestion(TypedDict):
    question: str
    attempts: int
    reason: str
    retry_at: str | None


FamilyEnum: TypeAlias = Literal['linux', 'windows', 'other']


class Fault(TypedDict):
    file: str
    line: int | None
    field: str
    found: str
    expected: str
    count: int


class Figure(TypedDict):
    machine: int
    operation: str
    throughput_mib_s: float | None
    ops_per_s: float | None
    latency_ms: float | None
    duration_s: float | None


class Filed(TypedDict):
    case_study: str
    import_id: int


class Fingerprint(TypedDict):
    fingerprint: str


class ForecastExample(TypedDict):
    group: str
    differing: list[DifferingChoice]
    load: str
    storage: str
    forecast: float
    low: float
    high: float
    found: float


class ForecastForm(TypedDict):
    by: ByEnum
    name: str
    contrasts: int
    groups: int
    weight: float
    inside_95: float
    inside_50: float
    log_score: float
    no_difference: float
    width: float
    sure: float
    right: float | None
    is_better: bool | None


class ForecastsInUse(TypedDict):
    method: str
    label: str
    since: str
    shortfalls: dict[str, list[str]]


GradeEnum: TypeAlias = Literal['A', 'B', 'C', 'D']


class Grounds(TypedDict):
    laboratories: int
    groups: int
    case_studies: int
    measurements: int
    derived: int
    findings: int
    storage: list[str]
    years: list[int]
    vm_counts: list[int]
    facts: dict[str, list[str]]


GuestAccessEnum: TypeAlias = Literal['file-system', 'raw-device']


GuestFsSourceEnum: TypeAlias = Literal['agent', 'superblock', 'operator']


HereKindEnum: TypeAlias = Literal['use', 'leads', 'no difference', 'not known']


HitKindEnum: TypeAlias = Literal['Comparison', 'Answer', 'Glossary', 'File system', 'Hypervisor', 'Workload', 'Benchmark', 'Case study', 'Publication', 'Claim']


class HostFields(TypedDict):
    name: str
    slug: str
    address: NotRequired[str]
    port: int
    login: str
    uses_sudo: NotRequired[bool]
    key_name: NotRequired[str]
    is_by_runner: NotRequired[bool]
    is_by_api: NotRequired[bool]
    laboratory: str
    drivers: list[str]
    hypervisor: NotRequired[str]
    runs_on: NotRequired[str]
    guest_image: NotRequired[str]
    pools: list[str]
    stated: NotRequired[dict[str, str]]


HypervisorKindEnum: TypeAlias = Literal['type-1', 'type-2', 'disputed', 'container']


ImportStateEnum: TypeAlias = Literal['reading', 'faulty', 'ready', 'filed', 'discarded']


class Index(TypedDict):
    version: str
    endpoints: dict[str, str]


IoModeEnum: TypeAlias = Literal['threads', 'native', 'io_uring']


IothreadEnum: TypeAlias = Literal['yes', 'no']


class KeptAnswers(TypedDict):
    waiting: int
    failing: list[FailingQuestion]


class Laboratory(TypedDict):
    slug: str
    name: str
    members: list[str]


class LaboratoryComparison(TypedDict):
    part: int
    laboratory: str
    research_group: str
    case_studies: list[str]
    entries: list[str]


class LaboratoryFields(TypedDict):
    slug: str
    name: str


class Load(TypedDict):
    engine: str
    job: str
    working_set_bytes: int
    seconds: int


Machine: TypeAlias = str


class Machines(TypedDict):
    machines: list[Machine]


class MeasuredSeries(TypedDict):
    machine: str
    load: str
    engine: str
    seconds: int
    place: str
    settings: dict[str, str]
    job: str


class Member(TypedDict):
    username: str


class Method(TypedDict):
    method: str
    label: str
    is_naive: bool
    axes: list[str]


class MethodScores(TypedDict):
    method: str
    kendall: float | None
    top: float | None
    error: float | None
    inside: float | None
    log_score: float | None


MetricEnum: TypeAlias = Literal['throughput', 'operation_rate', 'transaction_rate', 'latency', 'latency_p50', 'latency_p95', 'latency_p99', 'duration', 'score', 'relative']


class MixHere(TypedDict):
    laboratory: str
    name: str
    machine: str
    place: str
    sittings: list[int]
    kind: HereKindEnum
    sentence: str
    entries: list[EntryHere]
    missing: list[str]


ModeEnum: TypeAlias = Literal['off', 'confirm', 'automatic']


class Named(TypedDict):
    key: str
    label: str


class Neighbour(TypedDict):
    label: str
    workload: str
    distance: float
    is_far: bool
    speaks: bool


class Network(TypedDict):
    entries: list[str]
    case_studies: int
    tau2: float | None
    q: float
    freedom: int
    i2: float | None
    q_heterogeneity: float
    q_inconsistency: float


NextRunKindEnum: TypeAlias = Literal['pair', 'leading', 'factorial', 'all']


class Nightly(TypedDict):
    minutes: NotRequired[int]


class Note(TypedDict):
    note: str


NullEnum: TypeAlias = None


class Observe(TypedDict):
    every: NotRequired[int]
    samples_offsets: NotRequired[bool]


class ObservedDisk(TypedDict):
    target: str
    pool: int | None
    path: str
    image_format: str | None
    allocation: AllocationEnum | BlankEnum | NullEnum | None
    cache_mode: str | None
    has_backing_chain: bool
    size_bytes: int
    allocated_bytes: int
    seen_at: str
    slow_since: str | None


class ObservedHost(TypedDict):
    slug: str
    is_observed: bool
    observed_every: int
    samples_offsets: bool
    observed_at: str | None
    observation_error: str | None
    offsets_error: str | None


class ObservedMachine(TypedDict):
    id: int | None
    host: str
    uuid: str
    name: str
    is_running: bool
    guest_fs: str | None
    guest_fs_source: GuestFsSourceEnum | BlankEnum | NullEnum | None
    first_seen_at: str | None
    seen_at: str
    is_pinned: bool
    apart: str | None
    together: str | None
    disks: list[ObservedDisk]


OfEnum: TypeAlias = Literal['interval', 'direction']


class OperatingSystem(TypedDict):
    slug: str
    name: str
    aliases: list[str]
    description: str | None
    source: str | None
    family: FamilyEnum
    version: str | None


OperationEnum: TypeAlias = Literal[1, 2, 3, 4, 5, 6, 7]


OverviewCellKindEnum: TypeAlias = Literal['use', 'leads', 'no difference', 'not known', 'nothing compared', 'being worked out']


class OverviewColumn(TypedDict):
    axis: AxisEnum
    label: str


class PaginatedBenchmarkList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Benchmark]


class PaginatedLaboratoryList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Laboratory]


class PaginatedObservedHostList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ObservedHost]


class PaginatedObservedMachineList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ObservedMachine]


class PaginatedOperatingSystemList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OperatingSystem]


PartBasisEnum: TypeAlias = Literal['numbers', 'findings', 'both']


class PartHealth(TypedDict):
    status: str
    detail: str


class PatchedAnswers(TypedDict):
    context: NotRequired[dict[str, str]]
    files: NotRequired[dict[str, dict[str, Any]]]
    names: NotRequired[dict[str, dict[str, Any]]]
    create: NotRequired[dict[str, dict[str, Any]]]
    columns: NotRequired[dict[str, str]]


class PatchedMachineChange(TypedDict):
    guest_fs: NotRequired[str]
    is_pinned: NotRequired[bool]
    apart: NotRequired[str]
    together: NotRequired[str]


class PatchedPoolChange(TypedDict):
    is_target: NotRequired[bool]
    reserve_bytes: NotRequired[int]
    most_load: NotRequired[float | None]


PlacementMoveStateEnum: TypeAlias = Literal['waiting', 'copying', 'switched', 'kept', 'done', 'failed', 'cancelled', 'undone']


class PlacementPlan(TypedDict):
    id: int | None
    hosts: list[str]
    rules: dict[str, Any]
    content: dict[str, Any]
    revision: int
    model: str
    instead_of: int | None
    made_by: str | None
    made_at: str | None


Host1: TypeAlias = str


PinnedItem: TypeAlias = str


FreedItem: TypeAlias = str


ExcludedItem: TypeAlias = str


class Plan(TypedDict):
    title: str
    slug: str
    driver: DriverEnum
    engine: EngineEnum
    host_file_systems: list[str]
    guest_file_systems: NotRequired[list[str]]
    workloads: list[str]
    vm_counts: NotRequired[list[int]]
    repetitions: NotRequired[int]
    run_seconds: NotRequired[int]
    cool_down_seconds: NotRequired[int]
    scale_percent: NotRequired[int]
    disk_mib: NotRequired[int]
    vm_ram_mib: NotRequired[int]
    vm_vcpus: NotRequired[int]
    pinned_cpus: NotRequired[list[int]]
    precision_percent: NotRequired[int]
    seed: NotRequired[int]
    cache_mode: NotRequired[str | list[str]]
    disk_bus: NotRequired[str | list[str]]
    image_format: NotRequired[str | list[str]]
    allocation: NotRequired[str | list[str]]
    io_mode: NotRequired[str | list[str]]
    discard: NotRequired[str | list[str]]
    iothread: NotRequired[str | list[str]]
    format: NotRequired[str]


class PlannedRun(TypedDict):
    number: int
    block: int
    choice: str


class Pointer(TypedDict):
    title: str
    sentence: str
    address: str


class Policy(TypedDict):
    mode: NotRequired[ModeEnum]
    least_gaining: NotRequired[float]
    least_gain: NotRequired[float]
    most_moves_a_day: NotRequired[int]
    copy_rate_mib: NotRequired[int | None]
    keeps_days: NotRequired[int]
    removes_kept: NotRequired[bool]
    laboratory: NotRequired[str]


PoolDevicesEnum: TypeAlias = Literal['none', 'slog', 'special', 'slog-special', 'cache']


PoolKindEnum: TypeAlias = Literal['image', 'existing', 'storage']


PoolLayoutEnum: TypeAlias = Literal['single', 'stripe', 'mirror', 'striped-mirrors', 'raidz1', 'raidz2', 'raidz3', 'draid', 'raid5', 'raid6', 'replicated', 'erasure-coded']


class PoolToEmpty(TypedDict):
    pool: str
    to: NotRequired[str]


PreviewStateEnum: TypeAlias = Literal['none', 'computing', 'failed', 'ready', 'stale']


ProtocolTickStateEnum: TypeAlias = Literal['met', 'not met', 'not stated']


class PublishedTable(TypedDict):
    table: str
    conditions: str
    number: NotRequired[int]


QualityEnum: TypeAlias = Literal['exact', 'ocr-ambiguous', 'digitised']


class QualityGroup(TypedDict):
    case_studies: list[str]
    workloads: list[str]
    questions: int
    methods: list[MethodScores]


class QualityPrediction(TypedDict):
    method: str
    cannot: str | None
    order: list[str]
    kendall: float | None
    spearman: float | None
    top: float | None
    ratio_error: float | None
    pairs: int
    covered: int


QualityQuestionBasisEnum: TypeAlias = Literal['numbers', 'findings']


class QualitySummary(TypedDict):
    axis: AxisEnum | NullEnum | None
    method: str
    asked: int
    answered: int
    kendall: float | None
    spearman: float | None
    top: float | None
    by_chance: float | None
    ratio_error: float | None
    pairs: int
    covered: int
    duels: list[Duel]


QuantityEnum: TypeAlias = Literal['point', 'interval', 'bound', 'mean']


class Question(TypedDict):
    axis: AxisEnum
    workload: str
    hypervisor: str | None
    guest_fs: str | None
    host_fs: str | None
    vm_count: int | None
    host_storage: str | None
    storage: str | None
    benchmark: str | None
    guest_os_family: str | None
    grade: GradeEnum | NullEnum | None
    evidence: EvidenceEnum | NullEnum | None
    metric: MetricEnum | NullEnum | None
    needs: list[AbilityEnum]
    cache_mode: str | None
    disk_bus: str | None
    image_format: str | None
    allocation: str | None
    io_mode: str | None
    discard: str | None
    iothread: str | None
    volume_block_bytes: str | None
    compression: str | None
    encryption: str | None
    snapshot: str | None
    pool_layout: str | None
    pool_devices: str | None
    hypervisor_release: str | None
    host_kernel: str | None
    host_fs_release: str | None
    guest_kernel: str | None
    guest_fs_release: str | None
    disk_driver_release: str | None


QuietHostEnum: TypeAlias = Literal['yes', 'no']


class Range(TypedDict):
    workload: str
    share: float
    low: float
    high: float
    below: str | None
    above: str | None


class RawFile(TypedDict):
    id: int | None
    case_study: str
    name: str
    sha256: str
    size_bytes: int
    format: str | None
    content: str


class ReadFile(TypedDict):
    name: str
    sha256: str
    size_bytes: int
    format: str
    tool_version: str
    rows: int
    refused: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    facts: NotRequired[list[dict[str, Any]]]
    parts: NotRequired[list[dict[str, Any]]]
    runs: NotRequired[list[dict[str, Any]]]
    run_count: NotRequired[int]
    left_out: bool


class Reading(TypedDict):
    axis: AxisEnum
    title: str
    workload: str
    family: str
    filters: dict[str, str]
    entries: list[str]
    address: str


class Reason(TypedDict):
    reason: str


class Reference(TypedDict):
    kind: str
    key: str
    label: str
    anchor: str
    url: str


class Removal(TypedDict):
    deed: str
    becomes: list[str]


class Requests(TypedDict):
    reads: float
    writes: float
    flushes: float


class RevisionNumber(TypedDict):
    revision: int


class Rules(TypedDict):
    margin: NotRequired[float]
    least_gaining: NotRequired[float]
    most_losing: NotRequired[float]
    least_strength: NotRequired[str]
    horizon: NotRequired[float]
    copy_rate: NotRequired[float]
    slowdown: NotRequired[float]


class RunMade(TypedDict):
    value: NotRequired[float]
    disturbed: NotRequired[str]
    block: int
    choice: str


class RunReport(TypedDict):
    value: NotRequired[float]
    disturbed: NotRequired[str]


RunStateEnum: TypeAlias = Literal['waiting', 'active', 'done', 'failed', 'cancelled', 'unneeded']


class RunnerCommand(TypedDict):
    id: int
    script: str
    name: str
    words: list[str]
    given: str
    seconds: int
    most_bytes: int


class RunnerKey(TypedDict):
    key: str


class RunnerLease(TypedDict):
    host: str
    commands: list[RunnerCommand]
    pause_seconds: int


class RunnerLeaseFields(TypedDict):
    runner: str
    held: list[int]
    room: int


RunnerOutcomeEnum: TypeAlias = Literal['done', 'refused', 'too_much', 'late', 'lost']


class RunnerScript(TypedDict):
    digest: str
    name: str
    about: str
    text: str


class RunnerTaken(TypedDict):
    is_taken: bool


RunsFromEnum: TypeAlias = Literal['old', 'new']


class ScalingPoint(TypedDict):
    vm_count: int
    value: float
    low: float
    high: float


class ScalingSeries(TypedDict):
    key: str
    points: list[ScalingPoint]
    label: str


ScopeEnum: TypeAlias = Literal['per-vm', 'aggregate']


class Score(TypedDict):
    moves: int
    verdicts: dict[str, int]
    promised: float | None
    kept_share: float | None


ScoreEnum: TypeAlias = Literal['kendall', 'top', 'error', 'inside', 'log_score']


class SeriesLevel(TypedDict):
    sitting: int
    at: str
    points: int
    value: float
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None


class SeriesLine(TypedDict):
    key: str
    series: MeasuredSeries
    name: str
    sittings: int
    last: str


class SeriesList(TypedDict):
    series: list[SeriesLine]


class SeriesPoint(TypedDict):
    sitting: int
    at: str
    value: float | None
    slowest: float | None
    fastest: float | None
    runs: int
    disturbed: int
    facts: list[ChangedFact]


class SeriesTally(TypedDict):
    series: int
    laboratories: int
    alike: int


class Server(TypedDict):
    slug: str
    model: str | None
    cpu: str | None
    sockets: int | None
    cores: str | None
    ram_gib: float | None
    ram_kind: str | None
    network: str | None


class ServerFields(TypedDict):
    model: NotRequired[str]
    cpu: NotRequired[str]
    sockets: NotRequired[int]
    cores: NotRequired[str]
    ram_gib: NotRequired[float]
    ram_kind: NotRequired[str]
    network: NotRequired[str]


class SetUpLine(TypedDict):
    text: str
    case_studies: list[str]


SeverityEnum: TypeAlias = Literal['error', 'warning']


ShareEnum: TypeAlias = Literal['dominant', 'present', 'small', 'none']


class Shares(TypedDict):
    random_read: NotRequired[float]
    sequential_read: NotRequired[float]
    random_write: NotRequired[float]
    sequential_write: NotRequired[float]
    metadata: NotRequired[float]
    flush: NotRequired[float]
    sync: NotRequired[float]
    threads: NotRequired[int]
    files: NotRequired[int]
    mean_file_size: NotRequired[str | float]


class Side(TypedDict):
    key: str
    label: str
    rank: int | None
    part: int | None
    grade: GradeEnum | NullEnum | None


SittingChangeKindEnum: TypeAlias = Literal['no change that matters', 'changed', 'not sure']


class SittingChoice(TypedDict):
    name: str
    place: str
    settings: dict[str, str]


SittingDecisionKindEnum: TypeAlias = Literal['use', 'no difference', 'not yet']


class SittingLike(TypedDict):
    machine: str
    sentence: str


class SittingStanding(TypedDict):
    name: str
    runs: int
    ratio: float
    low: float
    high: float
    within: float
    loss: float
    elsewhere_ratio: float
    elsewhere_low: float
    elsewhere_high: float


SittingStateEnum: TypeAlias = Literal['open', 'decided', 'spent']


SnapshotEnum: TypeAlias = Literal['none', 'internal', 'overlay', 'storage']


SourceOutcomeEnum: TypeAlias = Literal['same', 'changed', 'vanished', 'refused', 'unreachable']


class SourceScore(TypedDict):
    source: str
    agree: int
    disagree: int
    ties: int
    basis: str
    reason: str
    evidence: Evidence
    revision: int


class SourceTask(TypedDict):
    id: int | None
    publication: str
    address: str
    finding: SourceOutcomeEnum
    detail: str | None
    found_at: str | None


SpanEnum: TypeAlias = Literal['minute', 'hour', 'day']


class Standing(TypedDict):
    rank: int
    part: int
    ratio: float | None
    low: float | None
    high: float | None
    grade: GradeEnum
    is_best: bool
    is_worst: bool


class StatedMix(TypedDict):
    shares: dict[str, float]


class StatedValue(TypedDict):
    value: str
    loses_writes: bool
    case_studies: list[str]


class Statement(TypedDict):
    text: str


StepBasisEnum: TypeAlias = Literal['measured', 'estimated', 'stated', 'model', 'open']


StepKindEnum: TypeAlias = Literal['comparison', 'components', 'workload', 'mechanisms', 'shares', 'forecast', 'cache', 'scaling', 'evidence', 'agreement', 'open']


class Steps(TypedDict):
    run: str
    steps: list[str]


class StorageFields(TypedDict):
    description: str
    kind: NotRequired[str]
    controller: NotRequired[str]
    raid: NotRequired[str]
    sequential_read_limit: NotRequired[float]
    sequential_write_limit: NotRequired[float]
    interface_limit: NotRequired[float]
    source: NotRequired[str]


StorageKindEnum: TypeAlias = Literal['hdd', 'ssd', 'nvme', 'mixed']


StrengthEnum: TypeAlias = Literal['strong', 'moderate', 'weak', 'very weak']


class Sums(TypedDict):
    starts_at: str
    seconds: float
    busy_seconds: float
    reads: int
    read_bytes: int
    read_seconds: float
    writes: int
    write_bytes: int
    write_seconds: float
    flushes: int
    flush_seconds: float


TierEnum: TypeAlias = Literal['best', 'unlisted', 'worst']


class TopUp(TypedDict):
    repetitions: int


TopicsEnum: TypeAlias = Literal['campaign', 'review', 'machines', 'change', 'question']


class TradeEstimate(TypedDict):
    value: float | None
    low: float | None
    high: float | None


TradePointStandingEnum: TypeAlias = Literal['dominated', 'in the Pareto set', 'cannot tell']


TrendEnum: TypeAlias = Literal['grows', 'shrinks']


UnitEnum: TypeAlias = Literal['MiB/s', 'MB/s', 'KiB/s', 'ops/s', 'TPS', 'ms', 'us', 's', 'score', 'ratio']


class Unknown(TypedDict):
    words: str
    nearest: list[str]


class UnknownName(TypedDict):
    kind: str
    name: str
    file: str
    line: int | None
    count: int


class Upload(TypedDict):
    case_study: str
    file: list[str]
    answers: NotRequired[Any]
    confirm: NotRequired[bool]


ValueScopeEnum: TypeAlias = Literal['per-vm', 'aggregate']


VerdictEnum: TypeAlias = Literal['use', 'leads', 'no difference', 'avoid', 'unknown', 'doubtful']


VerdictKindEnum: TypeAlias = Literal['use', 'leads', 'no difference', 'not known', 'winner', 'no clear winner']


VirtualisationEnum: TypeAlias = Literal['full', 'para', 'emulated', 'container', 'none']


WayEnum: TypeAlias = Literal['mail', 'webhook']


class Word(TypedDict):
    words: str
    role: str
    name: str
    value: str
    note: str


WorkloadEnum: TypeAlias = Literal['fileserver', 'varmail', 'webserver', 'randomfileaccess']


class WorkloadVariant(TypedDict):
    id: int | None
    workload: str
    benchmark: str
    benchmark_version: str | None
    parameters: dict[str, Any]


WritesEnum: TypeAlias = Literal['synchronous', 'asynchronous']


YEnum: TypeAlias = Literal['throughput', 'operation_rate', 'transaction_rate', 'latency', 'latency_p50', 'latency_p95', 'latency_p99', 'duration', 'score', 'relative', 'spread', 'durability']


class Error(TypedDict):
    field: str
    message: str
    allowed: NotRequired[list[Any]]
    line: NotRequired[int]
    column: NotRequired[int]


class Problem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    errors: NotRequired[list[Error]]


class AbilityFact(TypedDict):
    kind: AbilityFactKindEnum
    choice: str
    name: str
    ability: AbilityEnum
    found: AbilityFoundEnum
    limit: str
    through: str
    source: str
    read_on: str


class AdviceRequest(TypedDict):
    personality: NotRequired[str]
    shares: NotRequired[Shares]
    hypervisor: NotRequired[str]
    host_fs: NotRequired[str]


class AdvisedEntry(TypedDict):
    key: str
    label: str
    grade: GradeEnum
    ratio: float | None
    low: float | None
    high: float | None


class AdvisedPart(TypedDict):
    part: int
    name: str
    text: str
    best: list[AdvisedEntry]
    worst: list[AdvisedEntry]


class Anecdote(TypedDict):
    case_study: str
    title: str
    numbers: int
    metric: MetricEnum
    entries: list[str]
    sentence: str
    why: str


class Asked(TypedDict):
    axis: AxisEnum
    workload: str
    hypervisor: NotRequired[str]
    guest_fs: NotRequired[str]
    host_fs: NotRequired[str]
    vm_count: NotRequired[int]
    host_storage: NotRequired[str]
    storage: NotRequired[str]
    benchmark: NotRequired[str]
    guest_os_family: NotRequired[str]
    grade: NotRequired[str]
    evidence: NotRequired[str]
    metric: NotRequired[str]


class Axes(TypedDict):
    axes: list[Axis]


class BeingWorkedOut(TypedDict):
    detail: str
    question: NotRequired[Question]
    error: str


class Campaign(TypedDict):
    slug: str
    title: str
    state: CampaignStateEnum
    state_reason: str | None
    look_at: str | None
    host: str
    pool: str | None
    driver: DriverEnum
    engine: EngineEnum
    host_file_systems: list[str]
    guest_file_systems: list[str]
    workloads: list[str]
    vm_counts: list[int]
    repetitions: int
    run_seconds: int
    cool_down_seconds: int
    scale_percent: int
    disk_mib: int
    vm_ram_mib: int
    vm_vcpus: int
    pinned_cpus: list[int]
    precision_percent: int | None
    seed: int
    nightly_at: str | None
    nightly_minutes: int | None
    nightly_skipped: str | None
    owner: str | None
    case_study: str | None
    created_at: str | None
    archived_at: str | None
    is_untried: bool
    calibrations: list[Calibration] | None
    cache_mode: str | list[str]
    disk_bus: str | list[str]
    image_format: str | list[str]
    allocation: str | list[str]
    io_mode: str | list[str]
    discard: str | list[str]
    iothread: str | list[str]


class CampaignFields(TypedDict):
    title: str
    slug: str
    driver: DriverEnum
    engine: EngineEnum
    host_file_systems: list[str]
    guest_file_systems: NotRequired[list[str]]
    workloads: list[str]
    vm_counts: NotRequired[list[int]]
    repetitions: NotRequired[int]
    run_seconds: NotRequired[int]
    cool_down_seconds: NotRequired[int]
    scale_percent: NotRequired[int]
    disk_mib: NotRequired[int]
    vm_ram_mib: NotRequired[int]
    vm_vcpus: NotRequired[int]
    pinned_cpus: NotRequired[list[int]]
    precision_percent: NotRequired[int]
    seed: NotRequired[int]
    cache_mode: NotRequired[str | list[str]]
    disk_bus: NotRequired[str | list[str]]
    image_format: NotRequired[str | list[str]]
    allocation: NotRequired[str | list[str]]
    io_mode: NotRequired[str | list[str]]
    discard: NotRequired[str | list[str]]
    iothread: NotRequired[str | list[str]]
    format: NotRequired[str]
    host: str
    pool: NotRequired[str]


class Cell(TypedDict):
    guest_fs: str
    host_fs: str
    rank: int | None
    part: int | None
    ratio: float | None
    low: float | None
    high: float | None
    grade: GradeEnum | NullEnum | None
    shade: int | None
    standing: CellStandingEnum


class ChangeCause(TypedDict):
    fact: ChangedFact
    took: SeriesTally
    without: SeriesTally
    ratio: float | None
    low: float | None
    high: float | None
    sentence: str


class ChangeCauses(TypedDict):
    causes: list[ChangeCause]


class ChangeHandling(TypedDict):
    state: ChangeHandlingStateEnum
    reason: str
    excused_until: str | None
    by: str


class ChangeHandlingFields(TypedDict):
    deed: DeedEnum
    reason: NotRequired[str]
    until: NotRequired[str]


class Claim(TypedDict):
    id: str
    paper: str
    location: str
    case_studies: list[str]
    retracted_case_studies: list[str]
    kind: ClaimKindEnum
    workloads: list[str]
    part: str
    statement: str
    predicate: str
    scope: str | None
    verdict: str | None
    held: int | None
    failed: int | None
    undecided: int | None
    basis: str | None
    reason: str | None
    evidence: Evidence | NullEnum | None
    revision: int | None


class ClaimDetail(TypedDict):
    id: str
    paper: str
    location: str
    case_studies: list[str]
    retracted_case_studies: list[str]
    kind: ClaimKindEnum
    workloads: list[str]
    part: str
    statement: str
    predicate: str
    scope: str | None
    verdict: str | None
    held: int | None
    failed: int | None
    undecided: int | None
    basis: str | None
    reason: str | None
    evidence: Evidence | NullEnum | None
    revision: int | None
    checks: dict[str, Any]
    comparisons: list[list[str]] | None


class ClusteredScore(TypedDict):
    method: str
    score: ScoreEnum
    against: str | None
    mean: float | None
    low: float | None
    high: float | None
    cells: int
    laboratories: int


class ComparedEntry(TypedDict):
    key: str
    label: str
    rank: int | None
    part: int | None
    ratio: float | None
    low: float | None
    high: float | None
    p_score: float | None
    grade: GradeEnum | NullEnum | None
    case_studies: list[str]


class ComparedPair(TypedDict):
    a: str
    b: str
    ratio: float | None
    low: float | None
    high: float | None
    basis: ComparedPairBasisEnum
    why: str


class Component(TypedDict):
    number: int
    slug: str
    name: str
    description: str | None
    names: list[ComponentName]


class Configuration(TypedDict):
    case_study: str
    slug: str
    retracted: bool
    native: bool
    pair: str | None
    hypervisor: str | None
    hypervisor_release: str | None
    virtualisation: VirtualisationEnum | BlankEnum | NullEnum | None
    virtual_devices: str | None
    host_os: str | None
    host_kernel: str | None
    host_fs: str | None
    host_mkfs_options: str | None
    host_mount_options: str | None
    host_io_scheduler: str | None
    backend: BackendEnum | NullEnum | None
    below: str | None
    host_storage: str | None
    storage_kind: StorageKindEnum | BlankEnum | NullEnum | None
    cache_mode: str | None
    disk_bus: str | None
    image_format: str | None
    allocation: AllocationEnum | BlankEnum | NullEnum | None
    io_mode: IoModeEnum | BlankEnum | NullEnum | None
    discard: DiscardEnum | BlankEnum | NullEnum | None
    iothread: IothreadEnum | BlankEnum | NullEnum | None
    volume_block_bytes: int | None
    compression: str | None
    encryption: EncryptionEnum | BlankEnum | NullEnum | None
    snapshot: SnapshotEnum | BlankEnum | NullEnum | None
    pool_layout: PoolLayoutEnum | BlankEnum | NullEnum | None
    pool_devices: PoolDevicesEnum | BlankEnum | NullEnum | None
    host_fs_release: str | None
    guest_fs_release: str | None
    disk_driver_release: str | None
    guest_os: str | None
    guest_kernel: str | None
    guest_fs: str | None
    guest_access: GuestAccessEnum | BlankEnum | NullEnum | None
    guest_mkfs_options: str | None
    guest_mount_options: str | None
    guest_io_scheduler: str | None
    vm_vcpus: int | None
    vm_ram_gib: float | None
    vm_disk: str | None
    note: str | None


class Conflict(TypedDict):
    workload: str
    axis: str
    title: str
    url: str
    first: str
    second: str
    labels: list[str]
    z: float
    sides: list[ConflictSide]
    settings: list[DifferingSetting]


class Conflicts(TypedDict):
    revision: int
    compared: int
    conflicts: list[Conflict]
    left_out: int


class Delivery(TypedDict):
    id: str
    topic: str
    subject: str
    state: DeliveryStateEnum
    attempts: int
    due_at: str | None
    error: str
    created_at: str
    ended_at: str | None


class DerivedValue(TypedDict):
    id: int | None
    case_study: str
    configuration: str
    retracted: bool
    hypervisor: str | None
    guest_fs: str | None
    host_fs: str | None
    workload: str
    variant: int
    benchmark: str
    benchmark_version: str | None
    operation: str
    block_size_bytes: int | None
    vm_count: int | None
    value_scope: ValueScopeEnum | NullEnum | None
    metric: MetricEnum
    value: float | None
    low: float | None
    high: float | None
    unit: UnitEnum
    quantity: QuantityEnum
    is_evidence: bool
    route: str
    formula: str
    source: str | None
    note: str | None


class DetectionModel(TypedDict):
    made_at: str | None
    signatures: int
    why_not: str | None
    report: DetectionReport | NullEnum | None
    sampled_report: DetectionReport | NullEnum | None


class Difference(TypedDict):
    part: int
    first: str
    other: str
    case_study: str
    sources: list[str]
    metric: MetricEnum
    unit: str
    operation: str
    block_size_bytes: int | None
    vm_count: int
    first_value: float
    other_value: float
    derived: bool


class DraftFields(TypedDict):
    slug: str
    title: str
    laboratory: NotRequired[str]
    research_group: NotRequired[str]
    run_seconds: NotRequired[int]
    repetitions: NotRequired[int]
    warm_up_seconds: NotRequired[int]
    quiet_host: NotRequired[str]
    value_scope: NotRequired[str]
    procedure: NotRequired[str]
    server: NotRequired[ServerFields]
    storage: StorageFields


class Ending(TypedDict):
    revision: int
    kind: EndingKindEnum
    case_study: str
    is_whole: bool
    replaced_by: str | None
    reason: str


class Entry(TypedDict):
    rank: int
    part: int
    key: str
    label: str
    ratio: float | None
    low: float | None
    high: float | None
    mean_low: float | None
    mean_high: float | None
    probability_best: float | None
    probability_slower: float | None
    expected_loss: float | None
    verdict: VerdictEnum
    p_score: float
    grade: GradeEnum
    tied_with: list[str]
    confounded_with: list[str]
    unsafe_options: list[str]
    always_unsafe: bool
    lacks: list[str]
    case_studies: int
    laboratories: int
    groups: int
    measurements: int
    derived: int
    findings: int


class EntryAbility(TypedDict):
    key: str
    label: str
    ability: AbilityEnum
    found: EntryAbilityFoundEnum
    grounds: list[AbilityGround]


class Estimate(TypedDict):
    runs: int
    seconds: int
    pool_mib: int
    free_mib: int | None
    files_mib: dict[str, int]
    left_out: list[str]
    steps: list[Steps]


class Extent(TypedDict):
    status: str
    parts: int
    sentence: str
    strength: StrengthEnum


class Fact(TypedDict):
    name: str
    label: str
    yours: str
    evidence: list[str]
    state: FactStateEnum


class Finding(TypedDict):
    id: int | None
    publication: str
    case_studies: list[str]
    retracted_case_studies: list[str]
    workload: str
    variant: int
    benchmark: str
    hypervisor: str
    guest_fs: str
    host_fs: str
    text_list: TierEnum
    is_outstanding: bool
    text_source: str
    table_list: TierEnum
    table_source: str
    is_contradictory: bool


class Fit(TypedDict):
    sentence: str
    effect: str
    facts: list[Fact]


class FollowedQuestion(TypedDict):
    id: int
    question: Question
    revision: int
    followed_at: str


class ForecastCalibration(TypedDict):
    of: OfEnum
    said: float
    came_true: float
    weight: float


class GroupsLeftOut(TypedDict):
    cells: int
    groups: int
    forms: list[ForecastForm] | None
    calibration: list[ForecastCalibration]
    examples: list[ForecastExample]


class Health(TypedDict):
    database: PartHealth
    broker: PartHealth
    workers: PartHealth


class HeatMap(TypedDict):
    method: int
    permanent: str | None
    pinned: bool | None
    today: str | None
    question: Question
    revision: int
    guests: list[Named]
    hosts: list[Named]
    cells: list[list[Cell]]


class Here(TypedDict):
    laboratory: str
    name: str
    machine: str
    place: str
    sittings: list[int]
    kind: HereKindEnum
    sentence: str
    entries: list[EntryHere]


class Hit(TypedDict):
    kind: HitKindEnum
    title: str
    address: str
    excerpt: str
    is_retracted: bool


class Hits(TypedDict):
    q: str
    hits: list[Hit]


class Hypervisor(TypedDict):
    slug: str
    name: str
    aliases: list[str]
    description: str | None
    source: str | None
    kind: HypervisorKindEnum
    vendor: str | None
    kernel_origin: str
    virtual_device_origin: str


class Hypothesis(TypedDict):
    id: str
    paper: str
    location: str
    statement: str
    prediction: str
    untestable: str
    agree: int
    disagree: int
    ties: int
    sources: list[SourceScore]


class Lint(TypedDict):
    rule: str
    severity: SeverityEnum
    message: str
    places: list[str]


class Measurement1(TypedDict):
    id: int | None
    case_study: str
    configuration: str
    retracted: bool
    hypervisor: str | None
    guest_fs: str | None
    host_fs: str | None
    workload: str
    variant: int
    benchmark: str
    benchmark_version: str | None
    operation: str
    block_size_bytes: int | None
    vm_count: int
    value_scope: ValueScopeEnum | NullEnum | None
    metric: MetricEnum
    value: float
    unit: UnitEnum
    alternative_value: float | None
    quality: QualityEnum
    machine: int | None
    repetition: int
    repetitions: int | None
    standard_deviation: float | None
    minimum: float | None
    maximum: float | None
    reference: str | None
    excluded_because: str | None
    excluded_by: str | None
    ended_revision: int | None
    source: str | None
    raw_file: int | None
    line: int | None
    note: str | None


class Mechanism(TypedDict):
    code: str
    operation: OperationEnum
    operation_name: str
    mechanism: str
    source: str


class MixEntry(TypedDict):
    key: str
    rank: int
    ratio: float
    low: float
    high: float
    tied: bool
    p_score: float
    parts: dict[str, float]
    probability_best: float
    probability_slower: float
    expected_loss: float
    verdict: VerdictEnum
    label: str


class Move(TypedDict):
    key: str
    label: str
    before: Standing | NullEnum | None
    after: Standing | NullEnum | None


class MovedHeadline(TypedDict):
    title: str
    before: Extent
    before_url: str
    after: Extent
    after_url: str


class NextRun(TypedDict):
    kind: NextRunKindEnum
    entries: list[str]
    labels: list[str]
    repetitions: int
    runs: int
    gain: float
    sentence: str
    campaign: str


class ObservedPool(TypedDict):
    id: int | None
    host: str
    path: str
    name: str | None
    backend: BackendEnum
    host_fs: str | None
    storage_kind: StorageKindEnum | BlankEnum | NullEnum | None
    size_bytes: int
    free_bytes: int
    seen_at: str
    is_target: bool
    reserve_bytes: int
    most_load: float | None


class OverviewCell(TypedDict):
    axis: AxisEnum
    kind: OverviewCellKindEnum
    strength: StrengthEnum | NullEnum | None
    leading: list[str]
    groups: int | None
    laboratories: int | None
    revision: int | None
    superseded_by: int | None
    address: str


class OverviewRow(TypedDict):
    workload: str
    label: str
    cells: list[OverviewCell]


class PaginatedCampaignList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Campaign]


class PaginatedClaimList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Claim]


class PaginatedComponentList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Component]


class PaginatedConfigurationList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Configuration]


class PaginatedDerivedValueList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[DerivedValue]


class PaginatedFindingList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Finding]


class PaginatedFollowedQuestionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[FollowedQuestion]


class PaginatedHypervisorList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Hypervisor]


class PaginatedMeasurementList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Measurement1]


class PaginatedObservedPoolList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ObservedPool]


class PaginatedPlacementPlanList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PlacementPlan]


class PaginatedRawFileList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RawFile]


class PaginatedServerList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Server]


class PaginatedSourceTaskList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SourceTask]


class PaginatedWorkloadVariantList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[WorkloadVariant]


class PatchedDraftFields(TypedDict):
    slug: NotRequired[str]
    title: NotRequired[str]
    laboratory: NotRequired[str]
    research_group: NotRequired[str]
    run_seconds: NotRequired[int]
    repetitions: NotRequired[int]
    warm_up_seconds: NotRequired[int]
    quiet_host: NotRequired[str]
    value_scope: NotRequired[str]
    procedure: NotRequired[str]
    server: NotRequired[ServerFields]
    storage: NotRequired[StorageFields]


class PlacementMove(TypedDict):
    id: int | None
    plan: int | None
    back_of: int | None
    host: str
    machine_uuid: str
    machine_name: str
    disk: str
    old_path: str
    new_path: str
    size_bytes: int
    revision: int
    model: str | None
    state: PlacementMoveStateEnum
    runs_from: RunsFromEnum | BlankEnum
    is_called_off: bool
    step: str | None
    reason: str | None
    left_over: str | None
    warnings: list[str]
    done_bytes: int
    copy_seconds: float | None
    asked_by: str | None
    asked_at: str | None
    started_at: str | None
    switched_at: str | None
    keep_until: str | None
    finished_at: str | None
    outcome: dict[str, Any]


class PlacementPlanFields(TypedDict):
    hosts: list[Host1]
    rules: NotRequired[Rules]
    pinned: NotRequired[list[PinnedItem]]
    freed: NotRequired[list[FreedItem]]
    excluded: NotRequired[list[ExcludedItem]]
    reserves: NotRequired[dict[str, int]]
    instead_of: NotRequired[int]


class Pool(TypedDict):
    path: str
    kind: PoolKindEnum
    host_fs: str | None


class PrintedRatio(TypedDict):
    id: int | None
    case_study: str
    retracted: bool
    workload: str
    variant: int
    numerator: str | None
    denominator: str
    guest_fs: str | None
    vm_counts: list[int]
    is_overall: bool
    least: float
    least_rounding: float
    greatest: float
    greatest_rounding: float
    unit: str
    trend: TrendEnum | BlankEnum | NullEnum | None
    printed: str
    source: str
    note: str | None


class Profile(TypedDict):
    operations: Accesses
    bytes: Accesses
    metadata_share: float
    flush_share: float
    sync_share: float
    concurrency: int | None
    files: int | None
    mean_file_bytes: float | None
    working_set_bytes: float | None
    mean_io_bytes: float | None
    directory_width: int | None
    requests: Requests | NullEnum | None
    think_seconds: float


class ProtocolTick(TypedDict):
    name: str
    asked: str
    state: ProtocolTickStateEnum
    met: int
    of: int
    remedy: str


class QualityQuestion(TypedDict):
    case_studies: list[str]
    axis: AxisEnum
    workload: str
    hypervisor: str | None
    basis: QualityQuestionBasisEnum
    entries: list[str]
    predictions: list[QualityPrediction]


class Report(TypedDict):
    rows: NotRequired[int]
    files: NotRequired[list[ReadFile]]
    known: NotRequired[list[dict[str, Any]]]
    faults: NotRequired[list[Fault]]
    fault_count: NotRequired[int]
    unknown: NotRequired[list[UnknownName]]
    lint: NotRequired[list[Lint]]
    sample: NotRequired[list[dict[str, Any]]]
    new_configurations: NotRequired[list[str]]
    new_names: NotRequired[list[dict[str, Any]]]
    suggested: NotRequired[dict[str, str]]


class Revision(TypedDict):
    number: int
    action: ActionEnum
    reason: str | None
    created_at: str | None
    published: list[str]
    retracted: list[str]
    ending: Ending | NullEnum | None


class RevisionEffects(TypedDict):
    revision: int
    case_study: str
    moved: list[MovedHeadline]
    unchanged: int
    left_out: int


class Run(TypedDict):
    position: int
    repetition: int
    host_fs: str
    guest_fs: str | None
    workload: str
    vm_count: int
    disk: dict[str, str]
    state: RunStateEnum
    step: str | None
    reason: str | None
    attempt: int
    lost_attempts: int
    started_at: str | None
    finished_at: str | None
    figures: list[Figure]
    warnings: list[str]
    disturbed: str | None
    repeats: int | None
    counts: bool
    facts: dict[str, Any]
    curves: list[Curve] | None
    artifacts: list[Artifact]


class RunnerAnswerFields(TypedDict):
    id: int
    outcome: RunnerOutcomeEnum
    status: NotRequired[int]
    output: str
    error_output: str


class Said(TypedDict):
    text: str
    understood: list[Word]
    not_understood: list[Unknown]
    readings: list[Reading]
    pages: list[Pointer]


class ScalingPanel(TypedDict):
    case_study: str
    unit: str
    operation: str
    block_size_bytes: int | None
    held: dict[str, str]
    sources: list[str]
    scope: ScopeEnum | BlankEnum
    series: list[ScalingSeries]


class SeriesChange(TypedDict):
    id: int
    laboratory: str
    series: str
    about: MeasuredSeries
    name: str
    sitting: int
    shown_by: int
    found_at: str
    ratio: float
    low: float
    high: float
    p: float
    level: float
    facts: list[ChangedFact]
    handling: ChangeHandling


class SeriesHistory(TypedDict):
    key: str
    series: MeasuredSeries
    name: str
    unit: str
    most_p: float
    points: list[SeriesPoint]
    levels: list[SeriesLevel]


class SetUpFact(TypedDict):
    fact: str
    stated: list[StatedValue]
    not_stated_by: list[str]
    not_tried: list[str]


class SittingChange(TypedDict):
    name: str
    kind: SittingChangeKindEnum
    ratio: float
    low: float
    high: float
    sentence: str


class SittingDecision(TypedDict):
    kind: SittingDecisionKindEnum
    sentence: str
    choices: list[SittingStanding]
    runs: int
    further: int | None
    changes: list[SittingChange]
    set_up: list[str]
    published: str


class SittingFields(TypedDict):
    laboratory: str
    machine: str
    workload: NotRequired[WorkloadEnum]
    like: NotRequired[str]
    seconds: NotRequired[int]
    most_runs: NotRequired[int]
    choices: list[ChoiceFields]
    facts: NotRequired[dict[str, str]]
    again: NotRequired[bool]
    if_changed: NotRequired[bool]
    runs: NotRequired[list[RunMade]]


class SittingLine(TypedDict):
    id: int
    laboratory: str
    machine: str
    workload: str
    like: SittingLike | NullEnum | None
    state: SittingStateEnum
    created_at: str
    ended_at: str | None


class SourceCheck(TypedDict):
    address: str
    checked_at: str
    outcome: SourceOutcomeEnum
    detail: str | None
    digest: str | None
    digest_of: str | None


class Statistics(TypedDict):
    span: SpanEnum
    rows: list[Sums]


class Status(TypedDict):
    version: str
    revision: int
    case_studies: int
    configurations: int
    measurements: int
    derived: int
    findings: int
    claims: int
    answers: KeptAnswers
    age_seconds: float
    health: Health


class Step(TypedDict):
    kind: StepKindEnum
    title: str
    basis: StepBasisEnum
    text: str
    data: dict[str, Any]
    evidence: list[Reference]
    source: str


class Storage(TypedDict):
    slug: str
    server: str
    description: str
    kind: StorageKindEnum | BlankEnum | NullEnum | None
    controller: str | None
    raid: str | None
    sequential_read_limit: float | None
    sequential_write_limit: float | None
    interface_limit: float | None
    limits_unit: str
    source: str | None


class Subscription(TypedDict):
    id: str
    way: WayEnum
    address: str
    topics: list[TopicsEnum]
    signing_key: str | None
    created_at: str
    failing_since: str | None
    off_at: str | None
    off_reason: str


class SubscriptionFields(TypedDict):
    topics: list[TopicsEnum]
    way: WayEnum
    address: NotRequired[str]


class TableCell(TypedDict):
    rank: int
    part: int
    ratio: float | None
    low: float | None
    high: float | None
    verdict: VerdictEnum
    grade: GradeEnum


class TableEntry(TypedDict):
    key: str
    label: str
    cells: list[TableCell]


class Topics(TypedDict):
    topics: list[TopicsEnum]


class TradePoint(TypedDict):
    key: str
    x: TradeEstimate
    y: TradeEstimate
    standing: TradePointStandingEnum
    on_front: bool | None


class Verdict(TypedDict):
    kind: VerdictKindEnum
    sentence: str
    strength: StrengthEnum
    reasons: list[str]
    settle: str


class Workload(TypedDict):
    slug: str
    name: str
    aliases: list[str]
    description: str | None
    source: str | None
    random_reads: ShareEnum | BlankEnum | NullEnum | None
    sequential_reads: ShareEnum | BlankEnum | NullEnum | None
    random_writes: ShareEnum | BlankEnum | NullEnum | None
    sequential_writes: ShareEnum | BlankEnum | NullEnum | None
    metadata_operations: ShareEnum | BlankEnum | NullEnum | None
    writes: WritesEnum | BlankEnum | NullEnum | None
    data_flow: str | None
    operation_rate: str | None
    cache_impact: str | None


class Abilities(TypedDict):
    abilities: list[Ability]
    facts: list[AbilityFact]


class ChangedQuestion(TypedDict):
    question: Question
    title: str
    url: str
    before: Extent
    after: Extent
    headline_moves: bool
    moves: list[Move]


class Comparison(TypedDict):
    method: int
    permanent: str | None
    pinned: bool | None
    today: str | None
    changes: list[str]
    here: Here | NullEnum | None
    question: Question
    revision: int
    metric: MetricEnum
    entries: list[ComparedEntry]
    environment: list[EnvironmentFact]
    environment_of: str
    pairs: list[ComparedPair]


class Effects(TypedDict):
    state: EffectsStateEnum
    result: RevisionEffects | NullEnum | None


class Emptied(TypedDict):
    moves: list[PlacementMove]
    stay: list[str]


class Explanation(TypedDict):
    question: Question
    revision: int
    a: Side | NullEnum | None
    b: Side | NullEnum | None
    contrast: Contrast | NullEnum | None
    steps: list[Step]


class FileSystem(TypedDict):
    slug: str
    name: str
    aliases: list[str]
    description: str | None
    source: str | None
    letter: str | None
    mechanisms: list[Mechanism]


class Host(TypedDict):
    slug: str
    name: str
    address: str | None
    port: int
    login: str
    uses_sudo: bool
    key_name: str | None
    is_by_runner: bool
    runner_heard_at: str | None
    is_by_api: bool
    laboratory: str
    drivers: list[str]
    hypervisor: str | None
    runs_on: str | None
    guest_image: str | None
    window_start: str | None
    window_end: str | None
    pools: list[Pool]
    stated: dict[str, str]
    accepted_key: str | None
    offered_key: str | None
    blocked_reason: str | None
    checked_at: str | None
    facts: dict[str, Any]
    job_state: str | None
    job_error: str | None
    left_overs: list[str]
    registered_by: str | None
    archived_at: str | None


class Hypotheses(TypedDict):
    revision: int
    hypotheses: list[Hypothesis]


class Import(TypedDict):
    id: int
    case_study: str
    state: ImportStateEnum
    summary: str
    door: DoorEnum
    uploaded_by: str | None
    created_at: str
    filed_at: str | None
    progress: int | None
    error: str
    answers: Answers
    report: Report


class MethodOfToday(TypedDict):
    method: int
    says_the_same: bool | None
    verdict: Verdict | NullEnum | None
    best: list[str] | None
    permanent: str


class ModelQuality(TypedDict):
    revision: int
    case_studies: int
    left_out: int
    methods: list[Method]
    summaries: list[QualitySummary]
    questions: list[QualityQuestion]
    forecasts: ForecastsInUse
    clustered: list[ClusteredScore]
    laboratories: list[QualityGroup]
    distinct_questions: list[QualityGroup]
    notes: list[str]
    groups: GroupsLeftOut


class Overview(TypedDict):
    revision: int
    columns: list[OverviewColumn]
    rows: list[OverviewRow]


class PaginatedFileSystemList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[FileSystem]


class PaginatedHostList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Host]


class PaginatedImportList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Import]


class PaginatedPlacementMoveList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PlacementMove]


class PaginatedPrintedRatioList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PrintedRatio]


class PaginatedRevisionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Revision]


class PaginatedRunList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Run]


class PaginatedSeriesChangeList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SeriesChange]


class PaginatedSittingLineList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SittingLine]


class PaginatedStorageList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Storage]


class PaginatedWorkloadList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Workload]


class Part(TypedDict):
    part: int
    name: str
    verdict: Verdict
    basis: PartBasisEnum
    reference: str
    held_equal: str
    assumed_equal: str
    networks: list[Network]


class PreviewResult(TypedDict):
    case_study: str
    revision: int
    questions: list[ChangedQuestion]
    unchanged: int
    left_out: int


class Protocol(TypedDict):
    ticks: list[ProtocolTick]
    numbers: int
    anecdotes: int


class Publication(TypedDict):
    slug: str
    title: str
    authors: list[str]
    venue: str | None
    year: int | None
    address: str | None
    doi: str | None
    made_on: str | None
    read_on: str | None
    archive_address: str | None
    last_check: SourceCheck | NullEnum | None
    is_reviewed: bool
    note: str | None
    case_studies: list[str]


class Recommendation(TypedDict):
    workload: str
    label: str
    distance: float
    is_far: bool
    question: Question
    title: str
    url: str
    api_url: str
    without: list[str]
    metric: MetricEnum
    verdict: Verdict
    grounds: Grounds
    notes: list[str]
    entries: list[AdvisedEntry]
    parts: list[AdvisedPart]
    missing: list[str]


class SetUp(TypedDict):
    part: int
    key: str
    label: str
    durability: str
    told_from: str
    facts: list[SetUpFact]
    lines: list[SetUpLine]


class Share(TypedDict):
    workload: str
    share: float
    has_numbers: bool
    verdict: Verdict
    forecast: str


class Sitting(TypedDict):
    id: int
    laboratory: str
    machine: str
    workload: str
    like: SittingLike | NullEnum | None
    engine: str
    seconds: int
    most_runs: int
    state: SittingStateEnum
    choices: list[SittingChoice]
    created_at: str
    ended_at: str | None
    case_study: str | None
    load: Load
    next: list[PlannedRun]
    decision: SittingDecision


class TableWorkload(TypedDict):
    workload: str
    metric: MetricEnum
    revision: int
    superseded_by: int | None
    status: AnswerStatusEnum
    verdict: Verdict
    laboratories: int
    groups: int


class TradeOff(TypedDict):
    part: int
    x: MetricEnum
    y: YEnum
    points: list[TradePoint]


class Advice(TypedDict):
    filters: AdviceFilters
    summary: list[str]
    profile: Profile
    assumptions: list[str]
    nearest: list[Neighbour]
    is_far: bool
    far_beyond: float
    recommendation: list[Recommendation]
    revision: int


class CaseStudy(TypedDict):
    slug: str
    title: str
    status: CaseStudyStatusEnum
    retraction_reason: str | None
    published_revision: int
    retracted_revision: int | None
    endings: list[Ending]
    publication: str | None
    server: str
    storage: str
    laboratory: str | None
    research_group: str | None
    run_seconds: int | None
    repetitions: int | None
    warm_up_seconds: int | None
    quiet_host: QuietHostEnum | BlankEnum | NullEnum | None
    vm_counts: list[int]
    value_scope: ValueScopeEnum | BlankEnum | NullEnum | None
    procedure: str | None
    notes: list[str]
    protocol: Protocol | NullEnum | None


class Draft(TypedDict):
    slug: str
    title: str
    status: CaseStudyStatusEnum
    owner: str | None
    laboratory: str | None
    research_group: str | None
    run_seconds: int | None
    repetitions: int | None
    warm_up_seconds: int | None
    quiet_host: QuietHostEnum | BlankEnum | NullEnum | None
    vm_counts: list[int]
    value_scope: ValueScopeEnum | BlankEnum | NullEnum | None
    procedure: str | None
    server: Server
    storage: Storage
    protocol: Protocol | NullEnum | None
    audit: list[AuditEntry]
    content_digest: str | None


class Mix(TypedDict):
    axis: AxisEnum
    filters: dict[str, Any]
    metric: MetricEnum
    here: MixHere | NullEnum | None
    method: int
    permanent: str | None
    pinned: bool | None
    today: str | None
    weights: dict[str, float]
    revision: int
    verdict: Verdict
    grounds: Grounds
    entries: list[MixEntry]
    ranges: list[Range]
    left_out: dict[str, list[str]]
    unmeasured: dict[str, list[str]]
    shares: list[Share]
    notes: list[str]


class PaginatedCaseStudyList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[CaseStudy]


class PaginatedDraftList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Draft]


class PaginatedPublicationList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Publication]


class Preview(TypedDict):
    state: PreviewStateEnum
    progress: int | None
    total: int | None
    error: str
    result: PreviewResult | NullEnum | None


class Ranking(TypedDict):
    superseded_by: int | None
    method: int
    permanent: str | None
    pinned: bool | None
    method_of_today: MethodOfToday | NullEnum | None
    doubt: str
    here: Here | NullEnum | None
    releases: list[AnswerRelease]
    fit: Fit
    question: Question
    revision: int
    reference: str | None
    unit: str
    metric: MetricEnum
    other_metrics: list[MetricEnum]
    status: AnswerStatusEnum
    verdict: Verdict
    machines: str
    grounds: Grounds
    entries: list[Entry]
    parts: list[Part]
    abilities: list[EntryAbility]
    best: list[str]
    worst: list[str]
    scaling: list[ScalingPanel]
    next_runs: list[NextRun]
    measure_next: str
    differences: list[Difference]
    trade_offs: list[TradeOff]
    set_ups: list[SetUp]
    notes: list[str]
    evidence: list[CaseStudyEvidence]
    compared: list[LaboratoryComparison]
    anecdotes: list[Anecdote]
    missing: list[str]


class Table(TypedDict):
    axis: str
    filters: dict[str, Any]
    workloads: list[TableWorkload]
    entries: list[TableEntry]
    waiting: list[str]
