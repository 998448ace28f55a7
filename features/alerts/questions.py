"""What a person asks of each detector's alert: what is not explained yet, and what is done next.

Drafts say both. Sentences name no one and guess no intent.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Question(NamedTuple):
    """``open`` is what the figures leave unexplained; ``ask`` is the next step."""

    open: str
    ask: str


QUESTIONS: Final[Mapping[str, Question]] = {
    "structuring_pattern": Question(
        "why several amounts stay just under the same reporting line",
        "ask the program for the purpose of each transfer and for the invoices behind them",
    ),
    "amount_spike": Question(
        "why this amount is so far from what the entity and the program usually move",
        "compare it with the entity's order or contract and with the declared activity",
    ),
    "repeated_amount": Question(
        "why the same amount recurs within a day",
        "check whether it is a batch of a kind that the program declared, such as payroll or payouts",
    ),
    "round_amount": Question(
        "what the large round amounts are paid for",
        "ask for one underlying document and compare it with the amounts",
    ),
    "micro_entry_abuse": Question(
        "whether the small entries verify accounts that are then used, or only try out which accounts exist",
        "ask the program for its account verification process and count the returns of the small entries",
    ),
    "velocity_spike": Question(
        "why the entity moves so much more in a day than it usually does",
        "look for an earlier run of the same payees and for a season, a sale or a pay day that explains it",
    ),
    "dormant_reactivation": Question(
        "who uses the account again after the long silence, and why with this amount",
        "confirm with the program that the owner is unchanged, and look at new credentials and contact details",
    ),
    "fan_in": Question(
        "what the many payers have in common and why they pay the same side at this time",
        "list the payers, their ages on the program and what they say they pay for",
    ),
    "fan_out": Question(
        "who the many payees are and what they are paid for",
        "list the payees, how many of them are new, and compare the run with earlier ones",
    ),
    "scatter_gather": Question(
        "why money of one origin takes several ways to the same end",
        "follow the transfers by their ids and ask the program how the middle parties are related",
    ),
    "gather_scatter": Question(
        "why money is collected from many and at once paid to many others",
        "compare the two lists of parties and ask the program for the business behind them",
    ),
    "rapid_in_out": Question(
        "why nearly all that came in leaves again within two days",
        "look at who sent it and who received it, and ask whether the entity acts for others",
    ),
    "funnel_mule": Question(
        "whose money it is that many pay in and one passes on at once",
        "stop further outgoing transfers of the entity until the program has explained the payers and the payee",
    ),
    "round_trip": Question(
        "what is gained by money that returns to where it came from",
        "follow the path by its transfers and ask for the agreements behind each hop",
    ),
    "layering_hops": Question(
        "why the money passes through several hands in a short time",
        "follow the chain by its transfers and ask who the parties in the middle are to each other",
    ),
    "first_time_counterparty_large": Question(
        "what the first dealing with this counterparty is, at such an amount",
        "ask for the contract or invoice and confirm the account details on a second channel",
    ),
    "new_counterparty_burst": Question(
        "why so many counterparties are new on the same day",
        "check whether a list was imported or a campaign began, and look at two of the new ones",
    ),
    "counterparty_shared": Question(
        "how the entities that deal with one and the same account are related",
        "list the entities and ask the program who owns the account",
    ),
    "return_code_abuse": Question(
        "why so many debits come back and what was done about the accounts that refused them",
        "ask the program for the authorizations of the returned debits and stop repeated debits",
    ),
    "unauthorized_return": Question(
        "whether the account holders authorized the debits that came back",
        "obtain the authorizations of the returned debits and look at the other debits of the same party",
    ),
    "unauthorized_return_rate": Question(
        "what brings the program over the network's rule, and since when",
        "ask the program for a plan to come below the line and watch the rate until it is",
    ),
    "ach_float": Question(
        "why pulled money is spent before its debit can come back",
        "wait for the return window of the debits before more leaves by a fast rail",
    ),
    "kyc_denied_moving": Question(
        "how an entity that was denied can still move money",
        "ask the program to stop the entity and to explain which control let the transfer through",
    ),
    "kyc_unverified_moving": Question(
        "why verification is not finished while this much already moves",
        "ask the program for the missing documents and for the date by which it will be done",
    ),
    "screening_stale_or_hit": Question(
        "whether the entity's screening is complete, recent and cleared",
        "screen the entity again and record who cleared what was found",
    ),
    "high_risk_geography": Question(
        "what business the entity has with the country named here",
        "obtain the purpose and the parties behind the counterparty, and compare them with the lists in force",
    ),
    "country_outside_declared": Question(
        "why money goes to or comes from a country that the program did not declare",
        "ask whether the declaration is out of date or the transfer is outside the program's business",
    ),
    "rail_outside_declared": Question(
        "why a rail is used that the program did not declare",
        "ask whether the declaration is out of date or the transfer is outside the program's business",
    ),
    "card_testing": Question(
        "whether somebody tries out cards here",
        "look at the declined attempts and their reasons, and pause the card or the merchant until it is known",
    ),
    "card_decline_mix": Question(
        "what makes fraud declines more frequent than before",
        "look at merchants, entry modes and times of the declined attempts",
    ),
    "program_velocity": Question(
        "why the program moves so much more in a day than it usually does",
        "ask the program what has changed and look at the entities that moved most",
    ),
    "volume_vs_declared": Question(
        "whether the program's business has outgrown its declaration",
        "ask the program for a new declaration and for the customers behind the growth",
    ),
}
