"""Pages at permanent addresses."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from modelling.estimation.ranking import METHOD
from modelling.evidence.serialization import BY_METHOD, NoSuchAnswer, page_version


def at_permanent_addresses(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrap a page's view: redirect an address without method to today's, and answer NoSuchAnswer with a page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        query = request.GET.copy()
        if BY_METHOD not in query and page_version(request).as_of is not None:
            query[BY_METHOD] = str(METHOD)
            return redirect(f"{request.path}?{query.urlencode()}")
        try:
            return view(request, *args, **kwargs)
        except NoSuchAnswer as error:
            del query[BY_METHOD]
            context = {"why": error.errors[0]["message"], "address": f"{request.path}?{query.urlencode()}"}
            return render(request, "modelling/not_kept.html", context, status=error.status_code)

    return wrapped
