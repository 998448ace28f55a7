"""Explanations of scores, for reading."""

from functools import partial
from typing import Final

from clearhold.api.area import Area
from clearhold.api.explain.service import ActorExplained, ExplainService, PreflightExplained, TransferExplained
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.parties.routes import PartyQuery
from clearhold.api.transfers.routes import TRANSFER_SUMMARY
from clearhold.api.transfers.service import TransferQuery
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_SERVICE: Final = "explanations"
_EXAMPLES: Final = examples_of(__file__)
_CARD: Final = {"card": TRANSFER_SUMMARY["scoreInputs"]["card"]}
_WORDS: Final = (
    "Points by family with the rest that caps leave, hard reasons apart, and the smallest sets of reasons without "
    "which the band would be lower, in words."
)
_operation: Final = partial(Operation, access=Access.BEARER)

_TRANSFER: Final = _operation(
    id="explainTransfer",
    tag="transfers",
    summary=f"The score of a transfer, recomputed from its stored inputs, and whether it is the same. {_WORDS} "
    "The nearest amount with another band, and inputs that were not measured.",
    scope=KeyScope.ALERTS_READ,
    answers={200: TransferExplained},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.TRANSFER_NOT_FOUND, ErrorCode.SCORECARD_NOT_FOUND),
    answer_example=_EXAMPLES["transfer"] | _CARD,
    query=RequestSchema(TransferQuery),
)
_PREFLIGHT: Final = _operation(
    id="explainPreflight",
    tag="preflight",
    summary=f"The recorded score of a pre-flight. {_WORDS} Its inputs are not stored, so no other amount is tried.",
    scope=KeyScope.PREFLIGHT,
    answers={200: PreflightExplained},
    refusals=(ErrorCode.PREFLIGHT_NOT_FOUND, ErrorCode.SCORECARD_NOT_FOUND),
    asks_owner=True,
    answer_example=_EXAMPLES["preflight"] | _CARD,
)
_ENTITY: Final = _operation(
    id="explainEntity",
    tag="entities",
    summary=f"The score that an entity has now. {_WORDS}",
    scope=KeyScope.ALERTS_READ,
    answers={200: ActorExplained},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.ENTITY_NOT_FOUND),
    asks_owner=True,
    answer_example=_EXAMPLES["entity"],
    query=RequestSchema(PartyQuery),
)
_COUNTERPARTY: Final = _operation(
    id="explainCounterparty",
    tag="counterparties",
    summary=f"The score that a counterparty has now. {_WORDS}",
    scope=KeyScope.ALERTS_READ,
    answers={200: ActorExplained},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.COUNTERPARTY_NOT_FOUND),
    asks_owner=True,
    answer_example=_EXAMPLES["entity"] | {"type": "counterparty", "id": "cpty_2zExample0001"},
    query=RequestSchema(PartyQuery),
)
_AGENT: Final = _operation(
    id="explainAgent",
    tag="agents",
    summary=f"The score that an agent has now. {_WORDS}",
    scope=KeyScope.REPORTS,
    answers={200: ActorExplained},
    refusals=(ErrorCode.AGENT_NOT_FOUND,),
    asks_owner=True,
    answer_example=_EXAMPLES["entity"] | {"type": "agent"},
)

AREA: Final = Area(
    routes=(
        answer_route("/api/transfers/{transfer_id:str}/explain", _TRANSFER, _SERVICE, ExplainService.transfer),
        answer_route("/api/preflight/{preflight_id:str}/explain", _PREFLIGHT, _SERVICE, ExplainService.preflight),
        answer_route("/api/entities/{entity_id:str}/explain", _ENTITY, _SERVICE, ExplainService.entity),
        answer_route(
            "/api/counterparties/{counterparty_id:str}/explain", _COUNTERPARTY, _SERVICE, ExplainService.counterparty
        ),
        answer_route("/api/agents/{entity_id:str}/explain", _AGENT, _SERVICE, ExplainService.agent),
    ),
    provide={_SERVICE: ExplainService},
)
