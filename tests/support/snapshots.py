"""Snapshots of key risk indicators with every field filled."""

from typing import Any

from features.core.kris import WINDOW_DAYS, SnapshotCause
from features.core.rows.kris import KriSnapshotRow
from tests.support.duck_rows import AT, PROGRAM, TENANT


def a_kri_snapshot(**over: Any) -> KriSnapshotRow:
    usual: dict[str, Any] = {
        "tenant_id": TENANT,
        "program_id": PROGRAM,
        "id": "snp_1",
        "shard": 3,
        "offset": 1,
        "cause": SnapshotCause.SCHEDULED.value,
        "as_of_at": AT,
        "window_days": WINDOW_DAYS,
        "kris": "{}",
        "program_score": 30,
        "program_score_n": 7,
        "program_score_version": "prs-v1",
        "band": "review",
        "created_at": AT,
    }
    return KriSnapshotRow(**usual | over)
