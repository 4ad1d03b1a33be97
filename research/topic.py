"""The topic guard `strict-v3-relation-evidence`: does a text speak of these labels, and of both together?

(spec 04, evidence gate, judgement 2)

A text is read as *blocks*: a paragraph with the heading above it, a short list with its lead-in, a command
with the sentence before it. A *window* is up to three neighbouring blocks; it does not run on into the next
subject (a heading of the same or a higher level that names something), so that two entries of a newsletter
are not together because they are neighbours. A heading speaks for the blocks of its section within reach.

A label is *held* by a window that shows enough of its words (`_enough`) or an identifier that pins it down.
Where a label carries identifiers, one of them must occur in the text exactly; where another one of its class
stands in its place (in the title, or in the window in question), the text is about something else.

Pure: no store, no network, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from data.models import Label
from data.text import Identifier, fold, identifiers, paragraphs, sentences
from research.anchors import IDENTIFIER_WEIGHT, VERSION_WEIGHT, AnchorIndex, contradicts, label_anchors
from research.vocabulary import GENERIC_WEIGHT, word_weight

__all__ = ["TOPIC_GUARD", "Block", "Require", "TopicVerdict", "Window", "is_structural", "judge_topic", "text_blocks"]

TOPIC_GUARD: Final = "strict-v3-relation-evidence"
"""Name of these rules; part of an article's fingerprint (spec 06), raised when they change."""

Require = Literal["all", "any"]

WINDOW_BLOCKS: Final = 3
HEADING_REACH: Final = 1_500
"""Characters for which a heading speaks: about a screen. A chapter's title does not speak for its last page."""
LONG_BLOCK: Final = 1_200
"""A longer paragraph or table is cut at sentences or rows: neighbours in a table of all errors are not together."""
PART: Final = 700
LIST_STEPS: Final = 600
LIST_POINTS: Final = 300
"""Numbered steps belong together; the points of a list (a change log, a link list) often do not."""
ENOUGH_SHARE: Final = 0.55
ENOUGH_CAP: Final = 2.0
"""A window needs more than half of a label's distinctive weight, a name at least, two names at most: a ticket's
title is full of noise ("nach dem Umzug in den dritten Stock"), and what matters of it are its names."""
UNNAMED_SHARE: Final = 0.6
"""Of a label without any name ("User and group databases"): single words of the trade stand on every page."""
CONTEXT_OWN: Final = 0.6
"""What a window must show of a label itself (an ordinary word of it) for the page's subject to supply its name."""
LEAD: Final = 400
"""Characters at a page's beginning that say, with its title, what all of it is about."""
BODY_BONUS: Final = 0.15
"""Of a window whose own text speaks of every label, before one that leaves a label to the heading above it."""
PASSAGES: Final = 3
"""Passages handed on, which is what may be embedded of a page (spec 12)."""

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_STEP: Final = re.compile(r"[ \t]*\(?\d{1,3}[.)][ \t]")
_POINT: Final = re.compile(r"[ \t]*[-*+•–][ \t]")
_CODE: Final = re.compile(r"(?:`{3,}|~{3,}| {4,}|\t)")
_DIGIT: Final = re.compile(r"\d")
_NEEDLE: Final = re.compile(r"[a-z0-9]+")
_WORD: Final = re.compile(r"[^\W\d_]+")

# Headings that part a subject instead of naming a new one, beside those of generic words alone.
_STRUCTURAL: Final = frozenset(
    fold(
        """
        symptom symptoms symptome symptoma cause causes ursache ursachen diagnosis diagnose resolution solution loesung
        loesungen workaround umgehung steps schritte procedure vorgehen verfahren prerequisites voraussetzungen
        requirements applies gilt betrifft scope geltungsbereich background hintergrund more weitere informationen
        verification pruefung validation kontrolle impact auswirkung auswirkungen mitigation gegenmassnahmen massnahmen
        detection erkennung see siehe notes anmerkungen hinweise remarks status summary zusammenfassung kurzfassung
        rollback ruecknahme erklaerung explanation analysis analyse ergebnis result results conclusion fazit
        """
    ).split()
)


@dataclass(frozen=True, slots=True)
class Block:
    """A half-open range of the text with the section it stands in."""

    start: int
    end: int
    level: int
    """Of the heading it stands under; 0 before the first heading."""
    heading: str
    """The words that speak for it beside its own: of its heading, or the one above where that is structural."""
    opens: bool
    """Whether its section begins with it."""
    structural: bool
    """Whether its heading only parts its subject (Symptoms, Cause, Lösung)."""


@dataclass(frozen=True, slots=True)
class Window:
    """One passage that speaks of the labels: `text[start:end]`, with the heading that speaks for it."""

    start: int
    end: int
    heading: str
    coverage: float
    """Share of the labels' anchor weight that it shows, in [0, 1]; the mean over the labels asked for."""
    mask: int = field(repr=False)
    body: int = field(repr=False)
    """Of the words in the window's own text, without the heading above it."""
    found: frozenset[str] = field(repr=False)
    """Values of the labels' identifiers in it."""


@dataclass(frozen=True, slots=True)
class TopicVerdict:
    """`reason` is None where the text may go on; `why` is a sentence; `coverage` is over all passages together."""

    reason: str | None
    why: str
    windows: tuple[Window, ...] = ()
    coverage: float = 0.0


def text_blocks(text: str, title: str = "") -> list[Block]:
    """Return the blocks of `text` in order; `title` speaks for what stands before the first heading."""
    blocks: list[Block] = []
    trail: list[tuple[int, str]] = []  # headings above, outermost first
    heading, reach, level, structural = title, 0, 0, False
    opening: int | None = None
    for span in paragraphs(text):
        first = text[span.start : min(span.end, span.start + 200)]
        if mark := _HEADING.match(first):
            level = len(mark[1])
            trail = [entry for entry in trail if entry[0] < level]
            structural = is_structural(mark[2])
            named = next((words for _, words in reversed(trail)), title) if structural else mark[2]
            trail.append((level, named))
            heading, reach = named, span.start + HEADING_REACH
            opening = span.start if opening is None else opening
            continue
        if not trail:
            reach = HEADING_REACH
        for start, end in _parts(text, span.start, span.end):
            speaks = heading if start <= reach else ""
            last = blocks[-1] if blocks else None
            if opening is None and last is not None and _belongs(text, last, start, end):
                blocks[-1] = Block(last.start, end, last.level, last.heading, last.opens, last.structural)
                continue
            begin = start if opening is None else opening
            blocks.append(Block(begin, end, level, speaks, opening is not None, structural))
            opening = None
    if opening is not None:
        blocks.append(Block(opening, len(text.rstrip()), level, heading, True, structural))
    return blocks


def judge_topic(
    text: str, title: str, labels: Sequence[Label], require: Require, questions: Sequence[str] = ()
) -> TopicVerdict:
    """Return whether `text` speaks of all of `labels` in one passage, or of any of them.

    Reasons: `one_sided`, `identifier_missing`, `other_identifier`, `not_together`. The passages are the best
    ones, at most three, best first, without overlap; `questions` only order what was found for `any`.
    """
    if not labels:
        return TopicVerdict("one_sided", "there is no label to look for")
    guard = _Guard(text, title, labels)
    return guard.together() if require == "all" else guard.any_of(questions)


class _Guard:
    """One text held against its labels; every label is named by its index."""

    def __init__(self, text: str, title: str, labels: Sequence[Label]) -> None:
        self.text = text
        self.title = title
        self.labels = [label_anchors(label) for label in labels]
        self.index = AnchorIndex(self.labels)
        self.blocks = text_blocks(text, title)
        self.bodies = [self.index.mask(text[b.start : b.end]) for b in self.blocks]
        self.masks = [body | self.index.mask(b.heading) for body, b in zip(self.bodies, self.blocks, strict=True)]
        self.titled = self.index.mask(title)
        self.subject = self.titled | self.index.mask(text[:LEAD])
        self.needles = {
            item.value: _NEEDLE.findall(item.value)[-1].removeprefix("0x")
            for anchors in self.labels
            for item in anchors.identifiers
        }
        self.found = [self._wanted_in(text[b.start : b.end] + "\n" + b.heading) for b in self.blocks]
        self.everywhere = self._wanted_in(title).union(*self.found)
        self.windows = list(self._windows())

    def together(self) -> TopicVerdict:
        everybody = range(len(self.labels))
        absent = [label for label in everybody if not self._occurs(label)]
        if absent:
            named = ", ".join(f"“{self.labels[label].label.text}”" for label in absent)
            return TopicVerdict("one_sided", f"the text does not speak of {named}")
        for label in everybody:
            if verdict := self._identifier_fault(label):
                return verdict
        joint = [w for w in self.windows if all(self._holds(label, w) for label in everybody)]
        if not joint:
            return TopicVerdict("not_together", "no passage of up to three paragraphs speaks of all labels")
        right = []
        for window in joint:
            others = [other for label in everybody if (other := self._in_its_place(label, window))]
            if not others:
                right.append(window)
        if not right:
            return TopicVerdict("other_identifier", f"the passages speak of {others[0].text} instead")
        return self._passed(right, everybody)

    def any_of(self, questions: Sequence[str]) -> TopicVerdict:
        faults = []
        held: list[int] = []
        for label in range(len(self.labels)):
            if not self._occurs(label):
                named = self.labels[label].label.text
                faults.append(TopicVerdict("one_sided", f"the text does not speak of “{named}”"))
            elif verdict := self._identifier_fault(label):
                faults.append(verdict)
            else:
                held.append(label)
        right = [
            window
            for window in self.windows
            if any(self._holds(label, window) and not self._in_its_place(label, window) for label in held)
        ]
        if not right:
            order = ("other_identifier", "identifier_missing", "one_sided")
            faults.sort(key=lambda verdict: order.index(verdict.reason or "one_sided"))
            return faults[0] if faults else TopicVerdict("one_sided", "no passage speaks of any of the labels")
        asked = AnchorIndex([label_anchors(Label("", question)) for question in questions])
        return self._passed(right, held, asked)

    def _passed(self, windows: list[Window], labels: Sequence[int], asked: AnchorIndex | None = None) -> TopicVerdict:
        best = self._best(windows, asked)
        mask = 0
        for window in best:
            mask |= window.mask
        found = frozenset[str]().union(*(window.found for window in best))
        # For `any`, the label that is spoken of most counts: the others were not asked of this text.
        shares = sorted((self._share(label, mask, found) for label in labels), reverse=True)
        coverage = shares[0] if asked is not None else sum(shares) / len(shares)
        words = ", ".join(word for label in labels for word in self.index.shown(label, best[0].mask))
        codes = ", ".join(sorted(best[0].found))
        return TopicVerdict(
            None, f"one passage shows {', '.join(part for part in (codes, words) if part)}", best, coverage
        )

    def _best(self, windows: list[Window], asked: AnchorIndex | None) -> tuple[Window, ...]:
        def value(window: Window) -> float:
            bonus = 0.0
            if asked is not None:
                mask = asked.mask(self.text[window.start : window.end])
                bonus = 0.2 * sum(asked.distinctive(n, mask) > 0 for n in range(len(asked.labels)))
            elif all(self.index.distinctive(n, window.body) > 0 for n in range(len(self.labels))):
                bonus = BODY_BONUS
            return window.coverage + bonus - (window.end - window.start) / 20_000

        chosen: list[Window] = []
        for window in sorted(windows, key=value, reverse=True):
            if all(window.end <= other.start or other.end <= window.start for other in chosen):
                chosen.append(window)
                if len(chosen) == PASSAGES:
                    break
        return tuple(chosen)

    def _windows(self) -> Iterator[Window]:
        for first, block in enumerate(self.blocks):
            mask, body, found = 0, 0, frozenset[str]()
            for last in range(first, min(first + WINDOW_BLOCKS, len(self.blocks))):
                after = self.blocks[last]
                if last > first and after.opens and not after.structural and after.level <= block.level:
                    break
                mask |= self.masks[last]
                body |= self.bodies[last]
                found |= self.found[last]
                if mask or found:
                    shares = [self._share(label, mask, found) for label in range(len(self.labels))]
                    coverage = sum(shares) / len(shares)
                    yield Window(block.start, after.end, block.heading, coverage, mask, body, found)

    def _occurs(self, label: int) -> bool:
        anchors = self.labels[label]
        if any(item.pins and item.value in self.everywhere for item in anchors.identifiers):
            return True
        if not anchors.distinctive:
            return bool(anchors.codes)
        return any(self._enough(label, window.mask) for window in self.windows)

    def _holds(self, label: int, window: Window) -> bool:
        anchors = self.labels[label]
        here = [item for item in anchors.codes if item.value in window.found]
        if any(item.pins for item in here):
            return True
        if here:  # a general code is no subject of its own: two products fail with one (spec 05)
            mask = window.mask | self.titled
            named = self.index.distinctive(label, mask) >= min(1.0, anchors.distinctive) - 1e-9
            return named and self.index.names(label, mask) and self.index.shows_weak(label, mask)
        return self._enough(label, window.mask)

    def _enough(self, label: int, mask: int) -> bool:
        """Tell whether the words in `mask` name the label: see ENOUGH_SHARE."""
        total = self.labels[label].distinctive
        if not total:
            return False
        if self.index.distinctive(label, mask) >= CONTEXT_OWN - 1e-9:
            mask |= self.subject & self.index.name_bits(label)
        share, cap = (ENOUGH_SHARE, ENOUGH_CAP) if self.labels[label].named else (UNNAMED_SHARE, total)
        needed = min(total, max(1.0, share * total), cap)
        return (
            self.index.distinctive(label, mask) >= needed - 1e-9
            and self.index.names(label, mask)
            and self.index.shows_own(label, mask)
            and self.index.shows_weak(label, mask)
        )

    def _share(self, label: int, mask: int, found: frozenset[str]) -> float:
        anchors = self.labels[label]
        total = sum(word.weight for word in anchors.words) + sum(_weight(item) for item in anchors.identifiers)
        shown = self.index.weight(label, mask) + sum(_weight(i) for i in anchors.identifiers if i.value in found)
        return min(1.0, shown / total) if total else 0.0

    def _wanted_in(self, text: str) -> frozenset[str]:
        """Return the values of the labels' identifiers in `text`; it is scanned only where one may be."""
        lower = text.lower()
        wanted = {value for value, needle in self.needles.items() if needle in lower}
        if not wanted:
            return frozenset()
        return frozenset(item.value for item in identifiers(text) if item.value in wanted)

    def _identifier_fault(self, label: int) -> TopicVerdict | None:
        codes = self.labels[label].codes
        if not codes:
            return None
        present = [item for item in codes if item.value in self.everywhere]
        in_title = identifiers(self.title)
        other = _contradiction(codes, in_title)
        if other and not any(item.value in {code.value for code in codes} for item in in_title):
            return TopicVerdict("other_identifier", f"the text is about {other.text}, not {codes[0].text}")
        if present:
            return None
        for window in self._candidates(label):
            if other := _contradiction(codes, identifiers(self.text[window.start : window.end])):
                return TopicVerdict("other_identifier", f"{other.text} stands where {codes[0].text} was looked for")
        return TopicVerdict("identifier_missing", f"{codes[0].text} does not occur in the text")

    def _candidates(self, label: int) -> list[Window]:
        """Return the windows in which the label's identifier would be expected, best first, with a digit in each."""
        named = self.labels[label].distinctive > 0
        fitting = [w for w in self.windows if self._enough(label, w.mask)] if named else []
        if not fitting:
            fitting = [Window(b.start, b.end, b.heading, 0.0, 0, 0, frozenset()) for b in self.blocks]
        fitting = [w for w in fitting if _DIGIT.search(self.text, w.start, w.end)]
        return list(self._best(fitting, None)) if named else fitting[:8]

    def _in_its_place(self, label: int, window: Window) -> Identifier | None:
        """Return an identifier of the window that contradicts the label's, unless the label's own is there too."""
        codes = self.labels[label].codes
        if not codes or any(item.value in window.found for item in codes):
            return None
        return _contradiction(codes, identifiers(self.text[window.start : window.end]))


def _contradiction(codes: Sequence[Identifier], others: Sequence[Identifier]) -> Identifier | None:
    return next((other for other in others for code in codes if contradicts(code, other)), None)


def _weight(item: Identifier) -> float:
    return VERSION_WEIGHT if item.version else IDENTIFIER_WEIGHT


def is_structural(heading: str) -> bool:
    """Tell whether a heading only parts its subject (Symptoms, Lösung) instead of naming a new one."""
    words = [fold(word) for word in _WORD.findall(heading)]
    return bool(words) and all(
        len(word) < 3 or word in _STRUCTURAL or word_weight(word) <= GENERIC_WEIGHT for word in words
    )


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the paragraph itself, or its parts at sentences or rows where it is long."""
    if end - start <= LONG_BLOCK:
        yield start, end
        return
    begin = start
    last = start
    for sentence in sentences(text[start:end]):
        stop = start + sentence.end
        if stop - begin > PART and last > begin:
            yield begin, last
            begin = start + sentence.start
        last = stop
    yield begin, end


def _belongs(text: str, last: Block, start: int, end: int) -> bool:
    """Tell whether the paragraph continues the block before it: a list with its lead-in, a command."""
    if _CODE.match(text, start):
        return end - last.start <= LONG_BLOCK
    for mark, limit in ((_STEP, LIST_STEPS), (_POINT, LIST_POINTS)):
        if mark.match(text, start):
            tail = text.rfind("\n", last.start, last.end - 1) + 1
            leads = text[last.end - 1] == ":" or mark.match(text, max(tail, last.start)) is not None
            return leads and end - last.start <= limit
    return False
