"""An article as a Markdown file with front matter, also as a note of an Obsidian vault (spec 06, "Export")."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from articles.export_items import ExportItem, ExportLink
from articles.phrases import label
from articles.render import inline
from articles.types import Claim, Fact, Step, cited_evidence, item_text, items

__all__ = ["front_matter", "markdown_file", "obsidian_note"]


def front_matter(item: ExportItem) -> str:
    """Return the YAML front matter: every sentence, step and fact with its citations (sha256, start, end, url)."""
    order = cited_evidence(item.content)
    lines = [
        "---",
        f"title: {_scalar(item.content.title)}",
        f"type: {_scalar(item.content.type.value)}",
        f"language: {_scalar(item.content.language)}",
        f"revision: {item.revision}",
        "sources:",
    ]
    for number, evidence_id in enumerate(order, 1):
        record = item.evidence[evidence_id]
        lines += [
            f"  - number: {number}",
            f"    sha256: {_scalar(record.sha256)}",
            f"    url: {_scalar(record.final_url or record.url)}",
            f"    title: {_scalar(record.title)}",
            f"    publisher: {_scalar(record.publisher)}",
            f"    accessed: {_scalar(record.fetched_at.date().isoformat())}",
        ]
    lines.append("statements:")
    for place, entry in items(item.content):
        kind = {Claim: "sentence", Step: "step", Fact: "fact"}[type(entry)]
        lines += [
            f"  - place: {_scalar(place)}",
            f"    kind: {_scalar(kind)}",
            f"    text: {_scalar(item_text(entry))}",
        ]
        if isinstance(entry, Step) and entry.code:
            lines.append(f"    code: {_scalar(entry.code)}")
        if isinstance(entry, Claim | Step) and entry.lead_in:
            lines.append(f"    lead_in: {_scalar(entry.lead_in)}")
        lines.append("    citations:")
        for citation in entry.citations:
            record = item.evidence[citation.evidence_id]
            lines.append(
                f"      - {{sha256: {_scalar(citation.sha256)}, start: {citation.start}, end: {citation.end}, "
                f"url: {_scalar(record.final_url or record.url)}}}"
            )
    return "\n".join([*lines, "---", ""])


def _scalar(value: str) -> str:
    # a JSON string is a YAML scalar; U+0085, U+2028 and U+2029 are line ends to YAML and must be escaped
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda match: f"\\u{ord(match.group()):04x}", text)


def markdown_file(item: ExportItem) -> bytes:
    """Return the article with its front matter."""
    return f"{front_matter(item)}\n{item.markdown}".encode()


def obsidian_note(item: ExportItem, names: Mapping[str, str]) -> bytes:
    """Return the article as a note: as `markdown_file`, with tags and, below, wikilinks to related articles.

    names: file names by article id, of every article in the vault.
    """
    tags = f"tags: [knowledge-base, {item.content.type.value.replace('_', '-')}, {item.content.language}]"
    head, _, _ = front_matter(item).rpartition("---\n")
    note = f"{head}{tags}\n---\n\n{item.markdown}"
    if item.links:
        lines = [f"- {_wikilink(link, names)}{_why(link)}" for link in item.links]
        note += f"\n## {label('related', item.content.language)}\n\n" + "\n".join(lines) + "\n"
    return note.encode()


def _why(link: ExportLink) -> str:
    if not link.relation:
        return f" ({inline(link.source)})"
    return f" ({inline(link.source)} **{link.relation.replace('_', ' ')}** {inline(link.target)})"


def _wikilink(link: ExportLink, names: Mapping[str, str]) -> str:
    # These marks would end the link or lead into a part of the note.
    text = re.sub(r"[\[\]|#^]+", " ", link.title).strip()
    return f"[[{names[link.article_id].removesuffix('.md')}|{text}]]"
