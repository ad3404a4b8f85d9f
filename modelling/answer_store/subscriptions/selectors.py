"""Read the questions that a user follows, as pages show them."""

from typing import Any

from modelling.answers import words
from modelling.evidence import names
from modelling.evidence.question import Question
from modelling.models import FollowedQuestion


def button(user: Any, question: Question) -> dict[str, Any]:
    """Return the context of templates/modelling/_follow.html. One query."""
    row = FollowedQuestion.objects.filter(user=user, question=question.key).only("pk").first()
    fields = {"axis": question.axis, "workload": question.workload, **question.asked}
    return {"fields": fields, "followed": row.pk if row else None}


def followed_by(user: Any) -> list[dict[str, Any]]:
    """Return pk, title and address of each question that this user follows."""
    known = names.names()
    rows = FollowedQuestion.objects.filter(user=user).values_list("pk", "question")
    questions = [(pk, Question.from_key(key)) for pk, key in rows]
    return [
        {"pk": pk, "title": words.title(question, known), "address": words.address(question)}
        for pk, question in questions
    ]
