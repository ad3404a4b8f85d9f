"""Keep personal variants of public pages from caches."""

from collections.abc import Callable
from functools import wraps

from django.core.handlers.exception import response_for_exception
from django.http import Http404, HttpRequest, HttpResponse

PRIVATE = "private, no-store"
View = Callable[..., HttpResponse]


def private_with(parameter: str) -> Callable[[View], View]:
    """Decorate a view so that its responses, also 404, are not cached where the query has this parameter."""

    def decorated(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
            if parameter not in request.GET:
                return view(request, *args, **kwargs)
            try:
                response = view(request, *args, **kwargs)
            except Http404 as error:
                response = response_for_exception(request, error)
            response["Cache-Control"] = PRIVATE
            return response

        return wrapper

    return decorated
