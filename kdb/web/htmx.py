"""Tell htmx from a browser: the only code that knows HX- headers."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh, push_url
from django_htmx.middleware import HtmxDetails

View = Callable[..., HttpResponse]


def wants_fragment(request: HttpRequest) -> bool:
    """Tell whether htmx asks for one element; restoring a page from the history needs all of it."""
    htmx = HtmxDetails(request)
    return bool(htmx) and not htmx.history_restore_request


def varies_for_htmx(view: View) -> View:
    """Keep caches from giving a fragment to a browser, or a page to htmx."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request", "HX-Target"])
        return response

    return wrapper


def at_address(request: HttpRequest, response: HttpResponse, url: str) -> HttpResponse:
    """Let the browser's address become `url`, if it is not already, when htmx has put the fragment in place."""
    return push_url(response, False if HtmxDetails(request).current_url_abs_path == url else url)


def to_page(request: HttpRequest, url: str) -> HttpResponse:
    """Send the browser to another page. htmx would follow a redirect itself, and put what is there in its element."""
    return HttpResponseClientRedirect(url) if wants_fragment(request) else redirect(url)


def load_anew() -> HttpResponse:
    """Have the browser load the page that it shows again."""
    return HttpResponseClientRefresh()


def target_of(request: HttpRequest) -> str:
    """Return the id of the element that the fragment is put in; "": it has none."""
    return HtmxDetails(request).target or ""
