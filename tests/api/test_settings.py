"""The settings of the service that an operator may get wrong: the root of the bank's API."""

from pathlib import Path

import pytest

from api.settings import Settings
from store.data_dir import StartupError

LOCAL = {"CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}


def bank_url(text: str, **environment: str) -> str | None:
    environment |= {"CLEARHOLD_BANK_URL": text}
    return Settings.of(data=Path(), host="::1", port=0, environment=environment).bank_url


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("https://api.bank.example", "https://api.bank.example"),
        ("https://api.bank.example:8443/v1/", "https://api.bank.example:8443/v1"),
        ("https://127.0.0.1:1", "https://127.0.0.1:1"),
        ("", None),
    ],
)
def test_given_a_root_over_https_then_it_is_taken_without_its_last_slash(text: str, root: str | None) -> None:
    assert bank_url(text) == root


@pytest.mark.parametrize("text", ["http://127.0.0.1:8081/", "http://[::1]:8081", "http://localhost:8081"])
def test_given_a_root_without_tls_on_this_machine_then_it_is_taken_only_where_local_webhooks_are(text: str) -> None:
    assert bank_url(text, **LOCAL) == text.rstrip("/")
    with pytest.raises(StartupError, match="CLEARHOLD_BANK_URL must begin with https://"):
        bank_url(text)
    with pytest.raises(StartupError, match="CLEARHOLD_BANK_URL must begin with https://"):
        bank_url(text, CLEARHOLD_ALLOW_LOCAL_WEBHOOKS="yes")


@pytest.mark.parametrize(
    "text",
    [
        "http://api.bank.example",
        "http://10.0.0.1",
        "http://localhost.bank.example",
        "http://127.0.0.1.bank.example",
        "ftp://api.bank.example",
        "api.bank.example",
        "https://",
        "https:///v1",
        "https://user:secret@api.bank.example",
        "https://user@api.bank.example",
        "https://api.bank.example?key=secret",
        "https://api.bank.example/?",
        "https://api.bank.example/#secret",
        "https://api.bank.example:0",
        "https://api.bank.example:99999",
        "https://api.bank.example:x",
        "https://[::1",
        "https://api.bank.example/a b",
        "https://api.bank.example/\n",
        "https://api.bank.example\\@elsewhere.example",
        "https://bänk.example",
    ],
)
def test_given_a_root_that_is_none_then_the_start_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(StartupError, match=r"^CLEARHOLD_BANK_URL must") as refused:
        bank_url(text, **LOCAL)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("text", "rate"), [("", 20), ("1", 1), ("1000", 1_000)])
def test_given_a_rate_for_the_bank_then_it_is_taken(text: str, rate: int) -> None:
    environment = {"CLEARHOLD_BANK_RATE": text}

    assert Settings.of(data=Path(), host="::1", port=0, environment=environment).bank_rate == rate


@pytest.mark.parametrize("text", ["0", "1001", "-1", "1.5", "many", "²", "9" * 30])
def test_given_a_rate_for_the_bank_that_is_none_then_the_start_is_refused(text: str) -> None:
    with pytest.raises(StartupError, match="CLEARHOLD_BANK_RATE must"):
        Settings.of(data=Path(), host="::1", port=0, environment={"CLEARHOLD_BANK_RATE": text})
