"""A line of the export of a subject, as the interface describes it."""

from typing import Any

import msgspec


class SubjectLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line. The first is the manifest, the last the end with counts and a hash; all others are rows of tables."""

    table: str
    row: dict[str, Any]
