"""The graph of money around a transfer, a party or an alert, of one program.

Center  of a party, itself: an account alone, although it has an owner. Of a transfer, its two sides. Of an alert, its
        subject, or the two sides of its transfer; and the parties on its path
Limit   edges on the path are always in the answer; of two hops, the first has at least half of the limit if it needs it
Errors  NotFoundError for a subject or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them; UnavailableError while the state has no owner
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from clearhold.api.accounts.routes import AccountFinder
from clearhold.api.area import Resources
from clearhold.api.graph import schemas
from clearhold.api.graph.schemas import EdgeTotals, GraphEdge, NodeType, SubjectGraph, TransferTotals
from clearhold.api.http.reading import in_reader
from clearhold.api.lists.lists import instant_in
from clearhold.api.log.commands import unknown_alert
from clearhold.api.parties.routes import PartyFinder
from clearhold.api.transfers.service import find_transfer
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import ActorType, AlertStatus, Band, Score, SubjectType, band_of
from clearhold.features.shard.questions import ReadScores
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.store.duck.accounts import last_four_of
from clearhold.store.duck.alerts import Alerts
from clearhold.store.duck.money_graph import (
    NO_FACTS,
    EdgeQuery,
    Marks,
    MoneyEdge,
    MoneyGraph,
    MoneyNode,
    MoneyTotals,
    NodeFacts,
)
from clearhold.store.duck.transfers import Transfers
from clearhold.store.tables import Span

MOST_EVIDENCE: Final = 110
"""At most a hundred transfers that an alert rests on, and its path."""
SCORES_AT_ONCE: Final = 50
NO_WINDOW: Final = Span(0, 0)
_PATHS: Final = ("layeringHops", "roundTrip")
_ALERT: Final = "alert"
_TRANSFER: Final = "transfer"


class GraphCenter(NamedTuple):
    """The center of a graph; ``apart`` are accounts at the center."""

    program_id: str
    center: tuple[MoneyNode, ...]
    marks: Marks = Marks()
    apart: tuple[str, ...] = ()


class EdgeSelection(NamedTuple):
    edges: list[MoneyEdge]
    expanded: frozenset[MoneyNode]
    truncated: EdgeTotals
    unnamed: MoneyTotals


class GraphService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._waiting = resources.programs, resources.waiting_alerts
        self._owner, self._clock = stores.owner, stores.clock
        self._graph, self._alerts = MoneyGraph(stores.database), Alerts(stores.database)
        self._transfers, self._parties = Transfers(stores.database), PartyFinder(resources)
        self._accounts = AccountFinder(resources)

    async def read(self, principal: Principal, query: schemas.GraphQuery) -> SubjectGraph:
        graph, owners = await in_reader(self._read, principal, query)
        scores = await self._scores(graph, owners)
        nodes = tuple(msgspec.structs.replace(node, **_standing(node, scores, owners)) for node in graph.nodes)
        return self._programs.marked(msgspec.structs.replace(graph, nodes=nodes), graph.program_id)

    async def _scores(self, graph: SubjectGraph, owners: dict[str, str]) -> dict[tuple[ActorType, str], Score | None]:
        """Of the entities, agents, counterparties and owners of accounts, ``SCORES_AT_ONCE`` at a time, so that
        pre-flights do not wait for all of them.
        """
        now = self._clock.now()
        wanted = list(dict.fromkeys(filter(None, (_scored(node, owners) for node in graph.nodes))))
        scores: dict[tuple[ActorType, str], Score | None] = {}
        for kind in dict.fromkeys(kind for kind, _ in wanted):
            ids = [actor_id for each, actor_id in wanted if each is kind]
            for start in range(0, len(ids), SCORES_AT_ONCE):
                some = tuple(ids[start : start + SCORES_AT_ONCE])
                answer = (await self._owner.query(graph.program_id, ReadScores(kind, some, now))).value
                scores |= zip(((kind, actor_id) for actor_id in some), answer, strict=True)
        return scores

    def _read(self, principal: Principal, query: schemas.GraphQuery) -> tuple[SubjectGraph, dict[str, str]]:
        """The graph without scores of nodes, and the owners of its accounts."""
        subject = self._subject(principal, query)
        program = self._programs.read(principal, subject.program_id)
        span = self._window(principal, program.id, query)
        marks = subject.marks._replace(on_hold=self._on_hold(principal, program.id))
        selection = self._edges(principal, subject._replace(marks=marks), span, query)
        hops = _hops(subject.center, selection.edges)
        facts = self._graph.facts(principal, program.id, hops)
        owners = {node.id: each.owner_id for node, each in facts.items() if each.owner_id is not None}
        names = self._graph.facts(principal, program.id, [MoneyNode("entity", owner) for owner in owners.values()])
        actor = NodeType.AGENT if program.slug == AGENTS_SLUG else NodeType.ENTITY
        keys = {node: f"{actor}:{node.id}" if node.type == NodeType.ENTITY else node.key for node in hops}
        nodes = []
        for node, hop in hops.items():
            stated = facts.get(node, NO_FACTS)
            name = stated.name or None
            if stated.owner_id is not None:
                name = names.get(MoneyNode("entity", stated.owner_id), NO_FACTS).name or None
            if node.type == NodeType.PROGRAM:
                name = program.name
            nodes.append(_node(keys[node], node.id, stated, name=name, hop=hop, expanded=node in selection.expanded))
        graph = SubjectGraph(
            around=query.around,
            program_id=program.id,
            from_=None if span == NO_WINDOW else format_instant(span.start),
            to=None if span == NO_WINDOW else format_instant(span.end),
            nodes=tuple(nodes),
            edges=tuple(_edge(edge, keys) for edge in selection.edges),
            truncated=selection.truncated,
            unnamed=TransferTotals(transfers=selection.unnamed.transfers, cents=str(selection.unnamed.cents)),
        )
        return graph, owners

    def _window(self, principal: Principal, program_id: str, query: schemas.GraphQuery) -> Span:
        """It includes the program's newest transfer, unless the request ends it elsewhere."""
        end = instant_in(query.as_of)
        if end is None:
            newest = self._graph.newest_at(principal, program_id)
            if newest is None:
                return NO_WINDOW
            end = newest + 1
        return Span(end - query.days * DAY_US, end)

    def _subject(self, principal: Principal, query: schemas.GraphQuery) -> GraphCenter:
        kind, _, subject_id = query.around.partition(":")
        if kind == _ALERT:
            return self._alert(principal, subject_id, query.program_id)
        if kind == _TRANSFER:
            stored = find_transfer(self._programs, self._transfers, principal, subject_id, query.program_id).row
            marks = Marks(path=(stored.id,), evidence=(stored.id,), least_offset=stored.offset)
            return GraphCenter(stored.program_id, self._ends(principal, stored.program_id, marks), marks)
        if kind == NodeType.ACCOUNT:
            account = self._accounts.find(principal, subject_id, query.program_id)
            return _party(account.program_id, MoneyNode("account", account.id))
        row = self._parties.find(principal, ActorType(kind), subject_id, query.program_id)
        if kind == NodeType.COUNTERPARTY:
            return _party(row.program_id, self._graph.node_of(principal, row.program_id, row.id))
        return _party(row.program_id, MoneyNode("entity", row.id))

    def _alert(self, principal: Principal, alert_id: str, named: str | None) -> GraphCenter:
        program_ids = self._programs.filter_by(principal, None if named is None else [named])
        row = self._alerts.find(principal, alert_id.lower())
        if row is None or (program_ids is not None and row.program_id not in program_ids):
            raise unknown_alert()
        marks = self._marks(principal, row)
        center: tuple[MoneyNode, ...] = ()
        apart: tuple[str, ...] = ()
        if row.subject_type == SubjectType.TRANSFER and row.transfer_id is not None:
            of_transfer = marks._replace(path=(row.transfer_id,), evidence=())
            center = self._ends(principal, row.program_id, of_transfer)
        elif row.subject_type == SubjectType.COUNTERPARTY:
            center = (self._graph.node_of(principal, row.program_id, row.subject_id),)
        elif row.subject_type in (SubjectType.ENTITY, SubjectType.ACCOUNT):
            center = (MoneyNode(row.subject_type, row.subject_id),)
        apart = tuple(node.id for node in center if node.type == NodeType.ACCOUNT)
        if marks.path:
            center += self._ends(principal, row.program_id, marks._replace(evidence=()), apart)
        return GraphCenter(row.program_id, tuple(dict.fromkeys(center)), marks, apart)

    def _marks(self, principal: Principal, row: AlertRow) -> Marks:
        """The transfers on the alert's path, with the newest, which closes it, and its evidence."""
        stored = msgspec.json.decode(row.evidence)
        before = [int(at) for name in _PATHS for at in (stored.get("path") or {}).get(name) or ()]
        places = [(row.program_id, at) for at in dict.fromkeys((*before, *map(int, stored.get("restsOn") or ())))]
        ids = self._alerts.transfers_at(principal, places)
        own_ids = dict.fromkeys(filter(None, (row.transfer_id, *(stored.get("transferIds") or ())[-1:])))
        own = [
            stored_own.row
            for transfer_id in own_ids
            if (stored_own := self._transfers.find(principal, transfer_id, (row.program_id,))) is not None
        ]
        path = [ids[place] for at in before if (place := (row.program_id, at)) in ids]
        if path and own:
            path.append(own[-1].id)
        evidence = [*(ids[place] for place in places if place in ids), *(each.id for each in own)]
        return Marks(
            path=tuple(dict.fromkeys(path)),
            evidence=tuple(dict.fromkeys(evidence)),
            least_offset=min([*(at for _, at in places), *(each.offset for each in own)], default=0),
        )

    def _ends(
        self, principal: Principal, program_id: str, marks: Marks, apart: tuple[str, ...] = ()
    ) -> tuple[MoneyNode, ...]:
        """The two sides of the transfers on a path."""
        query = EdgeQuery(program_id, NO_WINDOW, (), marks, apart)
        edges = self._graph.edges(principal, query, MOST_EVIDENCE).edges
        return tuple(
            dict.fromkeys(
                node
                for edge in edges
                for node in (edge.source, edge.target)
                if edge.path and node.type != NodeType.PROGRAM
            )
        )

    def _on_hold(self, principal: Principal, program_id: str) -> tuple[str, ...]:
        """The transfers of held alerts, as in the money that stacks hold."""
        return tuple(
            alert.transfer_id
            for _, alerts in self._waiting.every_stack(principal, frozenset({AlertStatus.HELD}))
            if alerts[0].program_id == program_id
            for alert in alerts
            if alert.transfer_id is not None
        )

    def _edges(
        self, principal: Principal, subject: GraphCenter, span: Span, query: schemas.GraphQuery
    ) -> EdgeSelection:
        center = frozenset(subject.center)
        wanted = EdgeQuery(subject.program_id, span, subject.center, subject.marks, subject.apart)
        first = self._graph.edges(principal, wanted, query.limit + MOST_EVIDENCE)
        at_center = [edge for edge in first.edges if edge.source in center or edge.target in center]
        on_path = sum(edge.path for edge in first.edges)
        if query.hops == 1 or not at_center:
            edges = first.edges[: max(query.limit, on_path)]
            return EdgeSelection(edges, center, _left_out(first.edge_count, first.all, edges), first.unnamed)
        near = at_center[: max(-(-query.limit // 2), on_path)]
        reached = {node: None for edge in near for node in (edge.source, edge.target)}
        outer = [node for node in reached if node not in center and node.type != NodeType.PROGRAM]
        beyond = wanted._replace(nodes=outer, without=center)
        second = self._graph.edges(principal, beyond, query.limit)
        edges = near + second.edges[: max(query.limit - len(near), 0)]
        edges += at_center[len(near) :][: max(query.limit - len(edges), 0)]
        apart_edges = [edge for edge in first.edges if edge.source not in center and edge.target not in center]
        of_center = _left_out(first.edge_count, first.all, apart_edges)
        every = MoneyTotals(
            transfers=of_center.transfers + second.all.transfers, cents=int(of_center.cents) + second.all.cents
        )
        truncated = _left_out(of_center.edges + second.edge_count, every, edges)
        return EdgeSelection(edges, center | frozenset(outer), truncated, first.unnamed)


def _party(program_id: str, node: MoneyNode) -> GraphCenter:
    return GraphCenter(program_id, (node,), apart=(node.id,) if node.type == NodeType.ACCOUNT else ())


def _left_out(edge_count: int, every: MoneyTotals, edges: Sequence[MoneyEdge]) -> EdgeTotals:
    return EdgeTotals(
        edges=edge_count - len(edges),
        transfers=every.transfers - sum(edge.transfers for edge in edges),
        cents=str(every.cents - sum(edge.cents for edge in edges)),
    )


def _hops(center: Iterable[MoneyNode], edges: Sequence[MoneyEdge]) -> dict[MoneyNode, int]:
    """All nodes with their distance from the center, the center first."""
    hops = dict.fromkeys(center, 0)
    middle = frozenset(hops)
    ends = [(edge.source, edge.target) for edge in edges]
    hops |= {node: 1 for pair in ends for node in pair if node not in middle and (not middle or middle & set(pair))}
    hops |= {node: 2 for pair in ends for node in pair if node not in hops}
    return hops


def _node(key: str, node_id: str, facts: NodeFacts, *, name: str | None, hop: int, expanded: bool) -> schemas.GraphNode:
    return schemas.GraphNode(
        key=key,
        type=NodeType(key.partition(":")[0]),
        id=node_id,
        name=name,
        account_last4=facts.account_last4 or last_four_of(facts.raw),
        country_code=facts.country,
        entity_id=facts.owner_id,
        score=None,
        band=None,
        hop=hop,
        expanded=expanded,
    )


def _edge(edge: MoneyEdge, keys: dict[MoneyNode, str]) -> GraphEdge:
    return GraphEdge(
        from_=keys[edge.source],
        to=keys[edge.target],
        transfers=edge.transfers,
        cents=str(edge.cents),
        posted_cents=str(edge.posted_cents),
        pending_cents=str(edge.pending_cents),
        returned_cents=str(edge.returned_cents),
        held_cents=str(edge.held_cents),
        failed_transfers=edge.unmoved,
        failed_cents=str(edge.unmoved_cents),
        unpriced_transfers=edge.unpriced,
        first_at=format_instant(edge.first_at),
        last_at=format_instant(edge.last_at),
        score=edge.score,
        band=band_of(edge.score),
        evidence=edge.evidence,
        path=edge.path,
    )


def _scored(node: schemas.GraphNode, owners: dict[str, str]) -> tuple[ActorType, str] | None:
    """The actor whose score a node shows."""
    if node.type is NodeType.ACCOUNT:
        owner = owners.get(node.id)
        return None if owner is None else (ActorType.ENTITY, owner)
    return None if node.type is NodeType.PROGRAM else (ActorType(node.type), node.id)


def _standing(
    node: schemas.GraphNode, scores: dict[tuple[ActorType, str], Score | None], owners: dict[str, str]
) -> dict[str, int | Band | None]:
    actor = _scored(node, owners)
    if actor is None:
        return {}
    score = scores[actor]
    return {"score": None, "band": Band.UNSCORED} if score is None else {"score": score.value, "band": score.band}
