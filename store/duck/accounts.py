"""Reads a program's accounts: one by its id, or pages, those known last first; and figures of one account.

How     An account has a row for each statement on it, and a first one when a transfer names it. Its owner is that of
        the newest row; type, status and object are of the newest row with the bank's object
Errors  ForbiddenError for an account that the tenant has only outside a key's mode
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from clearhold.features.core.plain_text import last_four
from clearhold.features.core.principal import Principal
from clearhold.store.duck.committed_rows import CommittedRows, RowFilter
from clearhold.store.tables import Predicate

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

Place = tuple[int, str, str]
"""Where a page ended: first seen, id and program of its last account."""


class StoredAccount(msgspec.Struct, frozen=True):
    """``owner_id`` is None while unknown; ``raw`` is the bank's masked object, None without one."""

    tenant_id: str
    program_id: str
    id: str
    owner_id: str | None
    owner_told_by: str | None
    type: str | None
    status: str | None
    raw: str | None
    first_seen_at: int
    updated_at: int


_NUMBERS: Final = ("account_number", "default_account_number", "account_number_last_4", "last_4")
_ACCOUNTS: Final = """
    SELECT tenant_id, program_id, id, arg_max(entity_id, "offset") AS owner_id, arg_max(owner_told_by, "offset"),
        arg_max(type, "offset"), arg_max(status, "offset"), arg_max(raw, "offset") FILTER (raw <> '{{}}'),
        epoch_us(min(updated_at)) AS first_seen, epoch_us(max(updated_at))
    FROM accounts WHERE {matching} GROUP BY tenant_id, program_id, id"""
_PAGE: Final = f"""
    SELECT * FROM ({_ACCOUNTS}) WHERE {{kept}} ORDER BY first_seen DESC, id, program_id LIMIT ?"""
_AFTER: Final = "(first_seen < ? OR (first_seen = ? AND (id, program_id) > (?, ?)))"
_USE: Final = """
    SELECT count(DISTINCT id), epoch_us(max(bank_created_at)) FROM transfers
    WHERE tenant_id = ? AND program_id = ? AND account_id = ?"""
_NAME: Final = """
    SELECT name FROM entities WHERE tenant_id = ? AND program_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1"""


class AccountFilter(RowFilter, frozen=True, kw_only=True):
    owner_ids: tuple[str, ...] | None = msgspec.field(default=None, name="entityId")


class AccountUse(NamedTuple):
    """The transfers on an account, and the bank's creation time of the newest."""

    transfers: int
    newest_at: int | None


def last_four_of(raw: str | None) -> str | None:
    """The last four of the number in the bank's object, whose number is masked to them."""
    stored = {} if raw is None else msgspec.json.decode(raw)
    texts = (stored.get(name) for name in _NUMBERS)
    return next((last_four(text) for text in texts if isinstance(text, str) and last_four(text)), None)


class Accounts(CommittedRows):
    def find(self, principal: Principal, account_id: str, program_ids: Sequence[str] | None) -> list[StoredAccount]:
        """The account of that id in each of the programs (None: of the tenant's) within the principal's reach."""
        predicate = Predicate(principal)
        predicate.among("program_id", program_ids)
        predicate.add("id = ?", account_id)
        rows = self._read(_ACCOUNTS.format(matching=predicate.sql) + " ORDER BY program_id", predicate.values)
        if not rows:
            self._require_reach(principal, account_id, program_ids)
        return [StoredAccount(*row) for row in rows]

    def _require_reach(self, principal: Principal, account_id: str, program_ids: Sequence[str] | None) -> None:
        sql = "SELECT program_id FROM accounts WHERE tenant_id = ? AND id = ? LIMIT 1"
        program_id = self._value(sql, [principal.tenant_id, account_id]) if program_ids is None else None
        if program_id is not None:
            principal.finds(program_id)

    def list_page(
        self, principal: Principal, wanted: AccountFilter, after: Place | None, limit: int
    ) -> list[StoredAccount]:
        """At most ``limit`` accounts after ``after``."""
        predicate = wanted.predicate(principal)
        kept, values = ["true"], list[object]()
        if wanted.owner_ids is not None:
            kept.append("list_contains(?, owner_id)")
            values.append([*wanted.owner_ids])
        if after is not None:
            kept.append(_AFTER)
            values += [after[0], *after]
        sql = _PAGE.format(matching=predicate.sql, kept=" AND ".join(kept))
        return [StoredAccount(*row) for row in self._read(sql, [*predicate.values, *values, limit])]

    def use(self, account: StoredAccount) -> AccountUse:
        values = [account.tenant_id, account.program_id, account.id]
        return AccountUse(*self._first(_USE, values))

    def owner_name(self, account: StoredAccount) -> str | None:
        """The owner's newest name; None without an owner, and while it has no name."""
        if account.owner_id is None:
            return None
        return self._value(_NAME, [account.tenant_id, account.program_id, account.owner_id]) or None
