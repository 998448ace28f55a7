"""A program's bank accounts, for reading. An account without a known owner acts alone; once its owner is known, its
transfers count as the owner's, and the score is the owner's.

Errors  NotFoundError for an account or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them, and for a cursor of another list; UnavailableError while the
        state has no owner
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import BankIds, CursorText, PageLimit, ProgramIds
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, ListReader, Place, to_answer
from clearhold.api.parties.routes import PartyQuery
from clearhold.api.program_service import several_programs
from clearhold.api.programs.routes import PROGRAM_ID, TENANT_ID
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import KeyScope, Principal, Simulated
from clearhold.features.core.vocabulary import ActorType, Band, about
from clearhold.features.shard.questions import ReadScores
from clearhold.store.duck.accounts import AccountFilter, Accounts, AccountUse, StoredAccount, last_four_of
from clearhold.store.duck.alert_lists import AlertLists
from clearhold.store.duck.alerts import AlertFilter

_TAG: Final = "accounts"
MOST_ALERTS: Final = 100


class AccountsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    entity_id: BankIds | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class AccountSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, about("The bank's id of the account.")]
    tenant_id: str
    program_id: str
    type: Annotated[str | None, about("The bank's word; null while only transfers name it.")]
    status: Annotated[str | None, about("The bank's word; null while only transfers name it.")]
    account_last4: Annotated[str | None, about("Last four of the account number; null when unknown.")]
    entity_id: Annotated[str | None, about("Its owner; null while unknown: then it acts alone.")]
    owner_told_by: Annotated[str | None, about("Who stated the owner: bank, or an operator; null without an owner.")]
    first_seen_at: Annotated[str, about("When a transfer or the bank first named it here.")]
    updated_at: str
    simulated: Simulated = msgspec.UNSET


class Account(AccountSummary, frozen=True, kw_only=True, rename="camel"):
    owner_name: Annotated[str | None, about("Name of the owner; null while unknown.")]
    score: Annotated[int | None, about("The owner's score of now; null without an owner, and while unscored.")]
    band: Annotated[Band | None, about("Band of that score; null without an owner.")]
    transfer_count: Annotated[int, about("How many transfers are on it.")]
    last_transfer_at: Annotated[str | None, about("When the bank created the newest of them; null without one.")]
    alert_ids: Annotated[
        tuple[str, ...], about(f"Alerts about it or on a transfer of it, the worst first, at most {MOST_ALERTS}.")
    ]


class AccountPage(ListPage[AccountSummary], frozen=True, kw_only=True, rename="camel"):
    pass


class AccountFinder:
    """Finds the one account of an id, on the named program or on any within reach. For worker threads."""

    def __init__(self, resources: Resources) -> None:
        self._programs, self.accounts = resources.programs, Accounts(resources.stores.database)

    def find(self, principal: Principal, account_id: str, program_id: str | None) -> StoredAccount:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        accounts = self.accounts.find(principal, account_id, named)
        if not accounts:
            raise NotFoundError("Unknown account on this tenant.", ErrorCode.ACCOUNT_NOT_FOUND)
        if len(accounts) > 1:
            raise several_programs("an account")
        return accounts[0]


class AccountService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._finder = resources.programs, AccountFinder(resources)
        self._accounts, self._owner, self._clock = self._finder.accounts, stores.owner, stores.clock
        self._alerts = AlertLists(stores.database, resources.waiting_alerts)
        self._list = ListReader(self._accounts.list_page, lambda _, rows: self._summaries(rows), _place, _key)

    async def page(self, principal: Principal, query: AccountsQuery) -> AccountPage:
        """Those known last first; a programId of another tenant is a 404."""
        named = self._programs.filter_by(principal, query.program_id)
        wanted = AccountFilter(program_ids=named, owner_ids=query.entity_id)
        return AccountPage.of(*await self._list.page(principal, wanted, query))

    async def read(self, principal: Principal, account_id: str, query: PartyQuery) -> Account:
        stored, use, name, alert_ids = await in_reader(self._read, principal, account_id, query.program_id)
        score = None
        if stored.owner_id is not None:
            question = ReadScores(ActorType.ENTITY, (stored.owner_id,), self._clock.now())
            (score,) = (await self._owner.query(stored.program_id, question)).value
        account = to_answer(
            stored,
            Account,
            **_words(stored),
            owner_name=name,
            score=None if score is None else score.value,
            band=None if score is None else score.band,
            transfer_count=use.transfers,
            last_transfer_at=None if use.newest_at is None else format_instant(use.newest_at),
            alert_ids=alert_ids,
        )
        return self._programs.marked(account, stored.program_id)

    def _read(
        self, principal: Principal, account_id: str, program_id: str | None
    ) -> tuple[StoredAccount, AccountUse, str | None, tuple[str, ...]]:
        stored = self._finder.find(principal, account_id, program_id)
        wanted = AlertFilter(program_ids=(stored.program_id,), account_ids=(stored.id,))
        alerts = self._alerts.page(principal, wanted, None, MOST_ALERTS)
        return (
            stored,
            self._accounts.use(stored),
            self._accounts.owner_name(stored),
            tuple(key[0] for key in alerts.keys),
        )

    def _summaries(self, rows: Sequence[StoredAccount]) -> list[AccountSummary]:
        return [self._programs.marked(to_answer(row, AccountSummary, **_words(row)), row.program_id) for row in rows]


def _words(stored: StoredAccount) -> dict[str, Any]:
    """The fields that are not columns of the row."""
    return {"account_last4": last_four_of(stored.raw), "entity_id": stored.owner_id}


def _place(account: StoredAccount) -> Place:
    return Place(account.first_seen_at, account.id, account.program_id)


def _key(place: Place) -> tuple[int, str, str]:
    return place.at, place.id, place.program_id


ACCOUNT_SUMMARY: Final[dict[str, Any]] = {
    "id": "bacc_2zExample0001",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "type": "checking",
    "status": "open",
    "accountLast4": "7899",
    "entityId": "enti_2zExample0001",
    "ownerToldBy": "bank",
    "firstSeenAt": "2026-03-02T15:04:05.000Z",
    "updatedAt": "2026-03-02T15:04:05.000Z",
}
ACCOUNT: Final[dict[str, Any]] = ACCOUNT_SUMMARY | {
    "ownerName": "Ada Example",
    "score": 20,
    "band": "clear",
    "transferCount": 3,
    "lastTransferAt": "2026-03-02T15:04:05.000Z",
    "alertIds": [],
}
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.ALERTS_READ)
_LIST: Final = _operation(
    id="listAccounts",
    summary="Bank accounts of programs, those known last first.",
    answers={200: AccountPage},
    query=RequestSchema(AccountsQuery),
    answer_example={"data": [ACCOUNT_SUMMARY], "hasMore": False, "nextCursor": None},
)
_READ: Final = _operation(
    id="getAccount",
    summary="One account with its owner, the owner's score of now, transfers and alerts. "
    "400 if several programs have an account of that id and programId names none of them.",
    answers={200: Account},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.ACCOUNT_NOT_FOUND),
    asks_owner=True,
    answer_example=ACCOUNT,
    query=RequestSchema(PartyQuery),
)


AREA: Final = Area(
    routes=(
        answer_route("/api/accounts", _LIST, _TAG, AccountService.page),
        answer_route("/api/accounts/{account_id:str}", _READ, _TAG, AccountService.read),
    ),
    provide={_TAG: AccountService},
)
