"""How an applied log entry hands over its rows, which the store commits in one transaction with the log offset.

The row types stand beside this module, one module for each group of tables. ``store/duck/schema.py`` makes the tables
from them: field order is column order.
"""

from collections.abc import Callable

import msgspec

Emit = Callable[[msgspec.Struct], None]
"""Takes one row. Rows are emitted one by one, in the order in which they are committed."""


def no_rows(_: msgspec.Struct) -> None:
    """The ``Emit`` of an entry with committed rows: rows that are built for many entries are not built for it."""
