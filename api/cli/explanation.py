"""A transfer's inputs and the card that scored it, from a directory or a service; and the score explained."""

from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
from rich.console import Console
from rich.table import Table

from clearhold.client.client import ClearholdClient
from clearhold.features.catalogue.vector import FEATURE_VERSION, FEATURES, FeatureVector, TransferFeaturesRow
from clearhold.features.core.canonical import json_text
from clearhold.features.core.vocabulary import Reason, Score, band_word
from clearhold.features.measurement.explanation import NO_AMOUNT, UNSCORED, StoredExplained, explained_transfer
from clearhold.features.policy.card_book import TransferCard, card_version
from clearhold.features.scorers.cards import compile_card, read_card
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.store.duck.database import open_to_read
from clearhold.store.duck.inputs import PolicyTable
from clearhold.store.duck.scorings.backfills import newest_of
from clearhold.store.errors import StartupError

PLAIN_WIDTH: Final = 400
_DATABASE: Final = "clearhold.duckdb"
_RUNNING: Final = "If the service runs, name it with --url and --token instead of --data."
_ENCODE: Final = msgspec.json.Encoder().encode


def stored_in(data: Path, transfer_id: str, program_id: str | None) -> tuple[TransferFeaturesRow, TransferCard]:
    """The newest scoring of the transfer, and the card that it was scored with."""
    try:
        with closing(open_to_read(data / _DATABASE)) as connection:
            rows = [row for row in newest_of(connection, transfer_id) if program_id in (None, row.program_id)]
            bodies = {row.program_id: _body_in(connection, row) for row in rows}
    except StartupError as error:
        raise StartupError(f"{error} {_RUNNING}") from error
    except duckdb.Error as error:
        raise StartupError(
            f"{data / _DATABASE} was written by another version; start the service once to update it: {error}"
        ) from error
    if not rows:
        raise StartupError(f"There is no transfer {transfer_id} in {data}.")
    if len(rows) > 1:
        programs = ", ".join(row.program_id for row in rows)
        raise StartupError(f"Several programs have a transfer {transfer_id}; name one with --program: {programs}.")
    return rows[0], _compiled(card_version(rows[0].score_version), bodies[rows[0].program_id])


def stored_at(
    url: str, token: str | None, operator: str, transfer_id: str, program_id: str | None
) -> tuple[TransferFeaturesRow, TransferCard]:
    """As ``stored_in``, of a running service."""
    with ClearholdClient(url, token=token, operator=operator) as client:
        stored = _from_answer(client.transfer(transfer_id, program_id=program_id))
        version = card_version(stored.score_version)
        return stored, _compiled(version, None if version is None else client.scorecard(version))


def _body_in(connection: duckdb.DuckDBPyConnection, row: TransferFeaturesRow) -> dict[str, Any] | None:
    version = card_version(row.score_version)
    return None if version is None else PolicyTable(connection).body(row.program_id, version)


def _compiled(version: str | None, body: dict[str, Any] | None) -> TransferCard:
    """The card of a version, from its body or its description; the default card without a version."""
    if version is None:
        return trs_v1.DEFAULT
    if body is None:
        raise StartupError(f"The card {version} that scored the transfer is not there.")
    card, faults = read_card(_ENCODE(body["card"]))
    for fault in faults:
        raise StartupError(f"This version cannot score with the card {version}: {fault.path} {fault.sentence}.")
    assert card is not None, "a body without a fault is a card"
    return compile_card(card, version=version)


def _from_answer(transfer: dict[str, Any]) -> TransferFeaturesRow:
    """The service's answer as a stored row."""
    inputs = transfer["scoreInputs"]
    if inputs is None or inputs["featureVersion"] != FEATURE_VERSION:
        known = "none" if inputs is None else inputs["featureVersion"]
        raise StartupError(f"The service has features of version {known}; this command knows {FEATURE_VERSION}.")
    features, reasons = inputs["features"], msgspec.convert(inputs["reasons"], tuple[Reason, ...])
    return TransferFeaturesRow(
        transfer["tenantId"],
        transfer["programId"],
        transfer["id"],
        0,
        0,
        0,
        0,
        inputs["featureVersion"],
        transfer["scoreVersion"],
        transfer["score"],
        transfer["scoreBand"],
        transfer["scoreN"],
        transfer["scoreConfidence"],
        any(reason.hard for reason in reasons),
        inputs["degraded"],
        json_text(reasons),
        None,
        False,  # noqa: FBT003 - whether it was scored before is not shown
        FeatureVector(**{feature.column: features[feature.name] for feature in FEATURES}),
    )


def show(stored: TransferFeaturesRow, card: TransferCard) -> bool:
    """Print everything; True if the recomputed score equals the stored one."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    score, whole = card.score(stored.vector, degraded=stored.degraded), explained_transfer(stored, card)
    console.print(f"Transfer {stored.transfer_id} of program {stored.program_id}, {stored.feature_version}")
    console.print(f"Card {card_version(card.version) or card.version}, {card.card.name}, digest {card.sha256}")
    console.print(_inputs(console, stored))
    console.print(_reasons(console, score))
    console.print(_families(console, whole))
    console.print(_scores(console, stored, score))
    if whole.difference is not None:
        console.print(f"DIFFERENT: {whole.difference[0].lower()}{whole.difference[1:]}")
    for sentence in (whole.goes_to_person, *(each.sentence for each in whole.would_be_lower)):
        if sentence is not None:
            console.print(sentence)
    console.print(_change(whole))
    return whole.is_same


def _table(console: Console, *headings: str) -> Table:
    """With borders at a terminal, without when the output is piped."""
    table = Table(title_justify="left") if console.is_terminal else Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _inputs(console: Console, stored: TransferFeaturesRow) -> Table:
    table = _table(console, "input", "value", "unit")
    for feature in FEATURES:
        value = getattr(stored.vector, feature.column)
        table.add_row(feature.name, "not measured" if value is None else str(value), feature.unit)
    table.add_row("degraded", str(stored.degraded), "")
    return table


def _reasons(console: Console, score: Score) -> Table:
    table = _table(console, "reason", "weight", "hard", "sentence")
    for reason in score.reasons:
        table.add_row(reason.id, f"{reason.weight:+d}", "hard" if reason.hard else "", reason.sentence)
    return table


def _scores(console: Console, stored: TransferFeaturesRow, score: Score) -> Table:
    table = _table(console, "", "score", "band", "n", "confidence", "version")
    for name, row in (
        ("stored", (stored.score, stored.band, stored.n, stored.confidence, stored.score_version)),
        ("recomputed", (score.value, band_word(score.value), score.n, score.confidence, score.version)),
    ):
        table.add_row(name, *("-" if cell is None else str(cell) for cell in row))
    return table


def _families(console: Console, whole: StoredExplained) -> Table:
    table = _table(console, "family", "points", "cap", "counts")
    for each in whole.families:
        table.add_row(
            each.family or "none", str(each.points), "-" if each.cap is None else str(each.cap), str(each.counts)
        )
    return table


def _change(whole: StoredExplained) -> str:
    if whole.score is None:
        return UNSCORED
    return NO_AMOUNT if whole.nearest_amount is None else whole.nearest_amount.sentence
