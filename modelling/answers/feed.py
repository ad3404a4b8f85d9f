"""Follow a question: an Atom feed with an entry for each knowledge revision that changed its answer."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from experiments.models import KnowledgeRevision
from kdb.entity_tags import tagged
from modelling.estimation.ranking import METHOD
from modelling.evidence import names
from modelling.evidence.forms import AskForm
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from . import words
from .content import Answer
from .following import said
from .selectors import answer_in, answer_or_none

MOST = 20  # entries; answers that nobody asks for are forgotten sooner (modelling.answers.snapshots)


@require_safe
def feed(request: HttpRequest) -> HttpResponseBase:
    """The answers to the question in the address, newest first, as a feed that readers ask for again and again."""
    form = AskForm(request.GET)
    if not form.is_valid():
        return redirect(f"{reverse('answer')}?{request.GET.urlencode()}")  # which says what is wrong
    question = form.question()
    current = answer_or_none(question, None)  # asked for, and so kept and answered again with what is published
    changes = list(islice(_changes(question), MOST))
    if not changes and current is not None and current.revision:  # not worth keeping, but an answer
        changes = [answer_in(current)]
    tag = hashlib.sha256(repr([question.key, [answer.revision for answer in changes]]).encode()).hexdigest()
    return tagged(
        request,
        tag,
        lambda: HttpResponse(_atom(request, question, changes), content_type="application/atom+xml; charset=utf-8"),
    )


def _changes(question: Question) -> Iterator[Answer]:
    """The kept answers that said something else than the one before them, newest first."""
    rows = RankingSnapshot.objects.filter(question=question.key, method=METHOD, revision__gt=0).order_by("-revision")
    later: Answer | None = None
    for row in rows.iterator(chunk_size=MOST):
        answer = answer_in(row)
        if later is not None and said(later) != said(answer):
            yield later
        later = answer
    if later is not None:
        yield later


def _atom(request: HttpRequest, question: Question, changes: list[Answer]) -> str:
    def absolute(address: str) -> str:
        return request.build_absolute_uri(address)

    published = _published({answer.revision for answer in changes})
    page = absolute(words.address(question))
    title = words.title(question, names.names())
    made = Atom1Feed(
        title=f"KDB: {title}",
        link=page,
        feed_url=absolute(request.get_full_path()),
        description="An entry for each knowledge revision that changed the answer.",
        language="en",
    )
    for answer in changes:
        permanent = absolute(words.address(question, answer.revision))
        made.add_item(
            title=answer.verdict.sentence,
            link=permanent,
            unique_id=permanent,
            description=" ".join((f"Evidence: {answer.verdict.strength}.", *answer.verdict.reasons)),
            pubdate=published[answer.revision],
            updateddate=published[answer.revision],
            author_name="KDB",
        )
    return made.writeString("utf-8")


def _published(revisions: set[int]) -> dict[int, datetime]:
    return dict(KnowledgeRevision.objects.filter(number__in=revisions).values_list("number", "created_at"))
