"""HTML to a tree that may be shown: caps before parsing, and everything a reader would not see taken out.

The caps are those of spec 04 ("Fetch"): extraction is linear in size but slow, and a page of 50,000 nested tags or
20,000 table rows would hold a worker for minutes. Hidden text is stripped because pages use it to talk to machines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from data.characters import word_set

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["CleanPage", "HtmlCaps", "clean_page", "speaks_to_machines"]


@dataclass(frozen=True, slots=True)
class HtmlCaps:
    chars: int = 2 * 1024 * 1024
    depth: int = 1_000
    table_rows: int = 2_000
    links: int = 5_000
    """Links beyond this number become plain text: each one is weighed several times."""


@dataclass(slots=True)
class CleanPage:
    tree: Any
    cut: bool = False
    hidden: str = ""
    """The text that was taken out because no reader sees it."""
    has_password_field: bool = False
    links: int = 0
    """How many the page has, also those that lost their tags."""
    structured: list[str] = field(default_factory=list)
    """Contents of JSON-LD scripts, for the metadata."""


_TAG: Final = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9:-]*)(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*>")
_OPAQUE: Final = re.compile(r"<(script|style|textarea|xmp)\b", re.IGNORECASE)
# Tags that end by themselves do not nest, however many were opened.
_FLAT: Final = word_set(
    """
    area base br col embed hr img input link meta param source track wbr p li dt dd tr td th tbody thead tfoot
    option optgroup rb rp rt html head body
    """
)


def _limited(html: str, caps: HtmlCaps) -> tuple[str, bool, int]:
    """Return `html` without the tags that open deeper than allowed (their text stays), whether any went, and its links.

    Links beyond the cap lose their tags too. Done on the source: taking them out of a tree costs the square of
    their number.
    """
    if html.count("<") <= min(caps.depth, caps.links):
        return html, False, len(re.findall(r"<a[\s>]", html, re.IGNORECASE))
    level = skipped = links = 0
    skipped_link = False
    kept: list[str] = []
    position = 0
    for match in _TAG.finditer(html):
        name = match["name"].lower()
        if name in _FLAT or match.group().endswith("/>"):
            continue
        if name == "a":
            links += not match["close"]
            drop = links > caps.links
            skipped_link = skipped_link or drop
        elif match["close"]:
            drop = skipped > 0
            skipped -= drop
            level = level if drop else max(0, level - 1)
        else:
            drop = level >= caps.depth
            skipped += drop
            level += not drop
        if drop:
            kept.append(html[position : match.start()])
            position = match.end()
    too_deep = bool(kept) and (skipped > 0 or not skipped_link)
    kept.append(html[position:])
    return " ".join(kept), too_deep, links


def _parse(html: str) -> HtmlElement | None:
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_pis=True)
    try:
        tree = lxml.html.document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except (lxml.etree.ParserError, lxml.etree.XMLSyntaxError, ValueError):
        return None
    return tree


def clean_page(html: str, caps: HtmlCaps = HtmlCaps()) -> CleanPage | None:
    """Return the page's tree without scripts, comments and hidden parts; None where there is no element at all."""
    cut = len(html) > caps.chars
    html, too_deep, links = _limited(html[: caps.chars].replace("\0", ""), caps)
    tree = _parse(html)
    if tree is None:
        return None
    page = CleanPage(tree, cut=cut or too_deep, links=links)
    _read_then_drop(page)
    _drop_rows(page, caps.table_rows)
    hidden = _hide(tree)
    page.hidden = " ".join(" ".join(piece.split()) for piece in hidden if piece.strip())
    return page


_DROPPED_TAGS: Final = (
    "script", "style", "template", "svg", "iframe", "object", "embed", "applet", "canvas", "audio", "video", "map",
    "input", "button", "select", "textarea", "datalist", "dialog", "link", "base", "area", "progress", "meter",
)  # fmt: skip


def _read_then_drop(page: CleanPage) -> None:
    """Note password fields and structured data, then remove active content, form controls and comments."""
    import lxml.etree

    tree = page.tree
    page.has_password_field = bool(tree.xpath("//input[translate(@type,'PASWORD','pasword')='password']"))
    page.structured = [
        script.text or ""
        for script in tree.xpath("//script[contains(@type, 'ld+json')]")
        if len(script.text or "") < 200_000
    ]
    rules = _hiding_rules(" ".join(style.text or "" for style in tree.iter("style")))
    for element in tree.iter("*") if rules else ():
        if _matches(element, rules):
            element.set("hidden", "")
    for element in list(tree.iter(*_DROPPED_TAGS, lxml.etree.Comment)):
        if element.getparent() is not None:
            element.drop_tree()
    visible = sum(len(text) for text in tree.itertext())
    for element in list(tree.iter("noscript")):
        # a page that is nothing without scripts says so in its noscript part; elsewhere it only repeats things
        if element.getparent() is not None and visible > 400:
            element.drop_tree()


def _drop_rows(page: CleanPage, limit: int) -> None:
    for row in list(page.tree.iter("tr"))[limit:]:
        parent = row.getparent()
        if parent is not None:
            parent.remove(row)
            page.cut = True


_RULE: Final = re.compile(r"([^{}]{1,500})\{([^{}]{0,2000})\}")
_MEDIA: Final = re.compile(r"@(?:media|supports)[^{}]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_SIMPLE: Final = re.compile(r"^[a-z]*([.#])([\w-]+)$", re.IGNORECASE)
_HIDING: Final = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|text-indent\s*:\s*-\d{3,}|"
    r"font-size\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?(?=\s*(?:;|!|$))|(?:left|top|right)\s*:\s*-\d{4,}|"
    r"clip\s*:\s*rect\(\s*0[^)]*\))",
    re.IGNORECASE,
)
_NO_SIZE: Final = re.compile(r"(?:^|;)\s*(?:max-)?(?:height|width)\s*:\s*0(?:px)?(?=\s*(?:;|!|$))", re.IGNORECASE)
_OVERFLOW: Final = re.compile(r"overflow(?:-[xy])?\s*:\s*hidden", re.IGNORECASE)
# Only inline: as a class it is how pages fade in what everybody reads.
_NO_OPACITY: Final = re.compile(r"(?:^|;)\s*opacity\s*:\s*0(?:\.0+)?(?=\s*(?:;|!|$))", re.IGNORECASE)
_WHITE: Final = r"(?:#fff(?:fff)?\b|white\b|rgba?\(\s*255\s*,\s*255\s*,\s*255\s*(?:,\s*1(?:\.0)?\s*)?\))"
_WHITE_TEXT: Final = re.compile(rf"(?:^|;)\s*color\s*:\s*(?:{_WHITE}|transparent)", re.IGNORECASE)
_BACKGROUND: Final = re.compile(r"background(?:-color)?\s*:\s*([^;]+)", re.IGNORECASE)


def _hiding_rules(css: str) -> frozenset[str]:
    """Return the plain class and id selectors (".x", "#y") that a style block hides outside of media rules."""
    found = set()
    css = re.sub(r"/\*.*?\*/", "", css[:200_000], flags=re.DOTALL)
    for match in _RULE.finditer(_MEDIA.sub("", css)):
        if _hides(match[2], None):
            for selector in match[1].split(","):
                simple = _SIMPLE.match(selector.strip())
                if simple:
                    found.add(simple[1] + simple[2])
    return frozenset(found)


def _hides(style: str, element: Any) -> bool:
    if _HIDING.search(style) or (_NO_SIZE.search(style) and _OVERFLOW.search(style)):
        return True
    return _white_on_white(style, element)


def _matches(element: Any, rules: frozenset[str]) -> bool:
    if f"#{element.get('id')}" in rules:
        return True
    return any(f".{name}" in rules for name in (element.get("class") or "").split())


def _white_on_white(style: str, element: Any) -> bool:
    """Tell whether text is white (or transparent) and no background said inline, here or around, is another colour."""
    if not _WHITE_TEXT.search(style):
        return False
    background = _BACKGROUND.search(style)
    around = element
    while background is None and around is not None and around.getparent() is not None:
        around = around.getparent()
        if around.get("bgcolor") and not re.fullmatch(_WHITE, around.get("bgcolor").strip(), re.IGNORECASE):
            return False
        background = _BACKGROUND.search(around.get("style") or "")
    return background is None or re.search(_WHITE, background[1], re.IGNORECASE) is not None


_UNSEEN_CLASS: Final = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader(?:-text|-only)?|offscreen|u-hidden|d-none|is-hidden)(?:\s|$)",
    re.IGNORECASE,
)


def _unseen(element: Any) -> bool:
    style = element.get("style") or ""
    return (
        element.get("hidden") is not None
        or (element.get("aria-hidden") or "").lower() == "true"
        or bool(style and (_hides(style, element) or _NO_OPACITY.search(style)))
        or bool(_UNSEEN_CLASS.search(element.get("class") or ""))
        or (element.tag == "font" and (element.get("size") or "") == "0")
    )


def _hide(tree: Any) -> list[str]:
    """Remove what is hidden by attribute, style or class; return the texts that went, for the record."""
    texts = []
    for element in list(tree.iter("*")):
        if element.tag in {"html", "body"} or element.getparent() is None or not _unseen(element):
            continue
        texts.append("".join(element.itertext()))
        element.drop_tree()
    return texts


_TO_MACHINES: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|preceding|all|your|system)\b"
    r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|guidelines|directions|commands)\b"
    r"|\byou are (?:now )?(?:an? )?(?:ai|artificial intelligence|language model|llm|chatbot|ai assistant)\b"
    r"|\b(?:if you are|as) an? (?:ai|large language model|language model|llm|ai assistant|chatbot)\b"
    r"|\b(?:new|hidden|secret) (?:system )?(?:instructions?|prompt)\s*:|\bsystem prompt\b[^.\n]{0,20}[:=]"
    r"|\b(?:rate|mark|classify|treat|accept|report) this (?:page|source|document|text|article) as (?:an? )?"
    r"(?:official|trusted|trustworthy|accepted|verified|authoritative|relevant|safe)"
    r"|<\|(?:im_start|im_end|system|assistant|user|endoftext)\|>|\[/?INST\]|<<SYS>>"
    r"|\b(?:ignorier(?:e|en|t)?|missachte|vergiss|vergessen sie|verwirf|überschreibe)\b[^.\n]{0,40}"
    r"\b(?:vorherigen?|bisherigen?|obigen?|vorigen?|früheren?|alle[nr]?|deine|ihre|system)\b[^.\n]{0,30}"
    r"\b(?:anweisung(?:en)?|instruktion(?:en)?|befehle?n?|regeln|vorgaben|prompts?)\b"
    r"|\bdu bist (?:jetzt |nun |ab sofort )?(?:eine? )?(?:ki|künstliche intelligenz|sprachmodell|chatbot)\b"
    r"|\b(?:falls|wenn) (?:du|sie) eine? (?:ki|sprachmodell|künstliche intelligenz)\b"
    r"|\b(?:bewerte|stufe|markiere|behandle|akzeptiere) (?:diese[ns]?) (?:seite|quelle|dokument|text|artikel) "
    r"(?:[^.\n]{0,20})?als (?:offiziell|vertrauenswürdig|akzeptiert|geprüft|verlässlich|relevant)"
    r"|\b(?:system-?prompt|neue anweisung(?:en)?(?: für (?:die )?ki)?)\s*:",
    re.IGNORECASE,
)


_HEADS: Final = (
    "ignor", "disregard", "forget", "override", "you are ", "as an ai", "as a la", "as an ll", "as an as", "if you are",
    "new ", "hidden ", "secret ", "system prompt", "system-prompt", "systemprompt", "rate ", "mark ", "classify ",
    "treat ", "accept ", "report ", "<|", "inst]", "<<sys", "missachte", "vergiss", "vergessen", "verwirf",
    "überschreib", "du bist", "falls ", "wenn ", "bewerte", "stufe", "markiere", "behandle", "akzeptiere",
    "neue anweisung",
)  # fmt: skip
"""What each alternative above begins with: finding these first makes a page without any of them free."""


def speaks_to_machines(text: str) -> bool:
    """Tell whether `text` gives instructions to a language model, in English or German.

    The text stays data whatever it says (spec 00, rule 8); the flag only lowers the source's score.
    """
    lowered = text.lower()
    for head in _HEADS:
        at = lowered.find(head)
        while at >= 0:
            if _TO_MACHINES.search(lowered, max(0, at - 2), at + 160):
                return True
            at = lowered.find(head, at + len(head))
    return False
