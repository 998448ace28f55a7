"""Small golden streams told to a running service over HTTP, as the bank would; what its report says."""

import time
from pathlib import Path
from typing import Any, Final

import pytest

from tests.checks import kri_cases_of_alerts, kri_cases_of_people, kri_cases_of_programs
from tests.checks.kri_bank import Bank
from tests.checks.kri_cases import CASES, Case
from tests.support.bank_events import an_event
from tests.support.running_service import RunningService, post_until_taken

FEW: Final = 12
TELLERS: Final = (kri_cases_of_alerts, kri_cases_of_people, kri_cases_of_programs)


def told(case: Case, mark: str) -> Bank:
    bank = Bank(time.time_ns() // 1_000, mark)
    case.play(bank)
    return bank


_SMALL: Final = [
    case for case in CASES if not (case.exact_time or case.live_only) and len(told(case, "x").events) <= FEW
]
SMALL: Final = list({(case.kri, case.status, case.value == 0): case for case in _SMALL}.values())
"""One of each status, and of each indicator that is 0."""


def test_given_golden_streams_when_a_bank_sends_them_then_the_program_report_says_the_answer_by_hand(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data", "--scorers", "0") as service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        for place, case in enumerate(SMALL):
            reading = reported(service, tenant, case, place)
            expected = None if case.value is None else pytest.approx(float(case.value), rel=1e-9)
            assert (reading["value"], reading["status"]) == (expected, case.status), case
            assert case.n in (None, reading["n"]), case


def reported(service: RunningService, tenant: dict[str, Any], case: Case, place: int) -> dict[str, Any]:
    """The indicator in the report on a program of its own, which was told the stream and then measured."""
    bank = told(case, f"p{place}x")
    body = {"tenantId": tenant["id"], "slug": f"p{place}", "name": case.claim} | bank.declared
    program = service.admin("/api/admin/programs", body)
    events = [an_event(event.kind, event.data, event_id=event.id, created_at=event.at) for event in bank.events]
    post_until_taken(service, program, events, within_s=60)
    headers = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
    service.ask("POST", f"/api/kri/snapshot/{program['id']}", headers, b"")
    report = service.ask("GET", f"/api/reports/program/{program['id']}", headers)
    reading: dict[str, Any] = report["kris"][case.kri]
    return reading
