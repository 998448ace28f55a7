"""Reasons against a card: too few labels, a single class, and signals that know the label.

Errors  ``NoCardError`` with every reason why none can be made
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score

from clearhold.calibrate.request import NoCardError
from clearhold.calibrate.samples import BAD, OK, Samples, inputs_of
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.scorers.signal import Signal

FEWEST_BAD: Final = 30
"""Bad transfers that points are fitted to."""

FEWEST_OK: Final = 100
FEWEST_BAD_AFTER: Final = 10
"""Bad transfers of the later time, without which nothing is proved."""

LEAK_FROM: Final = 0.97
"""Average precision, from that of no signal to a perfect one, that one alone does not have unless it was made of the
label. [P]
"""


class Leak(NamedTuple):
    signal_id: str
    sentence: str


def require_enough(fit: Samples, later: Samples) -> None:
    """Labelled samples of both classes on both sides of the cut."""
    reasons = []
    bad, ok = np.count_nonzero(fit.label == BAD), np.count_nonzero(fit.label == OK)
    if not bad or not ok:
        named = "bad" if bad else "ok" if ok else "no"
        reasons.append(
            f"The fit window has {named} labels alone ({bad:,} bad, {ok:,} ok): there is nothing to tell apart."
        )
    elif bad < FEWEST_BAD or ok < FEWEST_OK:
        reasons.append(
            f"The fit window has {bad:,} bad and {ok:,} ok transfers with a score; "
            f"at least {FEWEST_BAD} and {FEWEST_OK} are needed."
        )
    bad_after, ok_after = np.count_nonzero(later.label == BAD), np.count_nonzero(later.label == OK)
    if bad_after < FEWEST_BAD_AFTER or ok_after < FEWEST_OK:
        reasons.append(
            f"The time after it has {bad_after:,} bad and {ok_after:,} ok transfers; "
            f"at least {FEWEST_BAD_AFTER} and {FEWEST_OK} are needed to prove the card on."
        )
    if reasons:
        raise NoCardError(reasons)


def leaks_in(fit: Samples, signals: Mapping[str, Signal[FeatureVector]]) -> list[Leak]:
    """The signals that alone rank nearly every bad transfer above every other one."""
    bad = fit.label == BAD
    share, inputs, leaks = float(np.mean(bad)), inputs_of(fit, signals), []
    for signal_id, column in zip(fit.signal_ids, inputs.T, strict=True):
        if np.isnan(column).all():
            continue
        worth = np.nan_to_num(column, nan=np.nanmin(column) - 1)
        precision = max(average_precision_score(bad, worth), average_precision_score(bad, -worth))
        if precision - share >= LEAK_FROM * (1 - share):
            alone = f"{signal_id} alone has an average precision of {precision:.3f}"
            leaks.append(Leak(signal_id, f"{alone}: it seems to be made of the label. Look at how it is measured."))
    return leaks
