"""Labelled samples of a few signals, one a moment, each with a score."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from clearhold.calibrate.samples import Samples


def samples_of(columns: Mapping[str, npt.NDArray[Any]], bad: npt.NDArray[Any]) -> Samples:
    """A row for each label; the columns are what the signals of these ids measured."""
    places = np.arange(len(bad))
    return Samples(
        key=places,
        at=places,
        label=bad.astype(np.int8),
        source=places,
        score=places * 0,
        cents=places,
        is_first_pair=places > 0,
        measures=np.column_stack(list(columns.values())),
        signal_ids=tuple(columns),
    )
