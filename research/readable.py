"""Is there a text to judge at all? (spec 04, evidence gate, judgement 1)

A fetched page may be a consent wall, a login page, an error page, a list of links or a page of search
results. Such a page *addresses* its visitor ("we and our partners", "forgot your password?"), while an
article about cookies or logins *speaks of* them; so what counts is the share of sentences that address the
visitor, and never the mere words cookie, login or 404. Long running text is an article, whatever banner is
left at its end.

Pure: no store, no network, no clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from data.glpi_text import marked
from data.text import paragraphs, sentences
from research.phrases import CONSENT, ERROR, ERROR_TITLE, LOGIN, RESULTS, RESULTS_TITLE, Phrases

__all__ = ["MIN_RUNNING_TEXT", "Readability", "judge_readable"]

MIN_RUNNING_TEXT: Final = 400
"""Characters of running text below which there is nothing to judge (spec 04)."""
LONG_TEXT: Final = 6_000
"""From here on a page is an article even if a fifth of its sentences address the visitor."""
SPOKEN_SHARE: Final = 0.3
"""Share of sentences that address the visitor, from which the page is no article. Articles about the very
subject stay below a tenth (see the tables in the tests), real walls and login pages lie above a half."""
FORM_SHARE: Final = 0.15
"""The same where the page has a password field: a login page with a paragraph of marketing."""
LINK_SHARE: Final = 0.6
"""Share of the text inside of links from which a page only points elsewhere."""
SNIPPET_SHARE: Final = 0.25

_MARK: Final = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*+•–][ \t]|\(?\d{1,3}[.)][ \t])")
_CODE: Final = re.compile(r"(?:`{3,}|~{3,}| {4,}|\t|[ \t]*\|)")


@dataclass(frozen=True, slots=True)
class Readability:
    """`reason` is None, `too_short` or `not_content`; `kind` names what the page is instead of an article."""

    reason: str | None
    why: str
    running: int
    """Characters of running text: sentences, steps, commands and rows, without headings and bare menu lines."""
    kind: str = ""


def judge_readable(
    text: str,
    title: str = "",
    *,
    link_density: float = 0.0,
    has_password_field: bool = False,
    min_running: int = MIN_RUNNING_TEXT,
) -> Readability:
    """Return whether `text` is running text that can be judged.

    What a page is instead of an article is said before how short it is: a login page of two lines is a
    login page.
    """
    lines = [text[span.start : span.end] for span in sentences(text)]
    running = _running(text)
    if marked(text) is not None:  # what was written here proves nothing here, wherever it is shown
        return Readability("not_content", "the page is an article that was exported from here", running, "our own")
    if kind := _instead(lines, title, running, link_density, has_password_field):
        return Readability("not_content", f"the page is {kind}, not an article", running, kind)
    if running < min_running:
        return Readability("too_short", f"{running} characters of running text, {min_running} are needed", running)
    return Readability(None, f"{running} characters of running text", running)


def _instead(lines: list[str], title: str, running: int, link_density: float, password: bool) -> str:
    if not lines:
        return "an error page" if ERROR_TITLE.search(title) else ""
    total = len(lines)
    chars = sum(map(len, lines))

    lower = [line.lower() for line in lines]

    def share(phrases: Phrases) -> float:
        # Both of the sentences and of the characters: a banner is many short lines below a long article.
        hinted = [line for line, low in zip(lines, lower, strict=True) if phrases.hinted(low)]
        if len(hinted) < FORM_SHARE * total:
            return 0.0
        spoken = [len(line) for line in hinted if phrases.pattern.search(line)]
        return min(len(spoken) / total, sum(spoken) / chars)

    bar = SPOKEN_SHARE if running < LONG_TEXT else 2 * SPOKEN_SHARE
    if share(CONSENT) >= bar:
        return "a consent wall"
    if share(LOGIN) >= (FORM_SHARE if password and running < LONG_TEXT / 4 else bar):
        return "a login page"
    errors = share(ERROR)
    if errors >= bar or (running < LONG_TEXT / 4 and ERROR_TITLE.search(title) and (errors > 0 or total <= 3)):
        return "an error page"
    results = sum(RESULTS.search(line) for line in lines)
    snippets = sum(line.rstrip().endswith(("…", "...", "[...]", "[…]")) for line in lines) / total
    if (RESULTS_TITLE.search(title) and (results or snippets >= SNIPPET_SHARE)) or (
        results >= 2 and snippets >= SNIPPET_SHARE
    ):
        return "a page of search results"
    if link_density >= LINK_SHARE or _only_points(lines, running):
        return "a list of links"
    return ""


def _only_points(lines: list[str], running: int) -> bool:
    """Tell whether the text is a row of titles: many short lines, and hardly a sentence among them."""
    if len(lines) < 12:
        return False
    short = sum(len(line) < 90 and line.rstrip()[-1:] not in ".!?:;" for line in lines)
    return short >= 0.85 * len(lines) and running < 25 * len(lines)


def _running(text: str) -> int:
    """Return the characters of running text."""
    total = 0
    for span in paragraphs(text):
        part = text[span.start : span.end]
        if _CODE.match(part):
            total += len(part)
            continue
        if part.lstrip().startswith("#"):
            continue
        marked = _MARK.match(part)
        body = part[marked.end() :] if marked else part
        # A menu entry or a bare link is no sentence: it has few words and no full stop.
        if len(body.split()) >= (4 if marked else 5) or body.rstrip().endswith((".", "!", "?", ":")):
            total += len(body)
    return total
