"""How entities, accounts and counterparties are learnt, and how a side without an id is recognised."""

from dataclasses import astuple
from typing import Any

from tests.oracle.facts import ALWAYS, Account, Key, Known, Party, Profile, Program, Version
from tests.oracle.reading import Said, instant, maybe_instant, normal_name
from tests.oracle.status_order import place
from tests.oracle.texts import country, last_four, routing_number

NOTHING_YET: Version = (ALWAYS, ALWAYS, 0)

Data = dict[str, Any]


def version_of(data: Data, event_at: int, state: int = 0) -> Version:
    """``state`` is the rank of the state in the object's life, 0 without one."""
    updated = data.get("updated_at")
    return (instant(updated) if updated is not None else event_at, event_at, state)


def is_older(version: Version, newest: Version) -> bool:
    """Of two snapshots with equal times, the one with the later state is newer."""
    if version[:2] == newest[:2]:
        return 0 < version[2] < newest[2]
    return version < newest


def learn_entity(program: Program, kind: str, data: Data, event_at: int) -> None:
    """Only the fields that are present are taken over; an older word is put before the newer ones."""
    entity_id = data.get("id") or data.get("entity_id")
    told = data.get("verification_status") or kind.rsplit(".", 1)[1]
    version = version_of(data, event_at, place("entity", str(told).upper()))
    if entity_id is None:
        return
    words = program.entity_words.setdefault(entity_id, [])
    newer = next((at for at, (known, _) in enumerate(words) if is_older(version, known)), len(words))
    status = _verification(kind, data, is_first=not words)
    words.insert(newer, (max(version, words[newer - 1][0]) if newer else version, _words(data, status, event_at)))
    program.entities.add(entity_id)
    profiles = program.profiles[entity_id] = [Profile()]
    for _, word in words:
        both = zip(astuple(word), astuple(profiles[-1]), strict=True)
        profiles.append(Profile(*(_kept(said, before) for said, before in both)))
    del profiles[0]


def _words(data: Data, status: str | None, event_at: int) -> Profile:
    details, reasons = data.get("person_details") or {}, data.get("review_reasons")
    return Profile(
        event_at,
        status,
        details.get("pep_status") or data.get("pep_status"),
        data.get("is_high_risk"),
        data.get("requires_screening"),
        maybe_instant(data.get("last_screened_at")),
        maybe_instant(data.get("created_at")),
        None if reasons is None else tuple(reasons),
    )


def _kept(said: Any, before: Any) -> Any:
    return before if said is None else said


def _verification(kind: str, data: Data, *, is_first: bool) -> str | None:
    if data.get("verification_status"):
        return str(data["verification_status"]).upper()
    word = kind.rsplit(".", 1)[1].upper()
    if word == "CREATED":
        return "PENDING" if is_first else None
    return word if word in ("PENDING", "MANUAL_REVIEW", "VERIFIED", "DENIED") else None


def learn_account(program: Program, data: Data, event_at: int) -> None:
    """An overdraft alert is no bank account: it names one and says nothing of its owners."""
    account_id, owners = data.get("id") or data.get("bank_account_id"), data.get("owners")
    if account_id is None:
        return
    program.accounts.add(account_id)
    version = version_of(data, event_at, place("account", str(data.get("status")).upper()))
    newest = program.account_versions.get(account_id, NOTHING_YET)
    if not owners or is_older(version, newest):
        return
    program.account_versions[account_id] = max(version, newest)
    program.owners[account_id] = owners[0]
    program.first_owners.setdefault(account_id, owners[0])
    program.entities.add(owners[0])


def learn_owner(program: Program, account_id: str, entity_id: str, at: int) -> None:
    """The platform's own word on an owner holds until the bank has a newer one."""
    newest = program.account_versions.get(account_id, NOTHING_YET)
    program.accounts.add(account_id)
    program.account_versions[account_id] = max(newest, (at, at, 0))
    program.owners[account_id] = entity_id
    program.first_owners.setdefault(account_id, entity_id)
    program.entities.add(entity_id)


def learn_answer(program: Program, answer: Data, appended_at: int) -> None:
    """An object of the bank's API is the bank's word as of the request, unless it says itself when it was changed."""
    if answer["result"] != "found":
        return
    data, asked_at = answer["data"], min(answer["fetchedAt"], appended_at)
    if answer["kind"] == "account":
        learn_account(program, data, asked_at)
    elif answer["kind"] == "entity":
        learn_entity(program, "identity.answer", data, asked_at)
    else:
        learn_counterparty(program, data, asked_at)


def learn_counterparty(program: Program, data: Data, event_at: int, word: str | None = None) -> None:
    version = version_of(data, event_at, place("counterparty", word))
    newest = program.party_versions.get(data["id"], NOTHING_YET)
    program.party_versions[data["id"]] = max(version, newest)
    where = country((data.get("address") or {}).get("country_code")) or country(data.get("local_bank_country_code"))
    routing, last4 = routing_number(data.get("routing_number")), last_four(data.get("account_number"))
    said, key = Party(data.get("name"), routing, last4, where), ("id", data["id"])
    older = is_older(version, newest)
    at = min(version[0], newest[1]) if older else max(event_at, *newest[:2])  # the newest object is the newest word
    _say(program, key, said, at, older=older)


def _say(program: Program, key: Key, said: Party, at: int, *, older: bool = False) -> None:
    """Store the stated details that are newer than the known ones.

    Names are kept in order of arrival, accounts by their first holder.
    """
    party = program.parties.setdefault(key, Party())
    name, where, has_account = said.name, said.country, bool(said.routing or said.last4)
    name = name if name and _is_newest(party, "name", at, older=older) else None
    where = where if where and _is_newest(party, "country", at, older=older) else None
    if name is not None and (party.name is None or normal_name(party.name) != normal_name(name)):
        program.named = [other for other in program.named if other != key] + [key]
    party.name, party.country = name or party.name, where or party.country
    if has_account and _is_newest(party, "account", at, older=older):
        _say_account(program, key, party, said)
        account: Party | Account = party
    else:
        account = _say_earlier_account(program, key, party, said)
    if account.routing and account.last4:
        program.holders.setdefault((account.routing, account.last4), key)


def _is_newest(party: Party, detail: str, at: int, *, older: bool) -> bool:
    told_at = party.told_at.get(detail)
    if told_at is not None and (at < told_at or (at == told_at and older)):
        return False
    party.told_at[detail] = at
    return True


def _say_earlier_account(program: Program, key: Key, party: Party, said: Party) -> Party | Account:
    """Store an account stated before the present one; one that matches it fills in what the present one lacks."""
    if not details_differ(party, said):
        _fill_in(party, said)
        _complete(party)
        return party
    if not party.accounts:
        party.accounts.append(_first_account(program, key, party))
    account = account_of(party, said)
    if account is None:
        account = Account(said.routing, said.last4)
        party.accounts.insert(0, account)
    _fill_in(account, said)
    return account


def _fill_in(account: Party | Account, said: Party) -> None:
    account.routing, account.last4 = account.routing or said.routing, account.last4 or said.last4


def _complete(party: Party) -> None:
    """Copy the details of the present account to its entry among the accounts on file."""
    now = account_of(party, party)
    if now is not None:
        now.routing, now.last4 = party.routing, party.last4


def _first_account(program: Program, key: Key, party: Party) -> Account:
    moved = [each.own for each in program.transfers.values() if each.party.last == key and each.moved.last]
    return Account(party.routing, party.last4, min(moved, default=None))


def _say_account(program: Program, key: Key, party: Party, said: Party) -> None:
    """Differing details add an account; matching ones fill in what is missing of the present account."""
    if details_differ(party, said):
        if not party.accounts:
            party.accounts.append(_first_account(program, key, party))
        account = account_of(party, said)
        if account is None:
            account = Account(said.routing, said.last4)
            party.accounts.append(account)
        _fill_in(account, said)
        party.routing, party.last4 = account.routing, account.last4
        return
    party.routing, party.last4 = said.routing or party.routing, said.last4 or party.last4
    _complete(party)


def account_of(party: Party, said: Party) -> Account | None:
    return next((each for each in party.accounts if not details_differ(each, said)), None)


def is_other(party: Party, said: Party) -> bool:
    """Whether these details match none of the party's accounts."""
    return account_of(party, said) is None if party.accounts else details_differ(party, said)


def was_used(program: Program, account: Account, at: int) -> bool:
    """Whether money had moved to the account by then."""
    if account.used_at is None or account.used_at > at:
        return False
    return account.first is None or program.transfers[account.first].moved.last


def pay_account(program: Program, known: Known, said: Said) -> None:
    """Store the first transfer to an account with it."""
    party = None if known.party.last is None else program.parties[known.party.last]
    if party is None or not party.accounts:
        return
    stated = Party(None, said.routing, said.last4)
    account = account_of(party, stated if details_differ(party, stated) else party)
    if account is not None and not was_used(program, account, known.own):
        account.used_at, account.first = known.own, said.id


def on_file(program: Program, said: Party) -> Key | None:
    """The counterparty for a name without an id: the holder of the account, else the first of that name that matches.

    One without an account does not match when another of that name has a different account.
    """
    holder = program.holders.get((said.routing or "", said.last4 or ""))
    if holder is not None:
        held = program.parties[holder]
        accounts = [(held.routing, held.last4), *((each.routing, each.last4) for each in held.accounts)]
        if (said.routing, said.last4) in accounts:
            return holder
    namesakes = [key for key in program.named if normal_name(program.parties[key].name) == normal_name(said.name)]
    possible = [key for key in namesakes if not is_other(program.parties[key], said)]
    if not possible:
        return None
    first = program.parties[possible[0]]
    return None if len(possible) < len(namesakes) and (first.routing or first.last4) is None else possible[0]


def details_differ(one: Party | Account, other: Party) -> bool:
    """Both name an account, and not the same."""
    pairs = ((one.routing, other.routing), (one.last4, other.last4))
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def stranger_of(said: Party) -> Key:
    return ("name", normal_name(said.name), said.routing or "", said.last4 or "")


def party_of(program: Program, said: Said, at: int, known: Known | None = None) -> Key | None:
    """The counterparty of a snapshot, after its details are stored as of ``at``.

    A later snapshot of a ``known`` transfer repeats the details of the time at which the transfer was made, except in
    an object of the counterparty: that is the one that the bank has now.
    """
    details = Party(said.name, said.routing, said.last4, said.country)
    if said.counterparty_id is not None:
        key: Key = ("id", said.counterparty_id)
    elif said.name is not None:
        found = on_file(program, details)
        if found is not None and found[0] == "id":
            return found
        key = found or stranger_of(details)
    else:
        return None
    if known is not None and key == known.party.last and not said.has_object:
        party = program.parties[key]
        present = (party.routing, party.last4)
        is_repeated = (said.routing or party.routing, said.last4 or party.last4) == present
        is_known = is_repeated or account_of(party, details) is not None
        account = (None, None) if is_known else (said.routing, said.last4)
        where = None if said.country == known.country else said.country
        details = Party(None if party.name else said.name, *account, where)
    _say(program, key, details, at)
    return key


def node_of(program: Program, party: Key | None) -> Key | None:
    """Where a counterparty stands in the graph: settled for good when a transfer first names it."""
    return None if party is None else program.nodes.setdefault(party, first_node(program, party))


def first_node(program: Program, party: Key) -> Key:
    """A counterparty whose id is an account or an entity of the program is that actor."""
    if party[0] != "id":
        return party
    if party[1] in program.accounts:
        return program.actor_of_account(party[1])
    return ("entity", party[1]) if party[1] in program.entities else party
