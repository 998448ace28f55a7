"""Random configurations without a fault, of a tenant with the programs ``payroll`` and ``lending``."""

from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from clearhold.features.configuration.files import ALWAYS_THERE, ConfigFile, endpoint_name, normal_files, path_of
from clearhold.features.policy.bodies import prefix_of
from clearhold.features.policy.seeds import SEEDS
from clearhold.features.webhooks.payloads import SUBSCRIBABLE

SLUGS: Final = ("payroll", "lending")
TEXTS: Final = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=60
).filter(lambda text: text.strip())
_HOURS: Final = st.integers(0, 2_000) | st.sampled_from((0.5, 1.25, 7.75))
_CENTS: Final = st.none() | st.integers(0, 2**53).map(str)
_PROGRAMS: Final = st.none() | st.sampled_from(SLUGS)
_CONDITIONS: Final = st.sampled_from(
    (
        {"field": "rail", "op": "in", "value": ["wire", "ach"]},
        {"field": "amountCents", "op": "between", "value": [1, "90071992547409930"]},
        {"field": "counterpartyCountry", "op": "eq", "value": "NO"},
        {"field": "counterpartyCountry", "op": "is_null"},
        {"field": "counterparty.firstTime", "op": "eq", "value": True},
        {"field": "program.unauthorizedReturnRate60d", "op": "gt", "value": 0.0025},
        {"field": "status", "op": "eq", "value": "TRUE"},
    )
)


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    rule = {
        "id": draw(st.from_regex(r"[a-z0-9]{1,4}([-_][a-z0-9]{1,3}){0,2}", fullmatch=True)),
        "name": draw(TEXTS),
        "when": draw(st.lists(_CONDITIONS, min_size=1, max_size=4)),
        "action": draw(st.sampled_from(("alert", "review", "hold", "log"))),
        "severity": draw(st.sampled_from(("low", "medium", "high"))),
    }
    program = draw(_PROGRAMS)
    return rule | ({} if program is None else {"program": program}) | draw(_noted())


@st.composite
def _noted(draw: st.DrawFn) -> dict[str, Any]:
    return {"note": draw(TEXTS)} if draw(st.booleans()) else {}


@st.composite
def endpoints(draw: st.DrawFn) -> dict[str, Any]:
    endpoint: dict[str, Any] = {
        "url": draw(st.from_regex(r"https://[a-z]{1,8}\.bank\.example/[a-z]{0,6}", fullmatch=True)),
        "events": draw(st.lists(st.sampled_from([each.value for each in SUBSCRIBABLE]), unique=True, max_size=4)),
    }
    program, text = draw(_PROGRAMS), draw(st.none() | TEXTS)
    endpoint |= {} if program is None else {"program": program}
    return endpoint | ({} if text is None else {"description": text})


@st.composite
def _clocks(draw: st.DrawFn) -> dict[str, Any]:
    return {name: draw(_HOURS) for name in ("autoHours", "standardHours", "complexHours", "appealHours")}


@st.composite
def _limits(draw: st.DrawFn) -> dict[str, Any]:
    names = ("achDebitDailyCents", "achDebitMonthlyCents", "perTransactionCents", "entityDailyCents")
    return {name: draw(_CENTS) for name in (*names, "entityVelocity24HCount")}


@st.composite
def configurations(draw: st.DrawFn) -> tuple[ConfigFile, ...]:
    """As an export has them."""
    values: dict[str, dict[str, Any]] = {}
    for version, body in SEEDS:
        value = msgspec.to_builtins(body)
        value.pop("version", None)
        values[path_of(prefix_of(version), None)] = value
    assert len(values) == len(ALWAYS_THERE)
    values["policies/clock.yaml"] = draw(_clocks())
    values["policies/kri.yaml"] |= {"fleetOverallReturnRate": draw(st.sampled_from((0, 0.015, 0.0001, 1)))}
    for slug in SLUGS:
        for prefix, drawn in (("clock", _clocks()), ("limits", _limits()), ("scorecard", st.just({"card": None}))):
            if draw(st.booleans()):
                values[path_of(prefix, slug)] = draw(drawn)
    for rule in draw(st.lists(rules(), max_size=4)):
        values[f"rules/{rule['id']}.yaml"] = rule
    for endpoint in draw(st.lists(endpoints(), max_size=3)):
        values[f"webhooks/{endpoint_name(endpoint['url'], endpoint.get('program'))}.yaml"] = endpoint
    return normal_files(ConfigFile(path=path, value=value) for path, value in values.items())
