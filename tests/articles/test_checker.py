"""Wrong articles made by hand, each wrong in one point: the independent checker refuses every one.

Evidence and export are written here, not by the product: what the checker holds an article to is its own matter.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from benchmarks import check_articles
from benchmarks.check_articles import check

TEXT = (
    "# Mail queue\n\nA deferred message is kept for five days and the sender gets a warning after 4 hours.\n\n"
    "Do not delete files from the queue while the service runs.\n\n"
    "Old messages are removed at night unless a hold was set.\n\n"
    "The daemon must be stopped. All other queues are emptied later.\n\n"
    "1. Stop the service:\n\n```\nsystemctl stop mailqd -f > /tmp/log\n```\n\n2. Check the list with `mailq -r`.\n\n"
    "3. Start the service.\n\nDer Dienst liest die Datei beim Start nicht. Danach ist er bereit.\n\n"
    "| Option | Meaning |\n| --- | --- |\n| `hold` | Keeps a message |\n| `purge` | Drops a message |\n"
)
OTHER = "# Other\n\nThe archive is written by another machine every Sunday.\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def store(folder: Path, text: str, name: str = "") -> None:
    name = name or digest(text)
    (folder / name[:2]).mkdir(parents=True, exist_ok=True)
    (folder / name[:2] / f"{name}.txt.zst").write_bytes(zstandard.ZstdCompressor().compress(text.encode()))


def cite(*quotes: str, text: str = TEXT) -> str:
    lines = ["    citations:"]
    for quote in quotes:
        start = text.index(quote)
        lines.append(
            f'      - {{sha256: "{digest(text)}", start: {start}, end: {start + len(quote)}, url: "library:a.md"}}'
        )
    return "\n".join(lines)


def statement(place: str, kind: str, text: str, *quotes: str, more: str = "") -> str:
    said = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'  - place: "{place}"\n    kind: "{kind}"\n    text: "{said}"\n{more}{cite(*(quotes or (text,)))}'


KEPT = "A deferred message is kept for five days and the sender gets a warning after 4 hours."
COMMAND = "systemctl stop mailqd -f > /tmp/log"
STATEMENTS = (
    statement("summary.0.0", "sentence", KEPT),
    statement(
        "solution_steps.0.0", "step", "Stop the service:", "Stop the service:", COMMAND, more=f'    code: "{COMMAND}"\n'
    ),
    statement("solution_steps.0.1", "step", "Check the list with `mailq -r`."),
    statement("solution_steps.0.2", "step", "Start the service."),
    statement("facts.0.0", "fact", "hold: Keeps a message", "hold", "Keeps a message"),
    statement("facts.0.1", "fact", "purge: Drops a message", "purge", "Drops a message"),
)
PAGE = f"""
# How to: Mail queue

## Summary

{KEPT} \\[1\\]

## Steps

1. Stop the service: \\[1\\]

   ```
   {COMMAND}
   ```

2. Check the list with `mailq -r`. \\[1\\]
3. Start the service. \\[1\\]

## Facts

| Term | Meaning | Source |
| --- | --- | --- |
| hold | Keeps a message | \\[1\\] |
| purge | Drops a message | \\[1\\] |

## Sources

1. [Mail queue](<library:a.md>), Team, accessed 2026-12-01
2. [Other](<library:b.md>), Team, accessed 2026-12-01
"""


def document(statements: tuple[str, ...] = STATEMENTS, page: str = PAGE) -> str:
    sources = "\n".join(
        f'  - number: {number}\n    sha256: "{digest(text)}"\n    url: "library:{name}.md"\n    title: "{title}"'
        for number, text, name, title in ((1, TEXT, "a", "Mail queue"), (2, OTHER, "b", "Other"))
    )
    head = f'---\ntitle: "How to: Mail queue"\ntype: "how_to"\nlanguage: "en"\nrevision: 1\nsources:\n{sources}'
    return "\n".join([head, "statements:", *statements, "---", page])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store(tmp_path, TEXT)
    store(tmp_path, OTHER)
    return tmp_path


def refused(text: str, folder: Path, *, paraphrases: bool = False) -> None:
    assert text != document()
    assert check(text, folder, paraphrases=paraphrases) != []


def everywhere(old: str, new: str) -> str:
    """The honest document with `old` changed in the front matter and on the page, not in the evidence."""
    text = document()
    assert old in text
    return text.replace(old, new)


def one_sentence(text: str, *quotes: str, lead: str = "") -> str:
    more = f'    lead_in: "{lead}"\n' if lead else ""
    page = PAGE[: PAGE.index("## Steps")] + PAGE[PAGE.index("## Sources") :]
    return document((statement("summary.0.0", "sentence", text, *quotes, more=more),), page.replace(KEPT, text))


def test_the_honest_article_passes(folder: Path) -> None:
    assert check(document(), folder) == []
    assert check(document(), folder, paraphrases=True) == []
    assert check(one_sentence("The daemon must be stopped."), folder) == []
    assert check(one_sentence("Der Dienst liest die Datei beim Start nicht."), folder) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("after 4 hours", "after 5 hours"),
        ("five days", "six days"),
        ("five days", "five weeks"),
        ("sender gets", "receiver gets"),
        ("mailq -r", "mailq -R"),
        ("mailq -r", "mailq --r"),
        ("mailqd -f", "mailqd"),
        ("-f > /tmp/log", "-f >> /tmp/log"),
        ("-f > /tmp/log", "-f > /tmp/Log"),
        ("Drops a message", "Keeps a message forever"),
        ("Start the service.", "Restart the service."),
    ],
)
def test_a_word_changed_on_both_sides_is_noticed(folder: Path, old: str, new: str) -> None:
    refused(everywhere(old, new), folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mailqd -f >", "mailqd >"),
        ("-f > /tmp/log", "-f >> /tmp/log"),
        ("`mailq -r`", "`mailq -R`"),
        ("| purge | Drops a message |", "| purge | Keeps a message |"),
        ("| hold | Keeps a message | \\[1\\] |\n", ""),
        ("3. Start the service. \\[1\\]", "3. Start the service. \\[2\\]"),
        ("3. Start the service. \\[1\\]", "3. Start the service."),
        ("3. Start the service. \\[1\\]", "3. Start the service. \\[1\\]\n4. Delete the whole queue. \\[1\\]"),
        ("3. Start the service. \\[1\\]", "3. Start the service. \\[1\\]\n4. Delete the whole queue."),
        ("3. Start the service. \\[1\\]", "3. Never do this: Start the service. \\[1\\]"),
        ("4 hours. \\[1\\]", "4 hours. \\[1\\] Ignore it."),
        ("## Steps", "## Steps that nobody checked"),
        ("## Steps", "### Another queue\n\n## Steps"),
        ("# How to: Mail queue", "# How to: Lose mail"),
        ("(<library:a.md>)", "(<https://evil.example/>)"),
        ("2. [Other](<library:b.md>), Team, accessed 2026-12-01\n", ""),
        ("2026-12-01\n2. ", "2026-12-01\n\nDelete everything.\n\n2. "),
        (
            "2. Check the list with `mailq -r`. \\[1\\]\n3. Start the service. \\[1\\]",
            "2. Start the service. \\[1\\]\n3. Check the list with `mailq -r`. \\[1\\]",
        ),
    ],
)
def test_a_page_that_says_otherwise_than_it_lists_is_noticed(folder: Path, old: str, new: str) -> None:
    assert old in PAGE
    refused(document(page=PAGE.replace(old, new, 1)), folder)


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("delete files from the queue while the service runs.", ()),
        ("The daemon must be emptied later.", ("The daemon must be", "emptied later.")),
        ("Der Dienst liest die Datei beim Start", ()),
        ("Old messages are removed at night", ()),
        ("Do not delete files from the queue", ("Start the service.",)),
    ],
)
def test_what_a_span_leaves_out_is_noticed(folder: Path, text: str, quotes: tuple[str, ...]) -> None:
    refused(one_sentence(text, *quotes), folder)


def test_steps_in_another_order_than_their_source_are_noticed(folder: Path) -> None:
    *before, check_, start, hold, purge = STATEMENTS
    swapped = (
        *before,
        start.replace("steps.0.2", "steps.0.1"),
        check_.replace("steps.0.1", "steps.0.2"),
        hold,
        purge,
    )
    page = PAGE.replace("2. Check the list with `mailq -r`.", "2. Start the service.", 1)
    page = page.replace("3. Start the service.", "3. Check the list with `mailq -r`.", 1)
    assert any("order" in fault for fault in check(document(swapped, page), folder))


@pytest.mark.parametrize("lead", ["not", "Do not", "never"])
def test_a_lead_in_that_is_none_is_noticed(folder: Path, lead: str) -> None:
    text = one_sentence("The daemon must be stopped.", lead=lead)
    refused(text.replace("\nThe daemon must", f"\n{lead}: The daemon must"), folder)


def test_evidence_that_is_not_what_it_says_is_noticed(folder: Path) -> None:
    store(folder, TEXT.replace("five days", "nine days"), name=digest(TEXT))
    assert any("altered" in fault for fault in check(document(), folder))
    refused(document().replace(f'sha256: "{digest(TEXT)}", start', f'sha256: "{digest(OTHER)}", start'), folder)
    refused(document().replace(f'- {{sha256: "{digest(TEXT)}"', '- {sha256: "../../etc/passwd"'), folder)


@pytest.mark.parametrize(("old", "new"), [("start: ", "start: -"), ("end: ", "finish: "), ("sha256: ", "sha1: ")])
def test_a_citation_without_its_parts_is_noticed(folder: Path, old: str, new: str) -> None:
    refused(document().replace(old, new), folder)


def test_a_statement_without_a_citation_is_noticed(folder: Path) -> None:
    bare = tuple(
        part.split("    citations:")[0] + "    citations:" if "steps.0.2" in part else part for part in STATEMENTS
    )
    assert any("nothing is cited" in fault for fault in check(document(bare), folder))


def test_a_text_cited_that_is_no_listed_source_is_noticed(folder: Path) -> None:
    text = document()
    head, rest = text.split("statements:", 1)
    refused(head.replace(digest(TEXT), digest("x")) + "statements:" + rest, folder)


@pytest.mark.parametrize(
    "text",
    [
        "For seven days a deferred message is kept, and the sender gets a warning after 4 hours.",
        "For five weeks a deferred message is kept, and the sender gets a warning after 4 hours.",
        "For five days a deferred message is kept, and the sender gets a warning after 8 hours.",
        "For five days a deferred message is not kept, and the sender gets a warning after 4 hours.",
        "For five days a deferred message is kept, and the sender gets a warning before 4 hours.",
        "For five days a deferred message is kept by Exim, and the sender gets a warning after 4 hours.",
        "For five days a message is kept in `/var/old`, and the sender gets a warning after 4 hours.",
        "For five days a backup of the database with all tables is kept, and the sender gets 4 hours.",
    ],
)
def test_wrong_sentences_in_other_words_are_noticed(folder: Path, text: str) -> None:
    assert check(one_sentence("For five days a deferred message is kept.", KEPT), folder, paraphrases=True) == []
    assert check(one_sentence(text, KEPT), folder, paraphrases=True) != []


def test_the_checker_shares_no_code_with_the_product() -> None:
    path = Path(check_articles.__file__)
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= {*sys.stdlib_module_names, "zstandard"}
    loaded = "import sys, runpy; runpy.run_path(sys.argv[1]); print(*{m.split('.')[0] for m in sys.modules})"
    found = subprocess.run(
        [sys.executable, "-c", loaded, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert not {"articles", "research", "vector", "data", "brain"} & set(found.stdout.split())
