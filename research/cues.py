"""Words by which a sentence says how two things are connected, in German and English.

A cue names a relation type and where its subject stands: `forward` where the acting thing comes before the
cue ("X causes Y"), backward where it comes after ("Y is caused by X"). A few types do not go by position but
by what the two things are (a fix solves, whichever word comes first); their cues carry no order.

The list is short on purpose: a sentence without a cue is `related_to`, and a wrong type is worse than that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from data.models import RelationType

__all__ = ["CueHit", "Order", "cues_in", "denies", "hedges", "negates"]


class Order(StrEnum):
    FORWARD = "forward"
    BACKWARD = "backward"
    EXPLAINS = "explains"
    """Backward, and it may explain the sentence before it ("The cause is X")."""
    BY_ROLE = "by_role"


@dataclass(frozen=True, slots=True)
class CueHit:
    relation: RelationType
    order: Order
    start: int
    end: int


def _any_of(lines: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{line.strip()})" for line in lines.strip().splitlines()), re.IGNORECASE)


# `(?P<at>…)` marks the word between the two things where the cue itself is longer than that.
_CUES: Final[tuple[tuple[RelationType, Order, re.Pattern[str]], ...]] = (
    (
        RelationType.CAUSES,
        Order.EXPLAINS,
        _any_of(r"""
            \b(?:the )?(?:root |usual |most common |common )?cause (?:of (?:\S+ ){1,6})?(?:is|was)\b
            \b(?:ursache|grund)(?: \w+){0,4} (?:ist|war|sind)\b
        """),
    ),
    (
        RelationType.CAUSES,
        Order.BACKWARD,
        _any_of(r"""
            \b(?:is|are|was|were|being|often|usually|mostly)? ?caused by\b
            \b(?:due to|because of|results? from|triggered by|stems? from|attributable to)\b
            \bverursacht (?:durch|von)\b
            \b(?:ausgelöst|hervorgerufen) (?:durch|von)\b
            \b(?:aufgrund|infolge|wegen)\b
            \bliegt (?:meist |oft |häufig )?(?:an|daran)\b
        """),
    ),
    (
        RelationType.CAUSES,
        Order.FORWARD,
        _any_of(r"""
            (?<!not )\bcauses?\b(?! of)
            \b(?:leads?|led) to\b
            \bresults? in\b
            \btriggers\b
            \bis (?:the |a )?(?:root |usual |common )?cause of\b
            \bverursach(?:t|en)\b(?! durch| von)
            \bführ(?:t|en)(?: \w+){0,3} zu[mr]?\b
            \bist (?:die |eine )?(?:häufige |häufigste )?ursache (?:für|von|des|der)\b
            \bzur folge\b
        """),
    ),
    (
        RelationType.SUPERSEDES,
        Order.BACKWARD,
        _any_of(r"""
            \b(?:superseded|replaced|obsoleted) by\b
            \bdeprecated in favou?r of\b
            \b(?:ersetzt|abgelöst) durch\b
        """),
    ),
    (
        RelationType.SUPERSEDES,
        Order.FORWARD,
        _any_of(r"""
            \b(?:supersedes|replaces|obsoletes)\b
            \bis (?:the |a )?successor (?:of|to)\b
            \b(?:ist|als) (?:der |die |das )?nachfolger(?:in)? (?:von|des|der)\b
            \btritt an die stelle\b
            \bersetzt\b(?! durch| werden)
        """),
    ),
    (
        RelationType.REQUIRES,
        Order.BACKWARD,
        _any_of(r"""
            \b(?:is|are) (?:required|needed) (?:by|for)\b
            \bis (?:a )?prerequisite (?:for|of)\b
            \b(?:ist|sind) (?:eine )?voraussetzung (?:für|von|des|der)\b
        """),
    ),
    (
        RelationType.REQUIRES,
        Order.FORWARD,
        _any_of(r"""
            \b(?:requires?|depends? on|relies on|presupposes)\b(?!d)
            \b(?:erfordert|benötigt|verlangt)\b
            \bhängt von\b
        """),
    ),
    (
        RelationType.PART_OF,
        Order.FORWARD,
        _any_of(r"""
            \b(?:is|are) (?:a )?(?:part|component|module|sub-?technique) of\b
            \bsub-?technique of\b
            \bbelongs? to\b
            \b(?:ist|sind) (?:ein )?(?:teil|bestandteil|baustein|untertechnik|komponente) (?:von|des|der|eines|einer)\b
            \b(?:untertechnik|bestandteil) (?:von|des|der)\b
        """),
    ),
    (
        RelationType.VARIANT_OF,
        Order.BY_ROLE,
        _any_of(r"""
            \b(?:is|are|as) (?:a |another )?(?:variant|variation|flavou?r) of\b
            \b(?:ist|als|sind) (?:eine |weitere )?(?:variante|spielart|sonderform) (?:von|des|der)\b
        """),
    ),
    (
        RelationType.CONTRADICTS,
        Order.BY_ROLE,
        _any_of(r"""
            \bcontradicts?\b
            \b(?:is|are|stands?) in (?:conflict|contradiction) (?:with|to)\b
            \bwiderspr(?:icht|echen)\b
            \b(?:steht|stehen) im widerspruch\b
        """),
    ),
    (
        RelationType.MITIGATES,
        Order.BY_ROLE,
        _any_of(r"""
            \bmitigat(?:es?|ed|ing|ions?)\b
            \b(?:prevents?|preventing|counters?|hinders?|impedes?)\b
            \b(?:protects?|defends?|guards?|shields?) (?:\w+ ){0,4}(?:against|from)\b
            \b(?:protection|defen[cs]e) against\b
            \bkeeps? (?:\S+ ){1,5}from \w+ing\b
            \b(?:limits?|reduces?) (?:the )?(?:risk|damage|impact)\b
            \bverhinder(?:t|n)\b
            \b(?:schützt|schützen|schutz)(?: \w+){0,5} (?:vor|gegen)\b
            \b(?:erschwert|erschweren|abschwächt|entschärft|begrenzt den schaden|wirksamste|gegenmaßnahmen?)\b
            \bwirk(?:t|en) (?:\w+ ){0,3}entgegen\b
        """),
    ),
    (
        RelationType.SOLVES,
        Order.BY_ROLE,
        _any_of(r"""
            \b(?:resolves?|resolved|fixes|fixed|solves?|solved|cures?|remed(?:y|ies|ied)|clears|corrects)\b
            \bto (?:fix|resolve|solve|correct|clear|get rid of)\b
            \b(?:solution|fix|resolution|remedy) (?:is|for|to)\b
            \bno longer (?:occurs?|appears?|fails?)\b
            \b(?:disappears?|goes away|went away|works again|succeeds again)\b
            \b(?:behebt|beheben|behoben|behebung|beseitigt|beseitigen|abhilfe|geholfen)\b
            \blös(?:t|en)\b(?!(?:\W+\w+){0,8}\W+(?:aus|ab)\b)
            \b(?:gelöst|lösung)\b
            \bhilft\b(?!(?: \w+){0,2} nicht)
            \b(?:nicht mehr auf|verschwindet|danach (?:ist|war)(?: \w+){0,4} weg)\b
            \b(?:kommt|gelingt|funktioniert|geht|läuft)(?: \w+){0,5} wieder\b
        """),
    ),
)

_SPLIT_PASSIVE: Final = re.compile(
    r"\b(?:wird|werden|wurde|wurden)\b.{0,120}?\b(?P<at>durch|von)\b.{0,120}?\b(?P<what>verursacht|ausgelöst|ersetzt|abgelöst|benötigt)\b",
    re.IGNORECASE,
)
_SPLIT_ACTIVE: Final = re.compile(
    r"\b(?P<at>löst|lösen|setzt|setzen)\b.{1,120}?\b(?P<what>(?<=\s)(?:aus|ab|voraus))\b(?=\W*(?:$|[,.;]|und\b))",
    re.IGNORECASE,
)
_SPLIT_TYPES: Final = {
    "verursacht": RelationType.CAUSES,
    "ausgelöst": RelationType.CAUSES,
    "aus": RelationType.CAUSES,
    "ersetzt": RelationType.SUPERSEDES,
    "abgelöst": RelationType.SUPERSEDES,
    "ab": RelationType.SUPERSEDES,
    "benötigt": RelationType.REQUIRES,
    "voraus": RelationType.REQUIRES,
}
_PARTICLES: Final = {"löst": {"aus", "ab"}, "lösen": {"aus", "ab"}, "setzt": {"voraus"}, "setzen": {"voraus"}}

_DENIALS: Final = _any_of(r"""
    \bnothing to do with\b
    \b(?:not|un)related (?:to|with)\b
    \bno (?:connection|relation|link|influence|effect|help|remedy|use) (?:with|to|on|between|against|for|here)\b
    \b(?:does|do|did|will|can)(?: not|n['’]t) (?:\w+ )?(?:affect|apply|cause|fix|resolve|help|solve|prevent)\b
    \b(?:does|do|did|will|can)(?: not|n['’]t) (?:\w+ )?(?:mitigate|protect|require|concern|see|stop|detect|reach)\b
    \b(?:does|do|did|will|can)(?: not|n['’]t) (?:\w+ )?(?:cover|catch|address|matter)\b
    \bcannot (?:help|fix|solve|prevent|stop|detect|see|protect|mitigate)\b
    \b(?:does|do|did) not (?:need|touch|involve|depend)\b
    \b(?:do not|don['’]t|cannot) (?:rely|count) on\b
    \b(?:is|are|was|were) not (?:caused|affected|the (?:cause|reason)|required|needed|vulnerable|involved|to blame)\b
    \b(?:made|makes|make) no difference\b
    \b(?:was|were|is|are) never (?:touched|involved|needed|affected)\b
    \bof (?:no|little) (?:use|help)\b
    \b(?:irrelevant|not applicable) (?:to|for)\b
    \b(?:regardless|irrespective) of\b
    \bindependent(?:ly)? (?:of|from)\b
    \bnichts (?:\w+ ){0,6}(?:zu tun|gebracht|geändert|genützt|genutzt)\b
    \bbr(?:ingt|achte) (?:\w+ ){0,3}nichts\b
    \b(?:nützt|nutzt|hilft|half) (?:\w+ ){0,3}(?:wenig|nichts|kaum)\b
    \bkein(?:en|e|erlei)? (?:zusammenhang|einfluss|bezug|verbindung zu|wirkung|abhilfe|hilfe)\b
    \b(?:hat|haben|hatte|hatten) (?:\w+ ){0,6}kein(?:en)? problem\b
    \b(?:hilft|helfen|half|nützt|behebt|löst|verhindert|schützt)\b(?:\W+\w+){0,6}\W+nicht\b
    \b(?:betrifft|ändert|verursacht|erkennt|sieht)\b(?:\W+\w+){0,6}\W+nicht\b
    \b(?:fasst|rührt)\b(?:\W+\w+){0,4}\W+nicht an\b
    \bnicht (?:die |der |daran )?(?:ursache|grund|schuld|betroffen|beteiligt|verantwortlich)\b
    \bnicht (?:notwendig|nötig|erforderlich)\b
    \b(?:lag|liegt) es (?:\w+ ){0,3}nicht\b
    \bgilt nicht (?:für|bei)\b
    \b(?:kann|könnt|können) (?:\w+ ){0,4}sparen\b
    \bunabhängig (?:von|davon)\b
    \bnur nebenopfer\b
""")
_NEGATIONS: Final = re.compile(
    r"\b(?:not|never|no|none|nor|without|neither|cannot|nicht|nie|niemals|nichts|kein\w*|ohne|weder|kaum)\b|n['’]t\b",
    re.IGNORECASE,
)
_NEGATES_ELSEWHERE: Final = _any_of(r"""
    `[^`]*`
    \b(?:last but not least|nicht zuletzt|not only|not necessarily|not yet)\b
    \b(?:nicht nur|nicht zwingend|noch nicht|nicht mehr)\b
    \b(?:if|when|whenever|where|unless|until|so that|such that)\b[^,;.]*
    \b(?:wenn|falls|sofern|solange|sobald|bevor|damit|sodass)\b[^,;.]*
    \b(?:that|which|who)\b(?: \w+){0,3} (?:not|never|cannot)\b[^,;.]*
    ,\W+(?:der|die|das|den|dem|deren|dessen|welche[rsnm]?|ohne dass|um)\b[^,;.]*
    \b(?:no|keine) (?:way|possibility|möglichkeit)\b
    \b(?:cannot|can not|can['’]t|could not|unable to|does not support|is not supported|not compatible)\b
    \b(?:kann|können|konnten?|lässt|lassen)\b[^,;.]*?\bnicht\b
    \bnicht (?:\w+ ){0,2}(?:möglich|unterstützt|verträglich|kompatibel)\b
""")
"""Negations that deny no connection: of a condition or a part of the sentence, or of an ability, which is one."""
_HEDGES: Final = _any_of(r"""
    \?\W*$
    \b(?:maybe|perhaps|possibly|presumably|probably|might|could be|unclear|not sure|suspect(?:ed)?)\b
    \b(?:vermutlich|eventuell|evtl|vielleicht|möglicherweise|wahrscheinlich|womöglich|unklar|angeblich|verdacht)\b
    \b(?:könnte|dürfte|müsste)\b
""")


def cues_in(sentence: str) -> list[CueHit]:
    """Return the cues of one sentence in order of place. Of two that overlap the one higher in the table counts."""
    found = []
    taken = []
    for pattern, order in ((_SPLIT_PASSIVE, Order.BACKWARD), (_SPLIT_ACTIVE, Order.FORWARD)):
        for match in pattern.finditer(sentence):
            at, what = match["at"].lower(), match["what"].lower()
            if what in _PARTICLES.get(at, {what}):
                found.append(CueHit(_SPLIT_TYPES[what], order, match.start("at"), match.end("at")))
                taken.append(match.span())
    for relation, order, pattern in _CUES:
        for match in pattern.finditer(sentence):
            if not any(start < match.end() and match.start() < end for start, end in taken):
                found.append(CueHit(relation, order, match.start(), match.end()))
                taken.append((match.start(), match.end()))
    return sorted(found, key=lambda cue: cue.start)


def denies(sentence: str) -> bool:
    """Tell whether the sentence says that things are *not* connected, or that something does not help."""
    return _DENIALS.search(sentence) is not None


def negates(sentence: str) -> bool:
    """Tell whether the sentence negates what it says: not only a condition, a part of it, or an ability."""
    return _NEGATIONS.search(_NEGATES_ELSEWHERE.sub(" ", sentence)) is not None


def hedges(sentence: str) -> bool:
    """Tell whether the sentence asks or guesses instead of stating."""
    return _HEDGES.search(sentence) is not None
