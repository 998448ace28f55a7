"""A refusal as a page or a part of one: the cause, and what to do."""

import htpy as h
import msgspec


class RefusalView(msgspec.Struct, frozen=True, kw_only=True):
    """``sign_in`` is the address of the sign-in page, where that is the cure."""

    sentence: str
    code: str
    request_id: str
    sign_in: str | None = None


def refused(view: RefusalView, *, is_part: bool = False) -> h.Element:
    """A part has no first heading: its page has one."""
    cure = h.a(href=view.sign_in)["Sign in"] if view.sign_in is not None else h.a(href="/console/queue")["To the queue"]
    return h.section(".refused", role="alert")[
        (h.h2 if is_part else h.h1)["This did not work"],
        h.p[view.sentence],
        h.p(".small")["Code ", h.code[view.code], ", request ", h.code[view.request_id]],
        h.p[cure],
    ]
