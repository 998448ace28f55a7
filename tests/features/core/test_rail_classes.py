"""The numbers of rails and ACH types: they are on disk, so that none may move."""

from clearhold.features.core.money import ACH_TYPES, CARD_CLASSES, RAIL_CLASSES, class_of


def test_given_the_rails_when_they_are_numbered_then_no_number_has_moved() -> None:
    assert [f"{rail} {direction}" for rail, direction in RAIL_CLASSES] == [
        *("ach incoming", "ach outgoing", "wire incoming", "wire outgoing", "realtime incoming", "realtime outgoing"),
        *("book incoming", "book outgoing", "intl_wire incoming", "intl_wire outgoing"),
        *("check incoming", "check outgoing", "card incoming", "card outgoing"),
    ]
    assert ACH_TYPES == (None, "CREDIT", "DEBIT")
    assert {RAIL_CLASSES[number] for number in CARD_CLASSES} == {("card", "incoming"), ("card", "outgoing")}


def test_given_a_rail_and_a_direction_when_their_number_is_asked_for_then_it_is_their_place_in_the_list() -> None:
    assert [class_of(rail, direction) for rail, direction in RAIL_CLASSES] == list(range(14))
