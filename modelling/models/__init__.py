"""The results that modelling works out and keeps, and its decisions about machines."""

from .changes import SeriesChange, SharedSeries
from .detection import DetectedHour, DetectionModel
from .guidance import Advice, Contradiction
from .kept import (
    RENEWED_WITHIN,
    Arm,
    ClaimVerdict,
    FollowedQuestion,
    HypothesisScore,
    Judgement,
    KeptMachine,
    PinnedAnswer,
    PublicationPreview,
    QualityReport,
    RankingSnapshot,
    RevisionEffects,
)
from .own_lab import Laboratory, LaboratoryAuditEntry, Sitting, SittingRun
from .placement import MoveLine, PlacementDecision, PlacementMove, PlacementPlan, PlacementPolicy, StatedMix

__all__ = [
    "RENEWED_WITHIN",
    "Advice",
    "Arm",
    "ClaimVerdict",
    "Contradiction",
    "DetectedHour",
    "DetectionModel",
    "FollowedQuestion",
    "HypothesisScore",
    "Judgement",
    "KeptMachine",
    "Laboratory",
    "LaboratoryAuditEntry",
    "MoveLine",
    "PinnedAnswer",
    "PlacementDecision",
    "PlacementMove",
    "PlacementPlan",
    "PlacementPolicy",
    "PublicationPreview",
    "QualityReport",
    "RankingSnapshot",
    "RevisionEffects",
    "SeriesChange",
    "SharedSeries",
    "Sitting",
    "SittingRun",
    "StatedMix",
]
