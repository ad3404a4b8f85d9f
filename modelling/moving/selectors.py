"""Says to other rooms how the advice did by moves."""

from modelling.evidence.words import counted, percent

from .outcomes import score

__all__ = ["score", "told"]


def told() -> list[str]:
    """Say how the advice did, for the quality page; nothing where nothing was moved by a plan."""
    found = score()
    if not found["moves"]:
        return []
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in found["verdicts"].items())
    said = [f"{counted(found['moves'], 'move')} by plans, on the same load before and after: {verdicts}."]
    if found["promised"] is not None:
        said.append(
            f"Of those that can be told {percent(found['kept_share'])} kept their promise; the plans had given "
            f"{percent(found['promised'])} on average to gaining the margin."
        )
    return said
