"""Vectors and labels of a run as a Parquet file: one row for the newest scoring of each transfer.

Columns  transfer, program, parties, time and label, then what the card said of it, then all fields of the vector under
         the names that they have in ``transfer_features``
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bench.detection.data import Answer, Known
from bench.detection.stream import Heard
from features.catalogue.features import FEATURES
from features.catalogue.vector import FeatureVector, TransferFeaturesRow
from features.core.rows.transfers import TransferRow
from features.scorers.engine import CompiledCard

_TYPES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "number": pa.float64(),
}
_LABELLED: Final[tuple[tuple[str, pa.DataType], ...]] = (
    ("transfer_id", pa.string()),
    ("program_id", pa.string()),
    ("entity_id", pa.string()),
    ("counterparty_id", pa.string()),
    ("offset", pa.int64()),
    ("taken_at", pa.int64()),
    ("row_id", pa.string()),
    ("is_bad", pa.bool_()),
    ("typology", pa.string()),
    ("scenario_id", pa.string()),
    ("is_lookalike", pa.bool_()),
    ("feature_version", pa.string()),
    ("score_version", pa.string()),
    ("score", pa.int64()),
    ("band", pa.string()),
    ("hard", pa.bool_()),
    ("reasons", pa.string()),
)
_SCHEMA: Final = pa.schema([*_LABELLED, *((feature.column, _TYPES[feature.type]) for feature in FEATURES)])
_STEP: Final = 20_000


class VectorFile:
    """The file, written program by program."""

    def __init__(self, path: Path, known: Known, card: CompiledCard[FeatureVector] | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = pq.ParquetWriter(path, _SCHEMA, compression="zstd")
        self._known = known
        self.card = card

    def hear(self) -> Heard:
        """One program's rows, which are written when its answers are read."""
        return _Kept(self)

    def write(self, scorings: list[tuple[TransferFeaturesRow, TransferRow]]) -> None:
        for first in range(0, len(scorings), _STEP):
            rows = [self._row(*scoring) for scoring in scorings[first : first + _STEP]]
            self._file.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))

    def close(self) -> None:
        self._file.close()

    def _row(self, scoring: TransferFeaturesRow, transfer: TransferRow) -> dict[str, Any]:
        row, label = self._known.label_of(scoring.transfer_id)
        return {
            **msgspec.structs.asdict(scoring.vector),
            **{name: getattr(scoring, name, None) for name, _ in _LABELLED},
            "entity_id": transfer.entity_id,
            "counterparty_id": transfer.counterparty_id,
            "row_id": row,
            "is_bad": label.bad,
            "typology": label.typology,
            "scenario_id": label.scenario or None,
            "is_lookalike": label.lookalike,
        }


class _Kept(Heard):
    def __init__(self, file: VectorFile) -> None:
        super().__init__(file.card)
        self._file = file
        self._newest: dict[str, TransferFeaturesRow] = {}
        self._parties: dict[str, TransferRow] = {}

    def __call__(self, row: msgspec.Struct) -> None:
        super().__call__(row)
        if isinstance(row, TransferFeaturesRow):
            self._newest[row.transfer_id] = row
        elif isinstance(row, TransferRow):
            self._parties[row.id] = row

    def answers(self) -> Iterator[Answer]:
        self._file.write([(scoring, self._parties[key]) for key, scoring in self._newest.items()])
        yield from super().answers()
