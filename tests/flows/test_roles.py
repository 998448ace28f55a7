"""The role of a node: when it may answer, and what waits for it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from clearhold.flows.roles import Role, Roles
from clearhold.store.nodes.watch import SeenOwner

pytestmark = pytest.mark.anyio


def ownership(*, is_owner: bool = True, is_current: bool = True, members: int = 1) -> Any:
    return SimpleNamespace(is_owner=is_owner, is_current=lambda: is_current, members=members)


def test_given_the_embedded_redis_then_the_node_is_the_owner_and_answers() -> None:
    assert Roles(None).role is Role.OWNER
    assert Roles(None).may_answer


@pytest.mark.parametrize(("members", "is_current", "answers"), [(1, False, True), (2, True, True), (2, False, False)])
def test_given_an_owner_that_cannot_renew_then_it_answers_no_more_if_another_node_could_own_the_log(
    *, members: int, is_current: bool, answers: bool
) -> None:
    roles = Roles(ownership(is_current=is_current, members=members))
    assert roles.role is Role.OWNER
    assert roles.may_answer is answers


async def test_given_a_standby_then_its_work_waits_until_it_opens_and_it_names_the_owner_until_then() -> None:
    roles, done = Roles(ownership(is_owner=False)), list[str]()
    roles.owner = SeenOwner("node_there", "host (http://there:8080)", b"beat", 0.1, is_free=False)

    async def work() -> None:
        done.append("worked")

    roles.on_open.append(lambda: done.append("opened"))
    take = roles.while_open(lambda _: done.append("took"))
    take({})
    task = asyncio.ensure_future(roles.as_owner(work)())
    await asyncio.sleep(0.01)
    assert (done, roles.role, roles.may_answer, roles.owner_url) == ([], Role.STANDBY, False, "http://there:8080")

    roles.open()
    await task
    take({})
    assert done == ["opened", "worked", "took"]
    assert (roles.role, roles.owner_url) == (Role.OWNER, None)
    roles.close()
    assert not roles.may_answer
