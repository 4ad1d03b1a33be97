"""An article as one JSON document: everything a program needs, nothing that only this house can resolve."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from articles.codec import article_to_content
from articles.export_items import ExportItem
from articles.types import cited_evidence

__all__ = ["FORMAT_VERSION", "json_file", "json_index"]

FORMAT_VERSION: Final = 1


def json_file(item: ExportItem, names: Mapping[str, str]) -> bytes:
    """Return content with every citation (sha256, start, end, quote), its sources, links and the Markdown."""
    document = {
        "format": FORMAT_VERSION,
        "article": item.article_id,
        "revision": item.revision,
        **article_to_content(item.content),
        "sources": [
            {
                "evidence": one,
                "sha256": item.evidence[one].sha256,
                "url": item.evidence[one].final_url or item.evidence[one].url,
                "title": item.evidence[one].title,
                "publisher": item.evidence[one].publisher,
                "language": item.evidence[one].language,
                "accessed": item.evidence[one].fetched_at.date().isoformat(),
            }
            for one in cited_evidence(item.content)
        ],
        "related": [
            {
                "article": link.article_id,
                "file": names[link.article_id],
                "relation": link.relation or "same_subject",
                "source": link.source,
                "target": link.target,
            }
            for link in item.links
        ],
        "markdown": item.markdown,
    }
    return _bytes(document)


def json_index(items: Mapping[str, ExportItem]) -> bytes:
    """Return the list of all files (name to article)."""
    listed = [
        {
            "file": name,
            "article": item.article_id,
            "revision": item.revision,
            "title": item.content.title,
            "type": item.content.type.value,
            "language": item.content.language,
        }
        for name, item in sorted(items.items())
    ]
    return _bytes({"format": FORMAT_VERSION, "articles": listed})


def _bytes(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()
