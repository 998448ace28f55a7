"""Every error: one form, one table, and each code of it provoked on a running application.

The client of ``RunningApp`` holds every error of every test against the table and against the route's own codes
(``tests/support/error_answers.py``); here each code is shown to come.
"""

import ast
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import pytest

from clearhold.api.http.envelope import NO_DATABASE, NO_DISK, refusal_of
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.operation import ANYWHERE
from clearhold.features.core.errors import (
    ConflictError,
    ErrorCode,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    RateLimitedError,
    UnauthorizedError,
    UnavailableError,
)
from tests.support.callers import World, running_world
from tests.support.error_answers import error_of
from tests.support.provoked_errors import CASES, NOT_OVER_HTTP

SHIPPED: Final = [
    path for room in ("features", "store", "flows", "api", "calibrate") for path in Path(room).rglob("*.py")
]
STATUSES_OF: Final = {
    "InvalidRequestError": {400},
    "UnauthorizedError": {401},
    "ForbiddenError": {403},
    "NotFoundError": {404},
    "ConflictError": {409},
    "StaleError": {412},
    "InconsistentChainError": {409},
    "RateLimitedError": {429},
    "GatewayError": {502},
    "UnavailableError": {503},
    "RiskError": {400, 404, 405, 413, 415, 500},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("codes")) as running:
        for program in (running.payroll, running.lending):
            running.land(program, "acht_of_two")
        running.api.catch_up()
        yield running


def test_given_the_table_when_compared_then_every_code_is_in_it_and_provoked_here() -> None:
    assert set(ERRORS) == set(ErrorCode)
    assert set(CASES) == set(ErrorCode) - NOT_OVER_HTTP
    assert set(ANYWHERE) <= set(ERRORS)
    for entry in ERRORS.values():
        assert entry.meaning.endswith(".")
        assert entry.cure.endswith(".")


@pytest.mark.parametrize("code", CASES)
def test_given_each_code_when_provoked_then_it_comes_in_the_one_form(
    world: World, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    status, body = CASES[code](world, monkeypatch)
    envelope = error_of(status, body)

    assert (status, envelope["code"]) == (ERRORS[code].status, code), envelope["error"]
    assert len(envelope["error"]) > len("Not found.")
    assert "\n" not in envelope["error"]


def test_given_an_error_that_is_raised_when_read_in_the_source_then_its_class_and_its_code_have_one_status() -> None:
    """Status follows the code; a NotFoundError with a code of 409 would be answered otherwise than it reads."""
    named = [(path, *each) for path in SHIPPED for each in codes_in(path.read_text("utf-8"))]

    assert len(named) > 100
    assert [each for each in named if ERRORS[each[2]].status not in STATUSES_OF[each[1]]] == []


def codes_in(source: str) -> Iterator[tuple[str, ErrorCode]]:
    """The classes of errors that are made with a code, each with its code."""
    for call in ast.walk(ast.parse(source)) if "ErrorCode." in source else ():
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in STATUSES_OF:
            continue
        for argument in [*call.args, *(each.value for each in call.keywords)]:
            name = ast.unparse(argument)
            if name.startswith("ErrorCode."):
                yield call.func.id, ErrorCode[name.removeprefix("ErrorCode.")]


def test_given_the_classes_of_errors_when_made_without_a_code_then_theirs_has_their_status() -> None:
    for kind, status in ((InvalidRequestError, 400), (RateLimitedError, 429), (UnavailableError, 503)):
        assert ERRORS[kind("A sentence.").code].status == status
    for strict in (UnauthorizedError, ForbiddenError, NotFoundError, ConflictError):
        with pytest.raises(TypeError):
            strict("A sentence.")  # type: ignore[call-arg]  # that is what is tested


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (duckdb.OutOfMemoryException("secret"), NO_DATABASE),
        (duckdb.IOException("secret"), NO_DATABASE),
        (duckdb.FatalException("secret"), NO_DATABASE),
        (OSError(errno.ENOSPC, "secret"), NO_DISK),
    ],
)
def test_given_a_database_or_a_disk_that_fails_when_answered_then_503_names_that_one(
    failure: Exception, sentence: str
) -> None:
    refusal = refusal_of(failure)

    assert (str(refusal), refusal.code) == (sentence, ErrorCode.UNAVAILABLE)


@pytest.mark.parametrize("failure", [RuntimeError("secret"), msgspec.ValidationError("secret"), KeyError("secret")])
def test_given_any_other_exception_when_answered_then_it_says_nothing_of_itself(failure: Exception) -> None:
    refusal = refusal_of(failure)

    assert (str(refusal), refusal.code) == ("Internal error.", ErrorCode.INTERNAL_ERROR)
