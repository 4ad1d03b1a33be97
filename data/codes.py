"""The forms of identifiers, and the words beside which a number is one: a finder for each (spec 04, 05).

A finder takes a text and yields what it finds in it, in order; `data.identifiers` says which of them comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final

from data.characters import fold, word_set
from data.products import GENERIC_VERSION, NOT_A_PRODUCT, V_VERSION, WORD_VERSION, named_products
from data.signs import Signs, beside, holds

__all__ = [
    "DASH",
    "SYMBOL_PARTS",
    "VENDOR_PREFIXES",
    "VENDOR_STARTS",
    "Finder",
    "Found",
    "IdentifierClass",
    "by_form",
    "dashed_codes",
    "error_numbers",
    "events",
    "hexadecimal",
    "http_statuses",
    "may_name_a_status",
    "may_name_an_advisory",
    "may_name_an_error",
    "named_codes",
    "smtp",
    "symbols",
    "versions",
]


class IdentifierClass(StrEnum):
    """Classes in which identifiers are compared; two of different classes never contradict each other."""

    CVE = "cve"
    TECHNIQUE = "technique"
    KB = "kb"
    VENDOR_CODE = "vendor_code"
    """A code of one vendor or product: ORA-12154, AADSTS50076, MS17-010, "Event ID 4625", error[E0277]."""
    SYSTEM_CODE = "system_code"
    """A general code many products share: 0x80070005, ERR_CONNECTION_RESET, SMTP 5.7.1."""
    HTTP_STATUS = "http_status"
    ERROR_CODE = "error_code"
    """A plain number named as an error: "Fehler 809", "exit code 1603"."""
    RFC = "rfc"
    VERSION = "version"


Found = tuple[IdentifierClass, str, int, int, str]  # class, value, start, end, product
Finder = Callable[[str], Iterator[Found]]

DASH: Final = r"[-‐‑‒–_]"
_FLAGS: Final = re.IGNORECASE


def by_form(cls: IdentifierClass, pattern: str, value: Callable[[re.Match[str]], str], flags: int = _FLAGS) -> Finder:
    """Return a finder for identifiers that their form alone gives away."""
    compiled = re.compile(pattern, flags)

    def find(text: str) -> Iterator[Found]:
        for match in compiled.finditer(text):
            yield cls, value(match), match.start(), match.end(), ""

    return find


# Prefixes after which digits (3 or more, with or without a dash) are a vendor's code wherever they stand.
VENDOR_PREFIXES: Final = (
    "ORA|TNS|PLS|RMAN|LRM|NZE|CRS|PRVF|PRCR|SP2|EXP|IMP|OUI|DPF|DIM|AADSTS|MSB|NETSDK|NU|LNK|SQLCODE|ABAP|ADOP|JBAS|"
    "WFLY\\w{0,6}|HHH|WLS|BEA|CWWK[A-Z]|SRVE|ANR|ANS|BMC|DFS|IEC|AMQ|CVU|VSM|APPV|SCCM|CTX|XDDS|ESX|MS[0-9]{2}"
)
# What looks like a vendor code but is a reference into somebody's own ticket system.
_TICKET_PREFIXES: Final = word_set(
    """
    inc req ritm chg chgreq prb task sctask stask ticket tick tkt case call sr hd help helpdesk sup support ops
    it its itsm itsd sd desk proj project bug issue jira dev devops infra wo cr rfc cs hr kunde kd auftrag
    vorgang anfrage id nr rev tel fax plz din iso en iec bs ieee utf page seite art
    """
)
_ERROR_WORD: Final = (
    r"(?:(?:fehler|error)(?:s|n|s?codes?|s?nummer|s?meldung|s?kode|meldungen)?|(?<![\w-])(?:err|errno|"
    r"(?:stop|exit|return|rückgabe|beendigungs|abbruch|status|reason|result|ergebnis|problem|alarm|störungs|blink)"
    r"[- ]?(?:codes?|status|value|wert)|rc|sqlcode|msg|code))"
)
_BETWEEN: Final = (
    r"(?:[ \t]*(?:[-:=#(\[„\"'“]|codes?|nr\.?|no\.?|number|nummer|id|is|ist|was|war|lautet|with|mit|der|of|value)){0,4}"
    r"[ \t]*"
)
_UNIT: Final = (  # what must not follow the number: a fraction, a date, a time, a quantity
    r"(?![\w%°]|[.,:-]\d|/\d{1,2}(?!\d)|[ \t]*(?:%|°|€|\$|(?:[kmgt]i?b|bytes?|ms|std|h|x|uhr|mal|times|seiten?|"
    r"pages?|tage?n?|days?|monate?n?|months?|jahre?n?|years?|zeilen?|lines?|euro?|may|mai|users?|versuche?n?)\b|"
    r"sek|sec|min|stunde|hour|woche|week|prozent|percent|people|benutzer|nutzer|stück|attempt|retries|"
    r"(?:von|of)[ \t]+\d|jan|feb|mär|mar|apr|jun|jul|aug|sep|okt|oct|nov|dez|dec))"
)
_NOT_A_CODE_WORD: Final = re.compile(
    r"(?:zip|post(?:al)?|area|country|pin|puk|qr|bar|source|access|zugangs|dress|promo|discount|morse|tan|bank|sort|"
    r"farb|colou?r|länder|vorwahl|quell|product|produkt)[- ]?$",
    _FLAGS,
)
_COUNTED: Final = re.compile(rf"(?P<word>{_ERROR_WORD})(?P<between>{_BETWEEN})(?P<number>\d{{1,10}}){_UNIT}", _FLAGS)
_MORE_NUMBERS: Final = re.compile(
    rf"[ \t]*(?:/|,|und|and|or|oder|bzw\.?|&|sowie)[ \t]*(?P<number>\d{{3,10}}){_UNIT}", _FLAGS
)
_CODED: Final = re.compile(
    rf"{_ERROR_WORD}{_BETWEEN}"
    r"(?P<code>[A-Z]{1,8}[-_]?\d[A-Z0-9]{0,8}(?:[-_.][A-Z0-9]{1,6}){0,2}|\d{1,5}[-.][A-Z]?\d[A-Z0-9]{1,5}(?:[-.]\d{1,4})?|"
    r"\d{2,3}[A-Z]\d{2})(?![\w-]|\.\w)",
    _FLAGS,
)
_NUMBER_FIRST: Final = re.compile(
    r"(?<![\w.,:/#-])(?P<number>\d{3,5})(?:(?:er)?-fehler|er[ ]fehler|[ -]error)(?![\w-]|[ ](?:pro|per|in|im)\b)",
    _FLAGS,
)
_HTTP_PHRASES: Final = (
    r"bad request|unauthori[sz]ed|forbidden|not found|method not allowed|request timeout|conflict|gone|"
    r"payload too large|too many requests|internal server error|not implemented|bad gateway|service unavailable|"
    r"gateway time-?out|moved permanently|proxy authentication required"
)
_HTTP: Final = re.compile(
    r"(?<![\w-])(?:"
    r"https?(?:/\d(?:\.\d)?)?(?:[- ]?(?:antwort|response|result|status|fehler|error|codes?)){1,3}"
    r"(?:[:= (]{1,3}|[ ]i(?:s|st)[ ])"
    r"|https?(?:/\d(?:\.\d)?)?[- :=]{1,2}"
    r"|(?:status|antwort|response)[- ]?(?:codes?)?(?:[ ]?[:=(]?[ ]{0,2}|[ ]i(?:s|st)[ ]))"
    r"(?P<a>[1-5]\d\d)(?P<sub>\.\d{1,2})?(?![\w%]|[.,:-]\d|/(?:\d(?!\d\d)|[a-z])|[ ]?(?:[kmgt]i?b|ms)\b)"
    rf"|(?<![\w.,:/#-])(?P<b>[1-5]\d\d)[ ]?[-:(]?[ ]?(?:{_HTTP_PHRASES})(?!\w)",
    _FLAGS,
)
_MORE_STATUS: Final = re.compile(r"[ ]*(?:/|,|und|and|or|oder|bzw\.?|&)[ ]*(?P<a>[1-5]\d\d)(?![\w%]|[.,:/-]\d)", _FLAGS)
_EVENT: Final = re.compile(
    r"(?<![\w-])(?:event|ereignis)(?:[- ]?(?:ids?|kennung|code|nr\.?|nummer|no\.?))?"
    r"[ ]?[-:=#(]?[ ]{0,2}(?P<a>\d{1,5})(?![\w%]|[.,:/-]\d)",
    _FLAGS,
)
_MORE_EVENTS: Final = re.compile(r"[ ]*(?:/|,|und|and|or|oder|bzw\.?|&)[ ]*(?P<a>\d{3,5})(?![\w%]|[.,:/-]\d)", _FLAGS)
_SMTP: Final = re.compile(
    r"(?<![\w.-])(?:(?:smtp|ndr|dsn|lmtp)(?:[- ]?(?:error|fehler|status|code|reply|antwort))?|status|fehler|error|"
    r"[245]\d\d)"
    r"[-:= (#]{1,3}(?:[245]\d\d[- ])?(?P<enhanced>[245]\.\d{1,2}\.\d{1,3})(?![\w.]*\d)"
    r"|(?<![\w.-])(?:smtp|lmtp)[- ]?(?:error|fehler|status|code|reply|antwort)?[-:= ]{1,3}"
    r"(?P<plain>[245]\d\d)(?![\w.,-]*\d)",
    _FLAGS,
)
_SYMBOL: Final = re.compile(
    r"(?<![\w.])(?=[A-Z0-9_]{6,48}(?!\w))(?=[A-Z0-9]+_)(?:[A-Z][A-Z0-9]*_)*"
    r"(?:ERR|ERROR|STATUS(?=_)|NXDOMAIN|SERVFAIL|VIOLATION|EXCEPTION|FAILURE|FAILED|INVALID|DIED|MISMATCH|FAULT|DENIED)"
    r"(?:_[A-Z0-9]+)*(?!\w)"
    r"|(?<!\w)(?:SERVFAIL|NXDOMAIN|EACCES|ENOENT|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOSPC|EPERM)(?!\w)"
)


def _canonical_number(number: str) -> tuple[IdentifierClass, str]:
    """Return class and value of a decimal error number; a signed 32-bit HRESULT is its hexadecimal self."""
    value = int(number)
    if -(2**31) <= value < -(2**16) or 2**31 <= value < 2**32:
        return IdentifierClass.SYSTEM_CODE, f"0x{value & 0xFFFFFFFF:x}"
    return IdentifierClass.ERROR_CODE, f"error {value}"


def hexadecimal(match: re.Match[str]) -> str:
    return "0x" + (match["a"].lower().lstrip("0") or "0")


def _word_start(text: str, start: int) -> int:
    """Return where the compound begins that ends in an error's name: "Druckerfehler", "VPN-Fehler"."""
    lowest = max(0, start - 24)
    begin = start
    while begin > lowest and (text[begin - 1].isalpha() or (text[begin - 1] == "-" and begin > lowest + 1)):
        begin -= 1
    if text[begin] == "-" or (begin and (text[begin - 1].isalnum() or text[begin - 1] in "_-")):
        return start
    return begin


def error_numbers(text: str) -> Iterator[Found]:
    """ "Fehler 809", "VPN-Fehlercode: 809", "errors 800/809 und 691", "exit code 1603"; each number is one."""
    for match in _COUNTED.finditer(text):
        word = match["word"].lower()
        if not match["between"] and not word.endswith(("fehler", "error")):
            continue  # RC4, rc2.d
        if word == "rc" and not set("=:") & set(match["between"]):
            continue  # /etc/init.d/rc 2
        if match["between"] == "(" and len(match["number"]) == 1 and text[match.end() : match.end() + 1] == ")":
            continue  # error(8): a section of the manual
        if word == "code" and _NOT_A_CODE_WORD.search(text, max(0, match.start() - 12), match.start()):
            continue
        if word.endswith("fehler") and match["between"].strip(" \t") == "" and len(match["number"]) > 6:
            continue  # "Fehler 0301234567": a number without a sign between is no longer than six digits
        end = match.end("number")
        negative = text[match.start("number") - 1] == "-" and text[match.start("number") - 2] in " \t=:("
        cls, value = _canonical_number("-" * negative + match["number"])
        if value.removeprefix("error ") in _HTTP_STATUSES and re.search(r"(?:fehler|errors?)$", word):
            cls, value = IdentifierClass.HTTP_STATUS, f"http {match['number']}"
        yield cls, value, _word_start(text, match.start()), end, ""
        while more := _MORE_NUMBERS.match(text, end):
            cls, value = _canonical_number(more["number"])
            yield cls, value, more.start("number"), more.end("number"), ""
            end = more.end("number")
    for match in _NUMBER_FIRST.finditer(text):
        if match["number"] in _HTTP_STATUSES:
            yield IdentifierClass.HTTP_STATUS, f"http {match['number']}", match.start(), match.end(), ""
        else:
            yield IdentifierClass.ERROR_CODE, f"error {int(match['number'])}", match.start(), match.end(), ""


_HTTP_STATUSES: Final = word_set("400 401 403 404 405 407 408 409 410 413 429 500 501 502 503 504")


def named_codes(text: str) -> Iterator[Found]:
    """ "error[E0277]", "Fehler M7111-1331", "Fehlercode 49.4C02": letters and digits after an error's name."""
    for match in _CODED.finditer(text):
        code = match["code"]
        prefix = re.match(r"[A-Za-z]*", code)
        letters = prefix.group().lower() if prefix else ""
        if (
            letters in _TICKET_PREFIXES
            or letters in {"v", "kb", "cve", "http", "smtp", "x"}
            or re.match(r"0x", code, _FLAGS)
        ):
            continue
        if not letters and not re.search(r"[A-Za-z]", code) and "-" not in code:
            continue  # 10.30 or 3.2: a time, a version, a section
        if re.fullmatch(r"\d{4}-\d\d(-\d\d)?|\d{1,2}-\d{1,2}(-\d{2,4})?", code):
            continue
        yield IdentifierClass.VENDOR_CODE, fold(code), match.start("code"), match.end("code"), ""


def dashed_codes(text: str) -> Iterator[Found]:
    """Oracle's form (DPF-01009): capitals, a dash, five digits or a padded number, unless a ticket system's."""
    for match in re.finditer(r"(?<![\w-])(?P<p>[A-Z][A-Z0-9]{1,7})-(?P<n>\d{5}|0\d{3,5})(?![\w-])", text):
        if match["p"].lower() not in _TICKET_PREFIXES and not match["p"].lower().startswith(("cve", "kb")):
            yield IdentifierClass.VENDOR_CODE, fold(match.group()), match.start(), match.end(), ""


def _listed(first: re.Pattern[str], more: re.Pattern[str], cls: IdentifierClass, prefix: str) -> Finder:
    """Return a finder for a word and its number, and further numbers strung to it ("Event IDs 4624, 4625")."""

    def find(text: str) -> Iterator[Found]:
        for match in first.finditer(text):
            groups = match.groupdict()
            number = groups["a"] or groups.get("b") or ""
            end = match.end()
            if cls is IdentifierClass.HTTP_STATUS and not _is_status(int(number)):
                continue
            yield cls, f"{prefix} {int(number)}{groups.get('sub') or ''}", match.start(), end, ""
            while groups["a"] and (again := more.match(text, end)):
                end = again.end()
                yield cls, f"{prefix} {int(again['a'])}", again.start("a"), end, ""

    return find


def _is_status(number: int) -> bool:
    """Tell whether a number is an HTTP status in use, those of proxies in front of servers (520 to 530) included."""
    return number in {*range(100, 104), *range(200, 209), 226, *range(300, 309), *range(400, 432), 451} or (
        500 <= number <= 511 or 520 <= number <= 530
    )


def smtp(text: str) -> Iterator[Found]:
    for match in _SMTP.finditer(text):
        value = f"smtp {match['enhanced'] or match['plain']}"
        yield IdentifierClass.SYSTEM_CODE, value, match.start(), match.end(), ""


def symbols(text: str) -> Iterator[Found]:
    for match in _SYMBOL.finditer(text):
        yield IdentifierClass.SYSTEM_CODE, match.group().lower(), match.start(), match.end(), ""


_NUMBERED: Final = re.compile(r"\d\.\d")


def versions(text: str) -> Iterator[Found]:
    """A product with its version, by the table of products; else by the form `name 1.2.3`, `name v1.2`, `v1.2.3`."""
    for product in named_products(text):
        for match in product.pattern.finditer(text):
            version = " ".join(fold(match["version"]).replace(",", " ").replace("version ", "").split())
            if match.groupdict().get("update"):
                version += " " + "".join(fold(match["update"]).split())
            yield IdentifierClass.VERSION, f"{product.name} {version}", match.start(), match.end(), product.name
    if not _NUMBERED.search(text):
        return
    for match in GENERIC_VERSION.finditer(text):
        name = fold(match["product"])
        version = fold(match["version"])
        if name in NOT_A_PRODUCT or re.fullmatch(r"\d{1,2}\.\d{1,2}\.(?:19|20)?\d\d", version):
            continue
        yield IdentifierClass.VERSION, f"{name} {version}", match.start(), match.end(), name
    for pattern in (V_VERSION, WORD_VERSION):
        for match in pattern.finditer(text):
            yield IdentifierClass.VERSION, "v" + fold(match["version"]), match.start(), match.end(), ""


http_statuses: Final = _listed(_HTTP, _MORE_STATUS, IdentifierClass.HTTP_STATUS, "http")
events: Final = _listed(_EVENT, _MORE_EVENTS, IdentifierClass.VENDOR_CODE, "event id")


def _pieces(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# What stands in every text in which the finders of these names find something.
VENDOR_STARTS: Final = _pieces(
    "ORA TNS PLS RMAN LRM NZE CRS PRVF PRCR SP2 EXP IMP OUI DPF DIM AADSTS MSB NETSDK NU LNK SQLCODE ABAP ADOP JBAS "
    "WFLY HHH WLS BEA CWWK SRVE ANR ANS BMC DFS IEC AMQ CVU VSM APPV SCCM CTX XDDS ESX MS"
)
SYMBOL_PARTS: Final = _pieces(
    "ERR STATUS_ NXDOMAIN SERVFAIL VIOLATION EXCEPTION FAILURE FAILED INVALID DIED MISMATCH FAULT DENIED EACCES ENOENT "
    "ECONN ETIMEDOUT ENOSPC EPERM"
)
_ADVISORIES: Final = _pieces(
    "dsa dla usn glsa vmsa rhsa rhba alsa elsa suse-su fg-ir ctx cwe- capec- wid-sec- adv "
    "ms0 ms1 ms2 ms3 ms4 ms5 ms6 ms7 ms8 ms9"
)
_PHRASE_STARTS: Final = (
    "bad request", "unauthori", "forbidden", "not found", "method not", "request time", "conflict", "gone", "payload",
    "too many", "internal server", "not implemented", "bad gateway", "service unavail", "gateway time", "moved perm",
    "proxy auth",
)  # fmt: skip
_status_before: Final = beside("http", "status", "antwort", "response", digits=3)
_status_behind: Final = holds(*_PHRASE_STARTS, digits=3)
_error_before: Final = beside("fehler", "err", "rc", "msg", "code", "status", "value", "wert")
_error_behind: Final = holds("fehler", "error", digits=3)
_advisory: Final = holds(*_ADVISORIES)


def may_name_a_status(signs: Signs) -> bool:
    """Tell whether a text may name an HTTP status: before the number, or behind it."""
    return _status_before(signs) or _status_behind(signs)


def may_name_an_error(signs: Signs) -> bool:
    """Tell whether a text may name an error by number or code: before it, or behind it ("809er-Fehler")."""
    return _error_before(signs) or _error_behind(signs)


def may_name_an_advisory(signs: Signs) -> bool:
    """Tell whether a text may name a security advisory; those of one form have no digit."""
    return "ghsa" in signs.lowered or _advisory(signs)
