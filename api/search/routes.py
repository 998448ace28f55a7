"""One line of text finds things of a tenant: ids first, then ids that begin so, words of names, the last four of
account numbers, and amounts.

Errors  NotFoundError for a program that is not this tenant's
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import ProgramIds, SearchLine
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import instant_text
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.principal import KeyScope, Principal, Program, Simulated
from clearhold.features.core.search_terms import MatchedBy, SearchTerms, has_name, terms_of, words_of
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.party_index import FoundParties, PartyKind
from clearhold.store.duck.search import FoundRows, SearchedRows

_TAG: Final = "search"
MOST_HITS: Final = 25
DEFAULT_HITS: Final = 10
HitLimit = Annotated[int, msgspec.Meta(ge=1, le=MOST_HITS)]


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``limit`` is of each group."""

    q: SearchLine
    program_id: ProgramIds | None = None
    limit: HitLimit = DEFAULT_HITS


class SearchHit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    program_id: str
    matched_by: Annotated[MatchedBy, about("Why it is a hit.")]
    name: Annotated[str | None, about("Name of a party or program, or summary of an alert; null without one.")]
    status: Annotated[str | None, about("Status of a transfer or alert, decision of a pre-flight; null for others.")]
    at: Annotated[str | None, about("Creation of a transfer or pre-flight, opening of an alert; null for others.")]
    amount_cents: Annotated[str | None, about("Amount of a transfer in a string of digits; null for others.")]
    currency: Annotated[str | None, about("Currency of that amount; null for others.")]
    account_last4: Annotated[str | None, about("Last four of an account or counterparty; null when unknown.")]
    simulated: Simulated = msgspec.UNSET


class SearchGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Things of one kind, the best first."""

    data: tuple[SearchHit, ...]
    has_more: Annotated[bool, about("Whether more of this kind match.")]


class SearchResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """By kind. An agent is also among the entities."""

    transfers: Annotated[SearchGroup, about("Transfers, by id or amount.")]
    entities: Annotated[SearchGroup, about("Entities, by id or name.")]
    accounts: Annotated[SearchGroup, about("Accounts, by id or last four.")]
    counterparties: Annotated[SearchGroup, about("Counterparties, by id, name or last four.")]
    agents: Annotated[SearchGroup | None, about("Null for an API key without the scope `reports`.")]
    alerts: Annotated[SearchGroup, about("Alerts, by id.")]
    programs: Annotated[SearchGroup, about("Programs, by id, slug or name.")]
    preflights: Annotated[SearchGroup | None, about("Null for an API key without the scope `preflight`.")]


class _Search(msgspec.Struct, frozen=True, kw_only=True):
    """One request; ``minted`` are its terms for ids of this service, which are in small letters."""

    principal: Principal
    terms: SearchTerms
    minted: SearchTerms
    program_ids: tuple[str, ...] | None
    limit: int


class SearchService:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._parties = resources.programs, resources.stores.parties
        self._rows = SearchedRows(resources.stores.database)

    async def read(self, principal: Principal, query: SearchQuery) -> SearchResult:
        terms = terms_of(query.q)
        search = _Search(
            principal=principal,
            terms=terms,
            minted=msgspec.structs.replace(terms, id=terms.id.lower()),
            program_ids=self._programs.filter_by(principal, query.program_id),
            limit=query.limit,
        )
        return await in_reader(self._read, search)

    def _read(self, search: _Search) -> SearchResult:
        principal, minted, of = search.principal, search.minted, (search.program_ids, search.limit)
        may_read = principal.has_scope
        parties = self._parties.search(principal, search.terms, *of)
        return SearchResult(
            transfers=self._group_of(self._rows.transfers(principal, search.terms, *of)),
            entities=self._of_parties(parties[PartyKind.ENTITIES]),
            accounts=self._of_parties(parties[PartyKind.ACCOUNTS]),
            counterparties=self._of_parties(parties[PartyKind.COUNTERPARTIES]),
            agents=self._of_parties(parties[PartyKind.AGENTS]) if may_read(KeyScope.REPORTS) else None,
            alerts=self._group_of(self._rows.alerts(principal, minted, *of)),
            programs=self._of_programs(search),
            preflights=self._group_of(self._rows.preflights(principal, minted, *of))
            if may_read(KeyScope.PREFLIGHT)
            else None,
        )

    def _group_of(self, rows: FoundRows) -> SearchGroup:
        hits = [
            _hit(
                row.id,
                row.program_id,
                row.matched_by,
                name=row.words,
                status=row.status,
                at=instant_text(row.at),
                amount_cents=None if row.amount_cents is None else str(row.amount_cents),
                currency=row.currency,
            )
            for row in rows.rows
        ]
        return self._group(hits, has_more=rows.has_more)

    def _of_parties(self, parties: FoundParties) -> SearchGroup:
        hits = [
            _hit(each.id, each.program_id, each.matched_by, name=each.name, account_last4=each.last4)
            for each in parties.parties
        ]
        return self._group(hits, has_more=parties.has_more)

    def _of_programs(self, search: _Search) -> SearchGroup:
        """By rank, then by name and id; the slug of a program counts as an id of it."""
        ranked = [
            ([*MatchedBy].index(matched_by), program.name, program.id, matched_by)
            for program in self._programs.list(search.principal, source=None)
            if search.program_ids is None or program.id in search.program_ids
            if (matched_by := _program_matched_by(program, search)) is not None
        ]
        hits = [_hit(id_, id_, matched_by, name=name) for _, name, id_, matched_by in sorted(ranked)]
        return self._group(hits[: search.limit], has_more=len(hits) > search.limit)

    def _group(self, hits: Sequence[SearchHit], *, has_more: bool) -> SearchGroup:
        marked = tuple(self._programs.marked(hit, hit.program_id) for hit in hits)
        return SearchGroup(data=marked, has_more=has_more)


def _program_matched_by(program: Program, search: _Search) -> MatchedBy | None:
    ids = program.id, program.slug
    if search.minted.id in ids:
        return MatchedBy.ID
    if any(each.startswith(search.minted.id) for each in ids):
        return MatchedBy.ID_PREFIX
    return MatchedBy.NAME if has_name(search.terms, words_of(program.name)) else None


def _hit(
    id_: str,
    program_id: str,
    matched_by: MatchedBy,
    *,
    name: str | None = None,
    status: str | None = None,
    at: str | None = None,
    amount_cents: str | None = None,
    currency: str | None = None,
    account_last4: str | None = None,
) -> SearchHit:
    return SearchHit(
        id=id_,
        program_id=program_id,
        matched_by=matched_by,
        name=name,
        status=status,
        at=at,
        amount_cents=amount_cents,
        currency=currency,
        account_last4=account_last4,
    )


_NONE: Final[dict[str, Any]] = {"data": [], "hasMore": False}
HIT: Final[dict[str, Any]] = {
    "id": "cpty_2zExample0001",
    "programId": PROGRAM_ID,
    "matchedBy": "name",
    "name": "Cedar Freight LLC",
    "status": None,
    "at": None,
    "amountCents": None,
    "currency": None,
    "accountLast4": "7899",
}
_READ: Final = Operation(
    id="search",
    tag=_TAG,
    summary="Finds transfers, parties, accounts, alerts, programs and pre-flights by one line of text. An id counts "
    "first, then an id that begins so; the words of a name; the last four of an account number; the amount of a "
    "transfer, as in 12,345.67. Upper and lower case differ in the bank's ids and nowhere else.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: SearchResult},
    query=RequestSchema(SearchQuery),
    answer_example={
        "transfers": _NONE,
        "entities": _NONE,
        "accounts": _NONE,
        "counterparties": {"data": [HIT], "hasMore": False},
        "agents": _NONE,
        "alerts": _NONE,
        "programs": _NONE,
        "preflights": None,
    },
)


AREA: Final = Area(
    routes=(answer_route("/api/search", _READ, _TAG, SearchService.read),), provide={_TAG: SearchService}
)
