"""Terms with what is said about them, versions, and the names of options."""

from __future__ import annotations

import pytest

from articles.facts import facts, option_names, versions
from articles.plaintext import same_words


def test_items_rows_and_subjects_give_facts() -> None:
    text = (
        "- `queue_run_delay`: Controls how often the queue is scanned. More text follows here.\n"
        "- **retry**: Sets the time between two attempts.\n\n"
        "| Name | Meaning |\n| --- | --- |\n| hold | messages that were stopped |\n\n"
        "The `-f` option flushes the queue at once.\n"
    )
    found = {fact.term: fact for fact in facts(text, "en", 25)}
    assert found["`queue_run_delay`"].description == "Controls how often the queue is scanned."
    assert found["retry"].description == "Sets the time between two attempts."
    assert found["hold"].description == "messages that were stopped"
    assert found["`-f`"].description == "The `-f` option flushes the queue at once."
    for fact in found.values():
        assert same_words(fact.description, [piece.of(text) for piece in fact.pieces])
        assert fact.term.strip("`") in fact.term_span.of(text)


@pytest.mark.parametrize(
    "item", ["- Note: Back up first.", "- Step 1: Open it.", "- Line 3: This sets the host.", "- 12: A number."]
)
def test_labels_are_no_terms(item: str) -> None:
    assert facts(item + "\n", "en", 25) == []


def test_a_version_keeps_its_product() -> None:
    (mention,) = versions("It needs Postfix 3.7.2 at least, released in 2022.")
    assert (mention.product, mention.version) == ("postfix", "3.7.2")


@pytest.mark.parametrize(
    ("topic", "names"),
    [
        ("rsync oder BorgBackup für die Datensicherung", ("rsync", "BorgBackup")),
        ("NFS vs. Samba for file shares", ("NFS", "Samba")),
        ("Choosing between MBR and GPT", ("MBR", "GPT")),
        ("Which MPM: worker, prefork or event", ("worker", "prefork", "event")),
        ("Postfix queue", ()),
    ],
)
def test_options_are_what_the_topic_sets_against_each_other(topic: str, names: tuple[str, ...]) -> None:
    assert option_names(topic) == names
