"""Identifiers that pin technical text down: CVE, techniques, KB articles, vendor and error codes, versions.

Every class is recognised by its form or by the word it stands next to ("Fehler 809", "Event ID 4625"); a bare
number is never one, so dates, telephone numbers, sizes, section numbers and ticket references stay out (spec 04,
05). Values are canonical: two spellings of one identifier have one value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from data import codes
from data.characters import fold
from data.codes import Finder, IdentifierClass
from data.signs import Hint, beside, holds, signs_of, writes

__all__ = ["Identifier", "IdentifierClass", "identifiers"]

_PINNING: Final = frozenset(
    {
        IdentifierClass.CVE,
        IdentifierClass.TECHNIQUE,
        IdentifierClass.KB,
        IdentifierClass.VENDOR_CODE,
        IdentifierClass.RFC,
    }
)


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier and where it stands: `text == source[start:end]`."""

    cls: IdentifierClass
    value: str
    """Canonical and folded: "cve-2024-3094", "error 809", "windows 11 23h2", "v2.4.1"."""
    start: int
    end: int
    text: str
    product: str = ""
    """Of a VERSION: the product's canonical name; empty for a plain "v2.4.1"."""

    @property
    def pins(self) -> bool:
        """Whether the identifier alone says what a text is about (spec 05)."""
        return self.cls in _PINNING

    @property
    def version(self) -> str:
        """Of a VERSION: the value without its product ("11 23h2"); empty for every other class."""
        if self.cls is not IdentifierClass.VERSION:
            return ""
        return self.value[len(self.product) :].strip() if self.product else self.value.removeprefix("v")


_C: Final = IdentifierClass
# In order of precedence: where two finders claim the same characters, the earlier one keeps them. Each stands with what
# a text must show for it to find anything.
_FINDERS: Final[tuple[tuple[Hint, Finder], ...]] = (
    (
        holds("cve"),
        codes.by_form(
            _C.CVE,
            rf"(?<![\w-])CVE(?:{codes.DASH}|[ ]|:[ ]?)(?P<y>(?:19|20)\d\d){codes.DASH}(?P<n>\d{{4,7}})(?!\d)",
            lambda m: f"cve-{m['y']}-{m['n']}",
        ),
    ),
    (
        writes("T1", "T08", "TA"),
        codes.by_form(
            _C.TECHNIQUE,
            r"(?<![\w.-])(?P<a>T(?:1\d{3}|08\d\d)(?:\.\d{3})?|TA\d{4})(?!\w|\.\d|-\d)",
            lambda m: m["a"].lower(),
            0,
        ),
    ),
    (
        holds("kb", "knowledge base", digits=6),
        codes.by_form(
            _C.KB,
            r"(?<![\w-])(?:MS)?KB(?:[- ]?(?:artikel|article|nr\.?|no\.?))?[-: ]{0,2}(?P<a>[1-9]\d{5,6})(?!\w|[.,]\d)"
            r"|(?<!\w)knowledge base[- ](?:article|artikel)[ ](?P<b>[1-9]\d{5,6})(?!\w)",
            lambda m: f"kb{m['a'] or m['b']}",
        ),
    ),
    (
        holds("rfc"),
        codes.by_form(_C.RFC, r"(?<![\w-])RFCs?[- ]?(?P<a>[1-9]\d{1,4})(?!\w|[.,]\d|-\d)", lambda m: f"rfc {m['a']}"),
    ),
    (
        codes.may_name_an_advisory,
        codes.by_form(
            _C.VENDOR_CODE,
            r"(?<![\w-])(?:MS\d\d-\d{3}|GHSA(?:-[0-9a-z]{4}){3}|"
            r"(?:DSA|DLA|USN|GLSA|VMSA|RHSA|RHBA|ALSA|ELSA|SUSE-SU|FG-IR|CTX)"
            r"[- ](?:\d{2,4}[-:]\d{2,6}(?:-\d{1,3})?|\d{3,7}(?:-\d{1,2})?)|"
            r"CWE-\d{1,5}|CAPEC-\d{1,4}|WID-SEC-\d{4}-\d{4}|ADV\d{6})(?![\w-])",
            lambda m: fold(m.group()).replace(" ", "-"),
        ),
    ),
    (
        writes(*codes.VENDOR_STARTS, digits=3),
        codes.by_form(
            _C.VENDOR_CODE,
            rf"(?<![\w-])(?P<p>{codes.VENDOR_PREFIXES})(?P<d>-?)(?P<n>\d{{3,7}}[A-Z]?)(?![\w-]|\.\d)",
            lambda m: fold(m.group()),
            0,
        ),
    ),
    (
        writes("SQLSTATE", digits=0),
        codes.by_form(
            _C.VENDOR_CODE,
            r"(?<![\w-])(?:SQLSTATE[ =:\[]{1,2})(?P<a>[0-9A-Z]{5})(?!\w)",
            lambda m: f"sqlstate {m['a'].lower()}",
            0,
        ),
    ),
    (
        writes("SQL", digits=4),
        codes.by_form(_C.VENDOR_CODE, r"(?<!\w)SQL(?P<a>\d{4,5}[NWC])(?!\w)", lambda m: f"sql{m['a'].lower()}", 0),
    ),
    (
        writes("%"),
        codes.by_form(
            _C.VENDOR_CODE,
            r"(?<!\w)(?P<a>%[A-Z][A-Z0-9_]{1,20}-[0-7]-[A-Z0-9_]{3,40})(?!\w)",
            lambda m: m["a"].lower(),
            0,
        ),
    ),
    (
        writes("CS", "TS", "C1", "C2", "E0", digits=4),
        codes.by_form(
            _C.VENDOR_CODE,
            r"(?<!\w)(?P<a>CS\d{4}|TS\d{4,5}|C[12]\d{3}|E0\d{3})(?=[:\])])",
            lambda m: m["a"].lower(),
            0,
        ),
    ),
    (holds("0x"), codes.by_form(_C.SYSTEM_CODE, r"(?<![\w-])0x(?P<a>[0-9a-f]{3,16})(?!\w)", codes.hexadecimal)),
    (
        holds("0x"),
        codes.by_form(
            _C.SYSTEM_CODE,  # two digits are a byte, unless they stand next to an error's name
            r"(?:fehler|error|stop|bug[- ]?check|bluescreen)(?:[- ]?codes?|meldung)?[ :=(]{1,2}"
            r"0x(?P<a>[0-9a-f]{2})(?!\w)",
            codes.hexadecimal,
        ),
    ),
    (lambda signs: signs.dotted or (signs.digits >= 3 and signs.any_of(("smtp", "lmtp"))), codes.smtp),
    (codes.may_name_a_status, codes.http_statuses),
    (beside("event", "ereignis"), codes.events),
    (codes.may_name_an_error, codes.named_codes),
    (codes.may_name_an_error, codes.error_numbers),
    (writes("-", digits=4), codes.dashed_codes),
    (writes(*codes.SYMBOL_PARTS, digits=0), codes.symbols),
    (lambda signs: bool(signs.near), codes.versions),
)


def _scan(text: str) -> tuple[Identifier, ...]:
    signs = signs_of(text)
    taken = bytearray(len(text))
    found: list[Identifier] = []
    for hint, finder in _FINDERS:
        if signs is not None and not hint(signs):
            continue
        for cls, value, start, end, product in sorted(finder(text), key=lambda hit: (hit[2], -hit[3])):
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\x01" * (end - start)
                found.append(Identifier(cls, value, start, end, text[start:end], product))
    return tuple(sorted(found, key=lambda item: item.start))


_scan_cached = lru_cache(maxsize=8192)(_scan)
_CACHED_UP_TO: Final = 4_000  # characters: labels, queries and passages are asked again and again, pages are not


def identifiers(text: str) -> tuple[Identifier, ...]:
    """Return the identifiers of `text` in order, without overlaps; any string is accepted."""
    return _scan_cached(text) if len(text) <= _CACHED_UP_TO else _scan(text)
