"""Same gap or not: what a service desk lead would say, and the properties the score promises."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.tasks import shapes
from data.models import ArticleType
from research.consolidation import Group, QueueEntry, consolidate
from research.duplicate_index import DuplicateIndex
from research.duplicates import DuplicatePolicy, TaskShape, dedupe_key, duplicate_score, merge_questions
from research.questions import questions_for

SAME = [
    ("Drucker offline nach Windows-Update", "Nach dem Windows-Update ist der Drucker offline"),
    ("Kerberos: clock skew too great", "Clock skew is too great in Kerberos"),
    ("CVE-2024-3094", "CVE-2024-3094: backdoor in xz"),
    ("CVE-2024-3094: Hintertür in liblzma", "liblzma-Hintertür CVE-2024-3094"),
    ("ORA-12154 beim Verbinden mit Oracle", "Oracle-Verbindung meldet ORA-12154"),
    ("Windows 11 23H2 Update bricht ab", "Update von Windows 11 bricht ab"),
    ("Postfach voll, Outlook empfängt keine Mails", "Outlook empfängt keine Mails mehr: Postfach voll"),
]

DIFFERENT = [
    ("VPN Fehler 809", "VPN Fehler 691"),
    ("Outlook stürzt unter Windows 10 ab", "Outlook stürzt unter Windows 11 ab"),
    ("Exchange 2016 Datenbank lässt sich nicht einbinden", "Exchange 2019 Datenbank lässt sich nicht einbinden"),
    ("T1003 OS credential dumping", "T1003.001 OS credential dumping"),
    ("CVE-2024-3094 in xz utils", "CVE-2021-44228 in xz utils"),
    ("KB5034441 installation fails", "KB5034440 installation fails"),
    ("HTTP 401 im Exchange-Webzugriff", "HTTP 401 am Internet-Proxy"),
    ("0x80070005 bei Windows Update", "0x80070005 beim Start von DCOM"),
    ("Drucker druckt leere Seiten", "Scanner findet das Netzlaufwerk nicht"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_rewordings_are_one_gap(a: str, b: str) -> None:
    assert duplicate_score(TaskShape(a), TaskShape(b)).duplicate


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_near_misses_are_two_gaps(a: str, b: str) -> None:
    assert not duplicate_score(TaskShape(a), TaskShape(b)).duplicate


def test_contradicting_identifiers_overrule_equal_words_seeds_and_questions() -> None:
    seeds, questions = frozenset({"n_1", "n_2"}), ("Was ist die Ursache?",)
    score = duplicate_score(
        TaskShape("VPN bricht mit Fehler 809 ab", seeds, questions),
        TaskShape("VPN bricht mit Fehler 691 ab", seeds, questions),
    )
    assert (score.identifiers, score.duplicate) == ("different", False)


def test_one_product_in_two_versions_contradicts_beside_a_shared_product() -> None:
    score = duplicate_score(
        TaskShape("Outlook 2019 hängt unter Windows 10"), TaskShape("Outlook 2019 hängt unter Windows 11")
    )
    assert score.identifiers == "different"


def test_a_question_may_mention_a_neighbour_without_being_about_it() -> None:
    a = TaskShape("VPN-Einwahl scheitert mit Fehler 809", questions=("Ist es dasselbe wie Fehler 691?",))
    b = TaskShape("VPN-Einwahl scheitert mit Fehler 691")
    assert duplicate_score(a, b).identifiers == "different"


def test_codes_in_the_questions_tell_two_vague_topics_apart() -> None:
    a = TaskShape("VPN-Einwahl scheitert", questions=("Was bedeutet Fehler 809?",))
    b = TaskShape("VPN-Einwahl scheitert", questions=("Was bedeutet Fehler 691?",))
    assert not duplicate_score(a, b).duplicate


def test_weights_of_missing_fields_go_to_the_others() -> None:
    # topics {printer, offline} and {printer, offline, lobby}: Jaccard 2/3; seeds {1} in {1, 2}: overlap 1
    a, b = TaskShape("printer offline"), TaskShape("printer offline lobby")
    assert duplicate_score(a, b).score == pytest.approx(2 / 3)
    seeded = duplicate_score(
        TaskShape("printer offline", frozenset({"n_1"})), TaskShape("printer offline lobby", frozenset({"n_1", "n_2"}))
    )
    assert seeded.score == pytest.approx((0.55 * 2 / 3 + 0.25) / 0.80)


def test_shared_seeds_lift_two_topics_that_alone_are_too_far_apart() -> None:
    a, b = "printer queue stuck", "stuck printer queue spooler crash"  # Jaccard 3/5
    other = "printer queue jammed spooler"  # 2/5 with a
    assert not duplicate_score(TaskShape(a), TaskShape(other)).duplicate
    assert duplicate_score(TaskShape(a, frozenset({"n_1"})), TaskShape(b, frozenset({"n_1"}))).duplicate


def test_being_asked_for_the_same_things_makes_no_two_tasks_alike() -> None:
    a, b = "Outlook calendar sharing lost", "Outlook calendar export crashes"  # topics share two words of six
    asked = [questions_for(topic, ArticleType.TROUBLESHOOTING, "en") for topic in (a, b)]
    score = duplicate_score(TaskShape(a, questions=asked[0]), TaskShape(b, questions=asked[1]))
    assert score.questions <= 1 / 3
    assert not score.duplicate


def test_topics_without_terms_are_the_same_only_word_for_word() -> None:
    assert duplicate_score(TaskShape("der die das"), TaskShape("Der, die, das!")).duplicate is False
    assert duplicate_score(TaskShape("der die das"), TaskShape("Der die das!")).duplicate is True


def test_dedupe_key_ignores_spelling_and_order_but_not_seeds() -> None:
    assert dedupe_key("VPN‑Fehler  809!", ["n_2", "n_1"]) == dedupe_key("vpn-fehler 809", ["n_1", "n_2", "n_1"])
    assert dedupe_key("VPN-Fehler 809", ["n_1"]) != dedupe_key("VPN-Fehler 809", ["n_2"])


def test_merge_questions_keeps_what_asks_for_something_else() -> None:
    merged = merge_questions(
        ("Was verursacht Fehler 809?",), ["Was verursacht den Fehler 809?", "Wie prüft man die Firewall?", "???"], 12
    )
    assert merged == ("Was verursacht Fehler 809?", "Wie prüft man die Firewall?", "???")
    assert len(merge_questions((), (f"Frage zu Fehler {n}" for n in range(100, 130)), 12)) == 12


VOCABULARY = """
    printer drucker offline vpn tunnel outlook mailbox postfach voll kerberos clock skew ldap bind timeout proxy der the
    CVE-2024-3094 CVE-2021-44228 KB5034441 ORA-12154 T1003 T1003.001 Windows 10 11 Fehler 809 691 HTTP 401 Exchange 2016
"""
WORDS = st.sampled_from(VOCABULARY.split())
TOPICS = st.lists(WORDS, max_size=6).map(" ".join)
SHAPES = st.builds(
    TaskShape,
    topic=TOPICS,
    seeds=st.frozensets(st.sampled_from(["n_1", "n_2", "n_3", "n_4"]), max_size=3),
    questions=st.lists(TOPICS, max_size=3).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(SHAPES, SHAPES)
def test_symmetric_bounded_and_independent_of_order(a: TaskShape, b: TaskShape) -> None:
    score = duplicate_score(a, b)
    assert duplicate_score(b, a) == score
    assert 0.0 <= score.score <= 1.0
    assert duplicate_score(TaskShape(a.topic, a.seeds, tuple(reversed(a.questions))), b) == score


def test_ten_thousand_random_pairs_are_scored_alike_from_both_sides_and_in_any_order() -> None:
    """Queues as a service desk fills them, every shape also with its questions and seeds in another order."""
    random = Random(20261201)
    made = shapes(400, seed=12)
    turned = []
    for shape in made:
        questions = list(shape.questions)
        random.shuffle(questions)
        turned.append(TaskShape(shape.topic, frozenset(sorted(shape.seeds, reverse=True)), tuple(questions)))
    verdicts: Counter[tuple[bool, str]] = Counter()
    for _ in range(10_000):
        i = random.randrange(len(made))
        j = random.randrange(len(made)) if random.random() < 0.7 else min(len(made) - 1, i + random.randrange(6))
        score = duplicate_score(made[i], made[j])
        assert score == duplicate_score(made[j], made[i]) == duplicate_score(turned[i], turned[j])
        assert score == duplicate_score(turned[j], made[i])
        verdicts[score.duplicate, score.identifiers] += 1
    assert {duplicate for duplicate, _ in verdicts} == {True, False}
    assert {verdict for _, verdict in verdicts} == {"none", "shared", "pinned", "different"}


@settings(max_examples=80, deadline=None)
@given(SHAPES)
def test_reflexive(shape: TaskShape) -> None:
    score = duplicate_score(shape, shape)
    assert score.duplicate
    assert score.score == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(st.lists(SHAPES, max_size=12), SHAPES)
def test_the_index_finds_exactly_what_comparing_with_all_finds(members: list[TaskShape], probe: TaskShape) -> None:
    index = DuplicateIndex()
    for number, member in enumerate(members):
        index.add(f"t_{number:02}", member)
    index.remove("t_00")
    expected = {
        f"t_{number:02}" for number, member in enumerate(members) if number and duplicate_score(probe, member).duplicate
    }
    assert {key for key, _ in index.duplicates(probe)} == expected


MORNING = datetime(2026, 1, 15, 8, 0, tzinfo=UTC)


def entry(
    key: str, topic: str, *, priority: int = 50, minute: int = 0, seeds: frozenset[str] = frozenset()
) -> QueueEntry:
    return QueueEntry(key, TaskShape(topic, seeds), priority, MORNING + timedelta(minutes=minute))


def test_highest_priority_keeps_then_the_oldest() -> None:
    topic = "Drucker offline nach Update"
    groups = consolidate(
        [entry("t_b", topic, minute=1), entry("t_c", topic, priority=80, minute=2), entry("t_a", topic)]
    )
    assert groups == (Group("t_c", ("t_a", "t_b")),)


def test_a_chain_is_not_merged_end_to_end() -> None:
    # each shares seven of nine words with the next (0.78), the ends six of ten
    a = entry("t_a", "alpha bravo charlie delta echo foxtrot golf hotel", priority=90)
    b = entry("t_b", "bravo charlie delta echo foxtrot golf hotel india", priority=80)
    c = entry("t_c", "charlie delta echo foxtrot golf hotel india juliett", priority=70)
    assert consolidate([c, b, a]) == (Group("t_a", ("t_b",)),)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SHAPES, st.integers(0, 3), st.integers(0, 5)), max_size=10), st.randoms())
def test_members_are_direct_duplicates_and_no_pair_is_left_over(
    rows: list[tuple[TaskShape, int, int]], random: Random
) -> None:
    entries = [
        QueueEntry(f"t_{n:02}", shape, priority, MORNING + timedelta(minutes=minute))
        for n, (shape, priority, minute) in enumerate(rows)
    ]
    groups = consolidate(entries)
    shapes = {item.key: item.shape for item in entries}
    merged = [member for group in groups for member in group.members]
    assert len(merged) == len(set(merged))
    for group in groups:
        assert all(duplicate_score(shapes[group.keeper], shapes[member]).duplicate for member in group.members)
    left = [key for key in shapes if key not in merged]
    assert not any(duplicate_score(shapes[a], shapes[b]).duplicate for a, b in combinations(left, 2))
    random.shuffle(entries)
    assert consolidate(entries) == groups


def test_a_stricter_policy_finds_fewer() -> None:
    a, b = TaskShape("printer offline lobby"), TaskShape("printer offline kitchen")
    assert not duplicate_score(a, b).duplicate
    assert duplicate_score(a, b, DuplicatePolicy(score=0.45, apart=0.45)).duplicate


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        # one word turned: nearly all is shared, and it is another gap
        ("Mailbox quota of the sales team", "Mailbox delegation of the sales team", False),
        ("Label printer jams in the warehouse", "Label printer smears in the warehouse", False),
        # the one topic only says more
        ("Label printer jams in the warehouse", "Label printer jams in the warehouse since Monday", True),
        # a code in both holds them together
        ("Night export of orders: saving gives error 49312", "Error 49312 in night export, orders not booked", True),
        # numbers that belong to a word
        ("Replace the failed disk of RAID 5", "Replace the failed disk of RAID 6", False),
        ("Firewall blocks port 8443 for the portal", "Firewall blocks port 443 for the portal", False),
        ("Firewall blocks port 443 for the portal", "Port 443 blocked by the firewall for the portal", True),
        # a bare code behind a word that says nothing
        ("Reverse proxy returns 404 for the intranet", "Reverse proxy returns 503 for the intranet", False),
        ("User cannot log in to the time clock", "Login to the time clock fails for users", True),
        # quantities and years tell nothing apart
        ("Scanner hangs after 3 pages in the archive", "Scanner hangs after 5 pages in the archive", True),
        ("Backup job of site Bonn 2024 fails at night", "Backup job of site Bonn 2025 fails at night", True),
    ],
)
def test_what_tells_two_topics_apart_that_share_nearly_all(a: str, b: str, same: bool) -> None:
    assert duplicate_score(TaskShape(a), TaskShape(b)).duplicate is same
    assert duplicate_score(TaskShape(b), TaskShape(a)).duplicate is same
