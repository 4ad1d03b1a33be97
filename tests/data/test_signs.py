"""Signs spare patterns, never finds: with them and without, a text holds the same identifiers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import identifiers as module
from data.identifiers import Identifier, identifiers
from data.signs import signs_of

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
WRITTEN = """
    CVE-2024-3094 cve 2021-44228 T1059.001 TA0001 MSKB5034441 KB-Artikel 5034441 knowledge base article 5034441 RFC 5321
    MS17-010 GHSA-jfh8-c2jp-5v3q DSA-5555-1 CWE-79 CAPEC-112 WID-SEC-2024-0815 ADV990001 ORA-12154 AADSTS50076 SP2-0734
    WFLYSRV0049 WFLYCTL013456 SQLSTATE HY000 08P01 SQLSTATE[42P01] SQL30081N %LINK-3-UPDOWN error[E0277] CS0246: C2065:
    E0433] 0x80070005 stop 0x7B Bug-Check 0x1e SMTP 5.7.1 550 5.7.1 lmtp 421 status=4.4.1 HTTP 502 http/1.1 503 404
    Not Found 500 internal server error Statuscode: 401 Antwort 403/404 Event ID 4625, 4740 Ereignis-ID 1014
    Fehler 809 Druckerfehler 0x6d9 error code: -2147024891 2147942405 exit code 1603 Fehlercode 49.4C02 M7111-1331
    809er-Fehler 619-error RC=8 rc 2 err 13 errno 2 msg 602 Rückgabewert 3010 return value 5 DPF-01009
    INC-204511 ERR_CONNECTION_RESET STATUS_ACCESS_DENIED NXDOMAIN servfail ENOENT KERNEL_DATA_INPAGE_ERROR
    Windows 11 23H2 windows server 2019 R2 Office XP Exchange 2016 CU23 Ubuntu 22.04 LTS Oracle 19c
    nginx 1.25.3 postfix v3.7 v2.4.1 version 1.18 Firefox 115 SMBv1 IKEv2 Java 17 .NET 4.8
    1.2.2024 10.20.4.15 10:30 ſtatus 401
    ERROR ſTOP ıis 10 Kernel 5.10 ٣٤٥ Fehler ٨٠٩ CVE‑2024‑3094 CVE–2024–3094 „Fehler“ 0301234567 Seite 3 von 12 100 %
"""
PIECES = WRITTEN.split()


def exhaustively(text: str) -> tuple[Identifier, ...]:
    """What every finder finds, none spared."""
    spared, module.signs_of = module.signs_of, lambda _: None  # type: ignore[assignment, attr-defined]
    try:
        return module._scan(text)
    finally:
        module.signs_of = spared  # type: ignore[attr-defined]


def test_some_texts_are_spared_patterns_at_all() -> None:
    signs = signs_of("Der Drucker am Empfang druckt seit gestern nur noch leere Seiten.")
    assert signs is not None
    assert sum(hint(signs) for hint, _ in module._FINDERS) == 0
    assert signs_of("Fehler ٨٠٩") is None


@pytest.mark.parametrize("path", sorted(SAMPLE.rglob("*.*l"))[:60:2], ids=lambda path: path.name)
def test_the_sample_holds_the_same_identifiers_with_signs_and_without(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for start in range(0, min(len(text), 40_000), 2_000):
        piece = text[start : start + 2_000]
        assert identifiers(piece) == exhaustively(piece)


def test_random_texts_of_codes_hold_the_same_with_signs_and_without() -> None:
    random, found = Random(7), 0
    for _ in range(3_000):
        joint = random.choice((" ", " ", " ", "", ", ", "\n", ": "))
        at = random.randrange(len(PIECES))
        text = joint.join([*PIECES[at : at + random.randint(1, 4)], *random.choices(PIECES, k=random.randint(0, 3))])
        if random.random() < 0.2:
            text = random.choice((text.lower(), text.upper(), text.swapcase()))
        assert module._scan(text) == exhaustively(text), text
        found += len(module._scan(text))
    assert found > 3_000


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8), st.integers(0, 99_999).map(str)), max_size=7))
def test_any_text_holds_the_same_with_signs_and_without(pieces: list[str]) -> None:
    for joint in (" ", ""):
        text = joint.join(pieces)
        assert module._scan(text) == exhaustively(text)
