"""Documents become nodes a person would have cut the same way."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from data.extract import extract
from data.headings import slug
from data.models import EdgeKind, NodeKind
from data.sections import document_nodes

SENTENCE = "The queue manager picks the next message and hands it to a delivery agent. "
SATZ = "Der Dienst nimmt die nächste Nachricht aus der Warteschlange und stellt sie zu. "


def prose(chars: int, sentence: str = SENTENCE) -> str:
    """Return paragraphs of about 400 characters, `chars` in all."""
    paragraph = (sentence * (400 // len(sentence))).strip()
    return "\n\n".join([paragraph] * max(1, chars // 400))


def split(markdown: str, uri: str = "file:a/b.md"):
    document = extract(markdown.encode(), content_type="text/markdown", url="file:///b.md")
    return document_nodes(document, uri)


def test_a_short_document_is_one_node() -> None:
    drafts, edges = split(f"# Mail queue\n\n{SENTENCE}\n\n## Flush\n\n{SENTENCE}")
    assert edges == []
    (only,) = drafts
    assert (only.kind, only.label, only.source_uri, only.language) == (
        NodeKind.DOCUMENT,
        "Mail queue",
        "file:a/b.md",
        "en",
    )
    assert "## Flush" in only.body
    assert not only.body.startswith("# Mail queue"), "the title is the label"


def test_a_long_document_is_split_at_its_headings() -> None:
    text = f"# Postfix Queue Scheduler\n\n{prose(800)}\n\n## Preemption\n\n{prose(2000)}\n\n## Limits\n\n{prose(2000)}"
    drafts, edges = split(text)
    assert [d.label for d in drafts] == [
        "Postfix Queue Scheduler",
        "Postfix Queue Scheduler: Preemption",
        "Postfix Queue Scheduler: Limits",
    ]
    assert [d.kind for d in drafts] == [NodeKind.DOCUMENT, NodeKind.SECTION, NodeKind.SECTION]
    assert [d.source_uri for d in drafts] == ["file:a/b.md", "file:a/b.md#preemption", "file:a/b.md#limits"]
    assert drafts[0].body == prose(800)
    assert drafts[1].body == prose(2000)
    assert [(e.source, e.target, e.kind) for e in edges] == [(1, 0, EdgeKind.PART_OF), (2, 0, EdgeKind.PART_OF)]


def test_a_bare_heading_is_no_node() -> None:
    text = f"# Manual\n\n{prose(500)}\n\n## Operation\n\n### Start\n\n{prose(2000)}"
    text += f"\n\n### Stop\n\n{prose(2000)}\n\n## Empty"
    labels = [d.label for d in split(text)[0]]
    assert labels == ["Manual", "Manual: Start", "Manual: Stop"]


def test_a_heading_that_says_enough_stands_alone() -> None:
    name = "Recovering a mailbox database after a dirty shutdown"
    drafts, _ = split(f"# Handbook\n\n{prose(500)}\n\n## {name}\n\n{prose(2000)}\n\n## Overview\n\n{prose(2000)}")
    assert [d.label for d in drafts[1:]] == [name, "Handbook: Overview"]


def test_tiny_neighbours_become_one_section() -> None:
    small = "\n\n".join(f"### Step {word}\n\n{SENTENCE}" for word in ("one", "two", "three", "four", "five", "six"))
    drafts, _ = split(f"# Manual\n\n{prose(400)}\n\n## Setup\n\n{prose(1600)}\n\n{small}\n\n## Use\n\n{prose(2000)}")
    bodies = {d.label: d.body for d in drafts}
    merged = next(body for label, body in bodies.items() if "Step one" in label)
    assert "### Step one" in merged
    assert "### Step six" in merged
    assert all(len(d.body) >= 300 for d in drafts)


def test_a_huge_section_is_split_at_paragraphs() -> None:
    drafts, _ = split(f"# Manual\n\n{prose(500)}\n\n## Tuning\n\n{prose(14000)}\n\n## Use\n\n{prose(1000)}")
    parts = [d for d in drafts if "Tuning" in d.label]
    assert [d.label for d in parts][:3] == ["Manual: Tuning", "Manual: Tuning (2)", "Manual: Tuning (3)"]
    assert [d.source_uri.partition("#")[2] for d in parts][:2] == ["tuning", "tuning-2"]
    assert all(1_000 < len(d.body) <= 6_000 for d in parts)
    assert "\n\n".join(d.body for d in parts) == prose(14000), "nothing is lost"


def test_a_text_without_headings_is_split_too() -> None:
    text = prose(13000)
    document = extract(text.encode(), content_type="text/plain", url="file:///notes.txt")
    drafts, _edges = document_nodes(document, "inbox:notes.txt")
    assert drafts[0].kind is NodeKind.DOCUMENT
    assert drafts[1].label == f"{drafts[0].label} (2)"
    assert "\n\n".join(d.body for d in drafts) == text


def test_numbers_of_chapters_are_no_part_of_a_label() -> None:
    text = (
        f"# Kapitel 11. Netzwerkdienste: Postfix, Apache\n\n{prose(500, SATZ)}"
        f"\n\n## 11.1. Mail-Server\n\n{prose(2000, SATZ)}"
        f"\n\n## 11.2 Webserver\n\n{prose(2000, SATZ)}"
    )
    drafts, _ = split(text)
    assert drafts[0].label == "Netzwerkdienste: Postfix, Apache"
    assert drafts[1].label == "Netzwerkdienste: Postfix, Apache – Mail-Server"
    assert {d.language for d in drafts} == {"de"}


def test_versions_and_numbers_in_titles_stay() -> None:
    for title in ("802.1X Anmeldung am Switch schlägt fehl", "3 Wege zum Server", "7-Zip verteilen", "TLS 1.3"):
        assert split(f"# {title}\n\n{SATZ}")[0][0].label == title


def test_labels_and_fragments_are_unique() -> None:
    chapter = f"### Example\n\n{prose(1600)}\n\n### Notes\n\n{prose(1600)}"
    drafts, _ = split(f"# Manual\n\n{prose(500)}\n\n## Install\n\n{chapter}\n\n## Remove\n\n{chapter}")
    labels = [d.label for d in drafts]
    assert len(set(labels)) == len(labels)
    assert "Manual: Remove: Example" in labels
    assert drafts[-1].source_uri == "file:a/b.md#remove-notes"
    assert len({d.source_uri for d in drafts}) == len(drafts)


def test_a_fragment_stays_when_other_sections_come_and_go() -> None:
    one = split(f"# M\n\n{prose(500)}\n\n## Alpha\n\n{prose(2000)}\n\n## Beta\n\n{prose(2000)}")[0]
    two = split(f"# M\n\n{prose(500)}\n\n## New\n\n{prose(2000)}\n\n## Beta\n\n{prose(2000)}")[0]
    assert one[-1].source_uri == two[-1].source_uri == "file:a/b.md#beta"


def test_a_document_without_introduction_says_what_is_in_it() -> None:
    drafts, _ = split(f"# Manual\n\n## Start\n\n{prose(2400)}\n\n## Stop\n\n{prose(2400)}")
    assert drafts[0].body.startswith("- Start: The queue manager picks the next message")
    assert "- Stop" in drafts[0].body


def test_headings_alone_give_nothing() -> None:
    assert split("# Manual\n\n## Start\n\n## Stop") == ([], [])


def test_a_list_of_settings_is_split_at_its_terms() -> None:
    names = [
        f"queue_{word}"
        for word in ["run_delay", "size", "minimum", "maximum", "lifetime", "warning", "cache", "interval", "depth"]
    ]
    settings_text = "\n\n".join(f"{name} (default: 300s)\n\n{SENTENCE * 9}" for name in names)
    drafts, _ = split(f"# Mail Parameters\n\n{prose(500)}\n\n## Reference\n\n{settings_text}")
    labels = [d.label for d in drafts[1:]]
    assert labels[0] == "Mail Parameters: queue_run_delay"
    assert len(labels) == len(names)
    assert drafts[1].body.startswith("queue_run_delay (default: 300s)\n\nThe queue manager")
    assert drafts[1].source_uri == "file:a/b.md#queue-run-delay"


def test_running_text_with_short_lines_is_not_taken_for_terms() -> None:
    aside = "NOTE About spare disks"
    text = "\n\n".join(f"{aside} {number}\n\n{prose(800)}" for number in range(12))
    drafts, _ = split(f"# Manual\n\n{prose(500)}\n\n## Disks\n\n{text}")
    assert all(d.label.startswith("Manual: Disks") for d in drafts[1:])


MAN = """MAILQ(1)                                                            MAILQ(1)

NAME
       mailq - list the mail queue

SYNOPSIS
       mailq [-v] [queue]

DESCRIPTION
       The  command  lists  the  messages that wait in the queue. Each line
       names a message with its size, its arrival  and  the  reason  why  deliv-
       ery was deferred the last time it was tried by an agent of the queue man-
       ager.

OPTIONS
       -v     Say more about each of the messages that wait in the queue, and print
              the recipients that remain to be delivered in a line of their own.

       #      Take only those that are forced to expire. See the manual

       queue  Look into this queue only. The name must be one of those the queue
              manager knows, and the caller needs the right to read it.

EXAMPLES
       mailq -v deferred
       mailq active

SEE ALSO
       sendmail(1), postqueue(1)

                                                                       MAILQ(1)
"""


def test_a_manual_page_becomes_running_text() -> None:
    page = f"<html><head><title>mailq(1)</title></head><body><pre>{MAN}</pre></body></html>"
    document = extract(page.encode(), content_type="text/html", url="file:///mailq.1.html")
    ((only,), _) = document_nodes(document, "file:mailq.1.html")
    assert (
        "the reason why delivery was deferred the last time it was tried by an agent of the queue manager." in only.body
    )
    assert only.body.startswith("mailq - list the mail queue")
    assert "## OPTIONS" in only.body
    assert not re.search(r"^# ", only.body.replace("```\n#", "```"), re.MULTILINE), "an option is no heading"
    assert "SEE ALSO" not in only.body
    assert "mailq -v deferred\nmailq active" in only.body


def test_slugs_are_plain() -> None:
    assert slug("Größe & Übersicht: 0x80070005?") == "groesse-uebersicht-0x80070005"
    assert slug("…") == "section"
    assert re.fullmatch(r"[a-z0-9-]{1,60}", slug("word " * 50))


HEADING = st.from_regex(r"[A-Za-z][A-Za-z0-9 ]{0,30}[a-z]", fullmatch=True)
CHAPTER = st.tuples(st.integers(1, 4), HEADING, st.integers(0, 20))


@settings(max_examples=60, deadline=None)
@given(st.lists(CHAPTER, min_size=1, max_size=14))
def test_every_paragraph_lands_in_exactly_one_node(chapters: list[tuple[int, str, int]]) -> None:
    paragraphs = []
    text = ""
    for level, heading, count in chapters:
        text += f"{'#' * level} {heading}\n\n"
        for _ in range(count):
            paragraphs.append(f"Paragraph number {len(paragraphs)} says that {SENTENCE * 4}".strip())
            text += paragraphs[-1] + "\n\n"
    drafts, edges = split(text)
    sections = drafts if len(drafts) == 1 else drafts[1:]
    whole = "\n".join(d.body for d in sections)
    lead = drafts[0].body if drafts else ""
    for paragraph in paragraphs:
        assert whole.count(paragraph) + (len(drafts) > 1 and paragraph in lead) == 1
    assert len({d.source_uri for d in drafts}) == len(drafts)
    assert len(edges) == max(0, len(drafts) - 1)
    assert all(len(d.body) <= 6_500 for d in drafts)
