"""Vectors and labels of a run as a Parquet file: one row for the newest scoring of each transfer.

Columns  transfer, program, parties, time and label, then what the card said of it, then all fields of the vector under
         the names that they have in ``transfer_features``
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.detection.data import Answer, Known
from bench.detection.learned import Learned
from bench.detection.stream import Scored
from clearhold.features.catalogue.vector import FEATURE_VERSION, FEATURES, FeatureVector, TransferFeaturesRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.scorers.trs_v1.scorer import DEFAULT

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
_FIELDS: Final = FeatureVector.__struct_fields__
_STEP: Final = 20_000


def write_vectors(path: Path, known: Known, programs: Iterable[list[Scored]]) -> None:
    """One program's scorings after another's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as file:
        for scored in programs:
            for first in range(0, len(scored), _STEP):
                rows = [_row(known, *each) for each in scored[first : first + _STEP]]
                file.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))


def _row(known: Known, scoring: TransferFeaturesRow, transfer: TransferRow) -> dict[str, Any]:
    row, label = known.label_of(scoring.transfer_id)
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


def count_in(path: Path) -> int:
    """How many scorings the file has; of another version than this one's they are refused."""
    with pq.ParquetFile(path) as file:
        versions = {str(each) for each in pc.unique(file.read(["feature_version"])["feature_version"]).to_pylist()}
        if versions - {FEATURE_VERSION}:
            raise SystemExit(f"{path} has features of {', '.join(sorted(versions))}, and this is {FEATURE_VERSION}.")
        return int(file.metadata.num_rows)


def answers_in(path: Path, learned: Learned | None, done: Callable[[int], None]) -> Iterator[Answer]:
    """The default card's result for each vector, beside the learned ones."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_STEP, columns=["transfer_id", "program_id", *_FIELDS]):
            columns = (column.to_pylist() for column in batch.columns)
            for transfer_id, program, *fields in zip(*columns, strict=True):
                yield _answer(transfer_id, program, FeatureVector(*fields), learned)
            done(batch.num_rows)


def _answer(transfer_id: str, program: str, vector: FeatureVector, learned: Learned | None) -> Answer:
    score, hard, _, fired, _ = DEFAULT.weigh(vector)
    ranks = (None, None, None) if learned is None else learned.ranks_of(program, transfer_id)
    oddness, by_trees, by_signal_trees = ranks
    own, cents = vector.entity_p90_cents_90d, vector.amount_cents
    return Answer(
        id=transfer_id,
        program=program,
        rail=vector.rail,
        cents=cents or 0,
        score=score,
        signals=tuple(signal.name for signal, _, _ in fired),
        hard=hard,
        by_card=None if learned is None or learned.card is None else learned.card.weigh(vector)[0],
        over_own=None if not own or cents is None else 100 * cents // own,
        oddness=oddness,
        by_trees=by_trees,
        by_signal_trees=by_signal_trees,
    )
