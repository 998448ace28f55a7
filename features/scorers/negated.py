"""Each signal negated: the clause that says, after "if", that the signal had not given points. Explanations use it for
the reasons without which a band would be lower.

A signal can be otherwise when a party or the bank could have acted otherwise: another amount, a payee that was paid
before, a finished screening. Those about who or where a party is cannot; explanations name them last.
"""

from collections.abc import Mapping
from typing import Final

_OF_TRANSFERS: Final = {
    "TRS-AMT-01": "fewer amounts of the last days lay just under one reporting threshold",
    "TRS-AMT-02": "the amount were not just under a reporting threshold",
    "TRS-AMT-03": "the amount were near the usual one",
    "TRS-AMT-04": "the same amount had not been repeated so often within a day",
    "TRS-AMT-05": "the amount were not round",
    "TRS-AMT-06": "there were fewer entries under a dollar within a day",
    "TRS-AMT-07": "the amount were within the entity's own usual amounts",
    "TRS-AMT-08": "the amount were near the program's median on the rail",
    "TRS-AMT-09": "the card had not been charged the same amount before within a day",
    "TRS-AMT-10": "the same amount had not come so often within a day",
    "TRS-AMT-11": "the transfer came at an hour at which the entity usually moves money",
    "TRS-AMT-12": "the entity had made more transfers before, or the amount were nearer to the program's median",
    "TRS-VEL-01": "the entity had moved no more than on its busy days",
    "TRS-VEL-02": "the entity had not been silent for so long before",
    "TRS-VEL-03": "the entity had made fewer transfers within the hour",
    "TRS-VEL-04": "the entity had made no more transfers in six hours than usual",
    "TRS-VEL-05": "the transfer came at the entity's usual time of day",
    "TRS-VEL-06": "the entity had moved no more money within a day than usual",
    "TRS-VEL-07": "it were no first payment on a day with more money than usual",
    "TRS-VEL-08": "the day were less busy, or the amount smaller",
    "TRS-VEL-09": "the entity had made no more transfers within a day than usual",
    "TRS-VEL-10": "the hour were less busy",
    "TRS-VEL-11": "the entity's last six hours were less busy",
    "TRS-VEL-12": "the entity had moved less money within a day, beside the program's median",
    "TRS-CPY-01": "there had been a transfer with this counterparty before",
    "TRS-CPY-02": "there had been a transfer with this counterparty before, or the amount were smaller",
    "TRS-CPY-03": "the counterparty's account details were those of before",
    "TRS-CPY-04": "fewer counterparties of the day were new",
    "TRS-CPY-05": "fewer entities had used the counterparty's account details",
    "TRS-CPY-06": "the two sides had dealt with each other, or with more others, before",
    "TRS-CPY-07": "the two sides had dealt with each other before, or the amount were within the entity's own",
    "TRS-CPY-08": "the two sides had dealt with each other before, or the amount were nearer to the program's median",
    "TRS-CPY-09": "fewer parties of the last six hours were new to the entity",
    "TRS-CPY-10": "the two sides had dealt with each other before",
    "TRS-CPY-11": "the two sides had dealt with each other before, or the amount were another",
    "TRS-CPY-12": "the two sides had dealt with each other, or with more others, before",
    "TRS-CPY-13": "the two sides had dealt with each other before, or the amount were nearer to the program's median",
    "TRS-CPY-14": "the payee had been paid before, or the payer had not just been paid for the first time itself",
    "TRS-CPY-15": "the two sides had dealt with each other, or the entity had made more transfers, before",
    "TRS-RET-01": "no debit had come back as unauthorized",
    "TRS-RET-02": "fewer of the debits had come back",
    "TRS-RET-03": "the debit came later after the return",
    "TRS-RET-04": "fewer debits had come back from closed or unknown accounts",
    "TRS-RET-05": "the debits that it draws on could no longer come back",
    "TRS-RET-06": "no entry to the counterparty had come back as R16",
    "TRS-KYC-01": "the entity's verification had not been denied",
    "TRS-KYC-02": "the entity's verification were finished",
    "TRS-KYC-03": "the entity's verification had not been denied",
    "TRS-SCR-01": "the entity were not a politically exposed person",
    "TRS-SCR-02": "it were clear that the entity is not a politically exposed person",
    "TRS-SCR-03": "the bank did not mark the entity as high risk",
    "TRS-SCR-04": "the entity had been screened",
    "TRS-SCR-05": "the entity had been screened again in time",
    "TRS-SCR-07": "the bank's review named no fraud risk and no list of sanctions",
    "TRS-GEO-01": "the country were not on FATF's call-for-action list",
    "TRS-GEO-02": "the country were not under FATF's increased monitoring",
    "TRS-GEO-03": "the country were not under comprehensive sanctions",
    "TRS-GEO-04": "the counterparty's country were known, and on no list",
    "TRS-DEC-01": "the program had declared the country",
    "TRS-DEC-02": "the program had declared the rail",
    "TRS-HIS-01": "the history were not clean",
    "TRS-FLO-01": "fewer payers had paid within these days",
    "TRS-FLO-02": "fewer payees had been paid within the day, or fewer of them were new",
    "TRS-FLO-03": "the payers had not been paid by one common party before",
    "TRS-FLO-04": "the payer had not collected from many and paid many within a week",
    "TRS-FLO-05": "the received money had not left again within two days",
    "TRS-FLO-06": "no young entity, stranger or other country passed the money of many on at once",
    "TRS-FLO-07": "the money did not come back to the side that sent it",
    "TRS-FLO-08": "it ended no chain of payments that pass the same money on",
    "TRS-FLO-09": "money had not come in and left again repeatedly within hours",
    "TRS-FLO-10": "it did not pay back a payment of the same day",
    "TRS-FLO-11": "it ended no quick row of payments",
    "TRS-FLO-12": "less of the money had come in just before",
    "TRS-FLO-13": "the payee had been paid before, or had fewer new payers",
    "TRS-FLO-14": "the payee had been paid before, or had no more new payers than usual",
    "TRS-FLO-15": "the payee had been paid before, or the payer had not just been paid for the first time itself",
    "TRS-FLO-16": "the payee had been paid before, or the payer had no more new payers than usual",
    "TRS-FLO-17": "the payee had been paid before, or its payers had no payer in common",
    "TRS-FLO-18": "it ended no row of payments within hours",
    "TRS-FLO-19": "the amount were unlike that of the last receipt",
    "TRS-FLO-20": "the payee had been paid before, or less of what the entity received had been sent on",
    "TRS-FLO-21": "it ended no chain of first payments",
    "TRS-FLO-22": "the payee had been paid before, or more of the received money stayed",
    "TRS-CRD-01": "fewer attempts on the card had been declined or small",
    "TRS-CRD-02": "fewer of the program's card attempts of the hour had been declined or small",
    "TRS-CRD-03": "fewer of the program's card attempts of the day had been declined for fraud",
    "TRS-CRD-04": "the entity had bought in the merchant category before",
    "TRS-CRD-05": "the amount were near the entity's own in the merchant category",
    "TRS-CRD-06": "the amount were near the program's in the merchant category",
    "TRS-CRD-07": "the card had not been used in two countries within a day",
    "TRS-CRD-08": "the card had not been used in two states within a day",
    "TRS-CRD-09": "the card had been present, or at fewer merchants absent",
}
_OF_ENTITIES: Final = {
    "ERS-TRF-01": "no recent transfer of the entity had scored so high",
    "ERS-KYC-01": "the entity's verification had not been denied",
    "ERS-KYC-02": "the entity's verification were finished",
    "ERS-SCR-01": "the entity were not a politically exposed person",
    "ERS-SCR-02": "it were clear that the entity is not a politically exposed person",
    "ERS-SCR-03": "the bank did not mark the entity as high risk",
    "ERS-SCR-04": "the entity had been screened",
    "ERS-SCR-05": "the entity had been screened again in time",
    "ERS-SCR-07": "the bank's review named no fraud risk and no list of sanctions",
    "ERS-RET-01": "no debit of the entity had come back as unauthorized",
    "ERS-RET-02": "no debits of the entity had come back as unauthorized",
    "ERS-RET-03": "fewer of the entity's debits had come back",
    "ERS-RET-04": "fewer debits had come back from closed or unknown accounts",
}
_OF_COUNTERPARTIES: Final = {
    "CRS-RET-01": "no transfer with the counterparty had come back as unauthorized",
    "CRS-RET-02": "no transfers with the counterparty had come back as unauthorized",
    "CRS-RET-03": "fewer transfers with the counterparty had come back",
    "CRS-CPY-01": "the counterparty had been known for more than a week",
    "CRS-CPY-02": "the counterparty had been known for more than a month",
    "CRS-CPY-03": "the counterparty's account details had not changed",
    "CRS-CPY-04": "fewer entities had used the counterparty's account",
    "CRS-GEO-01": "the country were not on FATF's call-for-action list",
    "CRS-GEO-02": "the country were not under FATF's increased monitoring",
    "CRS-GEO-03": "the country were not under a comprehensive embargo",
    "CRS-HIS-01": "the history were not clean",
}
_OF_AGENTS: Final = {
    "ARS-FLO-01": "the settlements came from more payers",
    "ARS-FLO-02": "fewer settlements were paid by the owner",
    "ARS-FLO-03": "no value had come back to a payer",
    "ARS-FLO-04": "value had not come back to payers repeatedly",
    "ARS-VEL-01": "there had been no more settlements within a day than usual",
    "ARS-REG-01": "the agent had been registered for more than a month",
    "ARS-REG-02": "the agent had kept its owner",
    "ARS-REG-03": "the agent declared itself active",
    "ARS-REG-04": "the agent had a wallet set",
    "ARS-REP-01": "less of the agent's feedback had been revoked",
    "ARS-REP-02": "more of the agent's feedback proved a payment",
    "ARS-REP-03": "the agent were rated better",
    "ARS-REP-04": "no feedback proved a payment",
    "ARS-VAL-01": "validators had answered better",
    "ARS-KYC-01": "the agent's verification had not been denied",
    "ARS-SCR-01": "the agent's wallet were on no list of sanctions",
    "ARS-SCR-02": "the screening of the agent's wallet were finished",
    "ARS-SCR-03": "a screening covered the chain of the agent's wallet",
    "ARS-SCR-04": "no payer were on a list of sanctions",
}
NEGATED: Final[Mapping[str, str]] = {**_OF_TRANSFERS, **_OF_ENTITIES, **_OF_COUNTERPARTIES, **_OF_AGENTS}
"""By the id of the signal. Signals of programs follow from their indicators."""

FIXED: Final = frozenset(
    (
        *("TRS-KYC-01", "TRS-KYC-03", "TRS-SCR-01", "TRS-SCR-02", "TRS-SCR-03", "TRS-SCR-07", "TRS-RET-06"),
        *("TRS-GEO-01", "TRS-GEO-02", "TRS-GEO-03"),
        *("ERS-KYC-01", "ERS-SCR-01", "ERS-SCR-02", "ERS-SCR-03", "ERS-SCR-07"),
        *("CRS-GEO-01", "CRS-GEO-02", "CRS-GEO-03"),
        *("ARS-KYC-01", "ARS-SCR-01", "ARS-SCR-04"),
    )
)
"""The signals that cannot be otherwise: who a party is, where it is, and the findings of others about it."""

_WATCH: Final = "PRS-WAT-"
_BREACH: Final = "PRS-BRE-"


def negated(signal_id: str, name: str) -> str:
    """The clause of a signal by its id and name.

    >>> negated("PRS-WAT-05", "reserve_coverage_watch")
    'reserve_coverage stood on the right side of its watch line'
    """
    if signal_id.startswith(_WATCH):
        return f"{name.removesuffix('_watch')} stood on the right side of its watch line"
    if signal_id.startswith(_BREACH):
        return f"{name.removesuffix('_breach')} stood on the right side of its threshold"
    return NEGATED.get(signal_id, f"{name} gave no points")
