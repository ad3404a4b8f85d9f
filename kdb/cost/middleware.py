"""Charge each request for its processor time, and defer or refuse expensive ones."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from kdb.web.htmx import load_anew

from . import budget, deferral
from .spending import Payer, charge_chunks, payer_of, reserve, settle

WAITS = "KDB-Waits"  # header of the polling by templates/being_worked_out.html
_NEVER_COUNTED = ("/healthz", "/api/v1/status/")  # cheap, and must answer whatever else hangs


class CostMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path in _NEVER_COUNTED:
            return self.get_response(request)
        payer = payer_of(request)
        response = self._charge_and_answer(request, payer)
        if WAITS in request.headers and response.status_code != HTTPStatus.ACCEPTED:
            return load_anew()
        if response.streaming:  # most of its time is spent while it is sent
            response.streaming_content = charge_chunks(payer, response.streaming_content)  # type: ignore[attr-defined]
        return response

    def _charge_and_answer(self, request: HttpRequest, payer: Payer) -> HttpResponseBase:
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
        may_defer = bool(most) and only_reads and payer.is_stranger
        if may_defer and (row := deferral.find(request)):
            return deferral.answer(request, row)
        try:
            with budget.limit_seconds(most) if may_defer else nullcontext():
                return self.get_response(request)
        except budget.BudgetExceeded:
            if only_reads:
                return deferral.defer(request)
            return deferral.refuse(request, "This takes long. Ask again: what was worked out is kept.")
