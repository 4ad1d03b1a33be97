"""Evidence for the tests: texts in the form of data/extract.py, written for them, with rows as gather records them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from data.evidence import EvidenceText
from data.models import Evidence, SourceClass
from data.text import detect_language

FOLDER = Path(__file__).parent / "evidence"
FETCHED = datetime(2026, 1, 14, 9, 30, tzinfo=UTC)

PUBLISHERS: dict[str, tuple[str, SourceClass]] = {
    "vpn809-vendor": ("Contoso Networks", SourceClass.VENDOR),
    "vpn809-wiki": ("VPN Wiki", SourceClass.COMMUNITY),
    "vpn809-forum": ("Admin Forum", SourceClass.FORUM),
    "kerberos-reference": ("Kerberos Documentation", SourceClass.REFERENCE),
    "kerberos-handbook": ("Enterprise Handbook", SourceClass.REFERENCE),
    "nginx-zertifikat-handbuch": ("Server-Handbuch", SourceClass.REFERENCE),
    "nginx-zertifikat-wiki": ("Linux-Wiki", SourceClass.COMMUNITY),
    "postfix-warteschlange-referenz": ("Mail-Referenz", SourceClass.REFERENCE),
    "postfix-warteschlange-betrieb": ("Mailbetrieb", SourceClass.COMMUNITY),
    "sicherung-vergleich": ("Sicherungs-Leitfaden", SourceClass.REFERENCE),
    "sicherung-erfahrung": ("Rechenzentrum Nord", SourceClass.BLOG),
}


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def make(
    text: str,
    *,
    number: int = 1,
    title: str = "A page",
    publisher: str = "A publisher",
    source_class: SourceClass = SourceClass.REFERENCE,
    language: str | None = None,
    accepted: bool = True,
    url: str = "",
    owner: str = "task:t_00000000000000000000000001",
) -> EvidenceText:
    """Return an evidence with its text; ids look like the store's."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    address = url or f"https://docs.example.org/{number}"
    record = Evidence(
        id=f"v_{number:026d}",
        url=address,
        final_url=address,
        title=title,
        publisher=publisher,
        language=language or detect_language(text),
        published_at=None,
        fetched_at=FETCHED,
        sha256=digest,
        path=f"evidence/{digest[:2]}/{digest}.txt.zst",
        chars=len(text),
        accepted=accepted,
        reject_reason=None if accepted else "low_quality",
        relevance=0.8,
        source_quality=source_class,
        source_quality_score=0.7,
        assessment_reason="",
        owner=owner,
    )
    return EvidenceText(record, text)


def evidence(*names: str) -> tuple[EvidenceText, ...]:
    """Return the named texts as accepted evidence, numbered in the order given."""
    found = []
    for number, name in enumerate(names, 1):
        publisher, source_class = PUBLISHERS[name]
        text = text_of(name)
        title = text.splitlines()[0].lstrip("# ")
        found.append(
            make(
                text,
                number=number,
                title=title,
                publisher=publisher,
                source_class=source_class,
                url=f"https://{publisher.lower().replace(' ', '-')}.example.org/{name}",
            )
        )
    return tuple(found)


VPN = ("vpn809-vendor", "vpn809-wiki", "vpn809-forum")
KERBEROS = ("kerberos-reference", "kerberos-handbook")
NGINX = ("nginx-zertifikat-handbuch", "nginx-zertifikat-wiki")
POSTFIX = ("postfix-warteschlange-referenz", "postfix-warteschlange-betrieb")
BACKUP = ("sicherung-vergleich", "sicherung-erfahrung")

TOPICS: Sequence[tuple[str, str, tuple[str, ...], tuple[str, ...], str]] = (
    # topic, language, evidence, questions, type expected
    ("VPN error 809 on Windows 11", "en", VPN, ("Which ports must be open?",), "troubleshooting"),
    ("Kerberos ticket-granting ticket", "en", KERBEROS, ("How long is a TGT valid?",), "concept"),
    ("Let's-Encrypt-Zertifikat unter nginx erneuern", "de", NGINX, (), "how_to"),
    ("Parameter der Postfix-Warteschlange", "de", POSTFIX, (), "reference"),
    ("Datensicherung mit rsync oder BorgBackup", "de", BACKUP, (), "decision_guide"),
)
