"""A reader that knows Redis alone, beside kill -9 of the service, its scorers and its Redis at random."""

from contextlib import closing
from pathlib import Path

from clearhold.store.redis_log.connect import connect_sync
from tests.flows.test_kills import KILLS, Killer, bodies_of_one_program, post_under_kills, the_last_transfer
from tests.support.live_reader import LiveReader, assert_same, newest_scores, rows_of, stored_scores
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, wait_until_committed
from tests.support.waiting import eventually

EVENTS = 1_500


def test_given_kills_at_random_moments_then_a_reader_of_redis_ends_with_the_rows_of_the_tables_in_order_and_once(
    tmp_path: Path,
) -> None:
    bodies = bodies_of_one_program()[:EVENTS]
    killer = Killer(seed=9)
    with RunningService(tmp_path / "data", "--scorers", "2") as service:
        bank = RunningBank(service)
        program = bank.create_program("remittance", declaredRails=["realtime"])
        bank.rule_in_force(
            "acts", action="alert", severity="low", when=[{"field": "amountCents", "op": "gte", "value": 20_000}]
        )
        database = service.data / "clearhold.duckdb"
        with LiveReader(service.data / "redis.sock", [program["id"], bank.tenant["id"]]) as reader:
            post_under_kills(service, program, bodies, killer)
            wait_until_committed(service, bank.token, the_last_transfer(bodies))
            waiting = bank.ask("GET", f"/api/alerts?programId={program['id']}&status=open&limit=5")["data"]
            for alert in waiting[:2]:
                bank.ask(
                    "POST",
                    f"/api/alerts/{alert['id']}/decide",
                    {"decision": "close", "narrative": "It is explained by its contract."},
                    expect=201,
                )
            bank.ask("POST", f"/api/kri/snapshot/{program['id']}")
            bank.ask("POST", f"/api/skoor/backfill/{program['id']}")
            service.stop()
            expected = {program_id: rows_of(database, program_id) for program_id in reader.read}
            service.start()
            for program_id, rows in expected.items():
                assert_same(reader, rows, program_id)
            with closing(connect_sync(service.data / "redis.sock")) as client:
                assert newest_scores(reader, program["id"])
                eventually(lambda: stored_scores(client, program["id"]) == newest_scores(reader, program["id"]))

    kinds = {row[1] for row in expected[program["id"]]}
    assert {"transfer.scored", "actor.scored", "alert.opened", "disposition.created", "kri.snapshot"} <= kinds
    assert {row[1] for row in expected[bank.tenant["id"]]} == {"action.changed"}
    assert {each.body["cause"] for each in reader.read[program["id"]]} == {"stream", "backfill"}
    assert killer.under_load == KILLS
    assert reader.failures >= killer.redis_killed > 0
