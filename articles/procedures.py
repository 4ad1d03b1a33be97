"""From the instructions of several passages to one procedure: what to do, how to look first, how to check after.

One source's list leads, because two manuals' steps mixed are nobody's procedure; others only add what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from articles.arrange import RunCounter, draft_citations
from articles.blocks import PassageKind
from articles.cues import heading_cue
from articles.material import instructions_of
from articles.phrases import STEP_LEAD_INS
from articles.relevance import TopicModel
from articles.roles import DraftStep, PassageView
from articles.selection import SAME_STEP, redundant
from articles.steps import Instruction, code_text
from articles.types import MIN_SOLUTION_STEPS, SectionName
from data.text import Span, terms

__all__ = ["Procedure", "procedure"]

HEADING_WORTH: Final = 0.3
"""Of a leading passage whose own heading names the whole topic: what stands under it is that procedure."""
MOST_STEPS: Final = 14
MOST_CHECKS: Final = 4
ENOUGH_CHECKS: Final = 2
"""Checks of the leading page from which no other page is asked for more."""
LEAD_TOPIC: Final = 0.6
"""Least share of the topic in the leading passage and its headings, the page's title left out: a page about Postfix has
many lists that are not about the question."""
TITLE_SHARE: Final = 0.7
"""On the leading passage's own page its title counts this much: what stands there under "Verification" verifies it."""


@dataclass(frozen=True, slots=True)
class Procedure:
    solution: tuple[DraftStep, ...]
    validation: tuple[DraftStep, ...]
    diagnosis: tuple[DraftStep, ...]


@dataclass(frozen=True, slots=True)
class _Placed:
    view: PassageView
    step: Instruction
    place: SectionName
    before: int = -1
    """Where the instruction before it in the same passage begins, -1 for the first."""


def procedure(
    views: Sequence[PassageView],
    model: TopicModel,
    limit: int,
    private: Callable[[str, PassageView], bool] = lambda _text, _view: False,
) -> Procedure:
    """Return the steps of `views` for `model`'s topic; empty parts where there are none.

    A step whose text or command is `private` is left out.
    """
    placed = [
        one
        for view in sorted(views, key=lambda v: (int(v.source[1:]), v.start))
        for one in _place(view, model, limit)
        if not private(f"{one.step.text} {_code(one)}", view)
    ]
    placed = _in_page_order(placed)
    lead = _lead(placed, views, model)
    if lead is None:
        return Procedure((), (), ())
    solution = _taken(placed, SectionName.SOLUTION_STEPS, lead, MOST_STEPS, model, enough=MIN_SOLUTION_STEPS)
    used = [frozenset(terms(one.step.text, model.language)) for one in solution]
    validation = _taken(placed, SectionName.VALIDATION_STEPS, lead, MOST_CHECKS, model, used, enough=ENOUGH_CHECKS)
    used += [frozenset(terms(one.step.text, model.language)) for one in validation]
    diagnosis = _taken(placed, SectionName.DIAGNOSIS, lead, MOST_CHECKS, model, used, enough=ENOUGH_CHECKS)
    if not validation:
        validation = [one for one in diagnosis if _after_the_fact(one, solution)]
        diagnosis = [one for one in diagnosis if one not in validation]
    return Procedure(_steps(solution, limit), _steps(validation, limit), _steps(diagnosis, limit))


def _after_the_fact(one: _Placed, solution: Sequence[_Placed]) -> bool:
    """Tell whether a check, whatever heading it stands under, verifies what the steps before it on its page did."""
    done = [step.step.end for step in solution if step.view.source == one.view.source]
    return bool(done) and (one.step.start >= max(done) or (one.step.verifies and one.step.start >= min(done)))


def _in_page_order(placed: Sequence[_Placed]) -> list[_Placed]:
    """Return `placed`, where a check announced before the first thing to do on its page is a look at the trouble."""
    begin: dict[str, int] = {}
    for one in placed:
        if one.place is SectionName.SOLUTION_STEPS:
            begin[one.view.source] = min(one.step.start, begin.get(one.view.source, one.step.start))
    return [
        replace(one, place=SectionName.DIAGNOSIS)
        if one.place is SectionName.VALIDATION_STEPS and one.step.start < begin.get(one.view.source, 0)
        else one
        for one in placed
    ]


def _place(view: PassageView, model: TopicModel, limit: int) -> list[_Placed]:
    """Return the instructions of a passage with the section each belongs to."""
    steps = instructions_of(view, model.language, limit)
    announced = heading_cue(view.headings[-1]) if view.headings else None
    first = next((i for i, step in enumerate(steps) if not step.check), len(steps))
    last = max((i for i, step in enumerate(steps) if not step.check), default=-1)
    found = []
    place: SectionName
    for index, step in enumerate(steps):
        if announced is not None and announced in {SectionName.VALIDATION_STEPS, SectionName.DIAGNOSIS}:
            place = announced
        elif not step.check:
            place = SectionName.SOLUTION_STEPS
        elif last >= 0 and index > last:
            place = SectionName.VALIDATION_STEPS
        elif index < first and last < 0:
            place = SectionName.DIAGNOSIS
        else:
            place = SectionName.SOLUTION_STEPS if step.ordered else SectionName.DIAGNOSIS
        found.append(_Placed(view, step, place, steps[index - 1].start if index else -1))
    return found


def _lead(placed: Sequence[_Placed], views: Sequence[PassageView], model: TopicModel) -> PassageView | None:
    """Return the passage with the best procedure: relevance first, then how much of one it is."""

    def worth(view: PassageView) -> float:
        steps = [one for one in placed if one.view.id == view.id and one.place is SectionName.SOLUTION_STEPS]
        announced = bool(view.headings) and heading_cue(view.headings[-1]) is SectionName.SOLUTION_STEPS
        ordered = view.kind == PassageKind.PROCEDURE
        named = model.cover((view.headings[-1], 1.0)) if view.headings else 0.0
        worth = view.relevance + 0.08 * min(len(steps), 6) + 0.12 * ordered + 0.10 * announced + HEADING_WORTH * named
        return worth if steps else -1.0

    near = [view for view in views if _topic(view, model) >= LEAD_TOPIC and worth(view) > 0]
    return min(near, key=lambda view: (-worth(view), int(view.source[1:]), view.start), default=None)


def _topic(view: PassageView, model: TopicModel, title_share: float = 0.0) -> float:
    own = model.cover((view.text, 1.0), (" ".join(view.headings), 0.9), (view.title, title_share))
    return max(own, view.topic)


def _taken(
    placed: Sequence[_Placed],
    place: SectionName,
    lead: PassageView,
    most: int,
    model: TopicModel,
    used: Sequence[frozenset[str]] = (),
    *,
    enough: int = 0,
) -> list[_Placed]:
    """Return up to `most` steps for `place`: those of the lead, then of its source, then of the others.

    With `enough`, a circle beyond the lead's own headings is asked only while fewer than that many were found.
    """
    mine = [
        one
        for one in placed
        if one.place is place
        and not model.contradicted(one.step.text)
        and (
            (distance := _distance(one.view, lead)) < 2
            or _topic(one.view, model, TITLE_SHARE if distance == 2 else 0.0) >= LEAD_TOPIC
        )
    ]
    circles = [[one for one in mine if _distance(one.view, lead) == distance] for distance in range(4)]
    said = list(used)
    chosen: list[_Placed] = []
    for number, circle in enumerate(circles):
        if number > 1 and enough and len(chosen) >= enough:
            break
        for one in circle:
            text = one.step.text + _code(one)
            if one.step.dependent and (not chosen or _begin(chosen[-1]) != (one.view.id, one.before)):
                continue  # "Set it to …" after another step than its own speaks of something else
            if len(chosen) < most and not redundant(text, said, model.language, SAME_STEP):
                chosen.append(one)
                said.append(frozenset(terms(text, model.language)))
    order = {one.view.id: number for circle in circles for number, one in enumerate(circle)}
    sources = list(dict.fromkeys(one.view.source for one in chosen))
    chosen.sort(key=lambda one: (sources.index(one.view.source), one.view.start, one.step.start, order[one.view.id]))
    return chosen


def _begin(one: _Placed) -> tuple[str, int]:
    return one.view.id, one.step.start


def _distance(view: PassageView, lead: PassageView) -> int:
    """Return 0 for the lead itself, 1 under its headings, 2 elsewhere in its source, 3 in another source."""
    if view.id == lead.id:
        return 0
    if view.source != lead.source:
        return 3
    return 1 if lead.headings and view.headings == lead.headings else 2


def _code(one: _Placed) -> str:
    if one.step.code is None:
        return ""
    local = Span(one.step.code.start - one.view.start, one.step.code.end - one.view.start)
    return code_text(one.view.text, local)


def _steps(chosen: Sequence[_Placed], limit: int) -> tuple[DraftStep, ...]:
    counter = RunCounter(limit)
    steps = []
    leads = 0
    for one in chosen:
        lead = ""
        if not counter.fits(one.view, one.step.pieces):
            lead = STEP_LEAD_INS[leads % len(STEP_LEAD_INS)]
            leads += 1
        counter.add(one.view, one.step.pieces, after_lead_in=bool(lead))
        spans = (*one.step.pieces, one.step.code) if one.step.code else one.step.pieces
        steps.append(
            DraftStep(text=one.step.text, citations=draft_citations(one.view, spans), code=_code(one), lead_in=lead)
        )
    return tuple(steps)
