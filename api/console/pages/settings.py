"""The settings: their sections, each with its purpose, and its state in a few words."""

import htpy as h

from clearhold.api.console.components.settings import (
    KEYS,
    PEOPLE,
    SETTINGS,
    WEBHOOKS,
    SettingsSection,
    sections_of,
    settings_frame,
)
from clearhold.api.console.components.words import count
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit

PATH = SETTINGS


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
    services, principal = visit.services, visit.principal
    if section.path == PEOPLE and not visit.signed_in.is_read_only:
        return f"{count(len(await services.sessions.of_tenant(principal.tenant_id)), 'session')} now"
    if section.path == KEYS:
        keys = await services.keys.list(principal)
        valid = [each for each in keys if each.revoked_at is None]
        return f"{count(len(valid), 'valid key')}, {sum(each.last_used_at is None for each in valid)} without a use"
    if section.path == WEBHOOKS:
        endpoints = await services.webhooks.list(principal)
        off = sum(not each.enabled for each in endpoints)
        return f"{count(len(endpoints), 'endpoint')}, {off} disabled"
    return ""
