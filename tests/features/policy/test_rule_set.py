"""Rules in force: shared by the programs in which the same ones count, and gone with the version that had them."""

import gc
from typing import Any
from weakref import ref

import msgspec
import pytest

from clearhold.features.policy.bodies import ActiveVersion, RulesBody
from clearhold.features.policy.in_force import PolicyBook
from clearhold.features.policy.rule_set import checked_body
from tests.support.rules import a_condition
from tests.support.rules_in_force import an_active_rule


def a_version(number: int, *rules: Any, prefix: str = "rules", since: int = 0) -> ActiveVersion:
    # Decoded anew and checked, as from an entry of the log.
    body = checked_body(msgspec.json.decode(msgspec.json.encode(RulesBody(rules=rules)), type=RulesBody))
    version = f"{prefix}-v{number}"
    return ActiveVersion(version=version, body=body, since=since, action_id=f"act-{version}", of_program=False)


def a_book(*versions: ActiveVersion, program_id: str = "prg_1") -> PolicyBook:
    book = PolicyBook(program_id)
    for version in versions:
        book.activate(version)
    return book


def test_given_programs_with_the_same_rules_then_bodies_and_compiled_sets_are_one() -> None:
    rules = (an_active_rule("all"), an_active_rule("own", programId="prg_own"))
    books = [a_book(a_version(1, *rules), program_id=program_id) for program_id in ("prg_1", "prg_2", "prg_own")]

    first, second, own = (book.rules() for book in books)

    bodies = {id(version.body) for book in books if (version := book.in_force("rules", 0)) is not None}
    assert len(bodies) == 1
    assert first is second
    assert [each.rule.id for each in first.rules] == ["all"]
    assert [each.rule.id for each in own.rules] == ["all", "own"]


def test_given_versions_that_are_replaced_then_their_rules_are_not_kept_and_the_book_is_the_same_after_a_dump() -> None:
    book = a_book(a_version(1, an_active_rule("tries"), prefix="shadow"))
    kept = [in_force(book, a_version(number, an_active_rule(f"freed-{number}"))) for number in range(1, 6)]
    gc.collect()

    loaded = PolicyBook("prg_1")
    loaded.load(msgspec.msgpack.decode(msgspec.msgpack.encode(book.dump())))

    ids = [each.rule.id for each in book.rules().rules]
    assert ids == [each.rule.id for each in loaded.rules().rules] == ["freed-5", "tries"]
    assert loaded.dump() == book.dump()
    assert len(book.dump()) == 2
    assert [number for number in range(1, 6) if loaded.knows(f"act-rules-v{number}")] == [5]
    assert [(body() is None, rules() is None) for body, rules in kept] == [(True, True)] * 4 + [(False, False)]


def in_force(book: PolicyBook, version: ActiveVersion) -> tuple[ref[Any], ref[Any]]:
    """Bring a version into force; whether its body, and the set of what counts since, are still somewhere."""
    activated = book.activate(version)
    assert activated is not None
    return ref(activated.body), ref(book.rules())


def test_given_a_clock_that_stood_back_then_the_newest_version_counts_all_the_same() -> None:
    book = a_book(a_version(1, an_active_rule("one"), since=2_000), a_version(2, an_active_rule("two"), since=1_000))

    assert [each.rule.id for each in book.rules().rules] == ["two"]


def test_given_a_number_with_a_fraction_of_nothing_then_the_rule_that_counts_reads_as_its_digest_does() -> None:
    book = a_book(a_version(1, an_active_rule("one", a_condition("entity.count30d", "gt", 2.0))))

    (rule,) = book.rules().rules
    assert msgspec.json.encode(rule.rule.when[0].value) == b"2"


@pytest.mark.parametrize("from_snapshot", [False, True])
def test_given_a_rule_with_a_fault_then_the_version_is_refused_with_its_place_whoever_else_has_it(
    *, from_snapshot: bool
) -> None:
    body = RulesBody(rules=(an_active_rule(), an_active_rule("bad", a_condition("rail", "gt", "wire"))))
    version = ActiveVersion(version="rules-v1", body=body, since=0, action_id="act", of_program=False)
    other = PolicyBook("prg_2")
    if from_snapshot:
        other.load([msgspec.to_builtins(version)])

    with pytest.raises(ValueError, match=r"rule bad, when\[0\]\.op: must be one of"):
        checked_body(body)
