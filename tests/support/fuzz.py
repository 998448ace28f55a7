"""Schemathesis against a running service, as every kind of caller: the service and its OpenAPI document have to agree.

``python -m tests.support.fuzz [SEED]`` searches at length, from a fresh seed unless one is given.
"""

import contextlib
import hashlib
import hmac
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tests.support.alerting import ALERTING
from tests.support.bank_events import an_ach_transfer, an_event
from tests.support.running_service import RunningService, wait_until_committed

LONG_EXAMPLES: Final = 500
WITHIN_S: Final = 3_600.0
SCHEMATHESIS: Final = (
    "import gc; gc.set_threshold(50_000, 20, 20); from schemathesis.cli import schemathesis; schemathesis()"
)
"""It keeps many objects, and the usual thresholds look through them too often."""

ALL_PHASES: Final = "examples,coverage,fuzzing,stateful"
WITHOUT_LIMITS: Final = {"CLEARHOLD_RATE_LIMITS": "preflight=1000000,write=1000000,read=1000000"}
TRANSFERS: Final = 4
CONFIGURATION: Final = """
# Whether a key's program is of the key's mode is in the program, not in the request: 400 by rule of createKey.
[[operations]]
include-operation-id = "createKey"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# That exactly one program is named, and which countries exist, the document says in words. A random X-Deadline-Ms may
# be shorter than a busy machine needs, and the answer to that is a 503 with a code of its own.
[[operations]]
include-operation-id = "submitPreflight"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# Which cap a kind takes, which countries exist, and the body of a policy and of a file, the document says in words.
[[operations]]
include-operation-id = [
    "requestLimit", "evaluateLadder", "createPolicy", "dryRunPolicy", "planConfig", "applyConfig",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# Whether several programs have a counterparty of one id, so that one has to be named, is in the data.
[[operations]]
include-operation-id = ["getCounterparty", "exportCounterparty", "explainCounterparty", "getAccount", "getTimeline"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# Whether an alert waits for a person, whom a key has to name, is in the alert, not in the request.
[[operations]]
include-operation-id = "decideAlert"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# Which targets a type of action takes, the document says in words; nor does it say which keys name nobody.
[[operations]]
include-operation-id = ["requestAction", "approveAction", "declineAction", "withdrawAction"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# A cursor that this service has not given out is a 400, and no schema tells it from one that it has.
[[operations]]
include-operation-id = [
    "listTransfers", "listActions", "listAlerts", "listStacks", "listDispositions", "listEvents", "listLabels",
    "listCheckpoints",
    "listLimitHistory", "listRescreeningDue", "listMetricsHistory", "listPolicies", "listRules", "listRulesVersions",
    "listKriSnapshots", "listAlertSummaries", "listAccounts", "listPreflights", "listAlertNotes",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# Nor does a schema tell the id of an event of the feed from another text of its form. The answer's schema is of the
# whole text, and Schemathesis holds each event against it, as an object; it does not know those of x-eventSchemas,
# against which tests/api/live/test_feed_schemas.py holds the events.
[[operations]]
include-operation-id = "followLive"
request-timeout = 2.0
checks.response_schema_conformance.enabled = false
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# Which day comes before which, how long a period may be, and which week has begun, the document says in words.
[[operations]]
include-operation-id = [
    "getActorReport", "getProgramReport", "getWeeklyReport", "exportAlerts", "exportDispositions", "exportRecord",
    "exportTransfers",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# Which operations a field of rules has and which values those take, and which entity, rail and type go together in the
# sandbox, the document says in words.
[[operations]]
include-operation-id = [
    "createRule", "replaceRule", "simulateEvent", "simulateReturn", "simulateTransfer", "runScenario",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 412, 429, "5xx"]

# Which signals there are, what makes a card whole, and which report is of it, the document says in words.
[[operations]]
include-operation-id = ["proposeScorecard", "sendScorecardReport", "activateScorecard"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# A card of all programs names none, and Schemathesis asks for the program of that null as if its id were "None".
[[operations]]
include-operation-id = [
    "getProgram", "getAutonomy", "changeAutonomy", "getLimits", "takeKriSnapshot", "rescoreActors", "rescoreTransfers",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

# None of these callers can sign, and there is no serializer for NDJSON: tests/api/ingest/test_batch.py has its bodies.
[[operations]]
include-operation-id = "ingestBankEvents"
enabled = false
"""


class CallerKind(StrEnum):
    OPERATOR = "operator"
    LIVE_KEY = "live"
    TEST_KEY = "test"


class Findings(NamedTuple):
    """Whether there were any, and what Schemathesis reports."""

    found: bool
    report: str


class Target:
    """A service with something to find in it: two programs with transfers, alerts and a pre-flight each."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self._tenant = service.admin("/api/admin/tenants", {"name": "First Bank", "slug": "first-bank"})
        for source in ("bank", "simulated"):
            self._fill(source)

    def headers_of(self, caller: CallerKind) -> dict[str, str]:
        """What proves a caller of this kind; a key is a new one, which nothing has revoked yet."""
        operator = {"Authorization": f"Bearer {self._tenant['operatorToken']}", "X-Operator": "ann"}
        if caller is CallerKind.OPERATOR:
            return operator
        key = self._post("/api/keys", operator, {"name": caller, "mode": caller})
        return {"Authorization": f"Bearer {key['secret']}"}

    def _fill(self, source: str) -> None:
        operator = self.headers_of(CallerKind.OPERATOR)
        asked = {"tenantId": self._tenant["id"], "slug": f"of-{source}", "name": "Payroll", "source": source}
        program = self._service.admin("/api/admin/programs", asked)
        names = [f"acht_{source}_{number}" for number in range(TRANSFERS)]
        for name in names:
            event = an_event(
                "ach.outgoing_transfer.initiated",
                an_ach_transfer(id=name, **ALERTING),
                event_id=f"evnt_{source}_{name}",
            )
            signature = hmac.new(program["ingestSecret"].encode(), event, hashlib.sha256).hexdigest()
            headers = {"Bank-Signature": signature, "Content-Type": "application/json"}
            self._service.ask("POST", f"/api/ingest/bank/{program['id']}", headers, event)
        transfer = {"rail": "ach", "direction": "outgoing", "type": "CREDIT", "amountCents": "12500"}
        self._post("/api/preflight", operator, {"programId": program["id"], "transfer": transfer})
        wait_until_committed(self._service, self._tenant["operatorToken"], names[-1])

    def _post(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
        sent = headers | {"Content-Type": "application/json"}
        return self._service.ask("POST", path, sent, msgspec.json.encode(body), expect=201)


@contextlib.contextmanager
def running_target(folder: Path) -> Iterator[tuple[RunningService, Target]]:
    with RunningService(folder / "data", "--metrics-port", "0", environment=WITHOUT_LIMITS) as service:
        yield service, Target(service)


def fuzz(
    service: RunningService,
    headers: dict[str, str],
    folder: Path,
    *,
    examples: int,
    seed: int,
    phases: str = ALL_PHASES,
) -> Findings:
    """All checks as one caller. Whatever Schemathesis writes, it writes to the folder."""
    configuration = folder / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    arguments = [f"--config-file={configuration}", "run", f"http://127.0.0.1:{service.port}/openapi.json"]
    for name, value in headers.items():
        arguments += ["--header", f"{name}: {value}"]
    arguments += [f"--phases={phases}", "--no-color"]  # all checks, but where the configuration says otherwise
    arguments += [f"--max-examples={examples}", f"--seed={seed}", "--generation-database=none"]
    ended = subprocess.run(
        [sys.executable, "-c", SCHEMATHESIS, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    return Findings(found=ended.returncode != 0, report=ended.stdout + ended.stderr)


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else secrets.randbelow(2**32)
    print(f"Seed {seed}; the same again with: {sys.executable} -m tests.support.fuzz {seed}", flush=True)
    with tempfile.TemporaryDirectory() as name, running_target(Path(name)) as (service, target):
        outcomes = []
        for caller in CallerKind:
            findings = fuzz(service, target.headers_of(caller), Path(name), examples=LONG_EXAMPLES, seed=seed)
            print(f"As {caller.name}:\n{findings.report}", flush=True)
            outcomes.append(findings.found)
    sys.exit(any(outcomes))


if __name__ == "__main__":
    main()
