"""Labelled scorings that are made up, by rule and by a seed: what a calibration is tested on."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.store.tables import columns_of
from tests.support.builders import a_vector

FROM: Final = 1_767_225_600_000_000  # 2026-01-01
DAYS: Final = 100
NOW: Final = "2026-09-01T00:00:00Z"
_OWN: Final[tuple[tuple[str, pa.DataType], ...]] = (
    ("transfer_id", pa.string()),
    ("program_id", pa.string()),
    ("taken_at", pa.int64()),
    ("feature_version", pa.string()),
    ("is_bad", pa.bool_()),
    ("label_source", pa.string()),
)
_VECTOR: Final[tuple[tuple[str, pa.DataType], ...]] = tuple(
    (column.name, column.arrow_type) for column in columns_of(FeatureVector)
)


class Labelled(NamedTuple):
    transfer_id: str
    at: int
    is_bad: bool | None
    vector: FeatureVector


def some_labelled(count: int = 1_200, *, seed: int = 1, often_new: float = 0.08, **over: Any) -> list[Labelled]:
    """Bad ones are large for their payer and often go to somebody new; the rest seldom is: of them ``often_new`` go to
    somebody new. All have ``over``.
    """
    random = Random(seed)
    return [_one(random, place, FROM + place * DAYS * DAY_US // count, often_new, over) for place in range(count)]


def _one(random: Random, place: int, at: int, often_new: float, over: dict[str, Any]) -> Labelled:
    is_bad = random.random() < 0.12
    times = random.choice((1, 2, 4, 8, 20) if is_bad else (1, 1, 1, 1, 2, 4, 8, 20))
    cents = 100_00 * times + random.randrange(100_00)
    figures = {
        "amount_cents": cents,
        "entity_median_cents_90d": 100_00,
        "counterparty_first_time": random.random() < (0.7 if is_bad else often_new),
        "repeated_amount_count_24h": random.randrange(8 if is_bad else 6),
        "entity_new_counterparties_24h": random.randrange(8 if is_bad else 7),
    }
    return Labelled(f"trf_{place:05d}", at + random.randrange(HOUR_US), is_bad, a_vector(**figures | over))


def relabelled(rows: Sequence[Labelled], label: Callable[[Labelled], bool | None]) -> list[Labelled]:
    return [row._replace(is_bad=label(row)) for row in rows]


def written(folder: Path, rows: Sequence[Labelled], **over: Any) -> Path:
    """The rows as the Parquet file that ``clearhold calibrate --vectors`` reads."""
    file = folder / "vectors.parquet"
    pq.write_table(pa.Table.from_pylist(list(_records(rows, over)), schema=pa.schema(list(_OWN + _VECTOR))), file)
    return file


def _records(rows: Sequence[Labelled], over: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            "transfer_id": row.transfer_id,
            "program_id": "prg_1",
            "taken_at": row.at,
            "feature_version": FEATURE_VERSION,
            "is_bad": row.is_bad,
            "label_source": None if row.is_bad is None else "return" if row.is_bad else "person",
            **msgspec.structs.asdict(row.vector),
            **over,
        }
