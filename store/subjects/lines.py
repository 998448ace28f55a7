"""Rows as lines of an export of a subject: ``{"table", "row"}``, with the names and forms of the interface.

Unit    instants as texts of ``format_instant``; cents and log offsets as digits, for readers with 53-bit numbers
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from clearhold.features.bank.masking import masked_raw
from clearhold.features.catalogue.vector import NAME_OF, FeatureVector, TransferFeaturesRow
from clearhold.features.core.instants import format_instant
from clearhold.store.tables.columns import Column, columns_of

FORMAT: Final = "clearhold-subject-1"
MANIFEST: Final = "manifest"
END: Final = "end"
"""The table name of the first and of the last line."""

FEATURES: Final = "features"
"""The field with a scoring's vector, by the names of docs/features.md."""

_JSON: Final = frozenset(
    {"body", "bank_response", "change", "draft", "evidence", "expected_payment_rails", "inputs", "reasons"}
    | {"review_reasons"}
)
_ENCODER: Final = msgspec.json.Encoder()

Form = Callable[[Any], object]


def line_of(table: str, row: Mapping[str, object]) -> bytes:
    """A line without its end."""
    return _ENCODER.encode({"table": table, "row": row})


class RowLines:
    """Makes lines of the stored rows of one table."""

    def __init__(self, table: str, row_type: type[msgspec.Struct]) -> None:
        columns = columns_of(row_type)
        vector = len(columns_of(FeatureVector)) if row_type is TransferFeaturesRow else 0
        own = columns[: len(columns) - vector]
        self._table = table
        self._own = [(_wire_name(column.name), _form(column)) for column in own]
        self._features = [NAME_OF[column.name] for column in columns[len(own) :]]

    def row_of(self, values: Sequence[Any]) -> dict[str, object]:
        """The row from the values of ``select_list``."""
        row = {
            name: value if value is None or form is None else form(value)
            for (name, form), value in zip(self._own, values, strict=False)
        }
        if self._features:
            row[FEATURES] = dict(zip(self._features, values[len(self._own) :], strict=True))
        return row

    def line(self, values: Sequence[Any]) -> bytes:
        return line_of(self._table, self.row_of(values))


def _wire_name(column: str) -> str:
    first, *others = column.split("_")
    return first + "".join(part.capitalize() for part in others)


def _form(column: Column) -> Form | None:
    """The conversion of a column's value; None for no conversion."""
    name = column.name
    if column.sql_type == "TIMESTAMP":
        return format_instant
    if name == "offset" or name.endswith(("_offset", "_cents")):
        return str
    if name == "raw":
        return _masked
    if name == "paths":
        return _paths
    return _raw_json if name in _JSON else None


def _raw_json(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def _masked(text: str) -> dict[str, Any]:
    return masked_raw(text.encode())


def _paths(text: str) -> dict[str, list[str]]:
    offsets: dict[str, list[int]] = msgspec.json.decode(text)
    return {name: [*map(str, path)] for name, path in offsets.items()}
