"""Texts as they are meant, in any spelling of their characters: one reader of names, of numbers and of countries.

Names are compared by ``name_key``, and by ``look_key`` where a disguise must be seen; the name itself is stored and
shown as delivered. Numbers of accounts and banks are their letters and digits: print forms of one number are one
number. A country is ISO 3166-1 alpha-2 or alpha-3, in letters of either case; UK and EL are read as GB and GR, which
they stand for in the European Union's own style. XK is user-assigned and in use for bank accounts of Kosovo.

How     NFKC joins the forms of one character: full-width letters, ligatures, accents as separate marks. Characters
        without a picture and punctuation are removed, runs of white space are one blank; symbols stay
Errors  none: a text that is no code of a country is None
Source  Unicode 15: UAX #15 (NFKC), UAX #44 (Default_Ignorable_Code_Point), UTS #39 (confusables.txt); ISO 3166-1 (249
        officially assigned codes); SWIFT's IBAN registry (XK); EU Interinstitutional Style Guide 7.1
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from unicodedata import category, decimal, normalize

_NAMES_REMEMBERED: Final = 8_192  # at most 255 characters each
_ASCII_REMEMBERED: Final = 1_024  # their keys are cheap, and one event asks for that of its name several times
_BANKS_REMEMBERED: Final = 8_192

_FILLERS: Final = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0)  # and joiners
_IGNORABLE: Final = frozenset(
    map(chr, (*_FILLERS, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""Characters without a picture that have the category of a letter, a mark or a symbol."""

_BLANK_OF_BRAILLE: Final = "\u2800"
_WITHOUT_PICTURE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_BEFORE_NFKC: Final = {ord(each): None for each in "´ʹʺʻʼʽʾʿˈˊˋ"} | str.maketrans("Ϲϲİ", "CcI")
"""Apostrophes in the category of letters, and letters that look like Latin ones before NFKC only."""

_LIKE_LATIN: Final = (
    # Cyrillic
    "ЅS ІI ЈJ АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX Ьb ҮY ҺH ԌG ԜW ѴV Ӏl аa вb гr еe кk мm нh оo рp сc тt уy хx ѕs іi јj "
    "үy һh ҽe ӏl ԁd ԛq ԝw ѡw ѵv "
    # Greek
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϜF ͿJ ϺM αa βb γy εe ηn ιi κk νv οo ρp σo τt υu χx ϳj "
    # Armenian, Coptic and Georgian
    "ՍU ՏS ՕO աw գq զq հh ոn ռn սu ցg քf օo ⲎH ⲒI ⲔK ⲘM ⲚN ⲞO ⲢP ⲤC ⲦT ⲨY ⲬX ⳐL ⲅr ⲟo ⲣp ⲥc ყy ჿo "
    # Cherokee
    "ᎠD ᎡR ᎢT ᎩY ᎪA ᎫJ ᎬE ᎳW ᎷM ᎻH ᎽY ᏀG ᏃZ ᏒR ᏔW ᏕS ᏙV ᏚS ᏞL ᏟC ᏢP ᏦK ᏳG ᏴB Ꭵi Ꮒh Ꮟb Ꮷd ꭵi ꮁr ꮃw ꮓz ꮩv ꮪs ꮯc "
    # Lisu
    "ꓐB ꓑP ꓒd ꓓD ꓔT ꓖG ꓗK ꓙJ ꓚC ꓜZ ꓝF ꓟM ꓠN ꓡL ꓢS ꓣR ꓦV ꓧH ꓪW ꓫX ꓬY ꓮA ꓰE ꓲI ꓳO ꓴU "
    # Latin letters of phonetic alphabets, and the dotless i
    "ıi ɑa ɡg ɣy ɩi ɪi ɯw ʋu ʏy ƽs ƦR ǀl ᴄc ᴏo ᴑo ᴜu ᴠv ᴡw ᴢz ꜱs"
)
_LATIN_OF: Final = {ord(pair[0]): pair[1] for pair in _LIKE_LATIN.split()}
_NOT_LETTERS_OR_DIGITS: Final = bytes(code for code in range(128) if not chr(code).isalnum())
_PUNCTUATION: Final = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sk"})  # Sk are accents by themselves
_NOT_COMPARED: Final = bytes(
    code for code in range(128) if category(chr(code)) in _PUNCTUATION | {"Cc"} and not chr(code).isspace()
)


def without_invisible(text: str) -> str:
    """The text in form NFKC, without characters that have no picture; tabs and line breaks become spaces."""
    if text.isascii() and text.isprintable():
        return text
    plain = "".join(" " if each.isspace() or each == _BLANK_OF_BRAILLE else each for each in normalize("NFKC", text))
    return "".join(each for each in plain if category(each) not in _WITHOUT_PICTURE and each not in _IGNORABLE)


def letters_and_digits(number: str) -> str:
    """A number of an account or a bank without the characters between its groups, in capital letters.

    >>> letters_and_digits("DE89 3704 0044 0532 0130 00"), letters_and_digits("744-5678-99")
    ('DE89370400440532013000', '744567899')
    """
    if number.isascii():
        return number.encode().translate(None, _NOT_LETTERS_OR_DIGITS).decode().upper()
    plain = "".join(str(decimal(each, each)) for each in without_invisible(number))  # digits of all scripts
    return "".join(filter(str.isalnum, plain)).upper()


def name_key(name: str) -> str:
    """A name as it is compared: its words without case and punctuation. Two names with one key are the same name.

    >>> name_key("Cedar Freight, L.L.C."), name_key("CEDAR  FREIGHT LLC"), name_key("A$AP + Sons")
    ('cedar freight llc', 'cedar freight llc', 'a$ap + sons')
    """
    return _key_of_ascii(name) if name.isascii() else _key_of_any(name)


def look_key(name: str) -> str:
    r"""The key of a name as it looks: letters of other scripts count as the Latin ones that they look like.

    >>> look_key("C\u0435dar Freight LLC"), look_key("Cedar Freight, LLC")
    ('cedar freight llc', 'cedar freight llc')
    """
    return name_key(name) if name.isascii() else _look_of_any(name)


@lru_cache(maxsize=_ASCII_REMEMBERED)
def _key_of_ascii(name: str) -> str:
    return _folded(name.lower().encode().translate(None, _NOT_COMPARED).decode(), name)


@lru_cache(maxsize=_NAMES_REMEMBERED)
def _key_of_any(name: str) -> str:
    plain = without_invisible(name)
    kept = "".join(each for each in plain.casefold() if category(each) not in _PUNCTUATION)
    return _folded(normalize("NFKC", kept), plain) or name


@lru_cache(maxsize=_NAMES_REMEMBERED)
def _look_of_any(name: str) -> str:
    plain = without_invisible(name.translate(_BEFORE_NFKC))
    return name_key(" ".join(map(_as_latin, plain.split())) or name)


def _folded(kept: str, name: str) -> str:
    """The kept characters of a name, with single blanks; the whole name where none are kept, as with punctuation."""
    return " ".join(kept.split()) or " ".join(name.split()) or name


def _as_latin(word: str) -> str:
    """A word with Latin letters for the letters that look like them.

    Within a word that has Latin letters each letter counts as it looks. A word of another script alone counts as its
    capitals look, so that its case does not matter: of eta, the capital looks like an H and the small letter like an n.
    """
    is_mixed = any(each.isascii() and each.isalpha() for each in word)
    return (word if is_mixed else word.upper()).translate(_LATIN_OF)


LAST: Final = 4
_ROUTING_DIGITS: Final = 9
_BIC: Final = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", re.ASCII)
_HEAD_OFFICE: Final = "XXX"
_BIC_OF_BRANCH: Final = 11


def last_four(number: str) -> str | None:
    """The last four letters and digits of an account number, or all of a shorter one; None without any.

    >>> last_four("744-5678-99"), last_four("DE89 3704 0044 0532 0130 00"), last_four(" - ")
    ('7899', '3000', None)
    """
    return letters_and_digits(number)[-LAST:] or None


@lru_cache(maxsize=_BANKS_REMEMBERED)
def routing_number(number: str) -> str | None:
    """A routing number of nine digits, or a BIC; None for anything else.

    The BIC of a head office has eight characters, or eleven that end in XXX (ISO 9362), which is the full form.

    >>> routing_number("021-000-021"), routing_number("DEUT DE FF"), routing_number("21000021")
    ('021000021', 'DEUTDEFFXXX', None)
    """
    code = letters_and_digits(number)
    if len(code) == _ROUTING_DIGITS and code.isascii() and code.isdigit():
        return code
    if not _BIC.fullmatch(code):
        return None
    return code if len(code) == _BIC_OF_BRANCH else code + _HEAD_OFFICE


_CODES: Final = (
    "AD-AND AE-ARE AF-AFG AG-ATG AI-AIA AL-ALB AM-ARM AO-AGO AQ-ATA AR-ARG AS-ASM AT-AUT AU-AUS AW-ABW AX-ALA "
    "AZ-AZE BA-BIH BB-BRB BD-BGD BE-BEL BF-BFA BG-BGR BH-BHR BI-BDI BJ-BEN BL-BLM BM-BMU BN-BRN BO-BOL BQ-BES "
    "BR-BRA BS-BHS BT-BTN BV-BVT BW-BWA BY-BLR BZ-BLZ CA-CAN CC-CCK CD-COD CF-CAF CG-COG CH-CHE CI-CIV CK-COK "
    "CL-CHL CM-CMR CN-CHN CO-COL CR-CRI CU-CUB CV-CPV CW-CUW CX-CXR CY-CYP CZ-CZE DE-DEU DJ-DJI DK-DNK DM-DMA "
    "DO-DOM DZ-DZA EC-ECU EE-EST EG-EGY EH-ESH ER-ERI ES-ESP ET-ETH FI-FIN FJ-FJI FK-FLK FM-FSM FO-FRO FR-FRA "
    "GA-GAB GB-GBR GD-GRD GE-GEO GF-GUF GG-GGY GH-GHA GI-GIB GL-GRL GM-GMB GN-GIN GP-GLP GQ-GNQ GR-GRC GS-SGS "
    "GT-GTM GU-GUM GW-GNB GY-GUY HK-HKG HM-HMD HN-HND HR-HRV HT-HTI HU-HUN ID-IDN IE-IRL IL-ISR IM-IMN IN-IND "
    "IO-IOT IQ-IRQ IR-IRN IS-ISL IT-ITA JE-JEY JM-JAM JO-JOR JP-JPN KE-KEN KG-KGZ KH-KHM KI-KIR KM-COM KN-KNA "
    "KP-PRK KR-KOR KW-KWT KY-CYM KZ-KAZ LA-LAO LB-LBN LC-LCA LI-LIE LK-LKA LR-LBR LS-LSO LT-LTU LU-LUX LV-LVA "
    "LY-LBY MA-MAR MC-MCO MD-MDA ME-MNE MF-MAF MG-MDG MH-MHL MK-MKD ML-MLI MM-MMR MN-MNG MO-MAC MP-MNP MQ-MTQ "
    "MR-MRT MS-MSR MT-MLT MU-MUS MV-MDV MW-MWI MX-MEX MY-MYS MZ-MOZ NA-NAM NC-NCL NE-NER NF-NFK NG-NGA NI-NIC "
    "NL-NLD NO-NOR NP-NPL NR-NRU NU-NIU NZ-NZL OM-OMN PA-PAN PE-PER PF-PYF PG-PNG PH-PHL PK-PAK PL-POL PM-SPM "
    "PN-PCN PR-PRI PS-PSE PT-PRT PW-PLW PY-PRY QA-QAT RE-REU RO-ROU RS-SRB RU-RUS RW-RWA SA-SAU SB-SLB SC-SYC "
    "SD-SDN SE-SWE SG-SGP SH-SHN SI-SVN SJ-SJM SK-SVK SL-SLE SM-SMR SN-SEN SO-SOM SR-SUR SS-SSD ST-STP SV-SLV "
    "SX-SXM SY-SYR SZ-SWZ TC-TCA TD-TCD TF-ATF TG-TGO TH-THA TJ-TJK TK-TKL TL-TLS TM-TKM TN-TUN TO-TON TR-TUR "
    "TT-TTO TV-TUV TW-TWN TZ-TZA UA-UKR UG-UGA UM-UMI US-USA UY-URY UZ-UZB VA-VAT VC-VCT VE-VEN VG-VGB VI-VIR "
    "VN-VNM VU-VUT WF-WLF WS-WSM YE-YEM YT-MYT ZA-ZAF ZM-ZMB ZW-ZWE XK-XKX"
)
_PAIRS: Final = tuple(pair.split("-") for pair in _CODES.split())
_READ_AS: Final = (
    {alpha_2: alpha_2 for alpha_2, _ in _PAIRS}
    | {alpha_3: alpha_2 for alpha_2, alpha_3 in _PAIRS}
    | {"UK": "GB", "EL": "GR"}
)
COUNTRIES: Final = frozenset(alpha_2 for alpha_2, _ in _PAIRS)


def country_of(code: str) -> str | None:
    """The alpha-2 code of a country.

    >>> country_of("IRN"), country_of(" uk "), country_of("DE"), country_of("ZZ")
    ('IR', 'GB', 'DE', None)
    """
    country = _READ_AS.get(code)  # nearly every code is one as it stands
    return country or _READ_AS.get(without_invisible(code).strip().upper())


def read_countries(codes: Iterable[str]) -> tuple[str, ...]:
    """Each country once; a code that cannot be read stays, for the rules of the request to refuse."""
    return tuple(dict.fromkeys(country_of(code) or code for code in codes))
