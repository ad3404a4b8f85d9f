"""Says to other rooms how the advice did by moves."""

from modelling.evidence.words import counted, percent

from .outcomes import score

__all__ = ["score", "score_sentences"]


def score_sentences() -> list[str]:
    """Say how the advice did, for the quality page; nothing where nothing was moved by a plan."""
    record = score()
    if not record["moves"]:
        return []
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in record["verdicts"].items())
    sentences = [f"{counted(record['moves'], 'move')} by plans, on the same load before and after: {verdicts}."]
    if record["promised"] is not None:
        sentences.append(
            f"Of those that can be told {percent(record['kept_share'])} kept their promise; the plans had given "
            f"{percent(record['promised'])} on average to gaining the margin."
        )
    return sentences
