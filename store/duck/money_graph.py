"""Reads money between parties of a program: transfers of a window as directed edges, the heaviest first.

Node    ``type:id``. The program's own side is the entity, else the first owner of the account, else the account.
        Without all of them it is the program. The other side is the counterparty; if it is an account or an entity of
        the program, that party. An account of ``apart`` is a node by itself, although it has an owner
How     The versions of transfers in the window are read once, without older row groups, and each transfer's newest is
        then sought among its versions. Sums are made in the database, so a hub costs no more rows than other parties
Unit    US cents, each transfer with at most ``MOST_COUNTED_CENTS``; one in another currency with the amount of its
        newest scoring. Instants in microseconds
Errors  none; a node without transfers has no edges
"""

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.bank.statuses import (
    POSTED_STATUSES,
    RETURN_UNDONE_STATUSES,
    RETURNED_STATUSES,
    UNMOVED_STATUSES,
)
from clearhold.features.core.money import MOST_COUNTED_CENTS, USD
from clearhold.features.core.principal import Principal
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables import TEXTS, Span, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter


class MoneyNode(NamedTuple):
    """``type`` is entity, account, counterparty or program."""

    type: str
    id: str

    @property
    def key(self) -> str:
        return f"{self.type}:{self.id}"


class MoneyTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Transfers that moved money or are on their way, and their US cents."""

    transfers: int
    cents: int


class MoneyEdge(msgspec.Struct, frozen=True, kw_only=True):
    """The transfers from one node to another.

    ``cents`` is the sum of posted, pending, returned and held cents. ``unmoved`` transfers failed or were canceled.
    ``unpriced`` transfers moved money whose US cents are not known. ``evidence`` is the number of transfers that an
    alert rests on, ``path`` whether one of them is on its path.
    """

    source: MoneyNode
    target: MoneyNode
    transfers: int
    cents: int
    posted_cents: int
    pending_cents: int
    returned_cents: int
    held_cents: int
    unmoved: int
    unmoved_cents: int
    unpriced: int
    first_at: int
    last_at: int
    score: int | None  # the highest
    evidence: int
    path: bool


class MoneyEdges(NamedTuple):
    """The heaviest edges, the numbers of all of them, and the transfers that name no other side."""

    edges: list[MoneyEdge]
    edge_count: int
    all: MoneyTotals
    unnamed: MoneyTotals


class Marks(NamedTuple):
    """Ids of transfers: ``path`` and ``evidence`` of an alert, read whatever their time is, and ``on_hold`` ones.

    The rows of path and evidence have offsets from ``least_offset`` on.
    """

    path: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    on_hold: tuple[str, ...] = ()
    least_offset: int = 0


def _words(values: Iterable[str]) -> str:
    return ", ".join(f"'{value}'" for value in sorted(values))


def _among(name: str) -> str:
    return TEXTS.replace("?", f"${name}")


_NEWEST_AT: Final = """
    SELECT epoch_us(bank_created_at) FROM transfers
    WHERE tenant_id = ? AND program_id = ? ORDER BY bank_created_at DESC LIMIT 1"""
_COLUMNS: Final = """id, "offset", rail, direction, type, status, return_code, entity_id, account_id, counterparty_id,
    currency, amount_cents, score, scored_offset, bank_created_at"""
_OWNED: Final = f"""
    SELECT id FROM accounts WHERE tenant_id = ? AND program_id = ? AND entity_id IS NOT NULL
    GROUP BY id HAVING arg_min(entity_id, "offset") IN {TEXTS}"""
_OF_NODES: Final = f"""
    SELECT {_COLUMNS} FROM transfers WHERE tenant_id = $tenant AND program_id = $program
    AND bank_created_at >= make_timestamp($start) AND bank_created_at < make_timestamp($end) AND ({{{{of_nodes}}}})"""
_OF_MARKS: Final = f"""
    SELECT {_COLUMNS} FROM transfers WHERE tenant_id = $tenant AND program_id = $program
    AND "offset" >= $least_offset AND id IN {_among("marked")}"""
_EDGES: Final = f"""
    WITH versions AS MATERIALIZED ({_OF_NODES} {{of_marks}}),
    newest AS (
        SELECT id, max("offset") AS "offset" FROM transfers
        WHERE tenant_id = $tenant AND program_id = $program AND "offset" >= (SELECT min("offset") FROM versions)
            AND id IN (SELECT id FROM versions) GROUP BY id
    ), standing AS MATERIALIZED (
        SELECT *, status NOT IN ({_words(UNMOVED_STATUSES)}) AS moved FROM versions JOIN newest USING (id, "offset")
    ), own_accounts AS (
        SELECT id, arg_min(entity_id, "offset") FILTER (entity_id IS NOT NULL) AS owner_id FROM accounts
        WHERE tenant_id = $tenant AND program_id = $program AND id IN (
            SELECT account_id FROM standing WHERE entity_id IS NULL UNION ALL SELECT counterparty_id FROM standing)
        GROUP BY id
    ), own_entities AS (
        SELECT DISTINCT id FROM entities
        WHERE tenant_id = $tenant AND program_id = $program AND id IN (SELECT counterparty_id FROM standing)
    ), apart AS MATERIALIZED (SELECT unnest(from_json($apart, '["VARCHAR"]')) AS id),
    foreign_cents AS (
        SELECT transfer_id AS id, "offset" AS scored_offset, amount_cents AS usd_cents FROM transfer_features
        WHERE tenant_id = $tenant AND program_id = $program AND ("offset", transfer_id) IN (
            SELECT scored_offset, id FROM standing WHERE currency <> '{USD}')
    ), placed AS (
        SELECT standing.id, moved, bank_created_at AS created_at, standing.score,
            (direction = 'outgoing') <> (rail = 'ach' AND coalesce(type, '') = 'DEBIT') AS leaves,
            CASE WHEN currency = '{USD}' THEN least(amount_cents, {MOST_COUNTED_CENTS}) ELSE usd_cents END AS cents,
            CASE WHEN NOT moved THEN 'unmoved'
                WHEN status IN ({_words(RETURNED_STATUSES)})
                    OR (return_code IS NOT NULL AND status NOT IN ({_words(RETURN_UNDONE_STATUSES)})) THEN 'returned'
                WHEN standing.id IN {_among("held")} THEN 'held'
                WHEN status IN ({_words(POSTED_STATUSES)}) THEN 'posted' ELSE 'pending' END AS place,
            CASE WHEN account_id IN (FROM apart) THEN 'account:' || account_id
                WHEN entity_id IS NOT NULL THEN 'entity:' || entity_id
                WHEN mine.owner_id IS NOT NULL THEN 'entity:' || mine.owner_id
                WHEN account_id IS NOT NULL THEN 'account:' || account_id
                ELSE 'program:' || $program END AS own,
            CASE WHEN counterparty_id IS NULL THEN NULL
                WHEN counterparty_id IN (FROM apart) THEN 'account:' || counterparty_id
                WHEN other.owner_id IS NOT NULL THEN 'entity:' || other.owner_id
                WHEN other.id IS NOT NULL THEN 'account:' || counterparty_id
                WHEN own_entities.id IS NOT NULL THEN 'entity:' || counterparty_id
                ELSE 'counterparty:' || counterparty_id END AS other,
            standing.id IN {_among("path")} AS on_path, standing.id IN {_among("evidence")} AS is_evidence
        FROM standing LEFT JOIN own_accounts AS mine ON mine.id = account_id AND entity_id IS NULL
        LEFT JOIN own_accounts AS other ON other.id = counterparty_id
        LEFT JOIN own_entities ON own_entities.id = counterparty_id
        LEFT JOIN foreign_cents ON foreign_cents.id = standing.id
            AND foreign_cents.scored_offset = standing.scored_offset
    ), edges AS (
        SELECT if(leaves, own, other) AS source, if(leaves, other, own) AS target, count(*) FILTER (moved) AS transfers,
            {{sums}},
            count(*) FILTER (NOT moved) AS unmoved,
            count(*) FILTER (moved AND cents IS NULL) AS unpriced,
            epoch_us(min(created_at)) AS first_at, epoch_us(max(created_at)) AS last_at, max(score) AS score,
            count(*) FILTER (is_evidence) AS evidence, bool_or(on_path) AS path
        FROM placed GROUP BY source, target
    )
    SELECT source, target, transfers, cents, posted_cents, pending_cents, returned_cents, held_cents, unmoved,
        unmoved_cents, unpriced, first_at, last_at, score, evidence, path,
        count(*) FILTER ({{named}}) OVER (), coalesce(sum(transfers) FILTER ({{named}}) OVER (), 0)::BIGINT,
        coalesce(sum(cents) FILTER ({{named}}) OVER (), 0)::BIGINT
    FROM edges
    WHERE NOT {{named}} OR NOT (source IN {_among("without")} OR target IN {_among("without")})
    ORDER BY {{named}}, path DESC, evidence > 0 DESC, cents DESC, transfers DESC, source, target LIMIT $most"""
_NAMED: Final = "(source IS NOT NULL AND target IS NOT NULL)"
_PLACES: Final = ("posted", "pending", "returned", "held", "unmoved")
_SUMS: Final = ", ".join(
    f"coalesce(sum(cents) FILTER ({condition}), 0)::BIGINT AS {name}"
    for name, condition in (("cents", "moved"), *((f"{place}_cents", f"place = '{place}'") for place in _PLACES))
)
_SQL: Final = {
    with_marks: _EDGES.format(of_marks=f"UNION {_OF_MARKS}" if with_marks else "", sums=_SUMS, named=_NAMED)
    for with_marks in (False, True)
}
_NAMES: Final = f"""
    SELECT 'entity:' || id, arg_max(name, "offset"), NULL, NULL, arg_max(country_code, "offset"), NULL FROM entities
    WHERE tenant_id = $tenant AND program_id = $program AND id IN {_among("entities")} GROUP BY id
    UNION ALL
    SELECT 'counterparty:' || id, arg_max(name, "offset"), arg_max(account_last4, "offset"), NULL,
        arg_max(country_code, "offset"), NULL FROM counterparties
    WHERE tenant_id = $tenant AND program_id = $program AND id IN {_among("counterparties")} GROUP BY id
    UNION ALL
    SELECT 'account:' || id, NULL, NULL, arg_max(raw, "offset") FILTER (raw <> '{{}}'), NULL,
        arg_min(entity_id, "offset") FILTER (entity_id IS NOT NULL) FROM accounts
    WHERE tenant_id = $tenant AND program_id = $program AND id IN {_among("accounts")} GROUP BY id"""

_IS_OWN: Final = """
    SELECT EXISTS (FROM accounts WHERE tenant_id = $tenant AND program_id = $program AND id = $id),
        EXISTS (FROM entities WHERE tenant_id = $tenant AND program_id = $program AND id = $id)"""


class NodeFacts(NamedTuple):
    """The newest statements about a node; ``raw`` is the bank's masked object of an account."""

    name: str | None
    account_last4: str | None
    raw: str | None
    country: str | None
    owner_id: str | None


NO_FACTS: Final = NodeFacts(None, None, None, None, None)


class EdgeQuery(NamedTuple):
    """The nodes whose edges are read, within ``span``; those of ``without`` are left out.

    ``apart`` are accounts that are nodes although they have an owner.
    """

    program_id: str
    span: Span
    nodes: Collection[MoneyNode]
    marks: Marks
    apart: tuple[str, ...] = ()
    without: Collection[MoneyNode] = ()


class MoneyGraph(CommittedRows):
    """The caller has checked access to the program."""

    def newest_at(self, principal: Principal, program_id: str) -> int | None:
        """The bank's creation time of the program's newest transfer; None without transfers."""
        newest: int | None = self._value(_NEWEST_AT, [principal.tenant_id, program_id])
        return newest

    def node_of(self, principal: Principal, program_id: str, counterparty_id: str) -> MoneyNode:
        """The account or entity of the program that the counterparty is, else the counterparty."""
        values = {"tenant": principal.tenant_id, "program": program_id, "id": counterparty_id}
        ((is_account, is_entity),) = self._read(_IS_OWN, values)
        return MoneyNode("account" if is_account else "entity" if is_entity else "counterparty", counterparty_id)

    def edges(self, principal: Principal, wanted: EdgeQuery, most: int) -> MoneyEdges:
        """At most ``most`` edges: those on the path first, then with evidence, then by cents."""
        marks, ids = wanted.marks, _ids_by_type(wanted.nodes)
        marked = (*marks.path, *marks.evidence)
        owned = self._owned(principal, wanted.program_id, ids["entity"])
        of_nodes, node_values = _of_nodes(ids, owned, wanted.apart)
        lists = {
            "apart": wanted.apart,
            "held": marks.on_hold,
            "path": marks.path,
            "evidence": marks.evidence,
            "without": [node.key for node in wanted.without],
        }
        values: dict[str, Any] = {name: listed([*each]) for name, each in lists.items()}
        values |= {"tenant": principal.tenant_id, "program": wanted.program_id}
        values |= node_values
        values |= {"start": wanted.span.start, "end": wanted.span.end, "most": most + 2 * len(wanted.nodes)}
        if marked:
            values |= {"least_offset": marks.least_offset, "marked": listed(marked)}
        rows = self._read(_SQL[bool(marked)].format(of_nodes=of_nodes), values)
        named = [row for row in rows if row[0] is not None and row[1] is not None]
        unnamed = [row for row in rows if row[0] is None or row[1] is None]
        edge_count, *totals = rows[0][-3:] if rows else (0, 0, 0)
        return MoneyEdges(
            [_edge(row) for row in named[:most]],
            edge_count,
            MoneyTotals(transfers=totals[0], cents=totals[1]),
            MoneyTotals(transfers=sum(row[2] for row in unnamed), cents=sum(row[3] for row in unnamed)),
        )

    def _owned(self, principal: Principal, program_id: str, entity_ids: list[str]) -> list[str]:
        """The accounts whose first owner is one of the entities."""
        if not entity_ids:
            return []
        rows = self._read(_OWNED, [principal.tenant_id, program_id, listed(entity_ids)])
        return sorted(account_id for (account_id,) in rows)

    def facts(self, principal: Principal, program_id: str, nodes: Collection[MoneyNode]) -> dict[MoneyNode, NodeFacts]:
        """Of those of the nodes that the bank stated."""
        ids = _ids_by_type(nodes)
        values = {"tenant": principal.tenant_id, "program": program_id, "entities": listed(ids["entity"])}
        values |= {"counterparties": listed(ids["counterparty"]), "accounts": listed(ids["account"])}
        return {_node(key): NodeFacts(*facts) for key, *facts in self._read(_NAMES, values)}


def _of_nodes(ids: dict[str, list[str]], owned: list[str], apart: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The condition of transfers with a node on one of their sides, and its values.

    Each value is a parameter: a condition on a few values costs a fifth of one on another table.
    """
    conditions = {
        "entity_id IN ({})": ids["entity"],
        "account_id IN ({})": apart,
        "(entity_id IS NULL AND account_id IN ({}))": [*ids["account"], *owned],
        "counterparty_id IN ({})": [*(each for of_type in ids.values() for each in of_type), *owned],
    }
    values: dict[str, str] = {}
    parts = ["false"]
    for condition, members in conditions.items():
        names = [f"node{len(values) + number}" for number in range(len(members))]
        values |= zip(names, members, strict=True)
        if names:
            parts.append(condition.format(", ".join(f"${name}" for name in names)))
    return " OR ".join(parts), values


def _ids_by_type(nodes: Iterable[MoneyNode]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {"entity": [], "account": [], "counterparty": []}
    for node in nodes:
        if node.type in ids:
            ids[node.type].append(node.id)
    return ids


def _node(key: str) -> MoneyNode:
    kind, _, node_id = key.partition(":")
    return MoneyNode(kind, node_id)


def _edge(row: tuple[Any, ...]) -> MoneyEdge:
    values = dict(zip(MoneyEdge.__struct_fields__, row, strict=False))
    return MoneyEdge(**values | {"source": _node(row[0]), "target": _node(row[1])})
