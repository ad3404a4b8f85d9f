"""Define a question and its canonical spelling. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from experiments.published_evidence.abilities import ABILITIES
from kdb.content import Among, MetricName
from kdb.disk_path import SETTINGS

from .axes import AXES, NATIVE, NATIVE_AXES

# Strongest first: A several laboratories with spread, B measured, C derived from text or unreviewed, D stated.
GRADES = ("A", "B", "C", "D")
PAPERS = "papers"  # only the evidence of reviewed publications

AxisName = Annotated[str, Among(AXES)]
Grade = Annotated[str, Among(GRADES)]


@dataclass(frozen=True)
class _Question:
    """The question as it was understood: slugs in place of aliases, null for any."""

    axis: AxisName
    workload: str
    hypervisor: str | None = None
    guest_fs: str | None = None
    host_fs: str | None = None
    vm_count: int | None = None
    host_storage: str | None = None
    storage: str | None = None
    benchmark: str | None = None
    guest_os_family: str | None = None
    grade: Grade | None = None  # the weakest evidence admitted
    evidence: Annotated[str, Among([PAPERS])] | None = None  # PAPERS; None: whatever is published
    metric: MetricName | None = None  # None: throughput, and another where nothing has throughput
    needs: Annotated[tuple[Annotated[str, Among(ABILITIES)], ...], "What an entry must have to be recommended."] = ()

    @property
    def filters(self) -> dict[str, str | int]:
        """Return the filters of evidence that are set, without axis, workload and needs."""
        without = ("axis", "workload", "needs")
        return {name: value for name, value in vars(self).items() if value is not None and name not in without}

    @property
    def asked(self) -> dict[str, str | int]:
        """Return all that is set except axis and workload, as query parameters spell it."""
        return {**self.filters, **({"needs": ",".join(self.needs)} if self.needs else {})}

    @property
    def key(self) -> str:
        """Return the canonical spelling, which is equal for equal questions."""
        return f"{self.axis}?" + "&".join(f"{k}={v}" for k, v in [("workload", self.workload), *self.asked.items()])

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the filters that name a value of a setting."""
        return {name: value for name, value in vars(self).items() if name in SETTINGS and value is not None}

    def as_dict(self) -> dict[str, Any]:
        """Return every field, as the API shows the question."""
        return {**vars(self), "needs": list(self.needs)}

    @classmethod
    def from_key(cls, key: str) -> Self:
        """Return the question of a key."""
        axis, _, query = key.partition("?")
        values: dict[str, Any] = dict(part.split("=", 1) for part in query.split("&"))
        if "vm_count" in values:
            values["vm_count"] = int(values["vm_count"])
        if "needs" in values:
            values["needs"] = tuple(values["needs"].split(","))
        known = {field.name for field in fields(cls)}
        return cls(axis=axis, **{name: value for name, value in values.items() if name in known})


if TYPE_CHECKING:

    @dataclass(frozen=True)
    class Question(_Question):
        """A _Question with a filter for each setting of the disk's path; mypy cannot read make_dataclass."""

else:
    Question = make_dataclass(
        "Question",
        [(column, Annotated[str | None, setting.meaning], None) for column, setting in SETTINGS.items()],
        bases=(_Question,),
        namespace={"__doc__": _Question.__doc__},
        frozen=True,
    )
    Question.__module__ = __name__  # so that it can be pickled


def choices_for(workload: str, hypervisor: str | None) -> list[Question]:
    """Return a question for each axis that is open, axes with one column first.

    None on releases, as the right release is the one that the product supports.
    """
    axes = [AXES[name] for name in NATIVE_AXES] if hypervisor == NATIVE else list(AXES.values())
    is_open = [axis for axis in axes if not hypervisor or "hypervisor" not in axis.entry or len(axis.entry) > 1]
    ordered = sorted(is_open, key=lambda axis: len(axis.entry))
    return [Question(axis.name, workload, hypervisor=hypervisor) for axis in ordered if not axis.is_release]
