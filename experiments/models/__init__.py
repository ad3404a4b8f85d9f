"""The facts the knowledge base holds, one file a subject."""

from .case_study import CaseStudy, KnowledgeRevision, Publication
from .catalogue import (
    Benchmark,
    ComponentName,
    FileSystem,
    Hypervisor,
    MechanismCost,
    ModelComponent,
    OperatingSystem,
    Workload,
    WorkloadVariant,
)
from .imported import AuditEntry, ImportBatch, RawChunk, RawFile
from .job import Job, WorkerHeartbeat
from .measurement import DerivedValue, Measurement
from .statement import Claim, OrdinalFinding, PrintedRatio
from .testbed import Configuration, Server, Storage

__all__ = [
    "AuditEntry",
    "Benchmark",
    "CaseStudy",
    "Claim",
    "ComponentName",
    "Configuration",
    "DerivedValue",
    "FileSystem",
    "Hypervisor",
    "ImportBatch",
    "Job",
    "KnowledgeRevision",
    "Measurement",
    "MechanismCost",
    "ModelComponent",
    "OperatingSystem",
    "OrdinalFinding",
    "PrintedRatio",
    "Publication",
    "RawChunk",
    "RawFile",
    "Server",
    "Storage",
    "WorkerHeartbeat",
    "Workload",
    "WorkloadVariant",
]
