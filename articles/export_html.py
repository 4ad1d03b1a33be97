"""Articles as a static site that opens from the file system: a page each, a list with search (spec 06, "Export").

Templates escape whatever is put into them; the only markup that comes from here are code spans and citation marks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from articles.export_items import ExportItem, ExportLink
from articles.phrases import heading, kind_name, label
from articles.plaintext import page_title
from articles.render import inline_parts, sentence_text
from articles.types import (
    Article,
    Block,
    Claim,
    Fact,
    FactTable,
    Item,
    OptionList,
    Paragraph,
    Step,
    StepList,
    cited_evidence,
    item_text,
    items,
)
from data.models import Evidence

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["html_page", "inline_markup", "site_files", "source_line"]

_SITE: Final = Path(__file__).parent / "site"
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "de": {
        "all": "Alle Artikel",
        "site": "Wissensartikel",
        "search": "Suche in Titel und Text",
        "nothing": "Kein Artikel enthält alle diese Wörter.",
        "found": "{n} gefunden",
        "empty": "Noch ist kein Artikel freigegeben.",
    },
    "en": {
        "all": "All articles",
        "site": "Knowledge articles",
        "search": "Search titles and texts",
        "nothing": "No article holds all of these words.",
        "found": "{n} found",
        "empty": "No article is approved yet.",
    },
}
_LABELS: Final = ("summary", "applies_to", "sources", "term", "meaning", "source", "related", "evidence")
_INDEXED_CHARACTERS: Final = 20_000
"""Text of one article that the search knows; a thousand articles then stay below 20 MB."""


def html_page(item: ExportItem, names: Mapping[str, str]) -> bytes:
    """Return the page of one article. names: file names by article id, of every article in the site."""
    article, language = item.content, item.content.language
    numbers = {evidence_id: number for number, evidence_id in enumerate(cited_evidence(article), 1)}

    def marks(entry: Item) -> Markup:
        found = {numbers[citation.evidence_id]: citation.quote for citation in reversed(entry.citations)}
        mark = Markup('<a class="cite" href="#source-{n}" title="{quote}">[{n}]</a>')
        return Markup("").join(mark.format(n=n, quote=" ".join(quote.split())) for n, quote in sorted(found.items()))

    def said(entry: Claim | Step) -> Markup:
        return inline_markup(sentence_text(entry, language, numbers))

    def paragraph(claims: Sequence[Claim]) -> Markup:
        sentences = (Markup("{}&nbsp;{}").format(said(claim), marks(claim)) for claim in claims)
        return Markup("<p>{}</p>").format(Markup(" ").join(sentences))

    page = _templates().get_template("page.html.j2")
    rendered = page.render(
        language=language,
        words=_words(language),
        kind=_kind(article),
        title=article.title,
        applies_to=article.applies_to,
        summary=article.summary,
        sections=[
            {"heading": heading(section.name, language), "blocks": [_block(block) for block in section.blocks]}
            for section in article.sections
        ],
        sources=[source_line(item.evidence[one], language) for one in numbers],
        evidence=_quotes(article, numbers),
        related=[_related(link, names) for link in item.links],
        marks=marks,
        said=said,
        paragraph=paragraph,
        inline=inline_markup,
    )
    return rendered.encode()


def site_files(by_name: Mapping[str, ExportItem]) -> dict[str, bytes]:
    """Return what the site holds beside its pages: the list, the search and its index, the style."""
    german = sum(item.content.language == "de" for item in by_name.values())
    language = "de" if 2 * german > len(by_name) else "en"
    ordered = sorted(by_name.items(), key=lambda entry: (entry[1].content.title.casefold(), entry[0]))
    entries = [
        {
            "file": name,
            "title": item.content.title,
            "kind": _kind(item.content),
            "summary": " ".join(claim.text for claim in item.content.summary[:2]),
        }
        for name, item in ordered
    ]
    index = [{"file": name, "title": item.content.title, "text": _text(item.content)} for name, item in ordered]
    listed = (
        _templates().get_template("index.html.j2").render(language=language, words=_words(language), entries=entries)
    )
    script = f"const SEARCH_INDEX = {json.dumps(index, ensure_ascii=True)};\n"
    return {
        "index.html": listed.encode(),
        "search-index.js": script.encode(),
        "search.js": (_SITE / "search.js").read_bytes(),
        "style.css": (_SITE / "style.css").read_bytes(),
    }


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_SITE), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )


def _kind(article: Article) -> str:
    """Return what kind of article it is, "" where the title says so."""
    name = kind_name(article.type, article.language)
    return "" if article.title.startswith(name) else name


def _words(language: str) -> dict[str, str]:
    return {**_WORDS[language], **{name: label(name, language) for name in _LABELS}}


def inline_markup(text: str) -> Markup:
    """Return a sentence as HTML: prose escaped, code in `code`."""
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part.text) if part.is_code else part.text for part in inline_parts(text))


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph(claims=claims):
            return {"kind": "paragraph", "claims": claims}
        case StepList(steps=steps):
            return {"kind": "steps", "steps": steps}
        case FactTable(facts=facts):
            return {"kind": "facts", "facts": facts}
        case OptionList(options=options):
            return {"kind": "options", "options": options}


def source_line(evidence: Evidence, language: str) -> dict[str, Any]:
    """Return a line of the list of sources; only addresses on the web become links."""
    address = evidence.final_url or evidence.url
    parts = [evidence.publisher] if evidence.publisher else []
    if evidence.published_at is not None:
        parts.append(label("published", language, date=f"{evidence.published_at:%Y-%m-%d}"))
    parts.append(label("accessed", language, date=f"{evidence.fetched_at:%Y-%m-%d}"))
    href = address if address.startswith(("https://", "http://")) else ""
    return {"href": href, "address": address, "title": page_title(evidence.title) or address, "parts": parts}


def _quotes(article: Article, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "text": item_text(entry),
            "quotes": [{"text": one.quote, "number": numbers[one.evidence_id]} for one in entry.citations],
        }
        for _, entry in items(article)
    ]


def _related(link: ExportLink, names: Mapping[str, str]) -> dict[str, str]:
    why = f"{link.source} → {link.relation.replace('_', ' ')} → {link.target}" if link.relation else link.source
    return {"file": names[link.article_id], "title": link.title, "why": why}


def _text(article: Article) -> str:
    parts = [article.topic]
    for _, entry in items(article):
        parts.append(item_text(entry))
        if isinstance(entry, Step) and entry.code:
            parts.append(entry.code)
        if isinstance(entry, Fact):
            parts.append(entry.term)
    return " ".join(" ".join(parts).split())[:_INDEXED_CHARACTERS]
