"""Logs as JSON lines on standard error, with the fields that the code attached to each."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

# What every record has; the rest came with `extra`.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


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


class _ToStderr(logging.Handler):
    """Writes to what is standard error now, not when the handler was made."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; a closed or full standard error ends nothing."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()


def write_logs(level: str | None) -> None:
    """Send the package's logs of this level and above to standard error; None writes nothing.

    Nothing is the default: what a person must know is in the report of the command.
    """
    logger = logging.getLogger("outcrop")
    for old in [handler for handler in logger.handlers if isinstance(handler, _ToStderr | logging.NullHandler)]:
        logger.removeHandler(old)
    if level is None:
        logger.addHandler(logging.NullHandler())  # without it Python prints warnings as it sees fit
        return
    handler = _ToStderr()
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    logger.setLevel(level.upper())
