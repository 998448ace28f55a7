"""The record over HTTP: verified, exported, signed, proven; the tenant's as a whole and nobody else's."""

import base64
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from typer.testing import CliRunner

from clearhold.api.cli.main import app
from clearhold.features.core.canonical import link_hash
from clearhold.features.core.instants import MINUTE_US
from clearhold.store.record.signed_trees import Checkpoint, opened_note, root_of_path
from tests.support.principals import an_operator
from tests.support.running_app import RunningApp, assert_refused, assert_stamped


def get(api: RunningApp, tenant: dict[str, Any], path: str, **query: Any) -> Any:
    return api.client.get(f"/api/record/{path}", params=query or None, headers=api.operator(tenant))


def exported(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    answer = get(api, tenant, "export", **query)
    assert answer.status_code == 200, answer.text
    return [json.decode(line) for line in answer.content.split(b"\n")[:-1]]


def keys_of(api: RunningApp) -> list[bytes]:
    jwks = api.client.get("/.well-known/jwks.json").json()
    return [base64.urlsafe_b64decode(key["x"] + "==") for key in jwks["keys"]]


def chained(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["chain"] == "dispositions"]


def test_given_decisions_when_verified_then_every_link_of_both_chains_holds(
    api: RunningApp, tenant: dict[str, Any], decided: list[dict[str, Any]]
) -> None:
    answer = get(api, tenant, "verify")

    report = answer.json()
    links = len(chained(exported(api, tenant)))
    assert answer.status_code == 200
    assert links >= len(decided)
    assert report == {
        "ok": True,
        "checked": links,
        "firstBreakAt": None,
        "chains": {"dispositions": {"ok": True, "checked": links}, "actions": {"ok": True, "checked": 0}},
        "rows": {"ok": True, "checked": report["rows"]["checked"], "differences": []},
    }
    assert report["rows"]["checked"] >= 2 * len(decided)  # each decision, and its alert
    assert_stamped(answer)


@pytest.mark.usefixtures("decided")
def test_given_one_chain_when_verified_then_it_is_told_of_beside_how_both_stand(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    api.database.execute("UPDATE record_chain SET body = replace(body, 'Explained', 'EXPLAINED') WHERE seq >= 2")

    both = get(api, tenant, "verify").json()
    actions = get(api, tenant, "verify", chain="actions").json()
    dispositions = get(api, tenant, "verify", chain="dispositions").json()

    stand = {"dispositions": {"ok": False, "checked": 2}, "actions": {"ok": True, "checked": 0}}
    rows = both["rows"]
    assert {tuple(each["columns"]) for each in rows["differences"]} == {("narrative",)}
    assert actions == {"ok": True, "checked": 0, "firstBreakAt": None, "chains": stand, "rows": rows}
    assert dispositions == both
    assert (both["ok"], both["checked"], both["chains"]) == (False, 2, stand)
    assert both["firstBreakAt"]["seq"] == 2


@pytest.mark.usefixtures("decided")
def test_given_a_broken_chain_when_the_other_is_verified_then_the_last_outcome_is_that_of_the_whole_record(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    last = api.stores.record.verifications.by_tenant
    get(api, tenant, "verify")
    before = dict(last)
    api.database.execute("UPDATE record_chain SET body = replace(body, 'Explained', 'EXPLAINED') WHERE seq >= 2")
    api.clock.advance(MINUTE_US)

    get(api, tenant, "verify", chain="actions")

    assert before == {tenant["slug"]: (api.clock.now() - MINUTE_US, True)}
    assert last == {tenant["slug"]: (api.clock.now(), False)}
    assert_refused(get(api, tenant, "verify", chain="labels"), 400, "chain")


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize(
    ("statement", "table", "columns"),
    [
        (
            "UPDATE dispositions SET decision = 'close', narrative = 'x' WHERE {it}",
            "dispositions",
            "decision narrative",
        ),
        ("UPDATE dispositions SET overturns_draft = NOT overturns_draft WHERE {it}", "dispositions", "overturns_draft"),
        ("UPDATE dispositions SET created_at = created_at + INTERVAL 1 DAY WHERE {it}", "dispositions", "created_at"),
        ("DELETE FROM dispositions WHERE {it}", "dispositions", "missing"),
        ("INSERT INTO dispositions SELECT * REPLACE ('x' AS id) FROM dispositions", "dispositions", "unrecorded"),
        ("UPDATE alerts SET status = 'open' WHERE id = {alert}", "alerts", "status"),
        ("UPDATE alerts SET severity = 'low', detector = 'x' WHERE id = {alert}", "alerts", "detector severity"),
        ("UPDATE alerts SET score_at_alert = 1 WHERE id = {alert}", "alerts", "score_at_alert"),
        ("UPDATE alert_bodies SET body = body || ' ' WHERE alert_id = {alert}", "alert_bodies", "body"),
        ("DELETE FROM alert_bodies WHERE alert_id = {alert}", "alerts", "unrecorded"),
    ],
)
def test_given_a_shown_row_that_was_changed_when_verified_then_it_is_named_with_its_columns(
    api: RunningApp, tenant: dict[str, Any], decided: list[dict[str, Any]], statement: str, table: str, columns: str
) -> None:
    names = {"it": f"id = '{decided[1]['id']}'", "alert": f"'{decided[1]['alertId']}'"}
    api.database.execute(statement.format(**names))

    report = get(api, tenant, "verify").json()

    assert (report["ok"], report["firstBreakAt"]) == (False, None)  # the chains themselves hold
    assert report["rows"]["ok"] is False
    first = report["rows"]["differences"][0]
    assert (first["table"], first["columns"]) == (table, columns.split())


def test_given_two_verifications_when_another_is_asked_for_then_it_is_told_what_there_are_too_many_of(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    checks = api.services["record"]._checks
    principal = an_operator(tenant["id"])

    with checks.slot(principal), checks.slot(principal):
        refused = get(api, tenant, "verify")

    assert_refused(refused, 429, "At most 2 verifications of the record run at a time")
    assert get(api, tenant, "verify").status_code == 200


@pytest.mark.usefixtures("decided")
def test_given_a_body_edited_in_the_database_when_verified_then_the_first_break_is_told(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    line = chained(exported(api, tenant))[2]
    api.database.execute("UPDATE record_chain SET body = replace(body, 'Explained', 'EXPLAINED') WHERE seq >= 2")

    answer = get(api, tenant, "verify")

    edited = json.encode(line["body"], order="sorted").replace(b"Explained", b"EXPLAINED")
    assert answer.status_code == 200
    assert answer.json()["ok"] is False
    assert answer.json()["checked"] == 2
    assert answer.json()["chains"]["dispositions"] == {"ok": False, "checked": 2}
    assert answer.json()["firstBreakAt"] == {
        "chain": "dispositions",
        "seq": 2,
        "id": line["body"]["id"],
        "expected": link_hash(line["prevHash"], edited),
        "found": line["hash"],
        "createdAt": line["body"]["createdAt"],
    }


@pytest.mark.usefixtures("decided")
def test_given_a_cut_tail_when_verified_then_the_last_checkpoint_tells(api: RunningApp, tenant: dict[str, Any]) -> None:
    note = get(api, tenant, "checkpoint", chain="dispositions").text
    checkpoint = opened_note(note, keys_of(api))
    api.database.execute("DELETE FROM record_chain WHERE seq = ?", [checkpoint.size - 1])

    report = get(api, tenant, "verify").json()

    assert report["ok"] is False
    assert report["firstBreakAt"] == {
        "chain": "dispositions",
        "seq": checkpoint.size - 1,
        "id": None,
        "expected": base64.b64encode(checkpoint.root).decode(),
        "found": None,
        "createdAt": None,
    }


def test_given_decisions_when_exported_then_lines_are_canonical_and_the_links_are_what_was_answered(
    api: RunningApp, tenant: dict[str, Any], decided: list[dict[str, Any]]
) -> None:
    answer = get(api, tenant, "export")

    lines = exported(api, tenant)
    links = {line["body"]["id"]: line for line in chained(lines)}
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == 'attachment; filename="record.ndjson"'
    assert answer.content.endswith(b"\n")
    for raw, line in zip(answer.content.split(b"\n"), lines, strict=False):
        assert json.encode(line, order="sorted") == raw
    for made in decided:
        line = links[made["id"]]
        assert (line["seq"], line["prevHash"], line["hash"]) == (made["seq"], made["prevHash"], made["hash"])
        assert {name: line["body"][name] for name in made if name not in {"seq", "prevHash", "hash"}} == {
            name: value for name, value in made.items() if name not in {"seq", "prevHash", "hash"}
        }
    assert [line["seq"] for line in chained(lines)] == list(range(len(links)))
    cited = {line["body"][name] for line in links.values() for name in ("alertSha256", "policySha256")}
    there = {
        sha256(json.encode(line["body"], order="sorted")).hexdigest(): line["kind"]
        for line in lines
        if line["chain"] is None
    }
    assert set(there) == cited
    assert set(there.values()) == {"policy", "alert"}


def test_given_ranges_and_kinds_when_exported_then_the_lines_are_narrowed(
    api: RunningApp, tenant: dict[str, Any], decided: list[dict[str, Any]]
) -> None:
    since, until = decided[1]["createdAt"], decided[3]["createdAt"]

    ranged = chained(exported(api, tenant, **{"from": since, "to": until}))
    alone = exported(api, tenant, kinds="disposition")
    several = exported(api, tenant, kinds="policy,action")

    assert {made["id"] for made in decided[1:3]} <= {line["body"]["id"] for line in ranged}
    assert decided[3]["id"] not in {line["body"]["id"] for line in ranged}
    assert {line["kind"] for line in alone} == {"disposition"}
    assert {line["kind"] for line in several} == {"policy"}
    assert_refused(get(api, tenant, "export", kinds="label"), 400, "kinds")
    assert_refused(get(api, tenant, "export", **{"from": "2026-02-30"}), 400, "from")


@pytest.mark.usefixtures("decided")
def test_given_a_download_keys_and_checkpoints_when_verified_offline_then_the_record_holds(
    api: RunningApp, tenant: dict[str, Any], tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in ("export.ndjson", "jwks.json", "dispositions.txt", "actions.txt")]
    contents = [
        get(api, tenant, "export").content,
        api.client.get("/.well-known/jwks.json").content,
        *(get(api, tenant, "checkpoint", chain=chain).content for chain in ("dispositions", "actions")),
    ]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)

    run = CliRunner().invoke(app, ["verify", *map(str, paths)])

    assert run.exit_code == 0, run.output
    assert "ok dispositions" in run.output


def test_given_another_tenant_when_it_looks_then_its_record_is_its_own(
    api: RunningApp, decided: list[dict[str, Any]]
) -> None:
    other = api.create_tenant("second-bank")

    assert decided
    assert get(api, other, "verify").json()["checked"] == 0
    assert exported(api, other) == []
    assert get(api, other, "checkpoints").json() == {"data": [], "hasMore": False, "nextCursor": None}
    checkpoint = opened_note(get(api, other, "checkpoint", chain="dispositions").text, keys_of(api))
    assert (checkpoint.origin, checkpoint.size) == ("risk.example.test/second-bank/dispositions", 0)
    assert_refused(get(api, other, "proof", chain="dispositions", seq=0), 404)


@pytest.mark.usefixtures("decided")
def test_given_a_chain_when_a_checkpoint_is_asked_for_then_it_is_signed_over_all_or_as_many_links(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    answer = get(api, tenant, "checkpoint", chain="dispositions")
    whole = opened_note(answer.text, keys_of(api))
    two = opened_note(get(api, tenant, "checkpoint", chain="dispositions", size=2).text, keys_of(api))

    leaves = [sha256(b"\0" + bytes.fromhex(line["hash"])).digest() for line in chained(exported(api, tenant))[:2]]
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.origin == two.origin == "risk.example.test/first-bank/dispositions"
    assert whole.size == len(chained(exported(api, tenant)))
    assert two == Checkpoint(origin=whole.origin, size=2, root=sha256(b"\1" + leaves[0] + leaves[1]).digest())
    assert get(api, tenant, "checkpoint", chain="dispositions").text == answer.text
    assert_refused(get(api, tenant, "checkpoint", chain="dispositions", size=whole.size + 1), 404)
    assert_refused(get(api, tenant, "checkpoint"), 400, "chain")
    assert_refused(get(api, tenant, "checkpoint", chain="dispositions", size=-1), 400, "size")


@pytest.mark.usefixtures("decided")
def test_given_a_rewritten_chain_when_a_new_process_is_asked_to_sign_then_it_refuses(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    get(api, tenant, "checkpoint", chain="dispositions")
    api.database.execute("UPDATE record_chain SET hash = ? WHERE seq = 0", ["0" * 64])
    api.restart()

    assert_refused(get(api, tenant, "checkpoint", chain="dispositions"), 409, "earlier checkpoint")
    assert get(api, tenant, "verify").json()["ok"] is False


@pytest.mark.usefixtures("decided")
def test_given_checkpoints_when_listed_then_pages_show_each_once_newest_first(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    for size in (1, 2, 3):
        get(api, tenant, "checkpoint", chain="dispositions", size=size)
        api.clock.advance(1_000_000)
    get(api, tenant, "checkpoint", chain="actions")

    first = get(api, tenant, "checkpoints", limit=3)
    rest = get(api, tenant, "checkpoints", limit=3, cursor=first.json()["nextCursor"])
    only = get(api, tenant, "checkpoints", chain="dispositions")

    listed = first.json()["data"] + rest.json()["data"]
    assert [(each["chain"], each["size"]) for each in listed] == [
        ("actions", 0),
        ("dispositions", 3),
        ("dispositions", 2),
        ("dispositions", 1),
    ]
    assert (first.json()["hasMore"], rest.json()["hasMore"], rest.json()["nextCursor"]) == (True, False, None)
    assert 'rel="next"' in first.headers["link"]
    assert [each["size"] for each in only.json()["data"]] == [3, 2, 1]
    for each in listed:
        checkpoint = opened_note(each["note"], keys_of(api))
        assert (checkpoint.size, base64.b64encode(checkpoint.root).decode()) == (each["size"], each["root"])
    wrong = {"cursor": first.json()["nextCursor"], "chain": "actions"}
    assert_refused(get(api, tenant, "checkpoints", **wrong), 400, "cursor")


@pytest.mark.usefixtures("decided")
def test_given_a_link_when_proven_then_its_hash_and_the_path_lead_to_the_signed_root(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    lines = chained(exported(api, tenant))
    for seq, line in enumerate(lines):
        proof = get(api, tenant, "proof", chain="dispositions", seq=seq).json()

        checkpoint = opened_note(proof["checkpoint"], keys_of(api))
        path = [base64.b64decode(each) for each in proof["hashes"]]
        assert (proof["leafIndex"], proof["treeSize"]) == (seq, checkpoint.size)
        assert root_of_path(bytes.fromhex(line["hash"]), seq, checkpoint.size, path) == checkpoint.root
    assert_refused(get(api, tenant, "proof", chain="dispositions", seq=len(lines)), 404)
    assert_refused(get(api, tenant, "proof", chain="dispositions"), 400, "seq")


def test_given_the_keys_when_published_then_nothing_private_is_in_them_and_they_may_be_kept(api: RunningApp) -> None:
    answer = api.client.get("/.well-known/jwks.json")
    again = api.client.get("/.well-known/jwks.json", headers={"If-None-Match": answer.headers["etag"]})

    key, of_proofs = answer.json()["keys"]
    assert answer.headers["content-type"] == "application/jwk-set+json"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert set(key) == set(of_proofs) == {"kty", "crv", "x", "kid", "use", "alg"}
    assert key["kid"] != of_proofs["kid"]
    assert (key["kty"], key["crv"], key["use"], key["alg"]) == ("OKP", "Ed25519", "sig", "EdDSA")
    assert (again.status_code, again.content) == (304, b"")


def test_given_two_checks_or_downloads_under_way_when_a_third_is_asked_for_then_it_has_to_wait(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    operator = an_operator(tenant["id"])
    for counted in (api.services["record"]._checks, api.resources.downloads._limit):
        with counted.slot(operator), counted.slot(operator):
            path = "verify" if counted is api.services["record"]._checks else "export"
            assert_refused(get(api, tenant, path), 429)


@pytest.mark.parametrize("path", ["verify", "export", "checkpoint", "checkpoints", "proof"])
@pytest.mark.parametrize(
    "made", [{"mode": "live", "programId": True}, {"mode": "test"}, {"mode": "live", "scopes": ["labels"]}]
)
def test_given_a_key_of_one_program_of_simulated_ones_or_of_another_scope_when_it_asks_then_403(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], path: str, made: dict[str, Any]
) -> None:
    headers = api.key(tenant, **made | ({"programId": program["id"]} if "programId" in made else {}))

    answer = api.client.get(f"/api/record/{path}?x=1", headers=headers)

    assert_refused(answer, 403)
