"""Format lines of the log. Does not import Django, as the supervising process does not."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

LINE = "{asctime} {levelname} {name} [{request_id}] {message}"

current_request: ContextVar[str] = ContextVar("request_id", default="")


class AddRequestId(logging.Filter):
    """A filter that adds `request_id` to every record, "-" outside of requests and jobs."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request.get() or "-"
        return True


class JsonFormatter(logging.Formatter):
    """Format each record as a JSON object: time, level, logger, message, request_id, and the exception, if any."""

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
    """Configure logging in a process without Django's settings. form : line or json; level : of KDB's loggers"""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(LINE, style="{"))
    handler.addFilter(AddRequestId())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("kdb").setLevel(level)
