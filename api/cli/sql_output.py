"""Answers of ``clearhold sql`` as a table, CSV or JSON: instants in UTC with their Z, null as itself or as nothing.

A table reads and shows only the first rows, with control characters escaped; the other formats have all rows.
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import chain, count, islice
from math import isfinite
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from clearhold.store.analysts.session import QueryAnswer

MOST_SHOWN: Final = 500
PLAIN_WIDTH: Final = 400
_NUMBERS: Final = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "NUMBER")


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"


def write_answer(answer: QueryAnswer, form: Format) -> None:
    """Write one answer to standard output."""
    names = _distinct(answer.names)
    match form:
        case Format.TABLE:
            _write_table(answer)
        case Format.CSV:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(answer.names)
            writer.writerows(["" if value is None else _text(plain(value)) for value in row] for row in answer.rows)
        case Format.JSON:
            ahead = "["
            for row in answer.rows:
                sys.stdout.write(f"{ahead}\n{_line(names, row)}")
                ahead = ","
            sys.stdout.write("[]\n" if ahead == "[" else "\n]\n")
        case Format.NDJSON:
            sys.stdout.writelines(f"{_line(names, row)}\n" for row in answer.rows)


def plain(value: Any) -> Any:
    """A value for JSON; a value that JSON lacks becomes null or a text."""
    if isinstance(value, float | Decimal):
        return float(value) if isfinite(value) else None
    if isinstance(value, datetime):
        return f"{value.isoformat()}{'Z' if value.tzinfo is None else ''}"
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of a JSON object's fields: the second ``n`` of an answer is ``n_1``, as DuckDB calls it in a subquery.

    >>> _distinct(("n", "n", "m", "n"))
    ('n', 'n_1', 'm', 'n_2')
    """
    taken: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in count(1))
        taken.append(next(each for each in chain([name], others) if each not in taken))
    return tuple(taken)


def _line(names: Sequence[str], row: tuple[Any, ...]) -> str:
    return msgspec.json.encode(dict(zip(names, map(plain, row), strict=True))).decode()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _write_table(answer: QueryAnswer) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    table = Table(box=None, pad_edge=False)
    for name, kind in zip(answer.names, answer.types, strict=True):
        is_number = any(word in kind.upper() for word in _NUMBERS)
        table.add_column(_visible(name), justify="right" if is_number else "left", overflow="fold")
    first = list(islice(answer.rows, MOST_SHOWN))
    for row in first:
        table.add_row(*("null" if value is None else _visible(_text(_short(plain(value)))) for value in row))
    console.print(table)
    has_more = next(answer.rows, None) is not None
    counted = f"{len(first):,} rows"
    console.print(f"the first {counted} of more; --format csv has all" if has_more else counted, style="dim")


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _visible(text: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
