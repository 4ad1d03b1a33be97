"""How sentences connect two nodes: what the extractive planner and reviewer read (spec 04).

`PairReader` reads short texts for one pair of labels. A sentence *bridges* the pair when it shows both
labels, alone or with the sentence before it, its heading helping; a bridge may carry a cue that says what
the connection is (`research.cues`), or deny that there is one.

Pure: no store, no network, no clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from data.models import Label, NodeKind, RelationType
from data.text import IdentifierClass, Span, identifiers, sentences
from research.anchors import IDENTIFIER_WEIGHT, AnchorIndex, LabelAnchors, contradicts, label_anchors
from research.cohesion import follows, only_listed, refers_back, without_asides, without_glosses
from research.cues import CueHit, Order, cues_in, denies, hedges, negates
from research.roles import Direction, NodeView
from research.topic import is_structural

__all__ = ["ADJACENT", "SOURCE", "TARGET", "Bridge", "PairReader", "no_question"]

SOURCE: Final = 0
TARGET: Final = 1
ENOUGH: Final = 1.0
ENOUGH_SHARE: Final = 0.3
ENOUGH_CAP: Final = 1.6
UNNAMED_SHARE: Final = 0.6
"""Distinctive weight a sentence must show of a label: a name, of a long label a name and an ordinary word, and
most of a label that has no name."""
WHOLE: Final = 1.0
ADJACENT: Final = 0.85
TITLED: Final = 0.7
"""A bridge over two sentences, or under a heading, counts less than one sentence that says it all."""
ONE_SUBJECT: Final = 0.7
"""Share of either label's weight that the other one shows too, from which both are names of one thing."""
SAME_SHARE: Final = 0.5
"""Share of either label's words that two reports of one thing have in common."""
SAME_WEIGHT: Final = 2.0
"""What they have in common at least, unless their identifiers say it: "VPN is slow" and "VPN fails" are two things."""

_REMEDY: Final = re.compile(
    r"\b(?:solution|resolution|fix|remedy|workaround|procedure|lösung|behebung|abhilfe|vorgehen|umgehung)\W*$",
    re.IGNORECASE,
)
"""At the end of what stands before a step: its heading says that it solves what the title names."""

_REASON: Final = re.compile(r"\b(?:causes?|reasons?|ursachen?|gründe)\W*$", re.IGNORECASE)
"""The same of a heading below which stands what causes it."""

_OPENING: Final = re.compile(
    r"\W*(?:(?:this|these|it|dies|dieser|diese|dieses|es|damit|hiermit)\b(?:\W+\w+)?\W*)?$", re.IGNORECASE
)
"""What may stand before the cue of a sentence about its own node: nothing, "This step …", "Damit …"."""
CONTEXT_OWN: Final = 0.6
"""What a sentence must show of a label itself for its page's title to supply the label's name."""
NEAR: Final = 140
"""Characters around a cue in which its subject and object are looked for."""
_CLAUSE_END: Final = re.compile(r"[;:()]")
_NUMBER: Final = re.compile(r"\d+")
_MARK: Final = re.compile(r"#{1,6}|[-*+•–]|\(?\d{1,3}[.)]")
_DOCUMENT_KINDS: Final = frozenset({NodeKind.SECTION, NodeKind.DOCUMENT, NodeKind.ARTICLE})
_THREAT_CLASSES: Final = frozenset({IdentifierClass.CVE, IdentifierClass.TECHNIQUE})
_UNDIRECTED: Final = frozenset({RelationType.RELATED_TO, RelationType.VARIANT_OF, RelationType.CONTRADICTS})


@dataclass(frozen=True, slots=True)
class Bridge:
    """A place in a text where both labels are spoken of; `sentence` is `text[start:end]`."""

    start: int
    end: int
    sentence: str
    strength: float
    denied: bool
    """Whether it says that there is no connection, or that the one does not help against the other."""
    plain: bool
    """Whether it states something: it does not ask or guess, and negates nothing unless a cue says what it means."""
    relation: RelationType | None
    """None where no cue says what the connection is."""
    direction: Direction


class PairReader:
    """Reads texts for one pair of nodes."""

    def __init__(self, source: NodeView, target: NodeView) -> None:
        self.views = (source, target)
        self.anchors = (label_anchors(Label("source", source.label)), label_anchors(Label("target", target.label)))
        self.index = AnchorIndex(self.anchors)

    def bridges(self, text: str, heading: str = "", title: str = "") -> list[Bridge]:
        """Return the bridges of `text` in order; a sentence that bridges alone is not joined with its neighbour.

        The points of a list are not neighbours of each other: each is read with the sentence that leads in, which
        ends in a colon. `title` supplies a name that its page says once for all passages, and states nothing.

        Headings state nothing: they only help the sentences below them, as `heading` does from the start; what
        stands below "Solution" is said to solve what the heading above it names. Where both labels name one thing,
        what speaks of it says nothing about the two nodes.
        """
        found: list[Bridge] = []
        if self.one_subject():
            return found
        named = self.index.mask(title)
        subject, part = heading, ""
        previous: Span | None = None
        lead: Span | None = None
        back = False  # whether the paragraph speaks of what its heading names
        for span in sentences(text):
            sentence = text[span.start : span.end]
            mark = _mark_before(text, span.start)
            if mark.startswith("#"):
                part = sentence
                subject, previous = (subject if is_structural(sentence) else sentence), None
                back = False
                continue
            if mark:
                if previous is not None and text[previous.end - 1] == ":":
                    lead = previous
                previous = lead
            elif previous is None or "\n\n" in text[previous.end : span.start]:
                lead, back = None, False
            before = text[previous.start : previous.end] if previous else ""
            near = self.index.mask(f"{subject}. {before}")
            alone = not self._shows_both(before, near, named)
            taken_up = previous is not None and (
                previous is lead or follows(before, sentence, text[previous.end : span.start], self.index)
            )
            near_by = previous is not None and "\n\n" not in text[previous.end : span.start]
            told = back or _REMEDY.search(part) is not None or _REASON.search(part) is not None
            back = back or refers_back(sentence)
            if self._shows_both(sentence, near, named):
                outright = self._shows_both(without_glosses(sentence), near, named)
                found.append(self._bridge(span.start, span.end, sentence, "", WHOLE if outright else TITLED))
            elif alone and taken_up and self._shows_both(without_asides(f"{before} {sentence}"), near, named):
                start = previous.start if previous else span.start
                found.append(self._bridge(start, span.end, sentence, before, ADJACENT))
            elif subject and self._shows_both(f"{subject}. {sentence}", near, named):
                strength = ADJACENT if told or refers_back(sentence) else TITLED
                found.append(self._bridge(span.start, span.end, sentence, f"{subject}. {part}.", strength, True))
            elif (
                alone
                and near_by
                and refers_back(sentence)
                and self._shows_both(without_asides(f"{subject}. {before} {sentence}"), near, named)
            ):
                found.append(self._bridge(span.start, span.end, sentence, f"{subject}. {before}", ADJACENT, True))
            previous = span
        return found

    def names(self, label: int, text: str) -> bool:
        """Tell whether `text` names the label: an identifier of its own that pins it, or enough of its words."""
        anchors = self.anchors[label]
        own = {item.value for item in anchors.codes}
        listed = identifiers(text)
        if any(item.value in own and item.pins for item in listed):
            return True
        mask = self.index.mask(text)
        coded = any(item.value in own for item in listed)
        if _contradicted(anchors, text) and not coded:
            return False
        if anchors.codes and not coded:
            return False
        return self.index.distinctive(label, mask) >= (ENOUGH if coded else max(ENOUGH, 0.6 * anchors.distinctive))

    def stated(self, side: int, text: str) -> Bridge | None:
        """Return what a sentence out of the node's own text says about the other one, or None.

        The sentence is about its own node, which need not be named where it begins with what it says ("Solves …",
        "Ersetzt …"). It must say what the connection is, or name an identifier that is the other node's very
        subject (a technique in a ticket).
        """
        other = 1 - side
        if text == self.views[side].label and self.same_report():
            return Bridge(0, len(text), text, WHOLE, False, True, RelationType.VARIANT_OF, Direction.UNDIRECTED)
        if self.one_subject():
            return None
        own = Direction.SOURCE_TO_TARGET if side == SOURCE else Direction.TARGET_TO_SOURCE
        relation, direction = None, Direction.UNDIRECTED
        for cue in cues_in(text):
            opens = _OPENING.match(text[: cue.start]) is not None
            found = self._direction(cue, text, implied=side if opens else None)
            behind = opens and cue.order is not Order.BY_ROLE and self._named_in(other, _first_clause(text[cue.end :]))
            if found is None and behind:
                found = own if cue.order is Order.FORWARD else _reversed(own)
            if found is not None:
                relation, direction = cue.relation, found
                break
        subject = {item.value for item in self.anchors[other].codes if item.pins}
        named = self.views[other].kind is not NodeKind.TICKET and any(
            item.value in subject for item in identifiers(text)
        )
        if relation is None and not named:
            return None
        plain = not hedges(text) and (relation is not None or not negates(text))
        return Bridge(0, len(text), text, WHOLE, denies(text), plain, relation, direction)

    def shared_weight(self, label: int, text: str) -> float:
        """Return the distinctive weight of the label's words in `text`."""
        return self.index.distinctive(label, self.index.mask(text))

    def shown_weight(self, text: str) -> float:
        """Return what `text` shows of the label it shows less of."""
        return min(self._presence(SOURCE, text), self._presence(TARGET, text))

    def one_subject(self) -> bool:
        """Tell whether the labels name one thing in the same or another language, so that no text tells them apart."""
        first, second = ({item.value for item in anchors.codes} for anchors in self.anchors)
        if first != second:
            return False
        labels = [self.index.mask(view.label) for view in self.views]
        shares = [
            self.index.distinctive(side, labels[1 - side]) / self.anchors[side].distinctive
            for side in (SOURCE, TARGET)
            if self.anchors[side].distinctive
        ]
        return len(shares) == len(self.views) and min(shares) >= ONE_SUBJECT

    def same_report(self) -> bool:
        """Tell whether two texts are about one thing: documents whose labels name it alike, or tickets that report it.

        Tickets do where no identifier is apart and half of either label's words are in common.
        """
        if all(view.kind in _DOCUMENT_KINDS for view in self.views):
            return self.one_subject() and self._same_words()
        if any(view.kind is not NodeKind.TICKET for view in self.views):
            return False
        first, second = ({item.value for item in anchors.codes} for anchors in self.anchors)
        if first and second and first != second:
            return False
        labels = [self.index.mask(view.label) for view in self.views]
        for side in (SOURCE, TARGET):
            shown = self.index.distinctive(side, labels[1 - side])
            if shown < SAME_SHARE * self.anchors[side].distinctive:
                return False
        common = self.index.distinctive(SOURCE, labels[TARGET])
        return common >= SAME_WEIGHT or bool(first and first == second)

    def _same_words(self) -> bool:
        """Tell whether every word and number of either label stands in the other one too: part 2 is not part 3."""
        labels = [view.label for view in self.views]
        if _NUMBER.findall(labels[SOURCE]) != _NUMBER.findall(labels[TARGET]):
            return False
        return all(
            len(self.index.shown(side, self.index.mask(labels[1 - side]))) == len(self.anchors[side].words)
            for side in (SOURCE, TARGET)
        )

    def _shows(self, label: int, text: str, near: int, named: int) -> bool:
        """Tell whether `text` speaks of the label.

        near: the mask of what stands above and before it; named: of the page's title.
        """
        mask = self.index.mask(text)
        anchors = self.anchors[label]
        own = {item.value for item in anchors.codes}
        here = [item for item in identifiers(text) if item.value in own] if own else []
        if any(item.pins for item in here):
            return True
        if here:  # a general code is shown by many products: which one it is must stand near it
            return self.index.names(label, mask | near)
        if _contradicted(anchors, text):
            return False
        if self.index.distinctive(label, mask) >= CONTEXT_OWN - 1e-9:
            mask |= named & self.index.name_bits(label)
        total = anchors.distinctive
        share, cap = (ENOUGH_SHARE, ENOUGH_CAP) if anchors.named else (UNNAMED_SHARE, total)
        enough = min(total or ENOUGH, max(ENOUGH, share * total), cap or ENOUGH) - 1e-9
        shown = self.index.distinctive(label, mask) >= enough and self.index.names(label, mask)
        return shown and self.index.shows_own(label, mask) and self.index.shows_weak(label, mask)

    def _shows_both(self, text: str, near: int, named: int) -> bool:
        return self._shows(SOURCE, text, near, named) and self._shows(TARGET, text, near, named)

    def _bridge(
        self, start: int, end: int, sentence: str, before: str, strength: float, headed: bool = False
    ) -> Bridge:
        """Return the bridge of a sentence, which may need what stands `before` it to speak of both labels."""
        relation, direction = None, Direction.UNDIRECTED
        for cue in cues_in(sentence):
            found = self._direction(cue, sentence, before)
            if found is not None:
                relation, direction = cue.relation, found
                break
        if relation is None and headed and _REMEDY.search(before):
            relation, direction = self._remedy()
        whole = f"{before} {sentence}".strip()
        row = sentence.lstrip().startswith("|")  # a row lists things side by side and states nothing by itself
        listed = only_listed(sentence, self.index) if strength == WHOLE else False
        told = (strength == ADJACENT and not headed) or not negates(sentence if headed else whole)
        clear = relation is not None or (not row and not listed and told)
        return Bridge(start, end, whole, strength, denies(whole), clear and not hedges(whole), relation, direction)

    def _direction(self, cue: CueHit, sentence: str, lead: str = "", implied: int | None = None) -> Direction | None:
        """Return which way a cue reads, None where that is not clear: then it says nothing."""
        if cue.relation in _UNDIRECTED:
            return Direction.UNDIRECTED
        if cue.order is Order.BY_ROLE:
            return self._by_role(cue.relation, sentence, _first_clause(sentence[cue.end :]), implied)
        if lead and cue.order is not Order.EXPLAINS:
            return None
        parts = (_last_clause(f"{lead} {sentence[: cue.start]}"), _first_clause(sentence[cue.end :]))
        for acting, acted_on, first in (
            (SOURCE, TARGET, Direction.SOURCE_TO_TARGET),
            (TARGET, SOURCE, Direction.TARGET_TO_SOURCE),
        ):
            if self._stands_in(acting, *parts) and self._stands_in(acted_on, *reversed(parts)):
                return first if cue.order is Order.FORWARD else _reversed(first)
        return None

    def _stands_in(self, label: int, here: str, there: str) -> bool:
        """Tell whether one side of a cue names the label, and more of it than the other side."""
        return self._presence(label, here) > self._presence(label, there) and self._named_in(label, here)

    def _presence(self, label: int, text: str) -> float:
        """Return the weight of what `text` shows of the label, its identifiers included."""
        own = {item.value for item in self.anchors[label].identifiers}
        coded = any(item.value in own for item in identifiers(text)) if own else False
        return self.index.distinctive(label, self.index.mask(text)) + IDENTIFIER_WEIGHT * coded

    def _by_role(
        self, relation: RelationType, sentence: str, after: str, implied: int | None = None
    ) -> Direction | None:
        """Return who acts on whom, where one of the two is plainly what is to be solved or held off.

        The sentence with the cue must name the measure, unless it is `implied`: the node whose text it is.
        What a measure holds off is named behind the cue ("protects against …"), so that must be the problem.
        """
        threat = relation is RelationType.MITIGATES
        roles = [self._is_threat(side) if threat else self._is_problem(side) for side in (SOURCE, TARGET)]
        if roles[SOURCE] == roles[TARGET]:
            return None
        problem = SOURCE if roles[SOURCE] else TARGET
        named = implied == 1 - problem or self._named_in(1 - problem, sentence)
        if not named or (threat and not self._named_in(problem, after)):
            return None
        return Direction.TARGET_TO_SOURCE if problem == SOURCE else Direction.SOURCE_TO_TARGET

    def _named_in(self, label: int, text: str) -> bool:
        """Tell whether `text` holds an identifier of the label, or enough of its words with a name that is its own."""
        own = {item.value for item in self.anchors[label].codes}
        if own and any(item.value in own for item in identifiers(text)):
            return True
        mask = self.index.mask(text)
        total = self.anchors[label].distinctive
        enough = min(total, max(ENOUGH, ENOUGH_SHARE * total), ENOUGH_CAP) - 1e-9
        shown = self.index.distinctive(label, mask)
        return 0 < shown >= enough and self.index.names(label, mask) and self.index.shows_own(label, mask)

    def _remedy(self) -> tuple[RelationType | None, Direction]:
        """Return that one solves the other, where by their kinds one is a guide or product and one a problem."""
        for side, direction in ((SOURCE, Direction.SOURCE_TO_TARGET), (TARGET, Direction.TARGET_TO_SOURCE)):
            if self.views[side].kind in {*_DOCUMENT_KINDS, NodeKind.PRODUCT} and self._is_problem(1 - side):
                return RelationType.SOLVES, direction
        return None, Direction.UNDIRECTED

    def _is_threat(self, side: int) -> bool:
        named = any(item.cls in _THREAT_CLASSES for item in self.anchors[side].identifiers)
        return named or self.views[side].kind in {NodeKind.TECHNIQUE, NodeKind.TICKET}

    def _is_problem(self, side: int) -> bool:
        return self.views[side].kind is NodeKind.TICKET

    def documents(self) -> Direction | None:
        """Return which of the two documents the other by its kind and its own text, or None."""
        for side, other, direction in (
            (SOURCE, TARGET, Direction.SOURCE_TO_TARGET),
            (TARGET, SOURCE, Direction.TARGET_TO_SOURCE),
        ):
            view = self.views[side]
            if (
                view.kind in _DOCUMENT_KINDS
                and self.views[other].kind not in _DOCUMENT_KINDS
                and self.names(other, f"{view.label}. {view.body}")
            ):
                return direction
        return None


def same_kind_contradiction(source: NodeView, target: NodeView) -> str | None:
    """Return a sentence why the two labels name different things of one kind, or None.

    They do where their identifiers of one class differ and neither text mentions the other one's: error 809
    is not error 691, while an update that names the one it replaces is another matter.
    """
    first, second = (label_anchors(Label("", view.label)).codes for view in (source, target))
    for one in first:
        for other in second:
            if not contradicts(one, other) or {i.value for i in first} & {i.value for i in second}:
                continue
            named_there = {i.value for i in identifiers(target.body)} & {i.value for i in first}
            named_here = {i.value for i in identifiers(source.body)} & {i.value for i in second}
            if not named_there and not named_here:
                return f"{one.text} is not {other.text}"
    return None


def no_question(source: NodeView, target: NodeView) -> str | None:
    """Return a sentence why no research can relate the two, or None: their labels name two things, or only one."""
    if why := same_kind_contradiction(source, target):
        return f"different subjects: {why}"
    reader = PairReader(source, target)
    if reader.one_subject() and not reader.same_report():
        return "no text can tell the two labels apart"
    return None


def _mark_before(text: str, start: int) -> str:
    """Return the mark of a heading or list item that a sentence begins with, empty where it begins with none."""
    before = text[text.rfind("\n", 0, start) + 1 : start].strip()
    return before if _MARK.fullmatch(before) else ""


def _first_clause(text: str) -> str:
    """Return what stands near behind a cue: its object, and not what a later clause lists."""
    return _CLAUSE_END.split(text[:NEAR], maxsplit=1)[0]


def _last_clause(text: str) -> str:
    """Return what stands near before a cue: its subject."""
    return _CLAUSE_END.split(text[-NEAR:])[-1]


def _contradicted(anchors: LabelAnchors, text: str) -> bool:
    return any(contradicts(code, other) for code in anchors.codes for other in identifiers(text))


def _reversed(direction: Direction) -> Direction:
    return Direction.TARGET_TO_SOURCE if direction is Direction.SOURCE_TO_TARGET else Direction.SOURCE_TO_TARGET
