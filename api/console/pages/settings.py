"""The settings: their sections, each with its purpose, and its state in a few words."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import htpy as h

from clearhold.api.console.components.settings import (
    BANK_KEYS,
    EVENTS,
    KEYS,
    PEOPLE,
    SETTINGS,
    SIGNING_KEYS,
    WEBHOOKS,
    SettingsSection,
    sections_of,
    settings_frame,
)
from clearhold.api.console.components.words import count
from clearhold.api.console.pages.bank_events import WITHOUT_EFFECT
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.events.routes import EventsQuery
from clearhold.store.keys import KeyState

PATH: Final = SETTINGS


async def show(visit: Visit) -> Answer:
    sections = [(each, await _state(visit, each)) for each in sections_of(visit.principal)]
    content = settings_frame(
        visit,
        h.h1["Settings"],
        h.ul(".cards")[
            (
                h.li[
                    h.h2[h.a(href=section.path)[section.name]],
                    h.p[section.words],
                    h.p(".small")[state] if state else None,
                ]
                for section, state in sections
            )
        ],
    )
    return HtmlAnswer("Settings", content)


async def _state(visit: Visit, section: SettingsSection) -> str:
    read = _STATES.get(section.path)
    return "" if read is None else await read(visit)


async def _people(visit: Visit) -> str:
    if visit.signed_in.is_read_only:
        return ""
    return f"{count(len(await visit.services.sessions.of_tenant(visit.principal.tenant_id)), 'session')} now"


async def _keys(visit: Visit) -> str:
    valid = [each for each in await visit.services.keys.list(visit.principal) if each.revoked_at is None]
    return f"{count(len(valid), 'valid key')}, {sum(each.last_used_at is None for each in valid)} without a use"


async def _webhooks(visit: Visit) -> str:
    endpoints = await visit.services.webhooks.list(visit.principal)
    return f"{count(len(endpoints), 'endpoint')}, {sum(not each.enabled for each in endpoints)} disabled"


async def _signing_keys(visit: Visit) -> str:
    keys = await visit.services.signing_key_states.public(visit.principal)
    return f"{count(sum(each.state is KeyState.SIGNING for each in keys), 'key signs', 'keys sign')} now"


async def _bank_keys(visit: Visit) -> str:
    state = (await visit.services.bank_keys.read(visit.principal)).bank_api.state
    return f"Key to the bank's API: {state.replace('_', ' ')}"


async def _events(visit: Visit) -> str:
    newest = (await visit.services.events.page(visit.principal, _NEWEST)).data
    return f"The newest came {newest[0].received_at[:16].replace('T', ' ')}" if newest else "None came yet"


_NEWEST: Final = EventsQuery(result=WITHOUT_EFFECT, limit=1)
_STATES: Final[Mapping[str, Callable[[Visit], Awaitable[str]]]] = {
    PEOPLE: _people,
    KEYS: _keys,
    WEBHOOKS: _webhooks,
    SIGNING_KEYS: _signing_keys,
    BANK_KEYS: _bank_keys,
    EVENTS: _events,
}
