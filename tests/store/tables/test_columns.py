"""Struct types become columns, and rows become Arrow arrays without losing a value."""

import enum

import msgspec
import pyarrow as pa
import pytest

from clearhold.store.duck.database import TABLES
from clearhold.store.tables import arrow_table, columns_of, row_builder


class Colour(enum.StrEnum):
    RED = "red"


class Sample(msgspec.Struct, frozen=True):
    name: str
    count: int
    ratio: float | None
    done: bool
    seen_at: int | None
    colour: Colour = Colour.RED


class Outer(msgspec.Struct, frozen=True):
    id: str
    sample: Sample


class Unstorable(msgspec.Struct, frozen=True):
    tags: tuple[str, ...]


def test_given_annotations_then_columns_follow_them_in_field_order() -> None:
    definitions = [column.definition for column in columns_of(Sample)]

    assert definitions == [
        '"name" VARCHAR NOT NULL',
        '"count" BIGINT NOT NULL',
        '"ratio" DOUBLE',
        '"done" BOOLEAN NOT NULL',
        '"seen_at" TIMESTAMP',
        '"colour" VARCHAR NOT NULL',
    ]


def test_given_rows_when_turned_into_columns_then_values_and_nulls_are_kept() -> None:
    rows = [
        Sample(name="a", count=1, ratio=None, done=True, seen_at=5),
        Sample(name="b\x00", count=-(2**63), ratio=0.5, done=False, seen_at=None),
    ]

    table = arrow_table(columns_of(Sample), rows)

    assert table.column("name").to_pylist() == ["a", "b\x00"]
    assert table.column("count").to_pylist() == [1, -(2**63)]
    assert table.column("ratio").to_pylist() == [None, 0.5]
    assert table.column("seen_at").cast(pa.int64()).to_pylist() == [5, None]
    assert table.column("colour").to_pylist() == ["red", "red"]


def test_given_a_struct_in_the_last_place_then_its_fields_are_columns_and_it_comes_back_whole() -> None:
    rows = [Outer(id=str(n), sample=Sample(name="a", count=n, ratio=None, done=True, seen_at=5)) for n in range(2)]

    table = arrow_table(columns_of(Outer), rows)

    assert table.column_names == ["id", "name", "count", "ratio", "done", "seen_at", "colour"]
    build = row_builder(Outer)
    values = zip(
        *(column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in table.columns),
        strict=True,
    )
    assert [build([value.as_py() for value in row]) for row in values] == rows


def test_given_a_field_without_a_column_type_then_the_table_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match=r"Unstorable\.tags"):
        columns_of(Unstorable)


def test_given_the_schema_then_every_instant_is_a_timestamp_and_nothing_else_is() -> None:
    for _, row_type in TABLES:
        for column in columns_of(row_type):
            assert (column.sql_type == "TIMESTAMP") == column.name.endswith("_at")
