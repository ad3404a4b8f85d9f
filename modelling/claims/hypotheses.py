"""The papers' predictions, each as a condition on all published facts. No Django.

A comparison that holds agrees with the prediction, one that fails disagrees, and one whose span
covers the limit is a tie. Source: the sections named, in the words of this project; docs/models/claims.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from experiments.claim_conditions import parse

from .evaluation import compare
from .facts import PublishedFacts
from .judging import Verdict, verdict_of

HYPERVISORS = ["esxi", "hyper-v", "kvm", "proxmox", "xen"]
FILE_SYSTEMS = ["btrfs", "ext4", "xfs"]
WORKLOADS = ["fileserver", "randomfileaccess", "varmail", "webserver"]
WITH_WRITES = ["fileserver", "randomfileaccess", "varmail"]
STEPS = [[1, 2], [2, 3], [3, 4]]


@dataclass(frozen=True)
class Hypothesis:
    """One prediction: with a condition, or with the reason why nothing published could decide it."""

    code: str
    publication: str
    source: str  # section
    statement: str
    prediction: str  # what the condition asks, in words
    condition: Mapping[str, Any] | None = None
    untestable: str = ""


def _pairs(names: list[str]) -> list[list[str]]:
    return [list(pair) for pair in combinations(names, 2)]


def _both_sides(better: str, worse: str, **loops: list[Any]) -> dict[str, Any]:
    sides = [{"for": loops, "order": [{side: better}, {side: worse}]} for side in ("guest_fs", "host_fs")]
    return {"all": sides}


_GUEST_EFFECT = {"ratio": [{"guest_fs": "$f"}, {"guest_fs": "$g"}]}
_GUEST_SIDE_ALIKE = {
    "for": {"a,b": _pairs(HYPERVISORS), "f,g": _pairs(FILE_SYSTEMS)},
    "ratio": [{**_GUEST_EFFECT, "hypervisor": "$a"}, {**_GUEST_EFFECT, "hypervisor": "$b"}],
    "is": [0.8, 1.25],
}


def _hosts_differ(a: str, b: str) -> dict[str, Any]:
    return {
        "ratio": [{"host_fs": a, "hypervisor": "*"}, {"host_fs": b, "hypervisor": "*"}],
        "outside": [1 / 1.1, 1.1],
    }


def _distance(other: str) -> dict[str, Any]:
    """Return the ratio that says how far KVM and another hypervisor are apart, whichever is faster."""
    both = {"hypervisor": ["kvm", other]}
    return {"ratio": [{"of": "max", "over": both}, {"of": "min", "over": both}]}


_PLACE = {"list": "level", "source": "text"}
_ENTRIES = {"list": "$list", "source": "text", "side": "$side"}

HYPOTHESES = (
    Hypothesis(
        "H0.1",
        "p0",
        "Section 4",
        "Benchmark, guest kernel and guest file system act alike under every hypervisor.",
        "One guest file system over another is worth the same under two hypervisors, within 25 %.",
        _GUEST_SIDE_ALIKE,
    ),
    Hypothesis(
        "H0.2",
        "p0",
        "Section 4",
        "Virtual hardware differs: QEMU's drivers span fifteen years, ESXi has its own; results will be diverse.",
        "Two hypervisors with the same guest differ by 10 % or more.",
        {
            "for": {"a,b": _pairs(HYPERVISORS)},
            "ratio": [{"hypervisor": "$a"}, {"hypervisor": "$b"}],
            "outside": [1 / 1.1, 1.1],
        },
    ),
    Hypothesis(
        "H0.3",
        "p0",
        "Section 4",
        "Hypervisor processing differs, but KVM and Proxmox VE share an architecture and differ in versions alone.",
        "KVM is nearer to Proxmox VE than to ESXi, Hyper-V or Xen.",
        {
            "for": {"other": ["esxi", "hyper-v", "xen"]},
            "order": [_distance("$other"), _distance("proxmox")],
        },
    ),
    Hypothesis(
        "H0.4",
        "p0",
        "Section 4",
        "Host kernel and host file system differ, VMFS from ext4 most; disparities will be big.",
        "A hypervisor on VMFS and one on ext4 differ by 10 % or more.",
        _hosts_differ("vmfs", "ext4"),
    ),
    Hypothesis(
        "H0.5",
        "p0",
        "Section 6",
        "More running virtual machines make a noticeable decrease.",
        "Two, three or four machines reach 90 % or less of what one does.",
        {"for": {"n": [2, 3, 4]}, "ratio": [{"vm_count": "$n"}, {"vm_count": 1}], "is": [0, 0.9]},
    ),
    Hypothesis(
        "H1.1",
        "p1",
        "Section III",
        "ESXi performs better, as practice suggests.",
        "ESXi is faster than Proxmox VE.",
        {"order": [{"hypervisor": "esxi"}, {"hypervisor": "proxmox"}]},
    ),
    Hypothesis(
        "H1.2",
        "p1",
        "Sections III, VI",
        "Performance drops significantly with each further virtual machine, in any combination.",
        "One machine more leaves 90 % or less.",
        {"for": {"fewer,more": STEPS}, "ratio": [{"vm_count": "$more"}, {"vm_count": "$fewer"}], "is": [0, 0.9]},
    ),
    Hypothesis(
        "H1.3",
        "p1",
        "Section I; p2 Section I",
        "Type-1 hypervisors perform and scale better than type-2 ones.",
        "A type-1 hypervisor is faster than a type-2 one.",
        {"order": [{"hypervisor_kind": "type-1"}, {"hypervisor_kind": "type-2"}]},
    ),
    Hypothesis(
        "H2.1",
        "p2",
        "Section III",
        "The guest file system has the same effect under every hypervisor.",
        "One guest file system over another is worth the same under two hypervisors, within 25 %.",
        _GUEST_SIDE_ALIKE,
    ),
    Hypothesis(
        "H2.2",
        "p2",
        "Section III",
        "Hyper-V is remarkably ahead, because para-virtualisation is faster than full virtualisation.",
        "A para-virtualised guest is faster than a fully virtualised one.",
        {"order": [{"virtualisation": "para"}, {"virtualisation": "full"}]},
    ),
    Hypothesis(
        "H2.3",
        "p2",
        "Section III",
        "The host file system makes a big difference: ext4 against NTFS.",
        "A hypervisor on NTFS and one on ext4 differ by 10 % or more.",
        _hosts_differ("ntfs", "ext4"),
    ),
    Hypothesis(
        "H3.1",
        "p3",
        "Section 5",
        "B+ trees speed up finding things, so XFS and Btrfs gain where reading dominates (C2.2-C2.5, C3.2-C3.5).",
        "On the web server XFS and Btrfs are faster than ext4, in the guest and on the host.",
        {"where": {"workload": "webserver"}, **_both_sides("$tree", "ext4", tree=["btrfs", "xfs"])},
    ),
    Hypothesis(
        "H3.2",
        "p3",
        "Section 5",
        "Embedding small files helps random access much: Btrfs well, XFS moderately, ext4 not (C1.7, C2.7, C3.7).",
        "In the guest Btrfs is faster than XFS and XFS than ext4, for web and mail.",
        {
            "for": {"workload": ["varmail", "webserver"]},
            "order": [{"guest_fs": "btrfs"}, {"guest_fs": "xfs"}, {"guest_fs": "ext4"}],
        },
    ),
    Hypothesis(
        "H3.3",
        "p3",
        "Section 5",
        "Copy-on-write makes writing slower than overwriting does (C3.1 against C1.1, C2.1).",
        "Where much is written, ext4 and XFS are faster than Btrfs, in the guest and on the host.",
        {"for": {"workload": WITH_WRITES}, **_both_sides("$other", "btrfs", other=["ext4", "xfs"])},
    ),
    Hypothesis(
        "H3.4",
        "p3",
        "Section 5",
        "Copy-on-write costs sequential writing more than random writing, whose small updates it lines up.",
        "Against ext4 or XFS, Btrfs in the guest does worse on the file server than on mail or random access.",
        {
            "for": {"other": ["ext4", "xfs"], "random": ["randomfileaccess", "varmail"]},
            "order": [
                {"ratio": [{"guest_fs": "btrfs"}, {"guest_fs": "$other"}], "workload": "$random"},
                {"ratio": [{"guest_fs": "btrfs"}, {"guest_fs": "$other"}], "workload": "fileserver"},
            ],
        },
    ),
    Hypothesis(
        "H3.5",
        "p3",
        "Section 5",
        "Housekeeping is what hurts Btrfs most (C3.6 against C1.6, C2.6).",
        "Not to be asked.",
        untestable="Checksums and copy-on-write come with Btrfs together; no published configuration turns one off.",
    ),
    Hypothesis(
        "H3.6",
        "p3",
        "Section 5",
        "A file system cannot be judged alone, only as a pair: the host sees what the guest makes of the load.",
        "The place of a guest file system is not the same on every host file system.",
        {
            "for": {"workload": WORKLOADS, "guest_fs": FILE_SYSTEMS},
            "order": [
                {"of": "max", "over": {"host_fs": FILE_SYSTEMS}, **_PLACE},
                {"of": "min", "over": {"host_fs": FILE_SYSTEMS}, **_PLACE},
            ],
        },
    ),
    Hypothesis(
        "H3.7",
        "p3",
        "Section 5",
        "Clear best and worst file systems will appear, in the guest, on the host and as pairs.",
        "In each list of best or worst pairs one file system stands most often on either side.",
        {
            "for": {"workload": WORKLOADS, "list": ["best", "worst"], "side": ["guest", "host"]},
            "order": [
                {"of": "max", "over": {"fs": FILE_SYSTEMS}, **_ENTRIES},
                {"of": "second", "over": {"fs": FILE_SYSTEMS}, **_ENTRIES},
            ],
        },
    ),
    Hypothesis(
        "H4.1",
        "p4",
        "Section II",
        "No hypervisor wins everywhere; it depends on the workload.",
        "For each hypervisor there is a workload where another is always faster.",
        {
            "for": {"one,others": [[h, [o for o in HYPERVISORS if o != h]] for h in HYPERVISORS]},
            "share": {
                "for": {"workload": WORKLOADS},
                "order": [{"of": "max", "over": {"hypervisor": "$others"}}, {"hypervisor": "$one"}],
            },
            "above": 0,
        },
    ),
    Hypothesis(
        "H4.2",
        "p4",
        "Section IV",
        "Benchmark and guest act alike; virtual hardware, hypervisor and host file system (NTFS, ext4) decide.",
        "Not to be asked.",
        untestable="The three change together between Hyper-V and KVM, so their shares cannot be told apart.",
    ),
)


def scores(facts: PublishedFacts) -> Iterator[tuple[str, str, Verdict]]:
    """Yield hypothesis, source and the comparisons of that source, for each source that has any.

    `facts` are published ones, with the spread of a run in their spans; of a source all or none.
    """
    asked = {hypothesis.code: parse(hypothesis.condition) for hypothesis in HYPOTHESES if hypothesis.condition}
    for study in facts.studies:
        for code, condition in asked.items():
            if comparisons := compare(condition, study, is_open=True):
                yield code, study.names(), verdict_of(comparisons)
