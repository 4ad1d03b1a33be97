"""One thinking pair as a person reads it: what was asked, where every hit fell, what every text was worth (spec 04)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from data.models import Edge, Node, PairDecision

__all__ = ["history", "pair_lines"]

WIDTH: Final = 118
STAGES: Final = {
    "scope": "out of scope",
    "snippet": "fell at the snippet",
    "not_read": "not read",
    "fetch": "not fetched",
    "gate": "refused in full text",
    "accepted": "accepted",
}
GUARDED: Final = {
    "empty_query": "the planned one is empty",
    "internal_node_id": "the planned one carries the id of a record",
    "hash_like_token": "the planned one carries a hash",
    "private_token": "the planned one carries something private",
    "no_label_anchor": "the planned one names neither node",
    "nothing_searchable": "no public term is left",
}


def history(relations: Sequence[Edge]) -> list[dict[str, Any]]:
    """Return every relation that joins or joined the pair, oldest first, with why it ended."""
    return [
        {
            "id": edge.id,
            "active": edge.active,
            "type": edge.relation_type,
            "source": edge.source_id,
            "target": edge.target_id,
            "since": edge.created_at,
            "confidence": edge.weight,
            "validation_state": edge.meta.get("validation_state"),
            "rationale": edge.meta.get("rationale", ""),
            "evidence": edge.meta.get("evidence", []),
            "ended": edge.meta.get("ended"),
            "superseded_by": edge.meta.get("superseded_by"),
        }
        for edge in relations
    ]


def pair_lines(decision: PairDecision, nodes: Mapping[str, Node], relations: Sequence[Edge]) -> Iterator[str]:
    """Yield the lines of `brain pairs show`."""
    ends = {"source": nodes[decision.source_id], "target": nodes[decision.target_id]}
    for name, node in ends.items():
        yield from _item(name, f"{node.label}  ({node.kind}, {node.language}, {node.id})")
    yield from _item("decided", f"{decision.state}: {decision.reason}  ({decision.decided_at:%Y-%m-%d %H:%M} UTC)")
    detail = decision.detail
    if detail.get("error"):
        yield from _item("why", detail["error"])
    if decision.retry_not_before:
        tries = f", after {decision.attempts} tries" if decision.attempts else ""
        yield from _item("again", f"not before {decision.retry_not_before:%Y-%m-%d %H:%M} UTC{tries}")
    yield from _look(detail)
    if again := detail.get("reexamination"):
        yield ""
        yield f"Looked at again on {again['at'][:16].replace('T', ' ')} UTC without an answer: {again['reason']}"
        yield from _item("why", again.get("error") or "the outside failed; the relation stands")
        yield from _look(again)
    yield from _relations(relations, nodes)


def _look(detail: Mapping[str, Any]) -> Iterator[str]:
    """Yield what one run over the pair left: plan, query, hits, texts, review."""
    if plan := detail.get("plan"):
        facts = "needs outside facts" if plan["needs_research"] else "the nodes' own text may do"
        said = f"{plan['relation_type']}, {facts}" if plan["related"] else "not related"
        yield from _item("plan", f"{said} (confidence {plan['confidence']:.2f}): {plan['reason']}")
        for question in plan.get("questions", ()):
            yield from _item("", f"? {question}")
    if query := detail.get("query"):
        yield from _item("query", f"planned: {query['planned'] or '(empty)'}")
        if query["rebuilt"]:
            why = GUARDED.get(query["reason"], query["reason"])
            yield from _item("", f"rebuilt from the labels, {query['reason']}: {why}")
            yield from _item("", f"sent:    {query['sent'] or '(nothing was sent)'}")
        else:
            yield from _item("", "sent as planned; the guard found nothing to object to")
    if search := detail.get("search"):
        counts = detail["counts"]
        yield from _item("search", f"{search['state']}: {_numbers(counts)}")
        if search["engines_failed"]:
            yield from _item("", f"failed: {', '.join(search['engines_failed'])}")
        for note in search["notes"]:
            yield from _item("", note)
    yield from _hits(detail.get("hits", ()))
    yield from _texts(detail.get("texts", ()))
    yield from _review(detail.get("review"))


def _numbers(counts: Mapping[str, int]) -> str:
    words = ("hits", "scoped", "fetched", "fetch_errors", "accepted")
    return ", ".join(f"{counts[word]} {word.replace('_', ' ')}" for word in words if word in counts)


def _hits(hits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if hits:
        yield ""
        yield "Hits, and where each fell"
    for number, hit in enumerate(hits, 1):
        stage = STAGES.get(hit["stage"], hit["stage"]) + (f", {hit['reason']}" if hit["reason"] else "")
        yield from _item(f"  {number}", f"{stage}: {hit['title'] or hit['url']}")
        found_by = f"  [{hit['engine']}]" if hit["engine"] else ""
        yield from _item("", hit["url"] + found_by)
        if hit["stage"] not in {"gate", "accepted"}:  # those two have their sentence with the text
            yield from _item("", hit["why"])


def _texts(texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if texts:
        yield ""
        yield "Texts read in full"
    for number, text in enumerate(texts, 1):
        verdict = "accepted" if text["accepted"] else f"refused, {text['reason']}"
        yield from _item(f"  {number}", f"{verdict}: {text['title'] or text['url']}")
        about = [text["publisher"], text["language"], *text["flags"]]
        yield from _item("", f"{text['final_url'] or text['url']}  ({', '.join(part for part in about if part)})")
        scores = f"relevance {text['relevance']:.2f} (cosine {text['cosine']:.2f}, anchors {text['coverage']:.2f})"
        yield from _item("", f"{scores}; source {text['source_quality']}, quality {text['source_quality_score']:.2f}")
        yield from _item("", text["why"])
        if text["mirror_of"]:
            yield from _item("", f"the same as {text['mirror_of']}")
        for passage in text["passages"]:
            yield from _item("", f"“{_short(passage['text'])}”")


def _review(review: Mapping[str, Any] | None) -> Iterator[str]:
    if not review:
        return
    yield ""
    verdict = f"accepted as {review['relation_type']}, {review['direction']}" if review["accept"] else "refused"
    yield from _item("review", f"{verdict} (confidence {review['confidence']:.2f}): {review['rationale']}")
    for mark in review["cited"]:
        yield from _item("", f"{mark} {_short(review['shown'].get(mark, '(was not shown)'))}")


def _relations(relations: Sequence[Edge], nodes: Mapping[str, Node]) -> Iterator[str]:
    if relations:
        yield ""
        yield "Relations between the two, oldest first"
    for edge in relations:
        state = "stands" if edge.active else "ended"
        if ended := edge.meta.get("ended"):
            state = f"ended {ended['at'][:16].replace('T', ' ')} UTC, {ended['reason']}"
        yield from _item("  " + ("*" if edge.active else "-"), f"{edge.id}  {edge.relation_type}, {state}")
        yield from _item("", f"{nodes[edge.source_id].label} → {nodes[edge.target_id].label}")
        yield from _item("", f"since {edge.created_at:%Y-%m-%d %H:%M} UTC, {edge.meta.get('validation_state', '')}")
        for text in edge.meta.get("evidence", ()):
            absent = "  (full text absent)" if text.get("fulltext") == "absent" else ""
            yield from _item("", f"rests on {text['url']}{absent}")
        for span in edge.meta.get("spans", ()):
            yield from _item("", f"rests on “{_short(span)}”")
        if following := edge.meta.get("superseded_by"):
            yield from _item("", f"superseded by {following}")


def _item(name: str, text: str) -> Iterator[str]:
    """Yield `text` behind its name, wrapped; a long word (an address) stays whole."""
    lines = textwrap.wrap(" ".join(str(text).split()), WIDTH - 9, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines or [""]):
        yield f"{name if number == 0 else '':<9}{line}"


def _short(text: str) -> str:
    return textwrap.shorten(text, 300, placeholder=" …")
