"""Macros and further views of ``analyst.duckdb``: ready questions. They are made after the views, in this order."""

from typing import Final

STATEMENTS: Final[tuple[str, ...]] = ()
