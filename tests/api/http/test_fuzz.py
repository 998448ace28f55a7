"""Schemathesis finds nothing: whatever the OpenAPI document says, the service does, for every kind of caller."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fuzz import ALL_PHASES, CallerKind, Target, fuzz, running_target
from tests.support.running_service import RunningService

EXAMPLES = 10
SEED = 20_260_917
WITHOUT_COVERAGE = "examples,fuzzing,stateful"  # for time: as a key, make fuzz alone runs that phase

Running = tuple[RunningService, Target]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_target(tmp_path_factory.mktemp("fuzz")) as found:
        yield found


@pytest.mark.parametrize("caller", CallerKind)
def test_given_a_caller_when_every_operation_is_fuzzed_then_service_and_document_agree(
    running: Running, caller: CallerKind, tmp_path: Path
) -> None:
    service, target = running

    phases = ALL_PHASES if caller is CallerKind.OPERATOR else WITHOUT_COVERAGE
    findings = fuzz(service, target.headers_of(caller), tmp_path, examples=EXAMPLES, seed=SEED, phases=phases)

    assert not findings.found, findings.report
    assert f"Seed: {SEED}" in findings.report
    assert [line for line in service.log_lines if "request_failed" in line] == []
