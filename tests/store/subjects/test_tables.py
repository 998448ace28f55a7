"""No table of the database is forgotten: each is in the export of a subject, or left out for a reason."""

from clearhold.store.duck.database import TABLES
from clearhold.store.subjects.check import END, MANIFEST
from clearhold.store.subjects.things import (
    BANK_OBJECTS,
    COVERED,
    LEFT_OUT,
    LINKS,
    ORDER,
    POLICIES,
    RECORD_CHECKPOINTS,
)

NAMES = [table.name for table in (*COVERED, LINKS)]


def test_given_the_tables_of_the_database_then_each_is_covered_or_left_out_with_a_reason() -> None:
    names = {name for name, _ in TABLES}

    assert (ORDER.keys() - {BANK_OBJECTS}) | LEFT_OUT.keys() == names
    assert not ORDER.keys() & LEFT_OUT.keys()
    assert all(LEFT_OUT.values())
    assert not {MANIFEST, END, BANK_OBJECTS} & names


def test_given_what_the_manifest_says_then_it_is_what_is_read_in_that_order() -> None:
    stated = [name for name in ORDER if name not in {BANK_OBJECTS, POLICIES, RECORD_CHECKPOINTS}]

    assert stated == NAMES
    assert [*ORDER][-3:] == [POLICIES, RECORD_CHECKPOINTS, LINKS.name]
