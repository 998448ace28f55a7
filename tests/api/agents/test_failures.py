"""A scan index that is down, slow, wrong or lying: what was imported stays, and the answer says why."""

from itertools import count
from typing import Any, Final

import msgspec
import pytest

from clearhold.demo.scan_index import ScanAnswer
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import HOUR_US
from clearhold.flows.agents import importer
from tests.api.agents.conftest import Agents
from tests.support.clock import T0
from tests.support.running_app import assert_refused
from tests.support.scan_items import a_settlement, an_agent, entity_of, transfer_of

AT: Final = T0 - 20 * HOUR_US
_LIMITED: Final = ScanAnswer(429, b"{}", (("Retry-After", "7"),))


def imported(agents: Agents) -> dict[str, Any]:
    """An agent with a settlement that was imported while the index was well; the agent."""
    agents.index.put("agents", an_agent())
    agents.index.put("settlements", a_settlement(1, AT))
    agents.run_import()
    return agents.agent(entity_of(22))


def test_given_a_429_and_an_error_then_success_then_the_import_waits_as_it_is_asked_and_goes_on(agents: Agents) -> None:
    agents.index.put("agents", an_agent())
    agents.index.answer_next("agents", _LIMITED, ScanAnswer(503))

    assert agents.run_import()["agents"] == 1
    assert agents.api.slept == [7.0, 2.0]


@pytest.mark.parametrize(
    ("answer", "times", "sentence"),
    [
        (_LIMITED, 4, "answered settlements with status 429"),
        (ScanAnswer(500), 4, "answered settlements with status 500"),
        (ScanAnswer(403), 1, "answered settlements with status 403"),
        (ScanAnswer(302, b"", (("Location", "http://127.0.0.1:1/"),)), 1, "answered settlements with status 302"),
        (ScanAnswer(body=b"<html>"), 4, "A page of settlements is not what the contract says it is"),
        (ScanAnswer(body=b'{"items":7}'), 4, "A page of settlements is not what the contract says it is"),
        (ScanAnswer(body=b'{"items":[],"nextCursor":7}'), 4, "A page of settlements is not what the contract says"),
        (ScanAnswer(body=b'{"items":[],"nextCursor":""}'), 1, "A cursor of settlements is empty"),
        (ScanAnswer(body=b'{"schema":"scan-index/2","items":[]}'), 1, "another language than scan-index/1"),
        (ScanAnswer(body=b'{"items":[' + b"{}," * 500 + b"{}]}"), 1, "has more items than the 500"),
        (ScanAnswer(body=b" " * 9_000_000), 1, "is larger than 8388608 bytes"),
        (ScanAnswer(body=b"x", headers=(("Content-Encoding", "gzip"),)), 1, "or compressed"),
        (ScanAnswer(body=b'{"items":[', hangs_up=True), 4, "cannot be reached (RemoteProtocolError)"),
    ],
)
def test_given_an_index_that_fails_when_imported_then_it_says_why_and_earlier_data_stays(
    agents: Agents, answer: ScanAnswer, times: int, sentence: str
) -> None:
    before = imported(agents)
    agents.index.answer_next("settlements", *[answer] * times)

    failed = agents.post()

    assert_refused(failed, 502, sentence)
    assert failed.json()["code"] == "scan_index_failed"
    assert agents.agent(entity_of(22)) == before
    state = agents.state()
    assert state["stage"] == "failed"
    assert sentence in state["reason"]
    assert agents.counts() == (0, 0, 0), "the next import reads on as if nothing had been"


def test_given_cursors_that_lead_in_a_circle_then_the_import_ends_and_keeps_what_it_read(agents: Agents) -> None:
    agents.index.put("agents", an_agent())
    pages = {None: (1, "a"), "a": (2, "b"), "b": (3, "a")}

    def page(cursor: str | None) -> dict[str, Any]:
        number, after = pages[cursor]
        return {"items": [a_settlement(number, AT)], "nextCursor": after}

    agents.index.serve_pages("settlements", page)

    assert_refused(agents.post(), 502, "leads in a circle: a cursor of settlements came twice")
    assert agents.transfer(transfer_of(a_settlement(3, AT)))["status"] == "CONFIRMED"


def test_given_empty_pages_without_end_then_the_import_ends(agents: Agents) -> None:
    agents.index.serve_pages("profiles", lambda cursor: {"items": [], "nextCursor": f"{cursor}x"})

    assert_refused(agents.post(), 502, "10 pages of profiles in a row have no items")


def test_given_a_settlement_that_is_told_differently_later_then_the_first_word_stands(agents: Agents) -> None:
    agents.index.put("agents", an_agent(), an_agent(23))
    told = a_settlement(1, AT)
    agents.index.put("settlements", told)
    agents.run_import()
    agent = {"chainId": 8453, "registry": an_agent()["registry"], "agentId": "23"}
    lies: list[dict[str, Any]] = [{"amountAtomic": "2500001"}, {"payer": "0xbad0"}, {"agent": agent}]
    for number, lie in enumerate(lies, 1):
        agents.index.replace("settlements", [told | lie])
        assert agents.counts() == (0, 0, 0)
        assert agents.state()["skipped"] == {"contradicted": 1}, number

    assert agents.transfer(transfer_of(told))["entityId"] == entity_of(22)
    assert agents.agent(entity_of(22))["volumeCents"] == "250"


def test_given_words_of_strangers_when_shown_then_they_are_text_and_nothing_is_fetched(agents: Agents) -> None:
    hostile = "<script>alert(1)</script>\u202e" + "x" * 400
    agents.index.put("agents", an_agent(name=hostile, uri=f"{agents.index.url}/trap", image=f"{agents.index.url}/trap"))

    agents.run_import()

    shown = agents.get(f"/api/agents/{entity_of(22)}")
    assert shown.headers["content-type"].startswith("application/json")
    assert shown.json()["name"] == hostile.replace("\u202e", "")[:255]
    assert not [path for path in agents.index.requests if "trap" in path]


def test_given_a_tenant_without_the_program_when_asked_then_it_is_told_so(agents: Agents) -> None:
    other = agents.api.create_tenant(f"other-of-{agents.tenant['slug']}")
    headers = agents.api.operator(other)

    for method, path in (("GET", "/api/agents/import"), ("POST", "/api/agents/import")):
        refused = agents.api.client.request(method, path, headers=headers)
        assert_refused(refused, 404, "has no program agents")
    for query in ("", "?band=hold", "?limit=1"):
        listed = agents.api.client.get(f"/api/agents{query}", headers=headers)
        assert (listed.status_code, listed.json(), "Link" in listed.headers) == (200, [], False)


def test_given_one_idempotency_key_when_sent_twice_then_the_index_is_read_once(agents: Agents) -> None:
    agents.index.put("agents", an_agent())
    first = agents.post(**{"Idempotency-Key": "once"})
    requests = len(agents.index.requests)
    again = agents.post(**{"Idempotency-Key": "once"})

    assert (first.json(), again.headers["idempotent-replayed"]) == (again.json(), "true")
    assert len(agents.index.requests) == requests


def test_given_a_new_agent_when_imported_then_its_settlements_are_read_from_its_registration_on(agents: Agents) -> None:
    imported(agents)
    early = a_settlement(7, T0 - 400 * HOUR_US, agent=23)
    agents.index.put("settlements", early)
    assert agents.counts() == (0, 0, 0)

    agents.index.put("agents", an_agent(23, registeredAt="2026-01-01T00:00:00Z"))

    assert agents.counts() == (1, 1, 0)
    assert agents.transfer(transfer_of(early))["entityId"] == entity_of(23)


@pytest.mark.parametrize("named", [{}, {"agent": None}])
def test_given_a_settlement_that_came_before_its_agent_when_the_agent_is_there_then_it_is_taken_once(
    agents: Agents, named: dict[str, None]
) -> None:
    imported(agents)
    early = a_settlement(7, AT, agent=23) | named
    agents.index.put("settlements", early)
    assert agents.counts() == (0, 0, 0)
    agents.index.put("agents", an_agent(23, registeredAt="2026-01-01T00:00:00Z"))

    assert agents.counts() == (1, 1, 0)
    assert agents.transfer(transfer_of(early))["entityId"] == entity_of(23)
    assert agents.counts() == (0, 0, 0)
    bodies = [entry.body for entry in agents.api.entries() if entry.program_id == agents.program["id"]]
    assert bodies.count(msgspec.json.encode(early)) == 2  # before its agent, and after it


@pytest.mark.parametrize("name", ["profiles", "settlements"])
def test_given_an_import_that_failed_after_a_new_agent_then_the_next_reads_from_its_registration_on(
    agents: Agents, name: str
) -> None:
    imported(agents)
    early = a_settlement(7, T0 - 400 * HOUR_US, agent=23)
    agents.index.put("settlements", early)
    agents.index.put("agents", an_agent(23, registeredAt="2026-01-01T00:00:00Z"))
    agents.index.answer_next(name, ScanAnswer(403))
    assert_refused(agents.post(), 502, f"answered {name} with status 403")

    assert agents.counts() == (1, 1, 0)
    assert agents.transfer(transfer_of(early))["entityId"] == entity_of(23)
    agents.run_import()
    assert "since=2026-02-28T19" in agents.index.requests[-1], "and from then on the newest alone"


@pytest.mark.parametrize("taken", [0, 1])
def test_given_a_log_that_takes_nothing_for_long_when_imported_then_it_is_503_and_the_next_import_takes_all(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """From the beginning, or after the import has begun."""
    agents.index.put("agents", an_agent())
    agents.index.put("settlements", a_settlement(1, AT))
    appender, appends = agents.api.stores.appender, count()
    append_events = appender.append_events

    async def refusing(*about: Any, **more: Any) -> list[int]:
        if next(appends) >= taken:
            raise UnavailableError("The log did not confirm this in time.")
        return await append_events(*about, **more)

    with monkeypatch.context() as down:
        down.setattr(appender, "append_events", refusing)
        down.setattr(importer, "MAX_TRIES", 2)
        assert_refused(agents.post(), 503, "The log did not take the items for too long")

    assert agents.counts() == (1, 1, 0)


def test_given_a_settlement_that_waits_for_its_chain_then_it_is_read_again_until_it_is_final(agents: Agents) -> None:
    pending = a_settlement(1, T0 - 400 * HOUR_US, status="pending")
    agents.index.put("agents", an_agent())
    agents.index.put("settlements", pending, a_settlement(2, AT))
    agents.run_import()

    agents.index.replace("settlements", [pending | {"status": "confirmed"}])
    agents.run_import()

    assert agents.transfer(transfer_of(pending))["status"] == "CONFIRMED"
    agents.run_import()
    since = [path for path in agents.index.requests if "since" in path][-1]
    assert "2026-02-28T19" in since, since


def test_given_items_as_an_index_sends_them_then_the_log_has_their_bytes(agents: Agents) -> None:
    sent = msgspec.json.format(msgspec.json.encode(a_settlement(1, AT)), indent=1)
    agents.index.put("agents", an_agent())
    agents.index.put("settlements", sent)
    agents.run_import()

    kinds = [(entry.kind, entry.body) for entry in agents.api.entries() if entry.program_id == agents.program["id"]]
    assert ("settlement", sent) in kinds
