"""References to people and their requests: ticket numbers, telephone numbers (spec 04, rule 4; pure).

Ticket systems write their keys as vendors write their codes. What `data.text` knows as an identifier, and the
prefixes of standards and products below, are public; any other KEY-123 in capitals is taken for a ticket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from data.text import IdentifierClass, identifiers

__all__ = ["phones", "tickets"]

Spans = Iterator[tuple[int, int]]
_I: Final = re.IGNORECASE

_TICKET_WORDS: Final = (
    "tickets?|tkt|tck|vorgang|vorgänge|incidents?|helpdesk|servicedesk|störungsmeldung|ticketid|ticketnr|ticketnummer|"
    "vorgangsnummer|fallnummer|auftragsnummer|case[ -]id"
)
_TICKET_KEYS: Final = (
    "inc|incident|req|ritm|sctask|stask|task|chg|change|chgreq|prb|problem|sr|wo|cr|cs|case|fall|im|rq|sd|hd|help|"
    "helpdesk|sup|support|ops|devops|infra|it|its|itsm|itsd|desk|proj|project|projekt|jira|issue|call|kunde|kd|aufgabe|"
    "anfrage|auftrag|meldung|stoerung|störung|service|servicedesk|request|order|rt|msp|noc|soc|glpi|otrs|zammad|znuny"
)
_PADDED_KEYS: Final = "inc|incident|req|ritm|sctask|stask|task|chg|chgreq|prb|wo|sr|im|hd|sd|rq|cs|case|cr|call|tkt|rt"
_NUMBER: Final = r"(?:[- ]?(?:nr|no|nummer|number|id)\b\.?)"
_TICKET: Final = re.compile(
    # "Ticket 4711", "Ticket-Nr. 2024-0815", "Vorgang Nr 12", "Ticket#2024011510000012", "Ticket ABC-42"
    rf"(?<!\w)(?:{_TICKET_WORDS})(?:{_NUMBER}[\s:#]{{0,3}}|[\s(\[\"']{{0,2}}[:#=/_-][\s#]{{0,2}})[\d./_-]{{0,30}}\d(?!\w)"
    rf"|(?<!\w)(?:{_TICKET_WORDS})[\s(\[\"']{{0,2}}(?:[a-z]{{1,8}}[-_]\d{{1,10}}|\d[\d/_-]{{1,30}}\d)(?!\w|[.,]\d)"
    # "SR-2024-0815", "TASK#123", "HD_00042", "Fall Nr. 12", "CHG 0012345", "INC0012345", ServiceNow's KB0012345
    rf"|(?<![a-z0-9])(?:{_TICKET_KEYS})(?:[-_#]{{1,2}}\d[\d-]{{0,30}}|\s?#\s?\d{{1,20}}|{_NUMBER}\s?\d{{1,20}})"
    rf"|(?<![a-z0-9])(?:{_PADDED_KEYS})\s?\d{{5,20}}|(?<![a-z0-9])kb0\d{{4,10}}",
    _I,
)
_NUMBERED: Final = re.compile(r"(?<![\w&#])#\d{3,20}(?!\w)|(?<=[^\n\w&#])#\s\d{3,20}(?!\w)")
_KEY: Final = re.compile(r"(?<![A-Za-z0-9])([A-Z][A-Z0-9]{1,9})-(\d{3,7})(?![\w])(?!-\d)(?!\.\d)")
_AROUND: Final = 40
_PUBLIC: Final = """
    ISO IEC EN DIN VDE RFC IEEE ANSI ITU NIST SP FIPS BSI TR BCP STD ECMA W3C CIS PCI CC EAL UTF UCS LATIN ASCII CP
    SHA MD AES DES RSA DH ECDH ECDSA ED P X RC CRC CBC GCM CTR CHACHA HMAC BASE CVE CWE CAPEC CPE GHSA VU DSA DLA USN
    RHSA MS KB ADV TA HTTP HTTPS TLS SSL SMB NFS IP TCP UDP ICMP SNMP LDAP SSH FTP POP IMAP SMTP EAP PEAP WPA USB PCIE
    DDR SATA SAS M RJ CAT DB LTO RAID HDMI DP VGA GTX RTX RX I E W G T L QOS VLAN OSI LAYER TYPE CLASS WINDOWS SERVER
    OFFICE EXCHANGE SQL WIN CU SSU R RHEL SLES UBUNTU DEBIAN HP LJ MFC DCP WF ET EP TASKALFA ECOSYS AS SAP PHP PYTHON
    JAVA JDK JRE NET NODE GPT RPO RTO COVID H MP MPEG JPEG
"""
_PUBLIC_KEYS: Final = frozenset(_PUBLIC.split())
"""Prefixes of standards, algorithms, protocols, hardware families and products; a number at their end is dropped."""


def tickets(text: str, prefixes: tuple[str, ...]) -> Spans:
    """Yield references into ticket systems; `prefixes` are keys of the house's own projects."""
    for pattern in (_TICKET, _NUMBERED):
        for match in pattern.finditer(text):
            yield match.span()
    own = {prefix.strip(" -#").upper() for prefix in prefixes}
    if own - {""}:
        keys = "|".join(re.escape(prefix) for prefix in sorted(own - {""}))
        for match in re.finditer(rf"(?<![A-Za-z0-9])(?:{keys})[-_# :]{{0,2}}\d[\d-]*", text, _I):
            yield match.span()
    for match in _KEY.finditer(text):
        if match[1].rstrip("0123456789") not in _PUBLIC_KEYS and not _is_identifier(text, *match.span()):
            yield match.span()


def _is_identifier(text: str, start: int, end: int) -> bool:
    """Tell whether `text[start:end]` belongs to a public identifier, judged by the words around it."""
    left = max(0, start - _AROUND)
    found = identifiers(text[left : end + _AROUND])
    return any(i.start <= start - left and end - left <= i.end for i in found if i.cls is not IdentifierClass.VERSION)


_PHONE_WORD: Final = (
    "tel|telefon|telefonnr|telefonnummer|fon|phone|mobil|mobile|mobilnummer|handy|handynummer|fax|telefax|durchwahl|dw|"
    "nebenstelle|apparat|rufnummer|rückrufnummer|rückruf|ext|extension|whatsapp"
)
_SEP: Final = r"[\s\-./()]{0,3}"
_PHONE: Final = re.compile(
    # +49 (0) 30 / 123 45-67, 0049…
    rf"(?:(?<![\w+])\+|(?<![\w+.])00)[1-9]\d{{0,2}}{_SEP}(?:\(0\){_SEP})?(?:\d{_SEP}){{5,12}}\d"
    rf"|(?<![\w.,/-])\(0\d{{1,4}}\){_SEP}(?:\d{_SEP}){{3,9}}\d"  # (030) 123456
    rf"|(?<![\w.,-])(?<!\d:)0[1-9]\d{{1,4}}[\s\-/]{{1,3}}(?:\d{_SEP}){{3,9}}\d(?!\w)"  # 030 123456, 0171/1234567
    r"|(?<![\w.,-])(?<!\d:)0[1-9](?:[\s./-]\d{2}){3,5}(?!\w)"  # 01 23 45 67 89
    r"|(?<![\w.,-])(?<!\d:)0[1-9]\d{6,13}(?!\w)"  # 03012345678
    r"|(?<![\w.+-])(?:1[\s.-])?\(\d{3}\)\s?\d{3}[\s.-]\d{4}(?![\w]|\.\d)"  # (555) 123-4567
    r"|(?<![\w.+-])(?:1([\s.-]))?\d{3}([.-])\d{3}\2\d{4}(?![\w]|\.\d)"  # 555-123-4567
    rf"|(?<!\w)(?:{_PHONE_WORD})\b[\s.:#=-]{{0,4}}(?:nr\b\.?\s?)?\+?\d[\d\s/()-]{{1,16}}\d(?!\w)"  # Durchwahl -4711
    r"|(?<![\w.,-])(?:\d{11,19}|[5-9]\d{9}|[01]\d{9})(?![\w]|[.,]\d)",  # a bare number too long for an error code
    _I,
)
_DATE: Final = re.compile(r"(?:0[1-9]|1[0-2]|[12]\d|3[01])[-/.](?:0[1-9]|1[0-2])[-/.](?:\d{4}|\d{2})")


def phones(text: str) -> Spans:
    """Yield telephone numbers, German and international, and bare numbers as long as one."""
    for match in _PHONE.finditer(text):
        if not _DATE.fullmatch(match[0].strip()):
            yield match.start(), match.start() + len(match[0].rstrip(" -./("))
