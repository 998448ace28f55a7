"""The catalogue of reasons, the scorers and the page say the same."""

from pathlib import Path

from hypothesis import given, settings

from features.catalogue.vector import FeatureVector
from features.scorers.docs_page import SECTIONS, markdown
from features.scorers.trs_v1 import scorer as trs_v1
from features.scorers.trs_v1.rules import REASONS
from tests.support.vectors import VECTORS

KINDS = {kind.id: kind for section in SECTIONS for kind in section.reasons}


def test_given_the_page_then_it_is_the_catalogue() -> None:
    page = Path(__file__).parents[3] / "docs" / "reasons.md"

    assert page.read_text() == markdown()


def test_given_the_catalogue_then_ids_are_unique_and_each_says_what_it_means_and_whence_it_comes() -> None:
    listed = [kind for section in SECTIONS for kind in section.reasons]

    assert len(KINDS) == len(listed)
    assert len({kind.signal for kind in REASONS}) == len(REASONS)
    assert all(kind.meaning.endswith(".") and kind.source for kind in listed)
    assert all(kind.id.startswith(section.version[:3].upper()) for section in SECTIONS for kind in section.reasons)
    assert not [kind for kind in listed if "|" in kind.meaning + kind.source + kind.signal]


@settings(max_examples=200, deadline=None)
@given(vector=VECTORS)
def test_given_any_vector_when_it_is_scored_then_every_reason_is_as_the_catalogue_has_it(vector: FeatureVector) -> None:
    for reason in trs_v1.score(vector, degraded=False).reasons:
        kind = KINDS[reason.id]
        assert (reason.signal, reason.hard) == (kind.signal, kind.hard)
        assert reason.weight in kind.weights or (not kind.weights and reason.id.startswith("TRS-CAP-"))
