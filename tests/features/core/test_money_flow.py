"""Where money goes, written out for every rail, direction and type."""

import pytest

from clearhold.features.core.money import money_leaves, originates_debit
from clearhold.features.core.vocabulary import AchType, Direction, Rail

FLOWS = {
    ("ach", "outgoing", None): "out",
    ("ach", "outgoing", "CREDIT"): "out",
    ("ach", "outgoing", "DEBIT"): "in",
    ("ach", "incoming", None): "in",
    ("ach", "incoming", "CREDIT"): "in",
    ("ach", "incoming", "DEBIT"): "out",
    ("wire", "outgoing", None): "out",
    ("wire", "incoming", None): "in",
    ("realtime", "outgoing", None): "out",
    ("realtime", "incoming", None): "in",
    ("book", "outgoing", None): "out",
    ("book", "incoming", None): "in",
    ("intl_wire", "outgoing", None): "out",
    ("intl_wire", "incoming", None): "in",
    ("check", "outgoing", None): "out",
    ("check", "incoming", None): "in",
    ("card", "outgoing", None): "out",
    ("card", "incoming", None): "in",
}


@pytest.mark.parametrize(("transfer", "flow"), FLOWS.items(), ids=str)
def test_given_a_rail_a_direction_and_a_type_then_the_money_goes_as_written_here(
    transfer: tuple[str, str, str | None], flow: str
) -> None:
    assert money_leaves(*transfer) is (flow == "out")


def test_given_the_table_then_every_rail_and_direction_is_in_it_and_a_type_matters_on_ach_alone() -> None:
    types = (None, *(word.value for word in AchType))

    assert {key[:2] for key in FLOWS} == {(rail.value, way.value) for rail in Rail for way in Direction}
    for rail, direction in {key[:2] for key in FLOWS if key[0] != "ach"}:
        assert {money_leaves(rail, direction, word) is (FLOWS[rail, direction, None] == "out") for word in types} == {
            True
        }


def test_given_every_transfer_then_an_outgoing_ach_debit_alone_is_an_originated_debit() -> None:
    assert [key for key in FLOWS if originates_debit(*key)] == [("ach", "outgoing", "DEBIT")]
