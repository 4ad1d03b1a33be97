"""Exports of four ticket systems, in two languages, and what an operator maps by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.admission import InboxRefusal
from data.models import NodeKind
from data.records import read_records
from data.tickets import ColumnMap, parse_map, ticket_drafts

GLPI = (
    "ID;Titel;Entität;Status;Eröffnungsdatum;Priorität;Anforderer - Anforderer;Kategorie;Beschreibung;Lösung\n"
    "4711;VPN-Verbindung bricht ab;Zentrale;Gelöst;2024-03-11 09:00;Hoch;Muster Erika;Netzwerk > VPN;"
    '"&lt;p&gt;Seit dem Update&lt;br&gt;bricht die Verbindung ab.&lt;/p&gt;";'
    '"&lt;ul&gt;&lt;li&gt;Treiber erneuert&lt;/li&gt;&lt;/ul&gt;"\n'
    "4712;Drucker druckt nicht;Zentrale;Neu;2024-03-11 09:00;Mittel;Muster Max;Drucker;Papierstau;\n"
)
JIRA_CSV = """Summary,Issue key,Issue Type,Status,Priority,Description,Component/s,Comment,Comment
Login fails with AADSTS50076,OPS-12,Bug,Done,High,"Users see AADSTS50076,
then a second prompt.",Identity,First comment,Second comment
"""
SERVICENOW = {
    "records": [
        {
            "number": "INC0012345",
            "short_description": "Outlook startet nicht",
            "description": "Nach dem Update öffnet sich Outlook nicht mehr.",
            "close_notes": "Profil neu angelegt.",
            "state": {"display_value": "Closed", "value": "7"},
            "category": "software",
            "caller_id": {"display_value": "Erika Muster"},
        }
    ]
}
ZAMMAD = [
    {
        "id": 3,
        "number": "62003",
        "title": "Printer offline",
        "group": "Users",
        "state": "open",
        "articles": [{"body": "<p>The printer is offline.</p>"}, {"body": "I <b>restarted</b> it."}],
    }
]
JIRA = {
    "issues": [
        {
            "key": "NET-7",
            "fields": {
                "summary": "VPN error 809",
                "issuetype": {"name": "Bug"},
                "status": {"name": "Open"},
                "components": [{"name": "VPN"}, {"name": "Router"}],
                "description": {"content": [{"content": [{"text": "UDP 500 is blocked by the router."}]}]},
            },
        }
    ]
}


def test_glpi_in_german() -> None:
    drafts, failures = ticket_drafts(read_records("g.csv", ".csv", GLPI)[0], file="g.csv")
    assert failures == []
    first, second = drafts
    assert first.kind is NodeKind.TICKET
    assert first.label == "VPN-Verbindung bricht ab"
    assert first.body == "Seit dem Update\nbricht die Verbindung ab.\n\n## Lösung\n\n- Treiber erneuert"
    assert first.source_uri == "glpi:4711"
    assert first.category == "Netzwerk > VPN"
    assert first.language == "de"
    assert first.meta == {
        "status": "Gelöst",
        "priority": "Hoch",
        "created": "2024-03-11 09:00",
        "row": 1,
        "file": "g.csv",
        "key": "4711",
    }
    assert second.body == "Papierstau"
    assert "Muster" not in repr(drafts)


def test_jira_as_csv_with_several_comments() -> None:
    (draft,), failures = ticket_drafts(read_records("j.csv", ".csv", JIRA_CSV)[0])
    assert failures == []
    assert draft.label == "Login fails with AADSTS50076"
    assert draft.source_uri == "jira:OPS-12"
    assert draft.body == (
        "Users see AADSTS50076,\nthen a second prompt.\n\n## Solution\n\nFirst comment\n\nSecond comment"
    )


@pytest.mark.parametrize(
    ("export", "label", "uri", "body"),
    [
        (
            SERVICENOW,
            "Outlook startet nicht",
            "servicenow:INC0012345",
            "Nach dem Update öffnet sich Outlook nicht mehr.\n\n## Lösung\n\nProfil neu angelegt.",
        ),
        (ZAMMAD, "Printer offline", "zammad:62003", "The printer is offline.\n\nI restarted it."),
        (JIRA, "VPN error 809", "jira:NET-7", "UDP 500 is blocked by the router."),
    ],
)
def test_exports_as_json(export: object, label: str, uri: str, body: str) -> None:
    (draft,), failures = ticket_drafts(read_records("x.json", ".json", json.dumps(export))[0])
    assert failures == []
    assert (draft.label, draft.source_uri, draft.body) == (label, uri, body)
    assert "Muster" not in repr(draft)


def test_a_map_goes_before_the_guesses() -> None:
    text = "Nr;Was;Wie;Titel\n1;Router tot;Netzteil defekt;egal\n"
    mapping = parse_map("Was=label, Wie=body,Nr=key")
    (draft,), _ = ticket_drafts(read_records("x.csv", ".csv", text)[0], mapping)
    assert (draft.label, draft.body, draft.source_uri) == ("Router tot", "Netzteil defekt", "ticket:1")


def test_the_origin_names_the_rows() -> None:
    records = read_records("x.jsonl", ".jsonl", '{"key": "vpn", "label": "VPN"}')[0]
    (draft,), _ = ticket_drafts(records, ColumnMap(origin="sample"))
    assert draft.source_uri == "sample:vpn"


@pytest.mark.parametrize("text", ["title", "title=nonsense", "=label", "a=label,b"])
def test_a_wrong_map_says_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="column=field with one of label"):
        parse_map(text)


def test_rows_without_number_are_told_apart_by_what_they_say() -> None:
    text = "title,body\nDrucker,eins\nDrucker,zwei\nDrucker,eins\n"
    drafts, failures = ticket_drafts(read_records("x.csv", ".csv", text)[0])
    assert len({draft.source_uri for draft in drafts}) == 2
    assert [(failure.row, failure.reason) for failure in failures] == [(3, "repeats row 1")]


@pytest.mark.parametrize(
    ("text", "row", "reason"),
    [
        ("id,title\n1,\n", 1, "has no title"),
        ("id,other\n1,x\n", 1, "has no column that could be a title"),
        ("id,title\n1,???\n", 1, "has a title without a letter: '???'"),
        ("id,title,kind\n1,x,animal\n", 1, "has the unknown kind 'animal'"),
    ],
)
def test_rows_say_why_they_fail(text: str, row: int, reason: str) -> None:
    records, _ = read_records("x.csv", ".csv", text)
    drafts, failures = ticket_drafts(records)
    assert drafts == []
    assert [(failure.row, failure.reason) for failure in failures] == [(row, reason)]


def test_a_row_with_too_many_columns_is_named() -> None:
    records, failures = read_records("x.csv", ".csv", "a,b\n1,2\n1,2,3\n4,5\n")
    assert [record.row for record in records] == [1, 3]
    assert [(failure.row, failure.reason) for failure in failures] == [(2, "has 3 columns, the header has 2")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    text = delimiter.join(["id", "title", "text"]) + "\n" + delimiter.join(["1", "VPN", '"a, b; c"']) + "\n"
    (record,), _ = read_records("x.csv", ".csv", text)
    assert record.fields == {"id": "1", "title": "VPN", "text": "a, b; c"}


@given(st.text(max_size=200), st.sampled_from([".csv", ".json", ".jsonl"]))
def test_any_text_is_read_or_refused(text: str, suffix: str) -> None:
    try:
        records, failures = read_records("x", suffix, text)
    except InboxRefusal:
        return
    drafts, more = ticket_drafts(records)
    assert len(drafts) + len(more) == len(records)
    assert all(failure.reason for failure in failures)
