"""``clearhold explain``: over a stopped service's data, over a running one, and what it says when scores differ."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import typer
from typer.testing import CliRunner, Result

from clearhold.api.cli.explain import explain
from clearhold.features.catalogue.vector import FEATURE_VERSION, FEATURES, FeatureVector, TransferFeaturesRow
from clearhold.features.core.instants import format_instant
from clearhold.features.core.rows.alerts import PolicyRow
from clearhold.features.core.scorecards import scorecard_sha256
from clearhold.features.measurement.assessment import smallest_change
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.tables import row_tables
from tests.support.bank_events import an_ach_transfer, an_event
from tests.support.builders import a_vector
from tests.support.duck_rows import AT, PROGRAM, some_features
from tests.support.fake_service import fake_service
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.scorecards import a_card, a_report

TRANSFER: Final = "acht_1"
NO_HEADER: Final = "must be printable ASCII characters, without a space at either end."
DEFAULT_LINE: Final = f"Card trs-v1, trs-v1, digest {trs_v1.DEFAULT.sha256}"
SPIKE: Final = a_vector(amount_cents=9_400_00, counterparty_first_time=True, counterparty_n=0)


def a_scoring(vector: FeatureVector = SPIKE, **over: Any) -> TransferFeaturesRow:
    """A degraded transfer, scored as the service scores."""
    score = trs_v1.DEFAULT.score(vector, degraded=True)
    usual: dict[str, Any] = {
        "transfer_id": TRANSFER,
        "feature_version": FEATURE_VERSION,
        "score": score.value,
        "band": score.band.value,
        "n": score.n,
        "confidence": score.confidence,
        "hard": score.hard,
        "degraded": True,
        "reasons": msgspec.json.encode(score.reasons).decode(),
        "vector": vector,
    }
    return some_features(**usual | over)


def stored(folder: Path, *rows: TransferFeaturesRow) -> str:
    with closing(open_database(folder / "clearhold.duckdb")) as database:
        BatchWriter(database).commit(row_tables({TransferFeaturesRow: rows}), {}, AT)
    return str(folder)


def with_card(folder: Path, row: TransferFeaturesRow, card: Any) -> str:
    """A data directory in which the card that scored the transfer came into force."""
    folder.mkdir()
    body = msgspec.json.encode({"card": card}).decode()
    in_force = PolicyRow("ten_1", PROGRAM, "scorecard-v3", 0, 0, False, "act_1", "", body, AT)  # noqa: FBT003
    with closing(open_database(folder / "clearhold.duckdb")) as database:
        BatchWriter(database).commit(row_tables({TransferFeaturesRow: [row], PolicyRow: [in_force]}), {}, AT)
    return str(folder)


def explained(*options: str, transfer: str = TRANSFER, **variables: str) -> Result:
    app = typer.Typer()
    app.command()(explain)
    app.command("other")(lambda: None)
    return CliRunner(env=variables).invoke(app, ["explain", transfer, *options])


def test_given_a_stored_scoring_when_explained_then_inputs_reasons_and_the_same_score_are_printed(
    tmp_path: Path,
) -> None:
    row = a_scoring()
    score = trs_v1.DEFAULT.score(row.vector, degraded=True)
    assert score.reasons

    result = explained("--data", stored(tmp_path, a_scoring(offset=0, score=1), row))

    assert result.exit_code == 0, result.output
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0] == f"Transfer {TRANSFER} of program {PROGRAM}, {FEATURE_VERSION}"
    assert lines[1] == DEFAULT_LINE
    for feature in FEATURES:
        value = getattr(row.vector, feature.column)
        shown = "not measured" if value is None else str(value)
        assert any(re.fullmatch(rf"{re.escape(feature.name)}\s+{re.escape(shown)}(\s+.*)?", line) for line in lines)
    for reason in score.reasons:
        assert any(line.startswith(reason.id) and line.endswith(reason.sentence) for line in lines)
    kept, again = (next(line.split() for line in lines if line.startswith(word)) for word in ("stored", "recomputed"))
    assert kept[1:] == again[1:] == [str(score.value), score.band, str(score.n), str(score.confidence), "trs-v1"]
    change = smallest_change(row.vector, trs_v1.DEFAULT, degraded=True)
    assert change is not None
    assert f"it would have been {change.band} with {change.score} points." in lines[-1]


@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ({"score": 99}, "not what these inputs give now"),
        ({"confidence": 0.99}, "not what these inputs give now"),
        ({"reasons": '[{"id":"TRS-X-01","signal":"x","weight":7,"hard":false,"sentence":"X."}]'}, "TRS-X-01 +7"),
        ({"feature_version": "features-v0"}, "the inputs are features-v0"),
    ],
)
def test_given_a_stored_score_that_its_inputs_do_not_give_when_explained_then_it_is_said_and_the_code_is_1(
    tmp_path: Path, over: dict[str, Any], sentence: str
) -> None:
    result = explained("--data", stored(tmp_path, a_scoring(**over)))

    assert result.exit_code == 1
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("DIFFERENT: ")]
    assert sentence in line


def test_given_too_little_history_when_explained_then_no_amount_is_named(tmp_path: Path) -> None:
    unscored = a_vector(entity_prior_transfers=0, program_n_90d=3)

    result = explained("--data", stored(tmp_path, a_scoring(unscored)))

    assert result.exit_code == 0
    assert "Unscored: there is too little history" in result.stdout


def test_given_one_id_in_two_programs_when_explained_then_the_program_has_to_be_named(tmp_path: Path) -> None:
    data = stored(tmp_path, a_scoring(), a_scoring(program_id="prg_2"))

    both, one = explained("--data", data), explained("--data", data, "--program", "prg_2")

    assert (both.exit_code, one.exit_code) == (2, 0)
    assert "prg_1, prg_2" in both.stderr
    assert "of program prg_2" in one.stdout


@pytest.mark.parametrize(
    "options", [(), ("--url", "http://127.0.0.1:1"), ("--data", "d", "--url", "http://u", "--token", "t")]
)
def test_given_no_place_or_two_when_asked_then_it_is_said_what_to_name(options: tuple[str, ...]) -> None:
    result = explained(*options)

    assert result.exit_code == 2
    assert "Name either --data, or --url with --token." in result.stderr


def test_given_a_directory_beside_the_variables_of_a_service_when_explained_then_the_option_wins(
    tmp_path: Path,
) -> None:
    data = stored(tmp_path, a_scoring())

    result = explained("--data", data, CLEARHOLD_URL="http://127.0.0.1:1", CLEARHOLD_TOKEN="t")

    assert (result.exit_code, f"Transfer {TRANSFER} of program" in result.stdout) == (0, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--url", "127.0.0.1:8080"), "--url (CLEARHOLD_URL) must be an http:// or https:// address.\n"),
        (("--token", "\u201ctest_1\u201d"), f"--token (CLEARHOLD_TOKEN) {NO_HEADER}\n"),
        (("--token", "test_1\n"), f"--token (CLEARHOLD_TOKEN) {NO_HEADER}\n"),
        (("--token", "test_1 "), f"--token (CLEARHOLD_TOKEN) {NO_HEADER}\n"),
        (("--token", ""), f"--token (CLEARHOLD_TOKEN) {NO_HEADER}\n"),
        (("--operator", "Zo\u00eb"), f"--operator {NO_HEADER}\n"),
    ],
)
def test_given_an_option_that_no_request_can_carry_when_explained_then_a_sentence_names_it(
    options: tuple[str, ...], sentence: str
) -> None:
    result = explained(*options, CLEARHOLD_URL="http://127.0.0.1:1", CLEARHOLD_TOKEN="t")

    assert (result.exit_code, result.stderr) == (2, sentence)


def test_given_no_such_transfer_or_directory_when_asked_then_a_sentence(tmp_path: Path) -> None:
    nothing = explained("--data", str(tmp_path / "nothing"))
    other = explained("--data", stored(tmp_path, a_scoring(transfer_id="another")))

    assert (nothing.exit_code, other.exit_code) == (2, 2)
    assert "There is no database" in nothing.stderr
    assert f"There is no transfer {TRANSFER}" in other.stderr


def card_in_force(service: RunningService, token: str) -> None:
    """Bring a bank's own card into force, by two people."""
    headers = {"Authorization": f"Bearer {token}", "X-Operator": "ann", "Content-Type": "application/json"}

    def send(path: str, body: Any, expect: int = 201) -> dict[str, Any]:
        return service.ask("POST", path, headers, msgspec.json.encode(body), expect=expect)

    version = send("/api/scorecards", {"card": a_card()})["version"]
    made_at = format_instant(SystemClock().now())
    send(f"/api/scorecards/{version}/reports", {"report": a_report(a_card(), made_at)})
    action = send(f"/api/scorecards/{version}/activate", {})
    approved = send(f"/api/actions/{action['id']}/approve", {"approverId": "ben"}, expect=200)
    assert approved["status"] == "executed", approved


def test_given_a_running_service_when_explained_over_http_then_it_is_what_its_data_says_after_the_stop(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data") as service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        described = {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"}
        program = service.admin("/api/admin/programs", described)
        names = [f"acht_{number}" for number in range(9)]
        bodies = [
            an_event(
                "ach.outgoing_transfer.initiated", an_ach_transfer(id=name, amount=9_900_00), event_id=f"evnt_{name}"
            )
            for name in names
        ]
        token = tenant["operatorToken"]
        post_until_taken(service, program, bodies[:-1], within_s=60)
        card_in_force(service, token)
        post_until_taken(service, program, bodies[-1:], within_s=60)
        wait_until_committed(service, token, names[-1])
        place = ("--url", f"http://127.0.0.1:{service.port}", "--token", token)
        over_http = explained(*place, "--program", program["id"])
        own_over_http = explained(*place, transfer=names[-1])
        unknown = explained(*place, "--program", "0b0c4a53-0000-4000-8000-000000000001")
        in_use = explained("--data", str(service.data))
        service.stop()

    after = explained("--data", str(tmp_path / "data"))
    own_after = explained("--data", str(tmp_path / "data"), transfer=names[-1])

    assert over_http.exit_code == after.exit_code == 0, over_http.output
    assert over_http.stdout == after.stdout
    assert own_over_http.exit_code == own_after.exit_code == 0, own_over_http.output
    assert own_over_http.stdout == own_after.stdout
    own = f"Card scorecard-v1, {a_card().name}, digest {scorecard_sha256(a_card())}"
    assert [each.stdout.splitlines()[1].rstrip() for each in (after, own_after)] == [DEFAULT_LINE, own]
    assert (unknown.exit_code, in_use.exit_code) == (2, 2)
    assert "Unknown program" in unknown.stderr
    assert "clearhold.duckdb is in use: a service has it open. If the service runs, name it with --url" in in_use.stderr


def test_given_a_service_of_another_version_when_asked_over_http_then_a_sentence() -> None:
    with fake_service() as service:
        told = {"id": TRANSFER, "scoreInputs": {"featureVersion": "features-v9"}}
        service.answers[f"/api/transfers/{TRANSFER}"] = (200, told)
        result = explained(CLEARHOLD_URL=service.url, CLEARHOLD_TOKEN="t")

    assert result.exit_code == 2
    assert "features of version features-v9" in result.stderr


@pytest.mark.parametrize(
    ("change", "fault"),
    [({"weather": 1}, "Has a property that a card does not have"), ({"floor": 0}, "floor does not fit")],
)
def test_given_a_card_that_this_version_does_not_know_when_explained_then_its_fault_is_named(
    tmp_path: Path, change: dict[str, Any], fault: str
) -> None:
    body = msgspec.json.encode({"card": msgspec.to_builtins(a_card()) | change}).decode()
    data = stored(tmp_path, a_scoring(score_version="trs-v1+scorecard-v3"))
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        in_force = PolicyRow("ten_1", PROGRAM, "scorecard-v3", 0, 0, False, "act_1", "", body, AT)  # noqa: FBT003
        BatchWriter(database).commit(row_tables({PolicyRow: [in_force]}), {}, AT)

    result = explained("--data", data)

    assert (result.exit_code, "cannot score with the card scorecard-v3" in result.stderr) == (2, True)
    assert fault.lower() in result.stderr.lower()


def test_given_a_score_of_a_card_when_explained_then_the_card_that_gave_it_reproduces_it(tmp_path: Path) -> None:
    card = compile_card(a_card(points=35), version="scorecard-v3")
    score = card.score(SPIKE, degraded=True)
    row = a_scoring(
        score=score.value,
        band=score.band.value,
        score_version=score.version,
        reasons=msgspec.json.encode(score.reasons).decode(),
    )

    lacking = explained("--data", stored(tmp_path, row))
    strange = explained("--data", with_card(tmp_path / "strange", row, {"scorer": "trs", "slope": 1}))
    result = explained("--data", with_card(tmp_path / "known", row, card.card))

    assert score.value != trs_v1.DEFAULT.score(SPIKE, degraded=True).value
    assert (lacking.exit_code, "scorecard-v3" in lacking.output) == (2, True)
    assert (strange.exit_code, "cannot score with the card scorecard-v3" in strange.output) == (2, True)
    assert result.exit_code == 0, result.output
    again = next(line.split() for line in result.stdout.splitlines() if line.startswith("recomputed"))
    assert again[-1] == "trs-v1+scorecard-v3"
    assert f"Card scorecard-v3, {card.card.name}, digest {card.sha256}" in result.stdout.splitlines()[1]
