"""The key risk indicators counted anew from all transfers, parties, alerts and entries of a stream."""

import json
from collections import Counter
from typing import Any, Final

import msgspec

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.instants import (
    DAY_US,
    DAYS_7,
    DAYS_30,
    DAYS_60,
    HOUR_US,
    datetime_of,
    instant_of,
    parse_instant,
)
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.money import ACH_TYPES, RAIL_CLASSES, money_leaves
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.parties import AccountRow
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.policy.seeds import KRI_V1, LADDER_V1
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import ReturnState

UNAUTHORIZED: Final = {"R05", "R07", "R10", "R11", "R29", "R51"}
ADMINISTRATIVE: Final = {"R02", "R03", "R04"}
BANDS: Final = ((70, LADDER_V1.rescreen_days.hold), (30, LADDER_V1.rescreen_days.review))

NO_RETURN: Final = ReturnState(None, None, 0, undone=False)

Answer = tuple[float | None, int]


def _share(part: float, whole: float, n: int) -> Answer:
    return (part / whole, n) if n and whole else (None, 0)


class Recomputed:
    """Everything that a program was told, looked through from the beginning for each answer."""

    def __init__(self, program: ProgramState, entries: list[LogEntry], rows: list[msgspec.Struct], now: int) -> None:
        self.program, self.entries, self.rows, self.now = program, entries, rows, now
        self.transfers = [StoredTransfer.read(program, row) for row in range(len(program.transfers))]

    def answers(self) -> dict[KriName, Answer]:
        return dict(
            zip(
                KriName,
                (
                    *self._rates(),
                    self._reserve(),
                    *self._agings(),
                    *self._accounts(),
                    *self._volumes(),
                    self._concentration(),
                    self._denials(),
                    *self._cards(),
                    self._outside(),
                    self._holds(),
                    self._stale(),
                ),
                strict=True,
            )
        )

    def _among(self, span: int, *, moved: bool = True) -> list[StoredTransfer]:
        return [
            each
            for each in self.transfers
            if self.now - span < each.record.at <= self.now and (each.record.moved or not moved)
        ]

    def _ach(self, ach_type: str) -> list[StoredTransfer]:
        return [
            each
            for each in self.transfers
            if each.record.moved
            and each.record.cents
            and RAIL_CLASSES[each.record.class_id] == ("ach", "outgoing")
            and ACH_TYPES[each.record.ach_type] == ach_type
        ]

    def _in_window(self, sent: list[StoredTransfer]) -> list[StoredTransfer]:
        return [each for each in sent if self.now - DAYS_60 < each.record.at <= self.now]

    def _returned(self, sent: list[StoredTransfer], codes: set[str] | None = None) -> int:
        returns = [each.returned() for each in sent]
        return sum(
            state is not None
            and state.counts
            and self.now - DAYS_60 < state.at <= self.now
            and (codes is None or state.code in codes)
            for state in returns
        )

    def _rates(self) -> list[Answer]:
        debits, credits_sent = self._ach("DEBIT"), self._ach("CREDIT")
        text = self.program.strings.text
        but_rck = [each for each in debits if text(each.record.sec_code) != "RCK"]
        n, n_but_rck, n_credits = (len(self._in_window(each)) for each in (debits, but_rck, credits_sent))
        return [
            _share(self._returned(debits, UNAUTHORIZED), n, n),
            _share(self._returned(debits, ADMINISTRATIVE), n, n),
            _share(self._returned(but_rck), n_but_rck, n_but_rck),
            _share(self._returned(credits_sent), n_credits, n_credits),
        ]

    def _bank_events(self) -> list[tuple[str, dict[str, Any], int]]:
        """Type, object and time of each event, once."""
        events: dict[str, tuple[str, dict[str, Any], int]] = {}
        for entry in self.entries:
            if entry.kind == EntryKind.BANK:
                event = json.loads(entry.body)
                created_at = parse_instant(event["created_at"])
                assert created_at is not None
                events.setdefault(event["id"], (event["type"], event["data"], min(created_at, entry.appended_at)))
        return list(events.values())

    def _reserve(self) -> Answer:
        declared = [json.loads(entry.body) for entry in self.entries if entry.kind == EntryKind.PROGRAM]
        account = declared[-1].get("programReserveAccountId") if declared else None
        told = []
        for place, (kind, data, at) in enumerate(self._bank_events()):
            if kind.startswith("account.") and data.get("id") == account and "balances" in data:
                held = {name.split("_")[0]: int(cents) for name, cents in data["balances"].items()}
                told.append((at, place, held["available"] + held["locked"]))
        debits = [each for each in self._in_window(self._ach("DEBIT")) if not (each.returned() or NO_RETURN).counts]
        if account is None or not told:
            return None, 0
        unauthorized, _, overall, _ = (rate or 0 for rate, _ in self._rates())
        midnight = self.now // DAY_US * DAY_US
        weekdays = 0
        while weekdays < 2:
            midnight -= DAY_US
            weekdays += datetime_of(midnight).weekday() < 5
        recent = sum(each.cents() or 0 for each in debits if each.record.at >= midnight)
        every = sum(each.cents() or 0 for each in debits)
        exposure = recent * max(overall, KRI_V1.fleet_overall_return_rate) + every * max(
            unauthorized, KRI_V1.fleet_unauthorized_return_rate
        )
        return _share(max(told)[2], float(f"{exposure:.15g}"), len(debits))

    def _agings(self) -> list[Answer]:
        alerts = {row.id: row for row in self.rows if isinstance(row, AlertRow)}.values()
        of_others = [each for each in alerts if each.subject_type != "program"]
        waiting = [each for each in of_others if each.status in {"open", "held", "escalated"}]
        held = [each for each in waiting if each.status == "held" or each.band_at_alert == "hold"]
        return [self._p90([each for each in waiting if each.band_at_alert == "review"]), self._p90(held)]

    def _p90(self, alerts: list[AlertRow]) -> Answer:
        ages = sorted((self.now - each.opened_at) / HOUR_US for each in alerts)
        n = len(ages)
        return next(((age, n) for place, age in enumerate(ages, 1) if place * 10 >= n * 9), (None, 0))

    def _accounts(self) -> list[Answer]:
        overdrafts, freezes = set(), set()
        declared = {entry.offset for entry in self.entries if entry.kind == EntryKind.PROGRAM}
        named = {row.id for row in self.rows if isinstance(row, AccountRow) and row.offset not in declared}
        for kind, data, at in self._bank_events():
            if kind.startswith("account."):
                account = data.get("bank_account_id") or data["id"]
                if self.now - DAYS_30 < at <= self.now:
                    overdrafts |= {account} if kind == "account.overdrafted" else set()
                    freezes |= {(account, at)} if kind == "account.frozen" else set()
        n = len(named)
        return [(len(overdrafts), n), (len(freezes), n)] if n else [(None, 0)] * 2

    def _volumes(self) -> list[Answer]:
        times = [each.record.at for each in self.transfers if each.record.moved]
        age = self.now - min(times, default=self.now)
        span = min(DAYS_30, age)
        day, month = self._sum(DAY_US), self._sum(DAYS_30)
        with_data = {each.record.at // DAY_US for each in self._among(DAYS_30) if each.cents() is not None}
        velocity = _share(day * span, month * DAY_US, len(with_data)) if age >= DAYS_7 else (None, 0)
        first = instant_of(datetime_of(self.now).replace(day=1, hour=0, minute=0, second=0, microsecond=0))
        to_date = [each for each in self._among(self.now - first + 1) if each.cents() is not None]
        declared = self.program.declared_at(self.now).monthly_volume_cents
        use = _share(sum(each.cents() or 0 for each in to_date), declared or 0, len(to_date))
        return [velocity, use]

    def _sum(self, span: int) -> int:
        return sum(each.cents() or 0 for each in self._among(span))

    def _concentration(self) -> Answer:
        paid = Counter[int]()
        for each in self._among(DAYS_30):
            if money_leaves(*RAIL_CLASSES[each.record.class_id], ACH_TYPES[each.record.ach_type]):
                paid[each.record.counterparty] += each.cents() or 0
        known = {party: cents for party, cents in paid.items() if party >= 0 and cents}
        return _share(max(known.values(), default=0), paid.total(), len(known))

    def _denials(self) -> Answer:
        decided = []
        for actor in self.program.actors:
            newest, former = None, None
            for profile in (*actor.earlier_profiles, actor.profile):
                status = profile.words.verification_status
                if status in {"VERIFIED", "DENIED"} and status != former:
                    newest = (profile.known_at, status)
                former = status
            if newest is not None and newest[0] > self.now - DAYS_30:
                decided.append(newest[1])
        return _share(decided.count("DENIED"), len(decided), len(decided))

    def _cards(self) -> list[Answer]:
        text = self.program.strings.text
        every = [
            (text(each.record.status), text(each.record.card_reason))
            for each in self._among(DAYS_30, moved=False)
            if RAIL_CLASSES[each.record.class_id] == ("card", "outgoing")
        ]
        declines = [reason for status, reason in every if status == "DECLINED"]
        fraud = [reason for reason in declines if reason in {"PIN_OR_CVV", "SUSPECTED_FRAUD"}]
        return [_share(len(part), len(every), len(every)) for part in (declines, fraud)]

    def _outside(self) -> Answer:
        outside, n = 0, 0
        for each in self._among(DAYS_30, moved=False):
            declared = self.program.declared_at(each.record.at)
            rails, countries = declared.rails.split(","), declared.countries.split(",")
            country = self.program.strings.text(each.record.country)
            of_rail = RAIL_CLASSES[each.record.class_id][0] not in rails if declared.rails else None
            of_country = country not in countries if declared.countries and country else None
            n += of_rail is not None or of_country is not None
            outside += bool(of_rail or of_country)
        return _share(outside, n, n)

    def _holds(self) -> Answer:
        scores = [each.record.score for each in self._among(DAYS_30, moved=False) if each.record.score >= 0]
        return _share(sum(score >= 70 for score in scores), len(scores), len(scores))

    def _stale(self) -> Answer:
        stale, n = 0, 0
        for actor in self.program.actors:
            profile = actor.profile
            if not (profile.words.requires_screening or profile.last_screened_at is not None):
                continue
            score = self.program.scores.actors.value(actor.index)
            days = LADDER_V1.rescreen_days.unscored if score is None else LADDER_V1.rescreen_days.clear
            days = next((cadence for floor, cadence in BANDS if score is not None and score >= floor), days)
            screened_at = profile.last_screened_at
            n += 1
            stale += screened_at is None or max(0, self.now - screened_at) // DAY_US > days
        return _share(stale, n, n)
