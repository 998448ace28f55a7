"""The numbers of purchases in a program: each once, and no more than a table holds."""

import pytest

from clearhold.features.bank.purchases import NOTHING_STATED, Purchase
from clearhold.features.state.purchases import NOTHING, PurchaseTable


def test_given_more_purchases_than_a_table_holds_when_they_are_numbered_then_later_ones_are_read_as_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PurchaseTable, "LIMIT", 3)
    table, purchases = PurchaseTable(), [Purchase(f"581{n}") for n in range(5)]

    numbers = [table.number(purchase) for purchase in purchases]

    assert numbers == [1, 2, 3, NOTHING, NOTHING]
    assert table.all == [NOTHING_STATED, *purchases[:3]]
    loaded = PurchaseTable()
    for part in table.dump():
        loaded.load(part)
    assert [loaded.number(purchase) for purchase in purchases] == numbers
