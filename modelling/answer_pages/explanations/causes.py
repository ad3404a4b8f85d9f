"""Write the steps on causes: components, workload, mechanisms, their shares, and forecasts. No Django."""

from collections.abc import Iterator
from typing import Any

from modelling.estimation.shares import Decomposition, Share
from modelling.evidence.words import capital, column, listed, load, percent, size, stated, times, value
from modelling.prediction.content import IN_USE, SINCE
from modelling.workloads.mechanisms import Term
from modelling.workloads.track_record import describe_record

from .content import ESTIMATED, FORECAST, MEASURED, MODEL, OPEN, STATED, Reference, Step
from .facts import ExplanationFacts, Side

# Component of the model: (name in a sentence, columns of a configuration that make it).
COMPONENTS = {
    "benchmark": ("the benchmark", ()),
    "guest-kernel": ("the guest kernel", ("guest_os", "guest_kernel", "guest_io_scheduler")),
    "guest-fs": ("the guest file system", ("guest_fs", "guest_mkfs_options", "guest_mount_options")),
    "virtual-hardware": (
        "the virtual hardware",
        (
            *("virtualisation", "virtual_devices", "disk_bus", "image_format", "allocation", "io_mode", "discard"),
            *("iothread", "vm_vcpus", "vm_ram_gib"),
        ),
    ),
    "hypervisor": ("the hypervisor's processing", ("hypervisor", "hypervisor_release")),
    "host-kernel": ("the host kernel", ("host_os", "host_kernel", "host_io_scheduler")),
    "host-fs": (
        "the host file system with its cache",
        ("backend", "host_fs", "host_mkfs_options", "host_mount_options", "cache_mode"),
    ),
}
_NATIVE_COMPONENTS = ("benchmark", "host-kernel", "host-fs")  # components of runs without hypervisor and guest
# Components that always differ between two hypervisors, whatever the sources state.
_COMES_WITH_HYPERVISOR = ("virtual-hardware", "hypervisor", "host-kernel")
_HOST_FS = "host-fs"  # includes its cache, the mode of which has a default in each hypervisor


def components(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on components that differ, and so can be the cause, and those that are excluded."""
    differing = differing_components(facts)
    present = _NATIVE_COMPONENTS if facts.is_native else tuple(COMPONENTS)
    equal = [name for name in present if name not in differing]
    if not differing:
        return
    of_all = "three components that a native run has" if facts.is_native else "seven components of the model"
    can = listed(COMPONENTS[name][0] for name in differing)
    text = (
        f"Of the {of_all}, {can} {'differs' if len(differing) == 1 else 'differ'} between the "
        f"two and can be the cause. {capital(listed(COMPONENTS[name][0] for name in equal))} "
        f"{'is' if len(equal) == 1 else 'are'} the same on both sides and cannot be."
    )
    if len(differing) > 1:
        text += " A comparison of these two alone cannot say how much each of them contributes."
    yield Step(
        "components",
        "What can be the cause",
        MEASURED if facts.groups else MODEL,
        text,
        {"can_be_the_cause": differing, "excluded": equal, "path": _path(facts, differing)},
        source="P0, equation 1; docs/models/environment.md",
    )


def _path(facts: ExplanationFacts, differing: list[str]) -> list[dict[str, Any]]:
    """Return the seven components from the benchmark to the disk, with the facts of each side."""

    def values(side: Side, name: str, columns: tuple[str, ...]) -> tuple[str, ...]:
        if name == "benchmark":
            return (facts.workload_label,)
        known = [
            (key, stated_value) for key in columns if (stated_value := side.configuration.get(key)) not in (None, "")
        ]
        if not known and any(key not in side.configuration for key in columns):
            return ("several",)
        return tuple(stated(facts.names, key, value) for key, value in known)

    return [
        {
            "component": name,
            "label": capital(words.removeprefix("the ")),
            "can_be_the_cause": name in differing,
            "a": values(facts.a, name, columns),
            "b": values(facts.b, name, columns),
        }
        for name, (words, columns) in COMPONENTS.items()
        if not facts.is_native or name in _NATIVE_COMPONENTS
    ]


def differing_components(facts: ExplanationFacts) -> list[str]:
    """Return the components that differ between the sides, in the order of the data path.

    Between two hypervisors the host's cache counts as equal only where both sides state its mode.
    """
    a, b = facts.a.configuration, facts.b.configuration
    differ = {name for name, (_, columns) in COMPONENTS.items() if any(_differs(a, b, key) for key in columns)}
    if "hypervisor" in differ:
        differ.update(_COMES_WITH_HYPERVISOR)
        if not (a.get("cache_mode") and b.get("cache_mode")):
            differ.add(_HOST_FS)
    return [name for name in COMPONENTS if name in differ]


def _differs(a: Any, b: Any, key: str) -> bool:
    """Tell whether both sides have a known value, and these differ."""
    return key in a and key in b and a[key] not in (None, "") and b[key] not in (None, "") and a[key] != b[key]


def workload(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on what the workload does."""
    profile = facts.profile
    if profile is None:
        words = [f"{name.replace('_', ' ')} {text}" for name, text in facts.profile_words.items() if text]
        if words:
            yield Step(
                "workload",
                "What the workload does",
                STATED,
                f"{facts.workload_label}, as the sources describe it: {listed(words)}.",
                dict(facts.profile_words),
                evidence=(Reference("workload", facts.question.workload, facts.workload_label),),
            )
        return
    kinds = ("random reads", "sequential reads", "random writes", "sequential writes")
    shares = list(zip(profile.operations.shares(), kinds, strict=True))
    shares += [(profile.metadata_share, "operations on metadata"), (profile.flush_share, "flushes to disk")]
    parts = [f"{percent(share)} {kind}" for share, kind in sorted(shares, reverse=True) if share >= 0.005]
    text = f"The operations of {load(facts.workload_label)} are {listed(parts)}."
    if profile.sync_share >= 0.995:
        text += " Its writes are synchronous, so each waits for the disk and write caches cannot hide it."
    elif profile.sync_share > 0.005:
        text += f" Of its writes {percent(profile.sync_share)} are synchronous; the others may stay in a cache."
    else:
        caches = "caches of the host" if facts.is_native else "caches of guest and host"
        text += f" Its writes are asynchronous, so {caches} may absorb them."
    if profile.concurrency and profile.working_set_bytes:
        text += (
            f" {profile.concurrency} threads work on {size(profile.working_set_bytes)} of files"
            + (f" of {size(profile.mean_file_bytes)} on average" if profile.mean_file_bytes else "")
            + "."
        )
    yield Step(
        "workload",
        "What the workload does",
        MODEL,
        text,
        {
            "operations": dict(zip(kinds, profile.operations.shares(), strict=True)),
            "metadata_share": profile.metadata_share,
            "flush_share": profile.flush_share,
            "sync_share": profile.sync_share,
            "concurrency": profile.concurrency,
            "working_set_bytes": profile.working_set_bytes,
        },
        evidence=(Reference("workload", facts.question.workload, facts.workload_label),),
        source="docs/models/profiles.md",
    )


def mechanisms(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on mechanisms of the file systems that matter for this workload, and which entry they favour."""
    expected = facts.expectation
    if expected is None:
        return
    file_systems = facts.names["file_system"]
    unstated = [file_systems.get(name, name) for name in expected.unstated]
    if expected.sign is None:
        yield Step(
            "mechanisms",
            "What the mechanisms let one expect",
            OPEN,
            f"No source states the mechanisms of {listed(unstated)}, so the model has no opinion on this difference.",
            {"sign": None, "unstated": expected.unstated},
            source="docs/models/mechanisms.md",
        )
        return
    texts = [_describe_term(facts, term) for term in expected.deciding()[:4]]
    if not texts:
        texts = ["No mechanism that this workload exercises differs between the two."]
    favoured = {1: f"{facts.a.label} ahead", -1: f"{facts.b.label} ahead", 0: "neither of them ahead"}
    texts.append(
        f"Taken together they let one expect {favoured[expected.sign]}: an opinion of the model, and no measurement; "
        f"{describe_record(facts.record)}."
    )
    sides = (facts.a.parts, facts.b.parts)
    compared = {parts[name] for parts in sides for name in ("guest_fs", "host_fs") if parts.get(name)}
    yield Step(
        "mechanisms",
        "What the mechanisms let one expect",
        MODEL,
        " ".join(texts),
        {
            "sign": expected.sign,
            "score": expected.score,
            "right": facts.record.right,
            "compared": facts.record.compared,
            "terms": [
                {name: value for name, value in vars(term).items() if name != "label"} for term in expected.terms
            ],
        },
        evidence=tuple(Reference("file system", name, file_systems.get(name, name)) for name in sorted(compared)),
        source="P3, Table 1; docs/models/mechanisms.md",
    )


def _describe_term(facts: ExplanationFacts, term: Term) -> str:
    """Write "On the guest side the update method favours ext4: overwrite (C1.1) against copy on write (C3.1)"."""
    assert term.a is not None
    assert term.b is not None
    better, worse = (term.a, term.b) if (term.sign or 0) > 0 else (term.b, term.a)
    side = facts.a if (term.sign or 0) > 0 else facts.b
    name = facts.names["file_system"].get(side.parts.get(f"{term.side}_fs", ""), side.label)
    rests = f", by {listed(term.hypotheses)}" if term.hypotheses else ""
    verb = "favour" if term.label.endswith("operations") else "favours"
    return (
        f"On the {term.side} side {term.label} {verb} {name}: {better.mechanism} ({better.code}) against "
        f"{worse.mechanism} ({worse.code}){rests}."
    )


def shares(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on how much each component accounts for, by all numbers on the workload."""
    decomposition = facts.decomposition
    if decomposition is None or (not decomposition.shares and not decomposition.untold):
        return
    all_numbers = f"the numbers on {load(facts.workload_label)}"
    untold = listed(f"the {column(kind)}" for kind in decomposition.untold)
    gap = f"the contribution of {untold} be estimated: no case study, and no chain of them, varies it in a way that"
    gap = f"{capital(all_numbers)} do not let {gap} joins the two."
    if not decomposition.shares:
        yield Step(
            "shares",
            "How much each component accounts for",
            OPEN,
            gap,
            _share_data(facts, decomposition),
            source="docs/models/components.md",
        )
        return
    texts = [_describe_share(facts, share) for share in decomposition.shares]
    text = (
        f"From all {all_numbers.removeprefix('the ')}, with each component taken to multiply the {facts.relative} by "
        f"its own factor: {'; '.join(texts)}."
    )
    if any(len(share.components) > 1 for share in decomposition.shares):
        text += (
            " What is named together occurs only together in the evidence and cannot be split without a case study "
            "that varies one of them alone."
        )
    if decomposition.untold:
        text += f" {gap}"
    yield Step(
        "shares",
        "How much each component accounts for",
        ESTIMATED,
        text,
        _share_data(facts, decomposition),
        source="docs/models/components.md",
    )


def forecast(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step with a forecast for two entries that no measurements join."""
    expected = facts.forecast
    if expected is None:
        return
    yield Step(
        FORECAST,
        "A forecast, because nobody measured it",
        ESTIMATED,
        "No chain of comparable numbers joins the two. From everything published of their parts, on any workload, "
        f"the hierarchical model (in use since {SINCE:%-d %B %Y}) forecasts {times(expected.ratio)} times the "
        f"{facts.relative} for {facts.a.label}, with a 95 % interval from {times(expected.low)} to "
        f"{times(expected.high)} in a new laboratory; it gives {facts.a.label} "
        f"{percent(expected.probability_a_faster)} to be the faster one. "
        "This is no measurement, and no ranking contains it.",
        {
            "ratio": expected.ratio,
            "low": expected.low,
            "high": expected.high,
            "method": IN_USE,
            "since": SINCE.isoformat(),
        },
        source="docs/models/hierarchy.md",
    )


def _describe_share(facts: ExplanationFacts, share: Share) -> str:
    what = listed(
        f"the {column(kind)} ({value(facts.names, kind, facts.a.parts.get(kind))} for "
        f"{value(facts.names, kind, facts.b.parts.get(kind))})"
        for kind in share.components
    )
    best, low, high = ((number - 1) * 100 for number in (share.ratio, share.low, share.high))
    change = f"{best:+.0f} %, 95 % interval {low:+.0f} to {high:+.0f} %"
    part = ""
    if share.share is not None and 0 <= share.share < 0.995:
        part = f", {percent(share.share)} of the whole difference"
    doubt = "" if share.is_told else "; its direction is not certain"
    return f"{what} {'accounts' if len(share.components) == 1 else 'together account'} for {change}{part}{doubt}"


def _share_data(facts: ExplanationFacts, decomposition: Decomposition) -> dict[str, Any]:
    predicted = (decomposition.predicted, decomposition.low, decomposition.high)
    is_told = facts.contrast is not None
    return {
        "predicted": dict(zip(("ratio", "low", "high"), predicted if is_told else (None,) * 3, strict=True)),
        "shares": [
            {
                "components": share.components,
                "percent": (share.ratio - 1) * 100,
                "low_percent": (share.low - 1) * 100,
                "high_percent": (share.high - 1) * 100,
                "share_of_difference": share.share,
            }
            for share in decomposition.shares
        ],
        "untold": decomposition.untold,
    }
