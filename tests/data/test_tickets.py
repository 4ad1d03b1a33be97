"""Exports of four ticket systems, and the product's own form, become nodes row by row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.crud.ingest import NodeDraft
from data.inbox_gates import InboxRefusal
from data.models import NodeKind
from data.ticket_fields import FIELDS, parse_mapping
from data.ticket_rows import read_records
from data.ticket_text import as_text, html_to_text
from data.tickets import ticket_batches

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "nodes"


def read(text: str, name: str, mapping: Mapping[str, str] = {}) -> tuple[list[NodeDraft], list[tuple[int, str]]]:
    form = {"csv": "csv", "json": "json", "jsonl": "jsonl"}[name.rpartition(".")[2]]
    batches = list(ticket_batches(read_records(text, form, name), name=name, mapping=mapping, size=100))
    return [d for batch in batches for d in batch.drafts], [row for batch in batches for row in batch.failed]


GLPI_DE = """"ID";"Titel";"Status";"Letzte Aktualisierung";"Eröffnungsdatum";"Priorität";"Anforderer - Anforderer";"Kategorie";"Beschreibung";"Lösung - Lösung";
"12 345";"Drucker im 2. OG druckt nicht";"Gelöst";"2024-03-04 10:20";"2024-03-01 08:00";"Mittel";"Meier";"Hardware > Drucker";"&lt;p&gt;Seit heute früh geht &lt;b&gt;nichts&lt;/b&gt; mehr.&lt;/p&gt;&lt;p&gt;Fehler 0x0000011b&lt;/p&gt;";"<p>Treiber neu installiert</p>";
"12 346";"Kennwort abgelaufen";"Neu";"2024-03-04 10:21";"2024-03-02 08:00";"Hoch";"Schulz";"Konto";"Anmeldung nicht möglich, bitte
zurücksetzen.";"";
"""  # noqa: E501


def test_glpi_in_german() -> None:
    drafts, failed = read(GLPI_DE, "glpi.csv")
    assert failed == []
    first, second = drafts
    assert first.kind is NodeKind.TICKET
    assert first.source_uri == "ticket:glpi:12345"
    assert first.label == "Drucker im 2. OG druckt nicht"
    assert first.body == "Seit heute früh geht nichts mehr.\n\nFehler 0x0000011b\n\nTreiber neu installiert"
    assert first.category == "Hardware > Drucker"
    assert first.language == "de"
    assert first.meta["created"] == "2024-03-01 08:00"
    assert first.meta["Priorität"] == "Mittel"
    assert "Titel" not in first.meta
    assert second.body == "Anmeldung nicht möglich, bitte\nzurücksetzen."


def test_glpi_rest_in_json() -> None:
    row = {
        "id": 77,
        "name": "VPN drops every hour",
        "content": "&#60;div&#62;&#60;p&#62;The tunnel is closed after an hour.&#60;/p&#62;&#60;/div&#62;",
        "date": "2024-01-02 03:04:05",
        "date_mod": "2024-01-03 03:04:05",
        "itilcategories_id": 12,
    }
    (draft,), _ = read(json.dumps([row]), "tickets.json")
    assert (draft.source_uri, draft.label) == ("ticket:glpi:77", "VPN drops every hour")
    assert draft.body == "The tunnel is closed after an hour."
    assert draft.meta["updated"] == "2024-01-03 03:04:05"


def test_zammad_csv_and_json() -> None:
    text = "#,Title,State,Priority,Group,Customer,Created at\n"
    text += "31001,Mailbox is full,closed,2 normal,Users,a@b.example,2024-02-01\n"
    (draft,), _ = read(text, "report.csv")
    assert (draft.source_uri, draft.category) == ("ticket:zammad:31001", "Users")
    found = {
        "tickets": [9],
        "assets": {
            "Ticket": {
                "9": {
                    "id": 9,
                    "number": "31009",
                    "title": "WLAN bricht ab",
                    "state_id": 2,
                    "article_count": 2,
                    "articles": [
                        {"body": "<p>Im Lager bricht das WLAN immer wieder ab.</p>", "content_type": "text/html"},
                        {"body": "Access Point getauscht.", "content_type": "text/plain"},
                    ],
                }
            }
        },
    }
    (draft,), _ = read(json.dumps(found), "search.json")
    assert draft.source_uri == "ticket:zammad:31009"
    assert draft.body == "Im Lager bricht das WLAN immer wieder ab.\n\nAccess Point getauscht."


JIRA = """Summary,Issue key,Issue id,Issue Type,Status,Project key,Component/s,Component/s,Created,Updated,Description,Labels,Labels
"Login fails with AADSTS50076, MFA required",IT-101,10101,Bug,Done,IT,Identity,Entra,01/Mar/24 8:00 AM,02/Mar/24 9:00 AM,"h2. Steps
# open the portal
{code:bash}
az login
{code}
It says ""denied"".",mfa,azure
,IT-102,10102,Bug,Open,IT,,,01/Mar/24 8:00 AM,02/Mar/24 9:00 AM,no summary here,,
"""  # noqa: E501


def test_jira_csv_with_repeated_columns() -> None:
    (draft,), failed = read(JIRA, "jira.csv")
    assert draft.source_uri == "ticket:jira:IT-101"
    assert draft.label == "Login fails with AADSTS50076, MFA required"
    assert draft.body == '## Steps\n# open the portal\n\n```\naz login\n```\n\nIt says "denied".'
    assert draft.category == "Identity Entra"
    assert draft.meta["Labels"] == "mfa azure"
    assert draft.meta["Issue Type"] == "Bug"
    assert failed == [(2, "has no label")]


def test_jira_in_german_and_as_rest_json() -> None:
    text = "Zusammenfassung;Vorgangsschlüssel;Vorgangstyp;Beschreibung;Erstellt\n"
    text += "Druckwarteschlange hängt;IT-7;Störung;Dienst neu gestartet;01.03.24\n"
    (draft,), _ = read(text, "jira.csv")
    assert (draft.source_uri, draft.body, draft.meta["created"]) == (
        "ticket:jira:IT-7",
        "Dienst neu gestartet",
        "01.03.24",
    )
    document = {
        "type": "doc",
        "version": 1,
        "content": [
            {"type": "paragraph", "content": [{"type": "text", "text": "The disk is full."}]},
            {
                "type": "bulletList",
                "content": [
                    {"type": "listItem", "content": [{"type": "paragraph", "content": [{"type": "text", "text": t}]}]}
                    for t in ("clean", "grow")
                ],
            },
            {"type": "codeBlock", "content": [{"type": "text", "text": "df -h"}]},
        ],
    }
    issue = {
        "id": "1",
        "key": "OPS-1",
        "fields": {
            "summary": "Disk full on srv-1",
            "description": document,
            "issuetype": {"name": "Incident"},
            "components": [{"name": "Storage"}],
            "created": "2024-03-01T08:00:00.000+0000",
        },
    }
    (draft,), _ = read(json.dumps({"startAt": 0, "total": 1, "issues": [issue]}), "search.json")
    assert (draft.source_uri, draft.category) == ("ticket:jira:OPS-1", "Storage")
    assert draft.body == "The disk is full.\n\n- clean\n- grow\n\n```\ndf -h\n```"
    assert draft.meta["issuetype"] == "Incident"


def test_servicenow() -> None:
    text = (
        '"number","short_description","description","category","sys_created_on","close_notes"\r\n'
        '"INC0010001","Outlook asks for password","Prompt comes back, error 0x80070005","software",'
        '"2024-01-01 10:00:00","Cleared credential manager"\r\n'
    )
    (draft,), _ = read(text, "incident.csv")
    assert draft.source_uri == "ticket:servicenow:INC0010001"
    assert draft.body == "Prompt comes back, error 0x80070005\n\nCleared credential manager"
    german = "Nummer;Kurzbeschreibung;Beschreibung;Kategorie;Lösungsnotizen\n"
    german += "INC2;Netzlaufwerk fehlt;Laufwerk H: ist weg;Netz;Skript korrigiert\n"
    (draft,), _ = read(german, "incident.csv")
    assert (draft.source_uri, draft.category) == ("ticket:servicenow:INC2", "Netz")
    assert draft.body == "Laufwerk H: ist weg\n\nSkript korrigiert"
    row = {
        "number": {"display_value": "INC3", "value": "INC3"},
        "short_description": {"display_value": "A", "value": "A"},
    }
    (draft,), _ = read(json.dumps({"result": [row]}), "table.json")
    assert (draft.source_uri, draft.label) == ("ticket:servicenow:INC3", "A")


def test_our_own_form() -> None:
    lines = [
        {
            "key": "k1",
            "kind": "note",
            "label": "A note",
            "body": "Text",
            "language": "en",
            "category": "c",
            "meta": {"x": 1},
        },
        {"key": "k2", "kind": "riddle", "label": "No such kind"},
        {"key": "k3", "kind": "ticket", "label": " ?! "},
        {"key": "k4", "kind": "evidence", "label": "Must not come from outside"},
        {"key": "k5", "kind": "product", "label": "Postfix", "meta": {"source": "cmdb"}},
    ]
    text = "\n".join(json.dumps(line) for line in lines) + "\nnot json\n\n[1]\n"
    drafts, failed = read(text, "My Nodes.jsonl")
    assert [d.source_uri for d in drafts] == ["my-nodes:k1", "cmdb:k5"]
    assert drafts[0] == NodeDraft(NodeKind.NOTE, "A note", "Text", "en", "my-nodes:k1", "c", {"x": 1})
    assert [number for number, _ in failed] == [2, 3, 4, 6, 8]
    assert "riddle" in failed[0][1]
    assert failed[1][1] == "has no label"
    assert "is no JSON" in failed[3][1]


def test_the_sample_is_read_whole() -> None:
    for path in sorted(SAMPLE.glob("*.jsonl")):
        text = path.read_text(encoding="utf-8")
        drafts, failed = read(text, path.name)
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        assert failed == []
        assert [(d.label, d.kind.value, d.source_uri) for d in drafts] == [
            (row["label"], row["kind"], f"{path.stem}:{row['key']}") for row in rows
        ]


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    rows = [["Nr", "Betreff", "Text"], ["1", "Größe, Form; Farbe|x", 'sagt "nein",\nund mehr; viel']]
    text = "\r\n".join(delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    (draft,), _ = read(text, "x.csv")
    assert draft.label == "Größe, Form; Farbe|x"
    assert draft.body == 'sagt "nein",\nund mehr; viel'


def test_a_row_with_too_many_values_fails_alone() -> None:
    drafts, failed = read("id;titel\n1;a\n2;b;c\n3;d\n\n4;e;;\n", "x.csv")
    assert [d.label for d in drafts] == ["a", "d", "e"]
    assert failed == [(2, "has 3 values under 2 columns")]


def test_excels_hint_names_the_delimiter() -> None:
    (draft,), _ = read("sep=|\nid|title\n1|a,b,c;d;e\n", "x.csv")
    assert draft.label == "a,b,c;d;e"


def test_an_explicit_mapping_wins() -> None:
    text = "A;B;Titel;Geheim\n9;Die Überschrift;kein Titel;privat\n"
    mapping = parse_mapping("B=label, A=key ,Titel=body,Geheim=ignore")
    (draft,), _ = read(text, "x.csv", mapping)
    assert (draft.label, draft.body, draft.source_uri) == ("Die Überschrift", "kein Titel", "ticket:x:9")
    assert draft.meta == {}


def test_several_columns_can_be_the_body() -> None:
    (draft,), _ = read("t,x,y\nLabel,one,two\n", "x.csv", {"t": "label", "x": "body", "y": "body"})
    assert draft.body == "one\n\ntwo"


def test_without_a_key_the_content_is_the_key() -> None:
    text = "Betreff;Text\nGleich;eins\nGleich;zwei\n"
    one, two = read(text, "x.csv")[0]
    assert one.source_uri != two.source_uri
    assert [d.source_uri for d in read(text, "x.csv")[0]] == [one.source_uri, two.source_uri]


def test_no_column_that_is_a_label_is_said_for_each_row() -> None:
    drafts, failed = read("foo,bar\n1,2\n", "x.csv")
    assert drafts == []
    assert "--map" in failed[0][1]


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("just some words\nand more words", "x.csv", "no_rows"),
        ("{broken", "x.json", "malformed"),
        ("[" * 100_000, "x.json", "malformed"),
        ("[1, 2]", "x.json", "no_rows"),
        ('"text"', "x.json", "no_rows"),
    ],
)
def test_what_holds_no_rows_is_refused(text: str, name: str, reason: str) -> None:
    with pytest.raises(InboxRefusal) as caught:
        read(text, name)
    assert caught.value.reason == reason
    assert name in caught.value.message


def test_mapping_texts() -> None:
    assert parse_mapping("Betreff=label,Beschreibung=body") == {"Betreff": "label", "Beschreibung": "body"}
    assert parse_mapping("a=b=label") == {"a=b": "label"}
    assert parse_mapping("") == {}
    with pytest.raises(ValueError, match=r"'titel' is no field .*label"):
        parse_mapping("Betreff=titel")
    for wrong in ("Betreff", "=label", "a=label,a=body"):
        with pytest.raises(ValueError, match=r";"):
            parse_mapping(wrong)


def test_meta_is_bounded() -> None:
    row = {"id": 1, "title": "T", **{f"field {number}": "x" * 5_000 for number in range(200)}}
    (draft,), _ = read(json.dumps([row]), "x.json")
    assert len(draft.meta) <= 40
    assert all(len(value) <= 300 for value in draft.meta.values())


def test_markup_becomes_text() -> None:
    markup = (
        "<style>p{}</style><p>Eins&nbsp;<b>zwei</b></p><script>alert(1)</script><ol><li>a</li><li><p>b</p></li></ol>"
        "<ul><li>c</li></ul><pre>x  y\n z</pre><table><tr><td>1</td><td>2</td></tr></table>drei<br>vier"
    )
    assert html_to_text(markup) == "Eins zwei\n\n1. a\n2. b\n\n- c\n\n```\nx  y\nz\n```\n\n1 | 2\n\ndrei\nvier"
    assert as_text("a < b && c > d") == "a < b && c > d"
    assert as_text("Fehler &amp; Ursache") == "Fehler & Ursache"
    assert as_text("Text\u202e\u200b\x07!") == "Text!"


SCALAR = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
ANY_JSON = st.recursive(SCALAR, lambda c: st.lists(c) | st.dictionaries(st.text(max_size=8), c), max_leaves=12)


@settings(max_examples=30)
@given(ANY_JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    try:
        drafts, _failed = read(json.dumps(value), "x.json")
    except InboxRefusal:
        return
    assert all(d.label and len(d.source_uri) < 300 for d in drafts)


@settings(max_examples=50)
@given(st.text(max_size=300))
def test_any_csv_is_read_or_refused(text: str) -> None:
    try:
        read(text, "x.csv")
    except InboxRefusal as refusal:
        assert refusal.reason == "no_rows"


def test_fields_are_named_in_the_message() -> None:
    with pytest.raises(ValueError) as caught:
        parse_mapping("x=nope")
    assert all(field in str(caught.value) for field in FIELDS)
