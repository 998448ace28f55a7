"""The benchmark of hubs: its events are of the program that it says they are of."""

from bench.hubs import Hubs


def test_given_hubs_that_have_grown_then_every_event_was_applied_and_the_hubs_have_their_parties() -> None:
    hubs, steps = Hubs(), list[int]()

    hubs.grow(30, steps.append)
    program = hubs.state.program("program-1")

    assert sum(steps) == hubs.size == 30
    assert len(program.transfers) == 90
    assert hubs.state.applied_offset == 90
    assert {f"cpty_c{number}" for number in range(30)} | {"cpty_hub"} <= {
        each.id for each in program.counterparties.all
    }
    assert hubs.cost_us(hubs.new_payer) > 0
