"""The bank's API beside the demo: everyone whom the events name is in it, in the bank's shapes."""

import msgspec

from clearhold.client.client import ClearholdClient
from clearhold.demo import directory
from clearhold.demo.bank import SimulatedBank, everyone_in
from clearhold.demo.bank_api import ACCOUNTS, COUNTERPARTIES, ENTITIES, BankApi
from clearhold.demo.directory import Owners, introduce, open_books
from clearhold.demo.reporter import Delivery
from clearhold.demo.stage import Access
from tests.demo.bank_shapes import complaints_of_object
from tests.support.fake_service import PROGRAM, SECRET, fake_service

NOW = 1_790_000_000_000_000
PROGRAMS = {slug: Access(program_id=PROGRAM, secret=SECRET) for slug in ("payroll", "remittance", "lending")}


def named_in(deliveries: list[Delivery], field: str) -> set[str]:
    data = [msgspec.json.decode(delivery.body)["data"] for delivery in deliveries]
    return {one[field] for one in data if one.get(field)}


def test_given_a_history_when_the_api_is_filled_then_every_account_and_counterparty_named_is_in_it() -> None:
    bank = SimulatedBank(1)
    deliveries = bank.history(NOW)
    with BankApi() as api:
        open_books(api, bank.cast, now=NOW, days=97)
        introduce(api, bank.newcomers())

        found = [
            (kind, api.find(place, named))
            for kind, place, field in (
                ("account", ACCOUNTS, "bank_account_id"),
                ("account", ACCOUNTS, "sender_bank_account_id"),
                ("counterparty", COUNTERPARTIES, "counterparty_id"),
            )
            for named in named_in(deliveries, field)
        ]
        parties = [
            ("entity", api.find(ENTITIES, party.id)) for program in bank.cast.values() for party in everyone_in(program)
        ]

    objects = [(kind, msgspec.json.decode(body)) for kind, body in found + parties if body is not None]
    assert len(objects) == len(found) + len(parties) > 1_500
    assert [line for kind, value in objects for line in complaints_of_object(kind, value)] == []
    assert bank.newcomers() == []


def test_given_a_stranger_when_a_live_move_names_one_then_the_bank_introduces_the_stranger_with_it() -> None:
    bank = SimulatedBank(1)
    introduced: set[str] = set()
    for place in range(300):
        at = NOW + place * 500_000
        deliveries = bank.report(bank.next_move(at), at)
        introduced |= {other.id for other, _ in bank.newcomers()}

        assert named_in(deliveries, "counterparty_id") <= introduced


def test_given_accounts_without_owners_when_awaited_then_it_waits_for_all_of_them() -> None:
    bank = SimulatedBank(1)
    deliveries = [delivery for delivery in bank.history(NOW, days=3) if delivery.transfer_id is not None]
    owners = Owners(deliveries)
    answers: list[int] = []
    with fake_service() as service, ClearholdClient(service.url) as client:
        for delivery in deliveries:
            path = f"/api/transfers/{delivery.transfer_id}?programId={PROGRAM}"
            service.answers[path] = (200, {"entityId": None})

        def learn(known: int) -> None:
            answers.append(known)
            for path in service.answers:
                service.answers[path] = (200, {"entityId": "enti_1"})

        assert owners.await_learnt(client, PROGRAMS, on_progress=learn) == owners.accounts

    assert answers == [0, owners.accounts]
    assert directory.LEARNT_WITHIN_S > 0
