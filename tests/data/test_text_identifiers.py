"""Identifiers in German and English service desk text, and the numbers that are none."""

from __future__ import annotations

import pytest

from data.text import IdentifierClass as C
from data.text import identifiers


@pytest.mark.parametrize(
    ("text", "cls", "value"),
    [
        ("CVE-2024-3094 in xz", C.CVE, "cve-2024-3094"),
        ("cve‑2021‑44228", C.CVE, "cve-2021-44228"),
        ("T1059.001 PowerShell", C.TECHNIQUE, "t1059.001"),
        ("Technik T1003 (OS Credential Dumping)", C.TECHNIQUE, "t1003"),
        ("Taktik TA0006", C.TECHNIQUE, "ta0006"),
        ("KB5034441 schlägt fehl", C.KB, "kb5034441"),
        ("KB 5034441", C.KB, "kb5034441"),
        ("KB-Artikel 5034441", C.KB, "kb5034441"),
        ("RFC 8446", C.RFC, "rfc 8446"),
        ("nach RFC7231", C.RFC, "rfc 7231"),
        ("ORA-12154: TNS could not resolve", C.VENDOR_CODE, "ora-12154"),
        ("DPF-01009", C.VENDOR_CODE, "dpf-01009"),
        ("AADSTS50076: MFA erforderlich", C.VENDOR_CODE, "aadsts50076"),
        ("error MSB3073", C.VENDOR_CODE, "msb3073"),
        ("error[E0277]: the trait bound", C.VENDOR_CODE, "e0277"),
        ("Fehler M7111-1331-5059", C.VENDOR_CODE, "m7111-1331-5059"),
        ("Fehler 49.4C02 am Drucker", C.VENDOR_CODE, "49.4c02"),
        ("MS17-010 EternalBlue", C.VENDOR_CODE, "ms17-010"),
        ("DSA-5649-1 xz-utils", C.VENDOR_CODE, "dsa-5649-1"),
        ("Event ID 4625", C.VENDOR_CODE, "event id 4625"),
        ("Ereignis-ID 4625 im Log", C.VENDOR_CODE, "event id 4625"),
        ("EventID=4771", C.VENDOR_CODE, "event id 4771"),
        ("Ereignis 4625", C.VENDOR_CODE, "event id 4625"),
        ("SQLSTATE[42S02]", C.VENDOR_CODE, "sqlstate 42s02"),
        ("%LINK-3-UPDOWN", C.VENDOR_CODE, "%link-3-updown"),
        ("error code 0x80070005", C.SYSTEM_CODE, "0x80070005"),
        ("Fehler 0X80070005", C.SYSTEM_CODE, "0x80070005"),
        ("STOP 0x0000007B", C.SYSTEM_CODE, "0x7b"),
        ("Fehler -2147024891", C.SYSTEM_CODE, "0x80070005"),
        ("ERR_CONNECTION_REFUSED in Chrome", C.SYSTEM_CODE, "err_connection_refused"),
        ("KRB5KDC_ERR_PREAUTH_FAILED", C.SYSTEM_CODE, "krb5kdc_err_preauth_failed"),
        ("550 5.7.1 Relaying denied", C.SYSTEM_CODE, "smtp 5.7.1"),
        ("SMTP-Fehler 550", C.SYSTEM_CODE, "smtp 550"),
        ("HTTP 502", C.HTTP_STATUS, "http 502"),
        ("HTTP/1.1 404 Not Found", C.HTTP_STATUS, "http 404"),
        ("Status 502 vom Proxy", C.HTTP_STATUS, "http 502"),
        ("502 Bad Gateway", C.HTTP_STATUS, "http 502"),
        ("the HTTP status code is 501", C.HTTP_STATUS, "http 501"),
        ("Bugcheck 0x9F", C.SYSTEM_CODE, "0x9f"),
        ("HTTP 500.19", C.HTTP_STATUS, "http 500.19"),
        ("404-Fehler", C.HTTP_STATUS, "http 404"),
        ("Fehler 403 beim Aufruf", C.HTTP_STATUS, "http 403"),
        ("VPN-Fehler 809 beim Verbinden", C.ERROR_CODE, "error 809"),
        ("VPN error 809", C.ERROR_CODE, "error 809"),
        ("Fehlercode: 1603", C.ERROR_CODE, "error 1603"),
        ("Fehler Nr. 1219", C.ERROR_CODE, "error 1219"),
        ("exit code 1603", C.ERROR_CODE, "error 1603"),
        ("der 809er-Fehler", C.ERROR_CODE, "error 809"),
        ("Code 43 im Gerätemanager", C.ERROR_CODE, "error 43"),
        ("Error 1045 (28000): Access denied", C.ERROR_CODE, "error 1045"),
        ("postfix 3.7.2", C.VERSION, "postfix 3.7.2"),
        ("Postfix Version 3.7.2", C.VERSION, "postfix 3.7.2"),
        ("Windows 11 23H2", C.VERSION, "windows 11 23h2"),
        ("Windows 11, Version 22H2", C.VERSION, "windows 11 22h2"),
        ("Win10", C.VERSION, "windows 10"),
        ("Windows Server 2012 R2", C.VERSION, "windows server 2012 r2"),
        ("Exchange 2019 CU14", C.VERSION, "exchange 2019 cu14"),
        ("Microsoft Exchange Server 2019 CU 14", C.VERSION, "exchange 2019 cu14"),
        ("Debian 12", C.VERSION, "debian 12"),
        ("Ubuntu 22.04 LTS", C.VERSION, "ubuntu 22.04 lts"),
        ("OpenSSH_8.9p1", C.VERSION, "openssh 8.9p1"),
        ("TLS 1.2", C.VERSION, "tls 1.2"),
        ("SMBv1", C.VERSION, "smb 1"),
        ("curl 7.81.0", C.VERSION, "curl 7.81.0"),
        ("nginx/1.18.0", C.VERSION, "nginx 1.18.0"),
        ("v2.4.1", C.VERSION, "v2.4.1"),
        ("Version 2.4.1", C.VERSION, "v2.4.1"),
    ],
)
def test_one_identifier(text: str, cls: C, value: str) -> None:
    assert [(item.cls, item.value) for item in identifiers(text)] == [(cls, value)]


@pytest.mark.parametrize(
    "text",
    [
        "am 12.03.2024 um 10:15 Uhr",
        "2024-03-12T10:15:00",
        "Fehler: 12.03.2024",
        "Fehler 12/03/2024",
        "Error 10:15",
        "Tel. 030 1234567, +49 (0)30 123456, Durchwahl 809",
        "INC0012345, REQ123456, #4711, Ticket 4711, CHG-10234",
        "Ticket OPS-12345 und HELP-01234",
        "20 MB groß, 500 GB, 1024 KB, KB 1024",
        "Kapitel 3.2.1 und Abschnitt 4.5, section 3.2.1, Abb. 3.1.2",
        "192.168.10.20 und Server 10.0.0.1",
        "PC12345 und SRV0012",
        "Fehler 5 mal aufgetreten, Fehler 3 Minuten später",
        "500 Fehler im Log",
        "Seite 404 von 500",
        "Outlook 3 mal gestartet, Exchange 5 Postfächer",
        "PIN-Code 1234; zip code 80331; Postcode 12345",
        "ISO 27001, DIN EN 50600",
        "FAILED, DENIED, ACCESS DENIED, INVALID",
        "Fehler 90 %, Fehler 20 MB",
        "T2000 und T10 Wallbox",
        "KB0012345",
        "Raum 2.14, 3.5 kg, 1.000 Euro",
        "HTTP 8080 und HTTPS 443 MB",
        "HTTP (80) und sicheres HTTP (443)",
        "RC4, DES, /etc/rc2.d und /etc/init.d/rc 2",
        "discard(8) and error(8) delivery agents",
        "code=exited, status=255/n/a",
        "available for versions 2.4.4 and later",
        "ein Byte 0x04 und 0x00",
        "REDIRECT_STATUS und REQUEST_STATUS",
    ],
)
def test_numbers_that_are_no_identifier(text: str) -> None:
    assert [(item.cls, item.value) for item in identifiers(text)] == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Fehler 800/809 und 691", ["error 800", "error 809", "error 691"]),
        ("Event IDs 4624 und 4625", ["event id 4624", "event id 4625"]),
        ("HTTP 502/504", ["http 502", "http 504"]),
        ("CVE-2024-3094, CVE-2021-44228", ["cve-2024-3094", "cve-2021-44228"]),
        ("Windows Server 2019 mit Exchange 2016", ["windows server 2019", "exchange 2016"]),
        ("KB5034441 auf Windows 10 22H2: 0x80070643", ["kb5034441", "windows 10 22h2", "0x80070643"]),
    ],
)
def test_several_in_order(text: str, values: list[str]) -> None:
    assert [item.value for item in identifiers(text)] == values


@pytest.mark.parametrize(
    ("text", "pins"),
    [
        ("CVE-2024-3094", True),
        ("T1003", True),
        ("KB5034441", True),
        ("ORA-12154", True),
        ("RFC 8446", True),
        ("HTTP 502", False),
        ("0x80070005", False),
        ("Fehler 1603", False),
        ("Windows 11", False),
    ],
)
def test_what_pins_a_subject_down(text: str, pins: bool) -> None:
    (item,) = identifiers(text)
    assert item.pins is pins


def test_a_version_knows_its_product() -> None:
    (item,) = identifiers("Windows 11 23H2")
    assert (item.product, item.version) == ("windows", "11 23h2")
    (plain,) = identifiers("v2.4.1")
    assert (plain.product, plain.version) == ("", "2.4.1")
    (code,) = identifiers("Fehler 809")
    assert (code.product, code.version) == ("", "")
