"""An article as Markdown: numbered references, a list of sources with access dates, nothing else added (spec 06).

The renderer escapes whatever in a sentence Markdown would read as a mark, and puts paths, options and settings into
code spans. The same article and evidence give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from articles.phrases import heading, label, lead_in_text
from articles.plaintext import is_code_token, page_title
from articles.types import (
    Article,
    Block,
    Citation,
    Claim,
    Fact,
    FactTable,
    OptionList,
    Paragraph,
    Step,
    StepList,
    cited_evidence,
)
from data.models import Evidence

__all__ = ["InlinePart", "inline", "inline_parts", "render_markdown", "sentence_text"]

_CODE_SPAN: Final = re.compile(r"(`+)(?!`)(?P<code>.+?)(?<!`)\1(?!`)")
_SPECIAL: Final = re.compile(r"([\\*_\[\]<>`])")
_ENTITY: Final = re.compile(r"&(?=#?\w+;)")
_AT_LINE_START: Final = re.compile(r"^(\s*)(#{1,6}(?=\s)|[-+](?=\s)|\d{1,9}(?=[.)]\s)|~{3,})")
_TOKEN: Final = re.compile(r"\S+")
_EDGES: Final = re.compile(r"^(?P<left>[(\[{\"'„“‚‘»«]*)(?P<core>.*?)(?P<right>[)\]}\"'„“”‚‘’»«.,;:!?…]*)$", re.DOTALL)


def render_markdown(article: Article, evidence: Mapping[str, Evidence]) -> str:
    """Return the article as Markdown; raise KeyError where `evidence` lacks a cited record."""
    order = cited_evidence(article)
    numbers = {evidence_id: number for number, evidence_id in enumerate(order, 1)}
    parts = [f"# {inline(article.title)}"]
    if article.applies_to:
        listed = ", ".join(
            f"{inline(fact.term)} {inline(fact.description)} {_marks(fact.citations, numbers)}"
            for fact in article.applies_to
        )
        parts.append(f"**{label('applies_to', article.language)}:** {listed}")
    if article.summary:
        parts.append(f"## {label('summary', article.language)}")
        parts.append(_paragraph(article.summary, article.language, numbers))
    for section in article.sections:
        parts.append(f"## {heading(section.name, article.language)}")
        parts.extend(_block(block, article.language, numbers) for block in section.blocks)
    parts.append(f"## {label('sources', article.language)}")
    parts.append("\n".join(_source(numbers[one], evidence[one], article.language) for one in order))
    return "\n\n".join(parts) + "\n"


def sentence_text(item: Claim | Step, language: str, numbers: Mapping[str, int]) -> str:
    """Return what is read: the fixed lead-in, if any, and the sentence."""
    first = numbers.get(item.citations[0].evidence_id, 0) if item.citations else 0
    lead = lead_in_text(item.lead_in, language, first)
    return f"{lead} {item.text}" if lead else item.text


def _marks(citations: Sequence[Citation], numbers: Mapping[str, int]) -> str:
    found = dict.fromkeys(numbers[citation.evidence_id] for citation in citations)
    return "".join(f"\\[{number}\\]" for number in found)


def _paragraph(claims: Iterable[Claim], language: str, numbers: Mapping[str, int]) -> str:
    said = [f"{inline(sentence_text(c, language, numbers))} {_marks(c.citations, numbers)}".rstrip() for c in claims]
    return _safe_start(" ".join(said))


def _block(block: Block, language: str, numbers: Mapping[str, int]) -> str:
    match block:
        case Paragraph(claims=claims):
            return _paragraph(claims, language, numbers)
        case StepList(steps=steps):
            return "\n".join(_step(number, step, language, numbers) for number, step in enumerate(steps, 1))
        case FactTable(facts=facts):
            rows = [_row(fact, numbers) for fact in facts]
            names = [label(key, language) for key in ("term", "meaning", "source")]
            return "\n".join([f"| {' | '.join(names)} |", "| --- | --- | --- |", *rows])
        case OptionList(options=options):
            return "\n\n".join(
                f"### {inline(option.name)}\n\n"
                + "\n".join(f"- {_paragraph((claim,), language, numbers)}" for claim in option.criteria)
                for option in options
            )


def _step(number: int, step: Step, language: str, numbers: Mapping[str, int]) -> str:
    mark = f"{number}. "
    line = f"{mark}{inline(sentence_text(step, language, numbers))} {_marks(step.citations, numbers)}".rstrip()
    if not step.code:
        return line
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", step.code)), default=0))
    indent = " " * len(mark)
    body = "\n".join(f"{indent}{row}".rstrip() for row in (fence, *step.code.split("\n"), fence))
    return f"{line}\n\n{body}\n"


def _row(fact: Fact, numbers: Mapping[str, int]) -> str:
    cells = (inline(fact.term), inline(fact.description), _marks(fact.citations, numbers))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _source(number: int, evidence: Evidence, language: str) -> str:
    url = (evidence.final_url or evidence.url).replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
    title = inline(page_title(evidence.title) or url)
    parts = [f"[{title}](<{url}>)"]
    if evidence.publisher:
        parts.append(inline(evidence.publisher))
    if evidence.published_at is not None:
        parts.append(label("published", language, date=f"{evidence.published_at:%Y-%m-%d}"))
    parts.append(label("accessed", language, date=f"{evidence.fetched_at:%Y-%m-%d}"))
    return f"{number}. {', '.join(parts)}"


def inline(text: str) -> str:
    """Return `text` as one line of Markdown that reads as `text`: code spans kept, code made visible, marks escaped."""
    return "".join(part.raw or _escape(part.text) for part in inline_parts(text))


class InlinePart(NamedTuple):
    """A piece of a sentence: prose, or code, which then is `raw` in Markdown."""

    text: str
    raw: str = ""

    @property
    def is_code(self) -> bool:
        return bool(self.raw)


def inline_parts(text: str) -> list[InlinePart]:
    """Return `text`, its white space folded, as prose and code in turn: code spans, and words that are code."""
    flat = " ".join(text.split())
    parts: list[InlinePart] = []
    position = 0
    for match in _CODE_SPAN.finditer(flat):
        parts += _prose(flat[position : match.start()])
        parts.append(InlinePart(match["code"].strip(), match.group()))
        position = match.end()
    return parts + _prose(flat[position:])


def _prose(text: str) -> list[InlinePart]:
    parts: list[InlinePart] = []
    position = 0
    for match in _TOKEN.finditer(text):
        parts += [InlinePart(text[position : match.start()]), *_token(match.group())]
        position = match.end()
    return [part for part in (*parts, InlinePart(text[position:])) if part.text]


def _token(token: str) -> list[InlinePart]:
    edges = _EDGES.match(token)
    core = edges["core"] if edges else token
    if edges and core.count("(") > core.count(")"):  # postconf(5) keeps its bracket
        core, right = core + edges["right"][:1], edges["right"][1:]
    else:
        right = edges["right"] if edges else ""
    left = edges["left"] if edges else ""
    named = is_code_token(core) or core.startswith("_")  # _kerberos._udp is a name, whatever Markdown reads in it
    if core and "`" not in core and not core.startswith("-") and re.search(r"[^\W\d_]", core) and named:
        return [InlinePart(left), InlinePart(core, f"`{core}`"), InlinePart(right)]
    return [InlinePart(token)]


def _escape(text: str) -> str:
    return _ENTITY.sub("&amp;", _SPECIAL.sub(r"\\\1", text))


def _safe_start(paragraph: str) -> str:
    return _AT_LINE_START.sub(lambda m: f"{m[1]}\\{m[2]}" if not m[2][0].isdigit() else m.group(), paragraph)
