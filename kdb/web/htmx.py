"""Handle requests of htmx. No other module uses HX- headers."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh, push_url
from django_htmx.middleware import HtmxDetails

View = Callable[..., HttpResponse]


def wants_fragment(request: HttpRequest) -> bool:
    """Tell whether htmx requests a fragment; to restore a page from the history it needs all of it."""
    htmx = HtmxDetails(request)
    return bool(htmx) and not htmx.history_restore_request


def varies_for_htmx(view: View) -> View:
    """Add Vary, so that no cache gives a fragment to a browser or a page to htmx."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request", "HX-Target"])
        return response

    return wrapper


def at_address(request: HttpRequest, response: HttpResponse, url: str) -> HttpResponse:
    """Make htmx push `url` to the browser's history with this fragment, unless it is the current address."""
    return push_url(response, False if HtmxDetails(request).current_url_abs_path == url else url)


def to_page(request: HttpRequest, url: str) -> HttpResponse:
    """Redirect the browser to another page. htmx would follow a plain redirect, and insert the page as a fragment."""
    return HttpResponseClientRedirect(url) if wants_fragment(request) else redirect(url)


def load_anew() -> HttpResponse:
    """Make htmx reload the page."""
    return HttpResponseClientRefresh()


def target_of(request: HttpRequest) -> str:
    """Return the id of the element that the fragment replaces; "" where it has none."""
    return HtmxDetails(request).target or ""
