"""An article as an item of GLPI's knowledge base: the HTML that its rich text keeps, and the mark (spec 06, "Export").

Of HTML only paragraphs, headings, lists, tables, code and links are used: GLPI's editor and its filter leave these as
they are. Whatever is put in is escaped. The same article and evidence give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from articles.export_html import inline_markup, source_line
from articles.export_items import ExportItem
from articles.phrases import heading, label
from articles.render import sentence_text
from articles.types import (
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
)
from data.glpi_text import OwnMark, digest_of, mark_line

__all__ = ["GlpiPage", "glpi_page"]


@dataclass(frozen=True, slots=True)
class GlpiPage:
    """What an item should say; `digest` is `data.glpi_text.digest_of` it."""

    name: str
    answer: str
    digest: str


def glpi_page(item: ExportItem) -> GlpiPage:
    """Return the item of one approved revision; raise KeyError where its evidence lacks a cited record."""
    body = _Writer(item).body()
    name = " ".join(item.content.title.split())
    digest = digest_of(name, body)
    mark = Markup("<p>{}</p>").format(mark_line(OwnMark(item.article_id, item.revision, digest)))
    return GlpiPage(name, f"{body}\n{mark}", digest)


class _Writer:
    def __init__(self, item: ExportItem) -> None:
        self.item = item
        self.article = item.content
        self.language = item.content.language
        self.numbers = {evidence_id: number for number, evidence_id in enumerate(cited_evidence(item.content), 1)}

    def body(self) -> str:
        article = self.article
        parts: list[Markup] = []
        if article.applies_to:
            listed = Markup(", ").join(
                Markup("{} {} {}").format(inline_markup(fact.term), inline_markup(fact.description), self._marks(fact))
                for fact in article.applies_to
            )
            parts.append(Markup("<p><strong>{}:</strong> {}</p>").format(self._word("applies_to"), listed))
        if article.summary:
            parts += [self._heading(self._word("summary")), self._paragraph(article.summary)]
        for section in article.sections:
            parts.append(self._heading(heading(section.name, self.language)))
            parts += [self._block(block) for block in section.blocks]
        parts += [self._heading(self._word("sources")), self._sources()]
        return str(Markup("\n").join(parts))

    def _word(self, name: str) -> str:
        return label(name, self.language)

    def _heading(self, text: str) -> Markup:
        return Markup("<h2>{}</h2>").format(text)

    def _marks(self, entry: Item) -> Markup:
        found = sorted({self.numbers[citation.evidence_id] for citation in entry.citations})
        return Markup("").join(Markup("[{}]").format(number) for number in found)

    def _said(self, entry: Claim | Step) -> Markup:
        return Markup("{} {}").format(
            inline_markup(sentence_text(entry, self.language, self.numbers)), self._marks(entry)
        )

    def _paragraph(self, claims: Sequence[Claim]) -> Markup:
        return Markup("<p>{}</p>").format(Markup(" ").join(map(self._said, claims)))

    def _block(self, block: Block) -> Markup:
        match block:
            case Paragraph(claims=claims):
                return self._paragraph(claims)
            case StepList(steps=steps):
                return Markup("<ol>{}</ol>").format(Markup("").join(map(self._step, steps)))
            case FactTable(facts=facts):
                return self._table(facts)
            case OptionList(options=options):
                return Markup("\n").join(
                    Markup("<h3>{}</h3><ul>{}</ul>").format(
                        inline_markup(option.name),
                        Markup("").join(Markup("<li>{}</li>").format(self._said(claim)) for claim in option.criteria),
                    )
                    for option in options
                )

    def _step(self, step: Step) -> Markup:
        code = Markup("<pre><code>{}</code></pre>").format(step.code) if step.code else ""
        return Markup("<li>{}{}</li>").format(self._said(step), code)

    def _table(self, facts: Sequence[Fact]) -> Markup:
        names = Markup("").join(Markup("<th>{}</th>").format(self._word(key)) for key in ("term", "meaning", "source"))
        rows = Markup("").join(
            Markup("<tr><td>{}</td><td>{}</td><td>{}</td></tr>").format(
                inline_markup(fact.term), inline_markup(fact.description), self._marks(fact)
            )
            for fact in facts
        )
        return Markup("<table><tbody><tr>{}</tr>{}</tbody></table>").format(names, rows)

    def _sources(self) -> Markup:
        lines = []
        for evidence_id in self.numbers:
            source = source_line(self.item.evidence[evidence_id], self.language)
            if source["href"]:
                named = Markup('<a href="{}">{}</a>').format(source["href"], source["title"])
            else:
                named = Markup("{} <code>{}</code>").format(source["title"], source["address"])
            rest = "".join(f", {part}" for part in source["parts"])
            lines.append(Markup("<li>{}{}</li>").format(named, rest))
        return Markup("<ol>{}</ol>").format(Markup("").join(lines))
