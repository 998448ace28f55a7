"""Logs: one JSON object a line on standard error. Bodies, tokens, secrets and signatures are never passed to a logger.

Tracebacks are written without the local variables of their frames, which include a request's headers. Messages of
exceptions are written without quoted text, because they quote the value that caused them.
"""

import logging
import re
import sys
import threading
from types import TracebackType
from typing import Any, Final, TextIO, cast

import structlog

_BLANK: Final = "\N{HORIZONTAL ELLIPSIS}"
_VALUES: Final = re.compile(
    r"""(?<!\w)(?P<quote>['"]).*(?P=quote)"""  # from the first quote to the last: quotes may be quoted
    r"|\d{5,}|[A-Za-z0-9_+/=]{20,}",  # account numbers, tokens, digests
    re.DOTALL,
)


def without_values(text: str) -> str:
    """The message of an exception, with possible values blanked."""
    return _VALUES.sub(_BLANK, text)


class _StandardError:
    """A line that cannot be written, as on a full disk, is lost and its writer goes on. A later line counts them."""

    def __init__(self) -> None:
        self._lost = 0

    def write(self, text: str) -> None:
        try:
            if self._lost:  # not by a usual logger, whose lock the caller may hold
                structlog.wrap_logger(structlog.WriteLogger(sys.stderr)).warning("log_lines_lost", lines=self._lost)
                self._lost = 0
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._lost += text.count("\n")

    def flush(self) -> None:
        """Each line was flushed."""


STANDARD_ERROR: Final = _StandardError()


class _Transformer(structlog.tracebacks.ExceptionDictTransformer):
    def __call__(self, exc_info: Any) -> list[dict[str, Any]]:
        return _without_values_in(super().__call__(exc_info))


_TRACEBACKS: Final = structlog.processors.ExceptionRenderer(_Transformer(show_locals=False))


def configure_logs() -> None:
    """Configure logging for the whole process: our loggers, the standard library's from warnings on, and Python's own
    output of warnings and uncaught exceptions.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _blank_error,
            _TRACEBACKS,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", STANDARD_ERROR)),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _TRACEBACKS,
            structlog.processors.JSONRenderer(),
        ],
        foreign_pre_chain=[structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt="iso", utc=True)],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable
    threading.excepthook = _uncaught_in_thread


def _blank_error(_: Any, __: str, event: Any) -> Any:
    """Our own loggers put the message of an exception in ``error``."""
    if "error" in event:
        event["error"] = without_values(str(event["error"]))
    return event


def _without_values_in(exceptions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for each in exceptions:
        each["exc_value"] = without_values(each["exc_value"])
        each["exc_notes"] = [without_values(note) for note in each["exc_notes"]]
        for within in each["exceptions"]:
            _without_values_in(within)
    return exceptions


def _uncaught(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
    structlog.get_logger().critical("uncaught", exc_info=error)


def _uncaught_in_thread(args: Any) -> None:
    if args.exc_type is SystemExit:
        return
    structlog.get_logger().critical("thread_ended", thread=args.thread and args.thread.name, exc_info=args.exc_value)


def _unraisable(args: Any) -> None:
    """An exception in a finalizer; the repr of its object is left out, because it may contain values."""
    structlog.get_logger().error("unraisable", exc_info=args.exc_value)
