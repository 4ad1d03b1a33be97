"""A page's main text in the form evidence is cited from: headings, steps, commands and tables as they stand there.

Trafilatura says where a page's content is; the text itself is rendered here from the page's own elements, because a
manual's numbered steps, headings and `pre` blocks must survive literally (trafilatura turns lists into paragraphs,
drops headings over short sections and escapes underscores). Navigation, footers and link blocks stay outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lxml import etree

from data.characters import word_set
from data.html_render import BLOCKS, render

__all__ = ["MainText", "main_text"]


@dataclass(frozen=True, slots=True)
class MainText:
    text: str
    page_chars: int
    """Visible characters of the whole page, white space collapsed."""
    link_chars: int
    """Characters of the main text that belong to links."""
    main_chars: int

    @property
    def boilerplate(self) -> float:
        """Share of the page's text that is not main text, 0 to 1."""
        return max(0.0, 1.0 - self.main_chars / self.page_chars) if self.page_chars else 0.0

    @property
    def link_density(self) -> float:
        return min(1.0, self.link_chars / self.main_chars) if self.main_chars else 0.0


_BOILER_TAGS: Final = frozenset(["nav", "footer", "menu"])
_BOILER_ROLES: Final = frozenset(
    ["navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog", "alertdialog"]
)
_BOILER_PARTS: Final = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navi|navigation|menu|submenu|breadcrumbs?|footer|cookies?|consent|gdpr|advert\w*|ads?|"
    r"adsense|sponsor\w*|promo\w*|newsletter|subscribe|disqus|pagination|pager|share|sharing|social|popup|modal|overlay|"
    r"tableofcontents)(?:$|[\s_-])",
    re.IGNORECASE,
)
_BOILER_TOKENS: Final = word_set(
    """
    docnav navheader navfooter lang langs toplang bottomlang banner foot toc comments comment comments-area
    searchbox feedback linenos linenodiv headerlink skip-link skiplink sphinxsidebar editsection mw-editsection
    printfooter page-tools quickview top-bar topbar
    """
)
_DOUBTFUL: Final = re.compile(
    r"(?:^|[\s_-])(?:sidebar|side-bar|related|recommend\w*|teasers?|toolbar|contents|search)(?:$|[\s_-])", re.IGNORECASE
)
"""Names of link lists on one site and of boxes with content on another: only removed where links fill them."""
_PRUNABLE: Final = word_set(
    """
    div section ul ol dl nav aside header footer table form td span fieldset center menu p
    """
)
"""Only these are removed by their name: a `pre` of class "lang-config" or a heading of class "nav" is content."""
_MIN_MAIN: Final = 200
"""Below this many characters the boilerplate rules are distrusted and the whole page is rendered: a consent wall or
a login page is nothing else, and the evidence gate must be able to see that."""
_NEARLY_ALL: Final = 0.95
_ENOUGH: Final = 0.3
"""Where the located part holds less than this share of the unlinked text, the locator missed the content."""


_LOCATED_UP_TO: Final = 20_000
"""Elements: larger pages are reference manuals and tables, where locating takes seconds and changes nothing."""


def main_text(tree: Any) -> MainText:
    """Return the main text of a cleaned page (see `data.html_clean`); the tree is taken apart on the way."""
    body = tree.find("body")
    if body is None:
        body = tree
    many = sum(1 for _ in body.iter("*")) > _LOCATED_UP_TO
    page_chars = _chars(body)
    title = _page_heading(tree, body)
    _prune(body, page_chars)
    container = _declared_main(body)
    if container is None:
        located = frozenset() if many else _located(tree)
        container = _container(body, located)
        if located:
            _prune_unlocated(container, located)
    text = render(container)
    if len(text) < _MIN_MAIN < page_chars:
        whole = render(body)
        text = whole if len(whole) > len(text) else text
        container = body
    links = sum(_chars(anchor) for anchor in container.iter("a"))
    if title and container.find(".//h1") is None and title not in text[:400]:
        text = f"# {title}\n\n{text}"
    return MainText(text, page_chars, links, _chars(container))


_STRING: Final = etree.XPath("normalize-space()")  # in C: asked for every box of a page


def _chars(element: Any) -> int:
    return len(_STRING(element))


def _flat(element: Any) -> str:
    return str(_STRING(element))


def _page_heading(tree: Any, body: Any) -> str:
    """Return the first h1 that the page's title repeats: it often stands outside of the content."""
    head = tree.find(".//title")
    title = _flat(head).lower() if head is not None else ""
    for heading in body.iter("h1"):
        text = _flat(heading)
        if 3 <= len(text) <= 200 and text.lower() in title:
            return text
    return ""


def _located(tree: Any) -> frozenset[int]:
    """Return the hashed word groups of what trafilatura takes for the page's content; empty where it finds none."""
    import copy

    from trafilatura import bare_extraction

    try:
        found = bare_extraction(
            copy.deepcopy(tree),
            fast=True,
            favor_recall=True,
            include_comments=False,
            include_tables=True,
            with_metadata=False,
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return frozenset()
    body = getattr(found, "body", None)
    if body is None:
        return frozenset()
    return frozenset(_groups(" ".join(body.itertext())))


_GROUP: Final = 4  # words


def _groups(text: str) -> Iterator[int]:
    tokens = re.findall(r"\w+", text)
    for index in range(max(1, len(tokens) - _GROUP + 1)):
        yield hash(tuple(tokens[index : index + _GROUP]))


def _is_boilerplate(element: Any) -> bool:
    if element.tag in _BOILER_TAGS or (element.get("role") or "").lower() in _BOILER_ROLES:
        return True
    if element.tag == "header":
        return not any(parent.tag in {"article", "main", "section"} for parent in element.iterancestors())
    names = f"{element.get('class') or ''} {element.get('id') or ''}".strip().lower()
    if element.tag == "aside" or (element.tag in _PRUNABLE and _DOUBTFUL.search(names)):
        return _unlinked(element) < 0.7 * _chars(element)
    if not names or element.tag not in _PRUNABLE:
        return False
    return _BOILER_PARTS.search(names) is not None or not _BOILER_TOKENS.isdisjoint(names.split())


def _prune(body: Any, page_chars: int) -> None:
    """Remove what says of itself that it is no content, unless it holds most of the page."""
    for element in list(body.iter("*")):
        if element.getparent() is None or element is body or not _is_boilerplate(element):
            continue
        if _chars(element) <= 0.5 * page_chars:
            element.drop_tree()


def _declared_main(body: Any) -> Any | None:
    """Return the one element that the page itself declares its main part, if it holds most of what is not linked."""
    found = [element for element in body.iter("main", "article", "div", "section") if _says_main(element)]
    outer = [element for element in found if not any(parent in found for parent in element.iterancestors())]
    if len(outer) != 1 or _unlinked(outer[0]) < 0.5 * _unlinked(body):
        return None
    return outer[0]


def _says_main(element: Any) -> bool:
    return element.tag in {"main", "article"} or (element.get("role") or "").lower() == "main"


def _unlinked(element: Any) -> int:
    return _chars(element) - sum(_chars(anchor) for anchor in element.iter("a"))


def _container(body: Any, located: frozenset[int]) -> Any:
    """Return the smallest element that holds nearly everything located; the body where that is too little."""
    if not located:
        return body
    blocks = set(body.iter(*BLOCKS))
    elements = list(body.iter("*"))
    total = dict.fromkeys(elements, 0)
    for element in reversed(elements):  # children before their parents
        if element in blocks or element is body:
            text = _own_text(element, blocks)
            groups = list(_groups(text)) if text.strip() else []
            if groups and sum(group in located for group in groups) * 2 >= len(groups):
                total[element] += len(text.split())
        if element is not body:
            total[element.getparent()] += total[element]
    container = body
    while total[body]:
        inner = max(container, key=lambda child: total.get(child, 0), default=None)
        if (
            inner is None
            or total.get(inner, 0) < _NEARLY_ALL * total[body]
            or inner.tag in {"p", "pre", "table", "ul", "ol", "dl"}
        ):
            break
        container = inner
    return container if _unlinked(container) >= _ENOUGH * _unlinked(body) else body


def _own_text(element: Any, blocks: set[Any]) -> str:
    """Return the text of a block without that of the blocks inside of it; each character belongs to one block."""
    parts = [element.text or ""]
    stack: list[Any] = list(reversed(element))
    while stack:
        child = stack.pop()
        if isinstance(child, str):
            parts.append(child)
            continue
        if child.tail:
            stack.append(child.tail)
        if child not in blocks and isinstance(child.tag, str):
            parts.append(child.text or "")
            stack.extend(reversed(child))
    return "".join(parts)


def _prune_unlocated(container: Any, located: frozenset[int]) -> None:
    """Remove blocks in the container that are mostly links and that the locator left out: teasers, tag clouds."""
    for element in list(container.iter("div", "section", "ul", "table")):
        if element.getparent() is None or element is container:
            continue
        chars = _chars(element)
        links = sum(_chars(anchor) for anchor in element.iter("a"))
        if chars < 40 or links < 0.6 * chars:
            continue
        groups = list(_groups(_flat(element)))
        if sum(group in located for group in groups) * 5 < len(groups):
            element.drop_tree()
