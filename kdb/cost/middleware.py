"""Charge each request, and defer or refuse those that cost too much."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from kdb.web.htmx import load_anew

from . import budget, deferral
from .spending import Payer, charged, payer_of, reserve, settle

WAITS = "KDB-Waits"  # header of templates/being_worked_out.html when it looks whether its page has come
_NEVER_COUNTED = ("/healthz", "/api/v1/status/")  # they answer whatever hangs, with what was seen within a second


class CostMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path in _NEVER_COUNTED:
            return self.get_response(request)
        payer = payer_of(request)
        response = self._counted(request, payer)
        if WAITS in request.headers and response.status_code != HTTPStatus.ACCEPTED:
            return load_anew()
        if response.streaming:  # the most of it is done while it is sent
            response.streaming_content = charged(payer, response.streaming_content)  # type: ignore[attr-defined]
        return response

    def _counted(self, request: HttpRequest, payer: Payer) -> HttpResponseBase:
        if wait := reserve(payer):
            return deferral.refuse(request, "You have asked for much in the last minute; wait a little.", wait)
        began = time.thread_time()
        try:
            return self._answer(request, payer)
        finally:
            settle(payer, time.thread_time() - began)

    def _answer(self, request: HttpRequest, payer: Payer) -> HttpResponseBase:
        most = settings.KDB_CPU_SECONDS_A_REQUEST
        only_reads = request.method in ("GET", "HEAD")
        may_be_left = bool(most) and only_reads and payer.is_stranger
        if may_be_left and (row := deferral.find(request)):
            return deferral.answer(request, row)
        try:
            with budget.limit_seconds(most) if may_be_left else nullcontext():
                return self.get_response(request)
        except budget.TooDear:
            if only_reads:
                return deferral.defer(request)
            return deferral.refuse(request, "This takes long. Ask again: what was worked out is kept.")
