"""The format of a line of the log. Imports nothing of Django, for the process that supervises the others."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

LINE = "{asctime} {levelname} {name} [{request_id}] {message}"

current_request: ContextVar[str] = ContextVar("request_id", default="")


class AddRequestId(logging.Filter):
    """A filter that gives every record `request_id`, "-" outside of requests and jobs."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request.get() or "-"
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, request_id, and the exception where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": current_request.get(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_to_stderr(form: str, level: str) -> None:
    """Log as the settings say, in a process that does not read them. form : line or json; level : of KDB's loggers"""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(LINE, style="{"))
    handler.addFilter(AddRequestId())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("kdb").setLevel(level)
