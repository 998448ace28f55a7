"""A step of a rescoring that gives one transfer another score."""

import msgspec

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector
from clearhold.features.core.entries.commands import BackfillStep, Progress, Rescored, Subjects
from clearhold.features.core.vocabulary import Score
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.support.clock import T0


def a_rescoring_step(transfer_id: str, vector: FeatureVector, *, value: int, n: int) -> bytes:
    """The body of the entry, with a score from this vector."""
    score = Score(version=trs_v1.VERSION, value=value, n=n, confidence=0.5, reasons=())
    rescored = Rescored(
        transfer_id, taken_at=T0, degraded=False, score=score, paths=None, vector=msgspec.structs.astuple(vector)
    )
    progress = Progress(
        id="b",
        subjects=Subjects.TRANSFERS,
        feature_version=FEATURE_VERSION,
        score_version=trs_v1.VERSION,
        started_offset=2**62,
    )
    return msgspec.json.encode(BackfillStep(progress=progress, rescored=(rescored,)))
