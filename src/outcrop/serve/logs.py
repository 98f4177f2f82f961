"""Logs on standard error: JSON lines with their extra fields, or plain lines for people."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

from outcrop.serve.terminal import clean_line

# What every record has; the rest came with `extra`.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "tell"}


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as its line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class PlainLine(logging.Formatter):
    """The message alone, without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as its line."""
        return clean_line(record.getMessage())


class _ToStderr(logging.Handler):
    """Writes to the current standard error, not the one at the time the handler was made."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; a closed or full standard error is ignored."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()


def write_logs(level: str | None) -> None:
    """Send the package's logs of this level and above to standard error, as JSON lines.

    None is the default, since what a person must know is in the report of the command: then only those few records
    are written that stand in no report and are marked `tell`, each as a plain line.
    """
    logger = logging.getLogger("outcrop")
    logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, _ToStderr)]
    handler = _ToStderr()
    if level is None:
        handler.addFilter(lambda record: getattr(record, "tell", False))
        handler.setFormatter(PlainLine())
    else:
        handler.setFormatter(JsonLines())
        logger.setLevel(level.upper())
    logger.addHandler(handler)  # without any Python prints warnings as it sees fit
