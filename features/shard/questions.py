"""Questions to the owner of a program's state, and their answers.

A question is answered between two entries of the log, from the state at that time, and changes nothing. Questions and
answers are plain data, so that the owner may be another process.
"""

from typing import Final, Generic, NamedTuple, Protocol, TypeVar, get_args, get_type_hints

import msgspec

from clearhold.features.core.entries.preflight import LimitHit, ProposedTransfer, Resolved
from clearhold.features.core.log_entry import EventResult, earlier_result
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.money import UsdRate
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.core.vocabulary import ActorType, Score
from clearhold.features.limits.caps import CapUse, ProgramLimits, caps_in_use, program_limits
from clearhold.features.limits.proposed import LimitEvaluation, assess_proposed, evaluate_ladder
from clearhold.features.measurement.actor_evaluation import evaluate_actor, evaluate_counterparty
from clearhold.features.measurement.actor_inputs import totals_of
from clearhold.features.measurement.assessment import STATE_LATE
from clearhold.features.policy.card_book import TransferCard
from clearhold.features.policy.in_force import given_policy
from clearhold.features.policy.program_autonomy import ProgramAutonomy, program_autonomy
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.shard.ticks import totals_of_days
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.id_index import key_of

AnswerT = TypeVar("AnswerT")
AnswerOf_co = TypeVar("AnswerOf_co", covariant=True)


class Question(Protocol[AnswerOf_co]):
    """One question about one program."""

    def answer(self, program: ProgramState) -> AnswerOf_co: ...


class SeenEvents(msgspec.Struct, frozen=True, tag=True):
    """The results of events, given earlier events under their ids; each is an id and its body's checksum."""

    events: tuple[tuple[str, int], ...]

    def answer(self, program: ProgramState) -> tuple[EventResult | None, ...]:
        stored = program.events.get
        return tuple(earlier_result(stored(key_of(event_id)), checksum) for event_id, checksum in self.events)


class ProposalScore(msgspec.Struct, frozen=True):
    """The score of a proposed transfer, its parties, the facts missing for it, and the caps of the ladder it hits."""

    score: Score
    resolved: Resolved
    degraded_reasons: tuple[str, ...]
    limits_hit: tuple[LimitHit, ...]
    usd_rate: UsdRate | None = None


class ScoreProposal(msgspec.Struct, frozen=True, tag=True):
    """The score that a transfer would get if it landed ``at`` that instant; ``stale`` when the state lags behind."""

    transfer: ProposedTransfer
    at: int
    stale: bool

    def answer(self, program: ProgramState) -> ProposalScore:
        assessed = assess_proposed(program, self.transfer, at=self.at, stale=self.stale)
        facts = (assessed.degraded_reasons, assessed.limits_hit, assessed.usd_rate)
        return ProposalScore(assessed.score, assessed.resolved, *facts)


class ReadLimits(msgspec.Struct, frozen=True, tag=True):
    """The program's caps, their use ``at`` that instant, their history, and the changes that wait for an approver. Caps
    on one entity have the use of ``entity_id``, or without it of the entity that uses most.
    """

    at: int
    entity_id: str | None = None

    def answer(self, program: ProgramState) -> ProgramLimits:
        return program_limits(program, at=self.at, entity_id=self.entity_id)


class ReadCapUse(msgspec.Struct, frozen=True, tag=True):
    """The program's caps in force, with their use ``at`` that instant."""

    at: int

    def answer(self, program: ProgramState) -> tuple[CapUse, ...]:
        return caps_in_use(program, at=self.at)


class EvaluateLadder(msgspec.Struct, frozen=True, tag=True):
    """The limit ladder applied to a transfer that is proposed ``at`` that instant."""

    transfer: ProposedTransfer
    at: int

    def answer(self, program: ProgramState) -> LimitEvaluation:
        return evaluate_ladder(program, self.transfer, at=self.at)


def unscored(transfer: ProposedTransfer) -> ProposalScore:
    """The answer on a proposed transfer without the program's state, when that does not answer in time."""
    proposed = transfer.counterparty
    return ProposalScore(
        score=Score(version=trs_v1.VERSION, value=None, n=0, confidence=None, reasons=()),
        resolved=Resolved(
            entity_id=transfer.entity_id,
            counterparty_id=transfer.counterparty_id,
            counterparty_country=None if proposed is None else proposed.country_code,
        ),
        degraded_reasons=(STATE_LATE,),
        limits_hit=(),
    )


class PartyCounts(msgspec.Struct, frozen=True):
    """``actors`` and ``counterparties`` count all; the others count those of the range that get a score."""

    actors: int
    counterparties: int
    entities: int
    listed: int
    holds_agents: bool


class CountParties(msgspec.Struct, frozen=True, tag=True):
    """The numbers of actors and counterparties, and how many with a place in [first, upto) are scored."""

    first: int = 0
    upto_actor: int = 0
    upto_counterparty: int = 0

    def answer(self, program: ProgramState) -> PartyCounts:
        actors, parties = program.actors, program.counterparties.all
        return PartyCounts(
            actors=len(actors),
            counterparties=len(parties),
            entities=sum(not actor.is_account for actor in actors[self.first : self.upto_actor]),
            listed=sum(not party.unlisted for party in parties[self.first : self.upto_counterparty]),
            holds_agents=bool(program.holds_agents),
        )


class ActorIds(msgspec.Struct, frozen=True, tag=True):
    """The ids of the actors with a place in [first, upto)."""

    first: int
    upto: int

    def answer(self, program: ProgramState) -> tuple[str, ...]:
        return tuple(actor.id for actor in program.actors[self.first : self.upto])


class CounterpartyIds(msgspec.Struct, frozen=True, tag=True):
    """The ids of the listed counterparties with a place in [first, upto)."""

    first: int
    upto: int

    def answer(self, program: ProgramState) -> tuple[str, ...]:
        parties = program.counterparties.all[self.first : self.upto]
        return tuple(party.id for party in parties if not party.unlisted)


class ReadAutonomy(msgspec.Struct, frozen=True, tag=True):
    """The program's autonomy under the policy in force ``at`` an instant; its evidence is as of the last entry."""

    at: int

    def answer(self, program: ProgramState) -> ProgramAutonomy:
        policy = given_policy(program, self.at)
        return program_autonomy(program.id, program.autonomy, program.closing_evidence.tallies, policy)


class LackingPolicies(msgspec.Struct, frozen=True, tag=True):
    """The activations of policies, among these, that the program's state lacks."""

    action_ids: tuple[str, ...]

    def answer(self, program: ProgramState) -> tuple[str, ...]:
        knows = (program.policies.knows, program.scorecards.knows)
        return tuple(action_id for action_id in self.action_ids if not any(known(action_id) for known in knows))


class CardInForce(msgspec.Struct, frozen=True):
    """The card that scores a program; its ``version`` and content are None for the default card of the build."""

    version: str | None
    card: Scorecard | None

    def compiled(self) -> TransferCard:
        return trs_v1.DEFAULT if self.card is None else compile_card(self.card, version=self.version)


class ReadCard(msgspec.Struct, frozen=True, tag=True):
    """The card in force as of the last entry."""

    def answer(self, program: ProgramState) -> CardInForce:
        return CardInForce(*program.scorecards.in_force())


class Arrived(msgspec.Struct, frozen=True):
    """The offset of the program's newest entry, and whether its vectors may differ from those of facts in order.

    ``reads_scores`` says that vectors depend on scores: how often an entity must be screened depends on its band.
    """

    newest_offset: int
    needs_replay: bool
    reads_scores: bool


class ReadArrivals(msgspec.Struct, frozen=True, tag=True):
    """The order in which the program's facts arrived; see ``features/state/program_series.py``."""

    def answer(self, program: ProgramState) -> Arrived:
        arrivals = program.arrivals
        reads_scores = any(actor.profile.words.requires_screening is not None for actor in program.actors)
        needs_replay = arrivals.is_late or (arrivals.scores_changed and reads_scores)
        return Arrived(arrivals.newest_offset, needs_replay, reads_scores)


class ReadDays(msgspec.Struct, frozen=True, tag=True):
    """The program's totals over the days [first, upto), counted since the epoch, as known now."""

    first_day: int
    upto_day: int

    def answer(self, program: ProgramState) -> DayTotals:
        return totals_of_days(program, self.first_day, self.upto_day)


class AgentTotals(msgspec.Struct, frozen=True, tag=True):
    """The number of each agent's settlements that count, and their sum in cents, by entity id."""

    entity_ids: tuple[str, ...]

    def answer(self, program: ProgramState) -> tuple[tuple[int, int], ...]:
        return tuple(totals_of(program, entity_id) for entity_id in self.entity_ids)


class ReadScores(msgspec.Struct, frozen=True, tag=True):
    """The scores of actors of one kind ``at`` an instant; None for one that is not on file or has no such score."""

    kind: ActorType
    ids: tuple[str, ...]
    at: int

    def answer(self, program: ProgramState) -> tuple[Score | None, ...]:
        return tuple(self._score(program, actor_id) for actor_id in self.ids)

    def _score(self, program: ProgramState, actor_id: str) -> Score | None:
        if self.kind is ActorType.COUNTERPARTY:
            party = program.counterparties.get(actor_id)
            evaluation = None if party is None else evaluate_counterparty(program, party, self.at)
        else:
            actor = program.entity(actor_id)
            evaluation = None if actor is None else evaluate_actor(program, actor, self.at)
        return None if evaluation is None or evaluation.kind != self.kind else evaluation.score()


AnyQuestion = (
    SeenEvents
    | ScoreProposal
    | ReadLimits
    | ReadCapUse
    | EvaluateLadder
    | CountParties
    | ActorIds
    | CounterpartyIds
    | ReadAutonomy
    | LackingPolicies
    | ReadCard
    | ReadArrivals
    | ReadDays
    | AgentTotals
    | ReadScores
)

ANSWER_TYPES: Final[dict[type, object]] = {
    question: get_type_hints(question.answer)["return"] for question in get_args(AnyQuestion)
}
"""The type of each question's answer, to decode an answer from a socket."""


class Answer(NamedTuple, Generic[AnswerT]):
    """``took_us`` is the owner's time for the answer, without waiting."""

    value: AnswerT
    took_us: int


class Owner(Protocol):
    """The holder of a program's state: this process, or another."""

    async def query(self, program_id: str, question: Question[AnswerT]) -> Answer[AnswerT]:
        """The answer as of now; UnavailableError while the state has no owner."""
        ...
