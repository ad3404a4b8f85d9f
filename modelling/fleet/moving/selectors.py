"""Report the outcomes of moves to other rooms."""

from modelling.evidence.words import counted, percent

from .outcomes import score

__all__ = ["score", "score_sentences"]


def score_sentences() -> list[str]:
    """Return sentences on the outcomes of planned moves, for the quality page; [] without moves."""
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
