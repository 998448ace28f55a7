"""What do a hundred rules cost an event in the stream?

The vectors are those of ordinary traffic, and a rule's values are taken from them, so that rules match now and then.
The same rules run as one decision table of zen-engine (pip install "clearhold[bench]"), its inputs made before the
clock runs; both have to give the same answers. Times are of the processor. What rules cost a backtest, ``backtest``
measures.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import count, islice, pairwise
from random import Random
from typing import Any, Final

import msgspec

from bench.harness import Figure, Promise, Run, percentile
from bench.stream_events import Traffic
from clearhold.features.catalogue.vector import RULE_FIELDS, FeatureVector, TransferFeaturesRow
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rules import Rule, RuleAction, RuleCondition, RuleOp, RuleStatus
from clearhold.features.core.vocabulary import Severity
from clearhold.features.rules.language import (
    MAX_CONDITIONS,
    RULE_FIELD_OF,
    FieldKind,
    faults_of,
    kind_of,
    operands_of,
    ops_of,
)
from clearhold.features.rules.predicate import compiled
from clearhold.features.shard.shard import ShardState

COUNT: Final = 100
COST: Final = Promise(15)
MOST_CONDITIONS: Final = 4
ENTITIES: Final = 2_000
_TURNS: Final = 5
_FIELDS: Final = tuple(feature for feature in RULE_FIELDS if kind_of(feature) is not FieldKind.COUNTRIES)
_NOT_INSTALLED: Final = 'zen-engine is not installed: pip install "clearhold[bench]"'
_ENGINE: Final[Any] = import_module("zen") if find_spec("zen") else None
_SIGNS: Final = {RuleOp.GT: ">", RuleOp.GTE: ">=", RuleOp.LT: "<", RuleOp.LTE: "<="}

Matching = Callable[[Any], Any]


def run(run: Run) -> Iterator[Figure]:
    run.say("scoring ordinary traffic for its vectors")
    vectors = list(islice(_vectors(), run.size(20_000, 4_000)))
    rules = _rules(vectors)
    started = time.process_time()
    predicate = compiled(rules)
    compiling_ms = (time.process_time() - started) * 1_000
    matched = [predicate(vector) for vector in vectors]
    cost_us = _cost_us(predicate, vectors)
    other_us = _other_engine_us(run, rules, vectors, matched)
    yield Figure(
        name=f"{COUNT} rules in the stream",
        value=cost_us,
        unit="µs an event",
        promise=COST,
        ratio=None if other_us is None else cost_us / other_us,
        beside=_NOT_INSTALLED if other_us is None else f"{other_us:.0f} µs as a decision table of zen-engine",
        note=f"{sum(map(len, matched)) / len(vectors):.2f} of them match; compiled in {compiling_ms:.0f} ms",
    )
    yield _longest(vectors[0])


def _longest(vector: FeatureVector) -> Figure:
    """Unusual conditions that the language allows."""
    always = RuleCondition(field="counterparty.n", op=RuleOp.GTE, value=0)
    rule = _rule(0, (always,) * MAX_CONDITIONS)
    return Figure(
        name=f"{COUNT} rules of {MAX_CONDITIONS} conditions that all hold",
        value=_cost_us(compiled([rule] * COUNT), [vector] * 1_000),
        unit="µs an event",
    )


def _vectors() -> Iterator[FeatureVector]:
    """Of the scorings of a program whose parties have a past."""
    traffic = Traffic("rules", entities=ENTITIES, counterparties=2 * ENTITIES, step_us=20_000_000)
    state, offsets, rows = ShardState(0), count(1), list[msgspec.Struct]()
    for body in traffic.introductions():
        state.apply(_entry(next(offsets), body), rows.append)
    for event in traffic.events():
        rows.clear()
        state.apply(_entry(next(offsets), event.body), rows.append)
        yield from (row.vector for row in rows if isinstance(row, TransferFeaturesRow))


def _entry(offset: int, body: bytes) -> LogEntry:
    return LogEntry(0, offset, EntryKind.BANK, "prg_1", 2**60, body)


def _rules(vectors: Sequence[FeatureVector]) -> list[Rule]:
    random = Random(17)
    rules = []
    for number in range(COUNT):
        features = random.sample(_FIELDS, random.randint(1, MOST_CONDITIONS))
        when = tuple(_condition(random, feature.name, vectors) for feature in features)
        rules.append(_rule(number, when))
    if any(list(faults_of(rule)) for rule in rules):
        raise RuntimeError("a rule of the benchmark has a fault")
    return rules


def _rule(number: int, when: tuple[RuleCondition, ...]) -> Rule:
    return Rule(
        id=f"rule-{number}",
        name=f"Rule {number}",
        when=when,
        action=RuleAction.ALERT,
        severity=Severity.LOW,
        status=RuleStatus.ACTIVE,
    )


def _condition(random: Random, field: str, vectors: Sequence[FeatureVector]) -> RuleCondition:
    """A comparison with a value that a transfer had; a field that none had is looked for."""
    feature = RULE_FIELD_OF[field]
    seen = [getattr(vector, feature.column) for vector in random.sample(vectors, 200)]
    values = sorted({round(each, 4) if isinstance(each, float) else each for each in seen if each is not None})
    op = random.choice(ops_of(feature))
    if not values:
        op = RuleOp.NOT_NULL
    if op in {RuleOp.IS_NULL, RuleOp.NOT_NULL}:
        return RuleCondition(field=field, op=op)
    if op in {RuleOp.IN, RuleOp.NOT_IN}:
        return RuleCondition(field=field, op=op, value=tuple(random.choices(values, k=3)))
    if op is RuleOp.BETWEEN:
        return RuleCondition(field=field, op=op, value=tuple(sorted(random.choices(values, k=2))))
    return RuleCondition(field=field, op=op, value=random.choice(values))


def _cost_us(matching: Matching, inputs: Sequence[Any]) -> float:
    """The middle one of several turns."""
    costs = []
    for _ in range(_TURNS):
        started = time.process_time()
        for each in inputs:
            matching(each)
        costs.append((time.process_time() - started) / len(inputs) * 1e6)
    return percentile(sorted(costs), 0.5)


def _other_engine_us(
    run: Run, rules: Sequence[Rule], vectors: Sequence[FeatureVector], matched: Sequence[tuple[int, ...]]
) -> float | None:
    if _ENGINE is None:
        return None
    columns = sorted({RULE_FIELD_OF[each.field].column for rule in rules for each in rule.when})
    inputs = [{column: getattr(vector, column) for column in columns} for vector in vectors[: run.size(4_000, 1_000)]]
    decision = _ENGINE.ZenEngine().create_decision(json.dumps(_decision_table(rules, columns)))
    for each, expected in zip(inputs, matched, strict=False):
        if tuple(row["rule"] for row in decision.evaluate(each)["result"]) != expected:
            raise RuntimeError("the two engines differ on a transfer")
    return _cost_us(decision.evaluate, inputs)


def _decision_table(rules: Sequence[Rule], columns: Sequence[str]) -> dict[str, Any]:
    """A row a rule and a column a field; all rows that match are collected."""
    cells = [{RULE_FIELD_OF[each.field].column: _cell(each) for each in rule.when} for rule in rules]
    names = ("input", "table", "output")
    table = {
        "hitPolicy": "collect",
        "inputs": [{"id": name, "name": name, "type": "expression", "field": name} for name in columns],
        "outputs": [{"id": "rule", "name": "rule", "type": "expression", "field": "rule"}],
        "rules": [
            {"_id": str(index), "rule": str(index), **dict.fromkeys(columns, ""), **row}
            for index, row in enumerate(cells)
        ],
    }
    kinds = {"input": "inputNode", "table": "decisionTableNode", "output": "outputNode"}
    nodes = [{"id": name, "name": name, "type": kinds[name], "position": {"x": 0, "y": 0}} for name in names]
    nodes[1]["content"] = table
    edges = [
        {"id": f"{start}-{end}", "sourceId": start, "targetId": end, "type": "edge"} for start, end in pairwise(names)
    ]
    return {"contentType": "application/vnd.gorules.decision", "nodes": nodes, "edges": edges}


def _cell(condition: RuleCondition) -> str:
    """The condition in that engine's form, with null as here: under a negation it takes null for a different value."""
    values = [json.dumps(operand).replace('"', "'") for operand in operands_of(condition)]
    op = condition.op
    if op in _SIGNS:
        return f"{_SIGNS[op]} {values[0]}"
    if op is RuleOp.BETWEEN:
        return f"[{values[0]}..{values[1]}]"
    return {
        RuleOp.EQ: "".join(values),
        RuleOp.IN: ", ".join(values),
        RuleOp.NEQ: f"$ != null and $ != {''.join(values)}",
        RuleOp.NOT_IN: f"$ != null and $ not in [{', '.join(values)}]",
        RuleOp.IS_NULL: "== null",
        RuleOp.NOT_NULL: "!= null",
    }[op]
