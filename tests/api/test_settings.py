"""The settings of the service that an operator may get wrong: the root of the bank's API, how many scorers."""

from pathlib import Path

import pytest

from clearhold.api.http.openid import OpenIdConfig
from clearhold.api.settings import Settings
from clearhold.store.errors import StartupError

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


def scorers(environment: dict[str, str], option: int | None = None) -> int:
    return Settings.of(data=Path(), host="::1", port=0, environment=environment, scorers=option).scorers


def test_given_no_word_on_scorers_then_there_is_one_a_core_beyond_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert scorers({}) == scorers({"CLEARHOLD_SCORERS": ""}) == 3
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert scorers({}) == 0
    monkeypatch.setattr("sys.platform", "darwin")
    assert scorers({}) == 0


def test_given_a_number_of_scorers_then_the_option_goes_before_the_variable() -> None:
    assert scorers({"CLEARHOLD_SCORERS": "5"}) == 5
    assert scorers({"CLEARHOLD_SCORERS": "5"}, 0) == 0


@pytest.mark.parametrize("text", ["-1", "65", "two", "1.5", "1 ", "\N{SUPERSCRIPT TWO}", "9" * 40])
def test_given_a_number_of_scorers_that_is_none_then_the_start_is_refused(text: str) -> None:
    with pytest.raises(StartupError, match="CLEARHOLD_SCORERS must be a number of processes, 0-64"):
        scorers({"CLEARHOLD_SCORERS": text})


@pytest.mark.parametrize(
    ("option", "value", "range_of"),
    [
        ("scorers", 65, "0-64"),
        ("scorers", -1, "0-64"),
        ("program_metrics", 501, "0-500"),
        ("metrics_port", 65_536, "0-65535"),
    ],
)
def test_given_an_option_out_of_its_range_then_it_is_refused_as_the_variable_would_be(
    option: str, value: int, range_of: str
) -> None:
    with pytest.raises(StartupError, match=f"--{option.replace('_', '-')} must be a .*, {range_of}; "):
        Settings.of(data=Path(), host="::1", port=0, environment={}, **{option: value})


def test_given_replicas_of_the_embedded_redis_then_a_sentence_says_what_they_need() -> None:
    environment = {"CLEARHOLD_REDIS_REPLICAS": "1"}
    with pytest.raises(StartupError, match="CLEARHOLD_REDIS_REPLICAS needs CLEARHOLD_REDIS_URL"):
        Settings.of(data=Path(), host="::1", port=0, environment=environment)

    named = environment | {"CLEARHOLD_REDIS_URL": "redis://localhost:6379"}
    assert Settings.of(data=Path(), host="::1", port=0, environment=named).redis_replicas == 1
    assert Settings.of(data=Path(), host="::1", port=0, environment=named, redis_replicas=2).redis_replicas == 2


@pytest.mark.parametrize("url", ["localhost:6379", "/run/redis.sock", "http://localhost:6379"])
def test_given_a_redis_without_its_scheme_then_a_sentence_says_which_there_are(url: str) -> None:
    with pytest.raises(StartupError, match="must begin with redis://, rediss:// or unix://") as refusal:
        Settings.of(data=Path(), host="::1", port=0, environment={"CLEARHOLD_REDIS_URL": url})

    assert url not in str(refusal.value).removesuffix("redis://localhost:6379.")


@pytest.mark.parametrize(
    ("base_url", "address", "public"),
    [
        (None, "http://127.0.0.1:8000", ("http://127.0.0.1:8000", "http://127.0.0.1:8000")),
        (None, "http://[::1]:8000", ("http://[::1]:8000", "http://[::1]:8000")),
        (None, "http://0.0.0.0:8000", ("http://0.0.0.0:8000", None)),
        (None, "http://[::]:8000", ("http://[::]:8000", None)),
        (None, "http://10.0.0.5:8000", ("http://10.0.0.5:8000", None)),
        ("https://risk.bank.example/", "http://0.0.0.0:8000", ("https://risk.bank.example",) * 2),
    ],
)
def test_given_an_address_when_others_may_know_it_by_another_name_then_no_proof_is_issued_under_it(
    base_url: str | None, address: str, public: tuple[str, str | None]
) -> None:
    environment = {} if base_url is None else {"CLEARHOLD_BASE_URL": base_url}

    assert Settings.of(data=Path(), host="::1", port=0, environment=environment).public_urls(address) == public


def test_given_origins_of_the_connector_when_set_then_each_must_be_one() -> None:
    def origins(text: str) -> tuple[str, ...]:
        environment = {"CLEARHOLD_CONNECTOR_ORIGINS": text}
        return Settings.of(data=Path(), host="::1", port=0, environment=environment).connector_origins

    assert origins("") == ()
    assert origins("vscode-file://vscode-app, HTTPS://a.example:8443") == (
        "vscode-file://vscode-app",
        "https://a.example:8443",
    )
    for text in ("*", "null", "https://a.example/", "https://a.example/path", "a.example"):
        with pytest.raises(StartupError, match="CLEARHOLD_CONNECTOR_ORIGINS must"):
            origins(text)


OIDC = {
    "CLEARHOLD_CONSOLE_OIDC_ISSUER": "https://sso.bank.example/",
    "CLEARHOLD_CONSOLE_OIDC_CLIENT_ID": "clearhold",
    "CLEARHOLD_CONSOLE_OIDC_CLIENT_SECRET_FILE": "/run/secrets/oidc",
    "CLEARHOLD_CONSOLE_OIDC_TENANT": "first-bank",
    "CLEARHOLD_CONSOLE_OIDC_READ_GROUP": "examiners",
}


def with_openid(**environment: str) -> OpenIdConfig | None:
    return Settings.of(data=Path(), host="::1", port=0, environment=OIDC | environment).console_openid


def test_given_an_openid_provider_then_its_issuer_is_taken_letter_by_letter() -> None:
    config = with_openid()
    assert config is not None
    assert (config.issuer, config.name_claim, config.operate_group) == ("https://sso.bank.example/", "email", None)
    assert Settings.of(data=Path(), host="::1", port=0, environment={}).console_openid is None


@pytest.mark.parametrize("missing", sorted(OIDC))
def test_given_a_part_of_an_openid_provider_then_the_settings_are_refused(missing: str) -> None:
    with pytest.raises(StartupError, match="CLEARHOLD_CONSOLE_OIDC_ISSUER needs"):
        with_openid(**{missing: ""})


def test_given_an_openid_provider_without_tls_then_it_is_for_this_machine_with_leave() -> None:
    for issuer in ("http://127.0.0.1:9000", "http://sso.bank.example"):
        with pytest.raises(StartupError, match="CLEARHOLD_CONSOLE_OIDC_ISSUER must begin with https://"):
            with_openid(CLEARHOLD_CONSOLE_OIDC_ISSUER=issuer)
    local = with_openid(CLEARHOLD_CONSOLE_OIDC_ISSUER="http://127.0.0.1:9000", **LOCAL)
    assert local is not None
    with pytest.raises(StartupError, match="openid among them"):
        with_openid(CLEARHOLD_CONSOLE_OIDC_SCOPES="profile email")


def test_given_the_file_of_the_clients_secret_then_it_has_to_be_there_and_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "oidc"
    config = with_openid(CLEARHOLD_CONSOLE_OIDC_CLIENT_SECRET_FILE=str(path))
    assert config is not None
    with pytest.raises(StartupError, match="cannot be read"):
        config.client_secret()
    path.write_text(" \n")
    with pytest.raises(StartupError, match="has no secret"):
        config.client_secret()
    path.write_text("s3cret\n")
    assert config.client_secret() == "s3cret"
