"""The catalogue of reasons, the scorers and the page say the same."""

from pathlib import Path

from hypothesis import given, settings

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.scorers.cards import DEFAULTS
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from docs.pages.reasons import markdown
from tests.support.vectors import VECTORS

SIGNALS = {signal.id: signal for default in DEFAULTS.values() for signal in default.scorer.signals.values()}


def test_given_the_page_then_it_is_the_catalogue() -> None:
    page = Path(__file__).parents[3] / "docs" / "reasons.md"

    assert page.read_text() == markdown()


def test_given_the_catalogue_then_ids_are_unique_and_each_says_what_it_means_and_whence_it_comes() -> None:
    groups = [group for default in DEFAULTS.values() for group in default.scorer.groups]
    listed = [signal for group in groups for signal in group.signals]
    of_transfers = trs_v1.SCORER.signals.values()

    assert len(SIGNALS) == len(listed)
    assert len({signal.name for signal in of_transfers}) == len(of_transfers)
    assert all(signal.meaning.endswith(".") and signal.source for signal in listed)
    assert all(
        signal_id.startswith(default.scorer.prefix)
        for default in DEFAULTS.values()
        for signal_id in default.scorer.signals
    )
    assert not [signal for signal in listed if "|" in signal.meaning + signal.source + signal.name + signal.unit]


@settings(max_examples=200, deadline=None)
@given(vector=VECTORS)
def test_given_any_vector_when_it_is_scored_then_every_reason_is_as_the_catalogue_has_it(vector: FeatureVector) -> None:
    for reason in trs_v1.DEFAULT.score(vector, degraded=False).reasons:
        if reason.id.startswith("TRS-CAP-"):
            assert (reason.hard, reason.weight != 0) == (False, True)
            continue
        signal = SIGNALS[reason.id]
        assert (reason.signal, reason.hard) == (signal.name, signal.hard)
        points, most = {each.points for each in trs_v1.DEFAULT.bins_of(reason.id)}, trs_v1.DEFAULT.most_known(reason.id)
        if most is not None and vector.common_signals is not None:
            points = {min(each, most) for each in points}
        assert reason.weight in points
