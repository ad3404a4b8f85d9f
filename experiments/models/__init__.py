"""Models of the evidence, one file for each subject."""

from .campaign import Campaign, CampaignRun, RunArtifact, RunLine
from .case_study import CaseStudy, Ending, KnowledgeRevision, Publication
from .catalogue import (
    Benchmark,
    ComponentName,
    FileSystem,
    HostStorage,
    Hypervisor,
    MechanismCost,
    ModelComponent,
    OperatingSystem,
    Workload,
    WorkloadVariant,
)
from .contributor import Contributor
from .imported import AuditEntry, ImportBatch, PastedTable, RawChunk, RawFile
from .laboratory import AskedCommand, Freeze, Host, PrivateKey, StoragePool
from .measurement import DerivedValue, Measurement
from .observed import DiskStatistics, HostAuditEntry, ObservedDisk, ObservedMachine, ObservedPool, Signature
from .released import LoadedCaseStudy, Origin
from .statement import Claim, OrdinalFinding, PrintedRatio
from .testbed import Configuration, Server, Storage

__all__ = [
    "AskedCommand",
    "AuditEntry",
    "Benchmark",
    "Campaign",
    "CampaignRun",
    "CaseStudy",
    "Claim",
    "ComponentName",
    "Configuration",
    "Contributor",
    "DerivedValue",
    "DiskStatistics",
    "Ending",
    "FileSystem",
    "Freeze",
    "Host",
    "HostAuditEntry",
    "HostStorage",
    "Hypervisor",
    "ImportBatch",
    "KnowledgeRevision",
    "LoadedCaseStudy",
    "Measurement",
    "MechanismCost",
    "ModelComponent",
    "ObservedDisk",
    "ObservedMachine",
    "ObservedPool",
    "OperatingSystem",
    "OrdinalFinding",
    "Origin",
    "PastedTable",
    "PrintedRatio",
    "PrivateKey",
    "Publication",
    "RawChunk",
    "RawFile",
    "RunArtifact",
    "RunLine",
    "Server",
    "Signature",
    "Storage",
    "StoragePool",
    "Workload",
    "WorkloadVariant",
]
