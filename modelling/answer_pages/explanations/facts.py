"""The facts from which an explanation is written. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from modelling.estimation.shares import Decomposition
from modelling.evidence.axes import NATIVE
from modelling.evidence.question import Grade, Question
from modelling.prediction.content import PairForecast
from modelling.workloads.cache_effect import CacheVerdict
from modelling.workloads.mechanisms import Expectation
from modelling.workloads.profiles import Profile
from modelling.workloads.scaling import Scaling
from modelling.workloads.track_record import TrackRecord


@dataclass(frozen=True)
class Ranked:
    """One of the two entries; rank, part and grade are null where the answer does not rank it."""

    component = "Side"

    key: str
    label: str
    rank: int | None
    part: int | None
    grade: Grade | None


@dataclass(frozen=True, kw_only=True)
class Side(Ranked):
    """One of the two entries with its facts.

    parts : of the entry, by column of the frame of arms: {"guest_fs": "xfs", "host_fs": "ext4"}
    configuration : facts in which all its compared configurations agree; "" or None: not stated
    """

    parts: Mapping[str, str]
    configuration: Mapping[str, Any]
    cache: tuple["Placed", ...] = ()
    scaling: tuple["Placed", ...] = ()


@dataclass(frozen=True)
class Placed:
    """A verdict on one side's numbers, with their source."""

    case_study: str
    what: str  # "xfs on ext4 under KVM, one machine"
    verdict: CacheVerdict | Scaling
    sentence: str
    source: str


@dataclass(frozen=True)
class DirectGroup:
    """A fair-play group with both sides. ratio : a / b, of means where a side has several arms"""

    case_study: str
    source: str
    vm_count: int
    operation: str
    block_size_bytes: int | None
    ratio: float
    origin: str  # "measured" or "derived"


@dataclass(frozen=True)
class Contrast:
    """Throughput of a against b, with its 95 % interval."""

    ratio: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """Return 1 where a is faster, -1 where b is, 0 where the interval covers one."""
        return 1 if self.low > 1 else -1 if self.high < 1 else 0


@dataclass(frozen=True)
class Tier:
    """The standings of the two sides in a tier list, all else equal."""

    publication: str
    case_studies: tuple[str, ...]
    source: str
    a: float  # standing, 2 outstanding among the best to -2 outstanding among the worst
    b: float
    held: Mapping[str, str]


@dataclass(frozen=True)
class Confounding:
    """The columns that may be the cause of a difference between two entries in place of the choice.

    differing : columns in which the two differ
    left_open : columns with a default of each hypervisor that not both sides state
    """

    differing: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExplanationFacts:
    """Everything the steps need, as plain values.

    groups : fair-play groups with both sides; contrast : None where no chain of numbers joins them
    tiers : list comparisons; profile : None where the workload has none
    expectation : of the mechanism layer; None where the sides do not differ in a file system or the workload
        has no profile
    record : how often the mechanisms were right on the workload
    decomposition : None where no numbers exist on the workload
    forecast : None where numbers join the two, or not even their parts were measured
    claims : verdict to number of claims on this workload in the case studies used
    names : kind of name to {slug: label}
    """

    question: Question
    workload_label: str
    relative: str  # what the ratios are ratios of (kdb.units.Metric)
    a: Side
    b: Side
    held: tuple[str, ...]
    comes_along: tuple[str, ...]
    confounding: Confounding
    groups: tuple[DirectGroup, ...]
    contrast: Contrast | None
    tiers: tuple[Tier, ...]
    list_sign: int  # 1 where the lists put a above b, -1 below, 0 alike or both
    profile: Profile | None
    profile_words: Mapping[str, str]
    expectation: Expectation | None
    record: TrackRecord
    decomposition: Decomposition | None
    forecast: PairForecast | None
    case_studies: Mapping[str, str]  # of the comparison: slug to title
    sources: Mapping[str, str]  # slug of a case study to its name in a sentence
    publications: Mapping[str, str]  # slug of a publication to its name in a sentence
    claims: Mapping[str, Mapping[str, int]]  # publication to {verdict: number}
    names: Mapping[str, Mapping[str, str]]

    @property
    def is_native(self) -> bool:
        return self.question.hypervisor == NATIVE

    @property
    def axis_column(self) -> str:
        """Return the column of the frame of arms that the axis is about; for pairs the guest's."""
        columns = {"hypervisor": "hypervisor", "configuration": "hypervisor", "host-fs": "host_fs"}
        return {**columns, "host-storage": "host_storage"}.get(self.question.axis, "guest_fs")
