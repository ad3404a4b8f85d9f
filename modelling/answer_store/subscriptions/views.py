"""The page of followed questions."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from kdb.notifications import subscriptions
from kdb.notifications.models import Topic
from modelling.answers import words
from modelling.evidence.forms import AskForm

from . import followers, selectors


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def followed_questions(request: HttpRequest) -> HttpResponse:
    """Show the questions that the user follows; POST follows one more and leads to its answer."""
    is_told = subscriptions.is_subscribed(request.user, Topic.QUESTION)
    problem = ""
    if request.method == "POST":
        form = AskForm(request.POST)
        if form.is_valid():
            try:
                followers.follow(request.user, form.question())
            except followers.TooManyQuestions as refusal:
                problem = str(refusal)
            else:
                return redirect(words.address(form.question()) if is_told else "followed-questions")
        else:
            problem = "There is no such question."
    context = {"followed": selectors.followed_by(request.user), "is_told": is_told, "problem": problem}
    return render(request, "modelling/followed.html", context, status=422 if problem else 200)


@require_POST
@login_required
def unfollow_question(request: HttpRequest, pk: int) -> HttpResponse:
    if not followers.unfollow(request.user, pk):
        raise Http404(f"no followed question {pk} of yours")
    return redirect("followed-questions")
