"""The results of a run: the service's alerts and scores, from its API, compared with the planted stories.

A telling is caught when one of its story's detectors opened or joined an alert on one of its transfers. A telling that
was under way when the demo stopped is not counted, nor are its transfers everyday ones. An everyday alert is one that a
person has to decide and that names no planted transfer.
"""

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from clearhold.client.client import ClearholdClient
from clearhold.demo.ledger import Ledger, Telling
from clearhold.demo.stage import Access
from clearhold.demo.stories import DETECTORS_OF

PAGE: Final = "100"
MAX_PAGES: Final = 1_000
WARM_UP: Final = timedelta(days=30)
STEADY_S: Final = 1.0
STEADY_WITHIN_S: Final = 20.0


class StoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of tellings; ``detectors``: the number of tellings in which each fired, the story's own first."""

    name: str
    planted: int
    caught: int
    asked: int
    held: int
    reviewed: int
    waved_on: int
    detectors: tuple[tuple[str, int], ...]
    missed: tuple[Telling, ...]


class EverydayResult(msgspec.Struct, frozen=True, kw_only=True):
    """A program's everyday transfers after its first 30 days."""

    program: str
    transfers: int
    alerts: int
    detectors: tuple[tuple[str, int], ...]
    in_review: int
    in_hold: int

    @property
    def alerts_per_1_000(self) -> float | None:
        return None if self.transfers == 0 else 1_000 * self.alerts / self.transfers


class Results(msgspec.Struct, frozen=True, kw_only=True):
    stories: tuple[StoryResult, ...]
    untold: tuple[str, ...]
    under_way: int
    everyday: tuple[EverydayResult, ...]


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """All transfers and alerts of a program."""

    transfers: tuple[dict[str, Any], ...]
    alerts: tuple[dict[str, Any], ...]


def read_results(client: ClearholdClient, programs: dict[str, Access], ledger: Ledger) -> Results:
    """Wait until no further alert comes, then read every transfer and alert."""
    _await_steady(client, programs)
    readings = {
        slug: Readings(
            transfers=_every(client.transfers, access.program_id), alerts=_every(client.alerts, access.program_id)
        )
        for slug, access in programs.items()
    }
    return results_of(readings, ledger)


def results_of(readings: dict[str, Readings], ledger: Ledger) -> Results:
    by_story: dict[str, list[Telling]] = {name: [] for name in DETECTORS_OF}
    complete = [telling for telling in ledger.tellings.values() if telling.complete]
    for telling in complete:
        by_story[telling.story].append(telling)
    fired = {slug: _fired(reading.alerts) for slug, reading in readings.items()}
    planted = {transfer_id for telling in ledger.tellings.values() for transfer_id in telling.transfer_ids}
    return Results(
        stories=tuple(_story(name, told, fired) for name, told in by_story.items() if told),
        untold=tuple(name for name, told in by_story.items() if not told),
        under_way=len(ledger.tellings) - len(complete),
        everyday=tuple(_everyday(slug, reading, planted) for slug, reading in readings.items()),
    )


def _story(name: str, told: list[Telling], fired: dict[str, dict[str, set[str]]]) -> StoryResult:
    own = DETECTORS_OF[name]
    counts: Counter[str] = Counter()
    missed = []
    for telling in told:
        detectors = set().union(*(fired[telling.program].get(one, ()) for one in telling.transfer_ids))
        counts.update(detectors)
        if detectors.isdisjoint(own):
            missed.append(telling)
    answers = [answer for telling in told for answer in telling.answers]
    return StoryResult(
        name=name,
        planted=len(told),
        caught=len(told) - len(missed),
        asked=len(answers),
        held=answers.count("hold"),
        reviewed=answers.count("review"),
        waved_on=answers.count("clear"),
        detectors=tuple(sorted(counts.items(), key=lambda item: (item[0] not in own, -item[1], item[0]))),
        missed=tuple(missed),
    )


def _everyday(program: str, reading: Readings, planted: set[str]) -> EverydayResult:
    created = [_instant(transfer["bankCreatedAt"]) for transfer in reading.transfers]
    since = min(created) + WARM_UP if created else None
    everyday = [
        transfer
        for transfer, at in zip(reading.transfers, created, strict=True)
        if transfer["id"] not in planted and since is not None and at >= since
    ]
    alerts = [
        alert
        for alert in reading.alerts
        if alert["route"] == "reviewed"
        and planted.isdisjoint(_transfers_of(alert))
        and since is not None
        and _instant(alert["evidence"].get("firstAt") or alert["openedAt"]) >= since
    ]
    bands = Counter(transfer["scoreBand"] for transfer in everyday)
    return EverydayResult(
        program=program,
        transfers=len(everyday),
        alerts=len(alerts),
        detectors=tuple(Counter(alert["detector"] for alert in alerts).most_common()),
        in_review=bands["review"],
        in_hold=bands["hold"],
    )


def _fired(alerts: tuple[dict[str, Any], ...]) -> dict[str, set[str]]:
    """By transfer, the detectors whose alerts name it."""
    fired: dict[str, set[str]] = {}
    for alert in alerts:
        for transfer_id in _transfers_of(alert):
            fired.setdefault(transfer_id, set()).add(alert["detector"])
    return fired


def _transfers_of(alert: dict[str, Any]) -> set[str]:
    """The transfers of the finding; and, except on a program, its supporting transfers."""
    evidence = alert["evidence"]
    named = {alert["transferId"], *evidence.get("transferIds", ())} - {None}
    return named if alert["subjectType"] == "program" else named | set(evidence.get("restsOn", ()))


def _await_steady(client: ClearholdClient, programs: dict[str, Access]) -> None:
    deadline = time.monotonic() + STEADY_WITHIN_S
    before: object = None
    while time.monotonic() < deadline:
        newest = [(client.alerts(programId=access.program_id, limit=PAGE)["data"]) for access in programs.values()]
        if newest == before:
            return
        before = newest
        time.sleep(STEADY_S)


def _every(read: Callable[..., dict[str, Any]], program_id: str) -> tuple[dict[str, Any], ...]:
    query = {"programId": program_id, "limit": PAGE}
    rows: list[dict[str, Any]] = []
    for _ in range(MAX_PAGES):
        page = read(**query)
        rows += page["data"]
        if not page["hasMore"]:
            break
        query["cursor"] = page["nextCursor"]
    return tuple(rows)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
