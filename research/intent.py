"""What kind of article a topic asks for, told by its words (spec 06, "Type plan"). Pure.

Troubleshooting only where a concrete error or symptom stands at the centre; how_to only where something is
to be done; hardening, frameworks, threat profiles and mechanisms are neither; a choice wants a decision
guide, a table a reference; where nothing concrete is asked, a type that needs no steps.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from data.models import ArticleType, NodeKind
from data.text import IdentifierClass, fold, identifiers

__all__ = ["expected_type"]

_CODES: Final = frozenset(
    {
        IdentifierClass.VENDOR_CODE,
        IdentifierClass.SYSTEM_CODE,
        IdentifierClass.ERROR_CODE,
        IdentifierClass.HTTP_STATUS,
    }
)


def _any_of(alternatives: str) -> re.Pattern[str]:
    """Return a pattern of whole words; alternatives are parted by " | " and may run over lines."""
    joined = "|".join(re.split(r"\s+\|\s+", alternatives.strip()))
    return re.compile(rf"\b(?:{joined})\b")


# All patterns are matched against the folded topic (ä is ae, ß is ss).
_SYMPTOM: Final = _any_of(r"""
    fail(?:s|ed|ing|ure|ures)? | crash(?:es|ed|ing)? | hangs? | hung | stuck | freez(?:es|ing) | frozen |
    flickers? | (?:does|do|is|are|was|has|have|will|be)? ?not \w+ | (?:doesn|isn|don|won|can)'?t | cannot |
    unable | no \w+(?: \w+){0,3} available | refus(?:es|ed) | reject(?:s|ed) | denied | block(?:s|ed)? | ignored |
    times? out | timed out | timeout | unreachable | missing | lost | loss | broken | corrupt(?:ed)? | full |
    fills | no space | slow(?:ly)? | poor | expired | disconnect(?:s|ed) | drops? | loops? | wrong | black |
    errors? | too many | too open | invalid | out of (?:memory|space) | skew | has changed | alert |
    keeps? \w+ing | \w*fehler\w* | fehlgeschlagen | schlaegt .{0,60}fehl | scheitert | stuerzt | absturz\w* |
    haengt | haengen |
    (?:geht|gehen|laeuft|startet|druckt|reagiert|funktionier\w+|kommt|findet|laesst|lassen|wird) .{0,60}nicht |
    nicht \w+ | keine? \w+ .{0,40}mehr | verweigert | abgelehnt | abgelaufen | gesperrt | bricht .{0,60}ab |
    abbrueche? | voll | erschoepft | langsam\w* | ungueltig\w* | offline | ruckelt | verloren | verlieren |
    massenhaft | verschwunden | leer | fragt .{0,40}(?:staendig|nach) | staendig\w*
""")
_DOING: Final = _any_of(r"""
    how to | set(?:ting)? up | setup | configur(?:e|ing) | install(?:ing|ation)? | migrat(?:e|ing|ion) |
    creat(?:e|ing) | enabl(?:e|ing) | disabl(?:e|ing) | renew(?:ing|al)? | extend(?:ing)? | restor(?:e|ing) |
    upgrad(?:e|ing) | deploy(?:ing|ment)? | reset(?:ting)? | replac(?:e|ing) | rotat(?:e|ing) | flush(?:ing)? |
    back(?:ing)? up | join(?:ing)? | remov(?:e|ing) | einricht(?:en|ung) | einzurichten |
    konfigur(?:ieren|ation) | install(?:ieren|ation) | migr(?:ieren|ation) | anleitung | inbetriebnahme |
    umstellung | erneuerung
""")
_GERUND: Final = re.compile(r"^\w{3,}ing (?:an?|the|of|with|\w+s?\b)", re.IGNORECASE)
"""An English heading that begins with what is to be done: "Extending an LVM volume"."""
_INFINITIVE: Final = re.compile(r"\s(?!werden|worden|haben|müssen|gegen|neben)[a-zäöüß]{3,}(?:en|ern|eln)(?:$|[:(])")
"""A German heading that ends with it: "DHCP-Bereich vergrößern"; nouns are told by their capital."""
_CHOOSING: Final = _any_of(r"""
    vs | versus | or | which | choos(?:e|ing) | choice of | compar(?:e|ing|ison) | alternatives? | oder |
    welche[rsn]? | auswahl | wahl | waehlen | vergleich\w* | alternativen? | entscheidung\w* | ersatz fuer |
    abloesung .{0,40}durch
""")
_LOOKING_UP: Final = _any_of(r"""
    ports? | (?:response|return|exit|error|status|event) codes | parameters? | options | reference | list of |
    limits? | defaults? | values | tables? | overview | syntax | switches | event ids | parameter | optionen |
    referenz | liste | uebersicht | standardwerte | tabelle | registrierungswert\w* | fehlercodes | grenzwerte |
    portliste
""")
_PRINCIPLE: Final = _any_of(r"""
    harden(?:ing)? | prevent(?:ion|ing)? | best practices? | architecture | mechanisms? | mapping | framework |
    threat | attack(?:s|ers?)? | technique | spraying | phishing | hierarchy | concepts? | what is | haertung |
    vorbeug\w* | schutz | konzept\w* | mechanismus | bedrohung\w* | angriff\w* | technik | architektur |
    grundlagen | was ist | strategie\w*
""")


def expected_type(topic: str, kinds: Collection[NodeKind]) -> ArticleType:
    """Return the type of article that `topic`, seen in nodes of `kinds`, asks for.

    A guess that gathers the right evidence: the type plan of the synthesis has the last word.
    """
    text = fold(topic)
    classes = {item.cls for item in identifiers(topic)}
    complaint = NodeKind.TICKET in kinds or not kinds
    symptom = complaint and bool(_SYMPTOM.search(text))
    if IdentifierClass.TECHNIQUE in classes:
        return ArticleType.CONCEPT
    if IdentifierClass.CVE in classes or IdentifierClass.RFC in classes:
        return ArticleType.REFERENCE
    if not symptom and _CHOOSING.search(text):
        return ArticleType.DECISION_GUIDE
    if not symptom and _LOOKING_UP.search(text):
        return ArticleType.REFERENCE
    if not symptom and not classes & _CODES and _INFINITIVE.search(topic):
        return ArticleType.HOW_TO
    if not classes & _CODES and _PRINCIPLE.search(text):
        return ArticleType.CONCEPT
    if classes & _CODES or symptom:
        return ArticleType.TROUBLESHOOTING
    if _DOING.search(text) or _GERUND.search(text):
        return ArticleType.HOW_TO
    if IdentifierClass.KB in classes:
        return ArticleType.REFERENCE
    return ArticleType.CONCEPT
