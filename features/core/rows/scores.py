"""Rows of the scores of entities, counterparties, agents and programs.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

import msgspec


class ShadowScoreRow(msgspec.Struct, frozen=True, gc=False):
    """The score of a transfer by the card in shadow, beside the score in force, at each scoring of the stream."""

    tenant_id: str
    program_id: str
    transfer_id: str
    shard: int
    offset: int
    version: str
    score: int | None
    band: str
    champion_version: str
    champion_score: int | None
    champion_band: str
    bank_created_at: int
    scored_at: int  # when the entry was appended


class ScoreRow(msgspec.Struct, frozen=True, gc=False):
    """One score of an entity, counterparty, agent or program, written when it changed.

    A subject without a row is unscored, and so is one whose newest row has no score. The band changed where ``band``
    and ``former_band`` differ.
    """

    tenant_id: str
    program_id: str
    id: str
    subject_type: str
    subject_id: str
    shard: int
    offset: int
    version: str
    score: int | None
    band: str
    former_band: str  # of the subject's previous row; unscored without one
    n: int
    confidence: float | None
    hard: bool
    degraded: bool
    reasons: str  # JSON of Reason[]
    inputs: str  # JSON of the scorer's inputs
    scored_at: int  # the end of its windows: the entry's own time, never before the subject's last evaluation
