"""Recognises by their beginning bytes that are not JSON events, for a sentence with the cure."""

from typing import Final

_LOOKED_AT: Final = 4_096
_BY_FIRST_BYTES: Final = (
    (b"\x1f\x8b", "this is gzip: unpack it first"),
    (b"PK\x03\x04", "this is a ZIP file: unpack it first"),
    (b"PAR1", "this is a Parquet file: write its events as JSON, one a line"),
    (b"\xff\xfe", "this is UTF-16: write it as UTF-8"),
    (b"\xfe\xff", "this is UTF-16: write it as UTF-8"),
    (b"\xef\xbb\xbf", "this begins with a byte order mark: write it as UTF-8 without one"),
    (b"[", "this looks like a JSON array: put one event on each line, without brackets and commas"),
    (b"<", "this looks like XML or HTML: events are JSON, one a line"),
)
_UTF16: Final = "this looks like UTF-16: write it as UTF-8"
_CSV: Final = "this looks like CSV: events are JSON, one object a line"
_PRETTY: Final = "this looks like an object over several lines: each event takes one line"
_SEPARATORS: Final = b",;\t|"


def format_fault(beginning: bytes) -> str | None:
    """What a file or a body that should begin with ``{`` is instead; None when it may be JSON, or nothing known."""
    head = beginning[:_LOOKED_AT]
    for first, words in _BY_FIRST_BYTES:
        if head.startswith(first) or (first in (b"[", b"<") and head.lstrip().startswith(first)):
            return words
    if b"\x00" in head[:2]:
        return _UTF16
    line, newline, _ = head.lstrip().partition(b"\n")
    if line.startswith(b"{"):
        return _PRETTY if newline and line.strip() == b"{" else None
    return _CSV if any(separator in line for separator in _SEPARATORS) else None
