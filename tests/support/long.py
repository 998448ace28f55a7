"""The files whose tests are ``long``: ``make test`` leaves them out, ``make test-long`` runs them, and CI runs all."""

from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]
FOLDERS: Final = frozenset({"console", "demo"})
"""A browser; a demo as a person starts it."""

FILES: Final = frozenset(
    {
        "api/alerts/test_decide_races.py",
        "api/http/test_fuzz.py",
        "api/http/test_held_loop.py",
        "api/http/test_idempotency_races.py",
        "api/live/test_feed_breaks.py",
        "api/openapi/test_generated_clients.py",
        "flows/actions/test_action_kills.py",
        "flows/agents/test_kills.py",
        "flows/backfill/test_actor_backfill.py",
        "flows/backfill/test_backfill_service.py",
        "flows/backfill/test_backfills.py",
        "flows/backfill/test_late_history.py",
        "flows/lake/test_lake_readers.py",
        "flows/live/test_live_kills.py",
        "flows/scorer/test_scorer_processes.py",
        "flows/test_failover.py",
        "flows/test_killed_rescoring.py",
        "flows/test_kills.py",
        "flows/test_link_log_kills.py",
        "flows/test_many_decisions_killed.py",
        "flows/test_rebuild.py",
        "flows/test_record_kills.py",
        "flows/test_take_over.py",
        "flows/test_wrong_clock.py",
        "store/duck/test_kills.py",
    }
)
"""Each needs more than 20 s of a processor, or kills services at many moments."""


def is_long(path: Path) -> bool:
    """Whether the tests of a file are long."""
    file = path.relative_to(TESTS) if path.is_relative_to(TESTS) else path
    return file.parts[0] in FOLDERS or file.as_posix() in FILES
