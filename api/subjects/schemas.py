"""A line of the export of a subject."""

from typing import Annotated, Any

import msgspec

from clearhold.features.core.words import about


class SubjectLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line. The first is the manifest, the last the end with counts and a hash; all others are rows of tables."""

    table: Annotated[
        str,
        about(
            "The table that the row is of; manifest on the first line, end on the last, bank_objects for what "
            "the log has."
        ),
    ]
    row: Annotated[
        dict[str, Any],
        about(
            "The row under the names and in the forms of the interface: docs/record.md has the manifest and the end."
        ),
    ]
