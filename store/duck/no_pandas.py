"""Statements with parameters without a search for pandas.

DuckDB tries to import pandas twice for each parameter of a statement. Where it is not installed, each try is a search
through all folders of modules; None in its place is the answer of that search, at once (decision 0099).
"""

import sys
from importlib.util import find_spec
from typing import Final

import pyarrow as pa

_PANDAS: Final = "pandas"


def spare_search_for_pandas() -> None:
    """For the service's own process: scikit-learn, which others import, would take the None for the module."""
    if _PANDAS not in sys.modules and find_spec(_PANDAS) is None:
        pa.array([])  # pyarrow tries once, and would take it for the module too
        sys.modules[_PANDAS] = None  # type: ignore[assignment]  # what the import system documents for such a module
