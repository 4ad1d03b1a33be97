"""Words, spans and language: tables in both languages and properties over any text."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.text import (
    STOP_WORDS,
    Span,
    anchors,
    detect_language,
    fold,
    identifiers,
    label_key,
    normalise,
    paragraphs,
    sentences,
    stem,
    term_in,
    term_index,
    terms,
    words,
)

# Every code point, lone surrogates too: what a broken export really holds.
any_text = st.text(alphabet=st.characters(codec=None, categories=None), max_size=300) | st.text(
    alphabet="aBzäß .!?\n\t-#*|`1203:/()é\u0308\u200b\u00ad\ud800\u202e0xKBFehlr", max_size=300
)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\u200bb\ufeffc\u00add", "abcd"),
        ("u\u0308ber", "über"),
        ("x\ud800y", "x\ufffdy"),
        ("a\u202egnp.exe\u202c", "agnp.exe"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("z.\u00a0B.\u2009a", "z. B. a"),
        ("bell\x07 and\x00 nul\x9b", "bell and nul"),
        ("tab\tstays\n", "tab\tstays\n"),
        ("hidden\U000e0041\U000e0042 tags", "hidden tags"),
    ],
)
def test_normalise_cleans_what_hides(raw: str, clean: str) -> None:
    assert normalise(raw) == clean


@given(any_text)
def test_normalise_is_idempotent_and_leaves_nothing_hidden(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    once.encode("utf-8")
    assert not any(unicodedata.category(c) in {"Cc", "Cs"} and c not in "\t\n" for c in once)
    assert not set(once) & set("\u200b\u200d\u202e\u2066\ufeff\u00ad")


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Größe", "groesse"),
        ("ÄÖÜ", "aeoeue"),
        ("Über", "ueber"),
        ("Café Łódź", "cafe lodz"),
        ("ﬁle", "file"),
        ("ＫＢ５０３", "kb503"),
        ("STRASSE", "strasse"),
        ("E‑Mail – neu", "e-mail - neu"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(any_text)
def test_fold_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("VPN-Fehler 809", "  vpn‑fehler   809! "),
        ("Größe ändern", "GROESSE AENDERN."),
        ("„Drucker“ offline", "Drucker“ offline?"),
        ("DGIA", "dgia "),
    ],
)
def test_label_key_joins_spellings(left: str, right: str) -> None:
    assert label_key(left) == label_key(right)


@pytest.mark.parametrize(("left", "right"), [("C", "C++"), ("C", "C#"), ("Fehler 809", "Fehler 691"), ("?", "!")])
def test_label_key_keeps_different_things_apart(left: str, right: str) -> None:
    assert label_key(left) != label_key(right)


@given(any_text)
def test_label_key_is_stable(text: str) -> None:
    key = label_key(text)
    assert label_key(key) == key
    assert label_key(f" {text}  ") == key


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("VPN-Verbindung schlägt fehl: Fehler 809", "de"),
        ("Drucker druckt nicht", "de"),
        ("Kontosperrung nach Kennwortänderung", "de"),
        ("VPN einrichten", "de"),
        ("Zertifikat abgelaufen", "de"),
        ("Der Benutzer kann sich seit dem Update nicht mehr an Outlook anmelden.", "de"),
        ("Printer queue stuck", "en"),
        ("Kerberos pre-authentication failed", "en"),
        ("How to reset the password", "en"),
        ("OS Credential Dumping", "en"),
        ("The user cannot log on to the terminal server since the update was installed.", "en"),
        ("Outlook", "und"),
        ("Windows 11 23H2 KB5034441", "und"),
        ("", "und"),
        ("0x80070005 42", "und"),
        (
            "La configuration du serveur de messagerie est décrite dans la section suivante, avec les paramètres de la "
            "connexion et des utilisateurs.",
            "und",
        ),
        (
            "El servidor de correo no puede entregar los mensajes porque la conexión fue rechazada por el destino y el "
            "usuario no existe.",
            "und",
        ),
        (
            "De mailserver kan het bericht niet afleveren omdat de verbinding is geweigerd en de gebruiker ontbreekt.",
            "und",
        ),
    ],
)
def test_detect_language(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_stop_words_are_folded_and_cover_both_languages() -> None:
    assert {"fuer", "ueber", "nicht", "the", "with"} <= STOP_WORDS
    assert not {"fehler", "error", "drucker", "server"} & STOP_WORDS
    assert all(word == fold(word) for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Die Druckerwarteschlange hängt", "de", ("druckerwarteschlang", "hangt")),
        ("Drucker und drucken, Druckers", "de", ("druck", "druck", "druck")),
        ("The printers are printing", "en", ("printer", "print")),
        ("VPN-Fehler 809 beim Verbinden", "de", ("verbind",)),
        ("CVE-2024-3094 in xz-utils", "en", ("util",)),
        ("an AD user's mailbox", "en", ("user", "mailbox")),
        ("2024 4711 x", "en", ()),
    ],
)
def test_terms(text: str, language: str, expected: tuple[str, ...]) -> None:
    assert terms(text, language) == expected


def test_terms_of_umlaut_and_digraph_spellings_are_equal() -> None:
    assert terms("Prüfung der Größe", "de") == terms("Pruefung der Groesse", "de")


def test_stem_leaves_digits_and_unknown_languages_alone() -> None:
    assert stem("o365", "de") == "o365"
    assert stem("printers", "und") == "printers"


@given(any_text)
def test_terms_words_and_anchors_take_any_text(text: str) -> None:
    for term in terms(text):
        assert len(term) >= 1
        assert term == fold(term)
    for word in words(text):
        assert word in normalise(text)
    assert anchors(text).terms == frozenset(terms(text))
    term_index(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E-Mail über smtp.example.org geht nicht!", ("E-Mail", "über", "smtp.example.org", "geht", "nicht")),
        ("C++ und C# mit .NET 4.8", ("C++", "und", "C#", "mit", ".NET", "4.8")),
        ("(postfix) main.cf: relayhost=", ("postfix", "main.cf", "relayhost")),
        ("AT&T ORA-12154.", ("AT&T", "ORA-12154")),
    ],
)
def test_words_as_written(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


def test_anchors_split_terms_and_identifiers() -> None:
    found = anchors("Windows Update schlägt fehl: Fehler 0x80070005")
    assert found.identifiers == {"0x80070005"}
    assert "0x80070005" not in found.terms
    assert "window" in found.terms or "windows" in found.terms
    assert not anchors("und die der")


@pytest.mark.parametrize(
    ("term", "among", "expected"),
    [
        ("warteschlang", ["druckerwarteschlang"], True),
        ("druckerwarteschlang", ["warteschlang"], True),
        ("rat", ["beratung"], False),
        ("serv", ["serv"], True),
        ("postfix", ["exim", "dovecot"], False),
    ],
)
def test_term_in_knows_compounds(term: str, among: list[str], expected: bool) -> None:
    assert term_in(term, among) is expected


@pytest.mark.parametrize(
    ("label", "page"),
    [
        ("Server antwortet nicht", "The server does not respond."),
        ("Windows Updates", "Die Windows-Updates wurden zurückgestellt."),
        ("Warteschlange löschen", "Die Druckerwarteschlange wird gelöscht."),
        ("Postfix queue manager", "Der Queue-Manager von Postfix."),
    ],
)
def test_a_label_is_found_in_a_page_of_the_other_language(label: str, page: str) -> None:
    index = term_index(page)
    assert any(term_in(term, index) for term in anchors(label).terms)


def texts_of(spans: list[Span], text: str) -> list[str]:
    return [span.of(text) for span in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das ist z. B. ein Satz. Das ist der zweite.", ["Das ist z. B. ein Satz.", "Das ist der zweite."]),
        ("Siehe Nr. 5 bzw. Abb. 3 usw. Danach weiter.", ["Siehe Nr. 5 bzw. Abb. 3 usw.", "Danach weiter."]),
        (
            "Am 3. Oktober 2024 war es so. Im 2. Schritt nicht.",
            ["Am 3. Oktober 2024 war es so.", "Im 2. Schritt nicht."],
        ),
        ("It works, e.g. with TLS 1.3. See No. 5.", ["It works, e.g. with TLS 1.3.", "See No. 5."]),
        ("Edit main.cf. Then reload.", ["Edit main.cf.", "Then reload."]),
        ("Use Postfix vs. Exim. Is it up? Yes!", ["Use Postfix vs. Exim.", "Is it up?", "Yes!"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Upgrade to 2.4.1. Restart it.", ["Upgrade to 2.4.1.", "Restart it."]),
        ("The file is saved. master restarts it", ["The file is saved. master restarts it"]),
        ("# Ursache\n\nDer Port ist zu.", ["Ursache", "Der Port ist zu."]),
        ("1. Datei öffnen. Wert ändern.\n2. Neu starten.", ["Datei öffnen.", "Wert ändern.", "Neu starten."]),
        ("- eins\n- zwei", ["eins", "zwei"]),
        ("```\npostfix reload\n\npostqueue -p\n```", ["postfix reload", "postqueue -p"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert texts_of(sentences(text), text) == expected


def test_paragraphs_keep_headings_items_and_code_apart() -> None:
    text = (
        "# Titel\nErster Absatz,\nzweite Zeile.\n\n1. Schritt eins\n   geht weiter\n2. Schritt zwei\n\n"
        "```\na\n\nb\n```\n\nBefehl:\n\n    postfix reload\n    postqueue -f\n\n| x | y |\n| 1 | 2 |\nEnde."
    )
    assert texts_of(paragraphs(text), text) == [
        "# Titel",
        "Erster Absatz,\nzweite Zeile.",
        "1. Schritt eins\n   geht weiter",
        "2. Schritt zwei",
        "```\na\n\nb\n```",
        "Befehl:",
        "    postfix reload\n    postqueue -f",
        "| x | y |\n| 1 | 2 |",
        "Ende.",
    ]


@given(any_text)
def test_spans_are_ordered_whole_and_verbatim(text: str) -> None:
    end = 0
    for span in paragraphs(text):
        assert end <= span.start < span.end <= len(text)
        assert not text[end : span.start].strip()
        end = span.end
    assert not text[end:].strip()
    end = 0
    for span in sentences(text):
        assert end <= span.start < span.end <= len(text)
        assert span.of(text) == span.of(text).strip()
        end = span.end


@given(any_text)
def test_identifier_spans_are_ordered_and_verbatim(text: str) -> None:
    end = 0
    for item in identifiers(text):
        assert end <= item.start < item.end
        assert item.text == text[item.start : item.end]
        assert item.value == fold(item.value)
        end = item.end


def test_a_long_hostile_text_is_read_in_linear_time() -> None:
    text = "Fehler " * 20_000 + "a." * 20_000 + " 1" * 20_000 + "CVE-" * 5_000 + "A_" * 20_000
    assert isinstance(identifiers(text), tuple)
    assert sentences(text)
    assert terms(text)


def test_the_module_is_light() -> None:
    heavy = ("snowballstemmer", "sqlalchemy", "asyncio", "numpy")
    code = f"import sys, data.text; print(' '.join(m for m in {heavy} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
