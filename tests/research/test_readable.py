"""Judgement 1: what addresses its visitor is no article; what tells about logins, cookies and errors is one."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research.phrases import CONSENT, ERROR, LOGIN, RESULTS, Phrases
from research.readable import judge_readable

CONSENT_EN = """
# We value your privacy

We and our 842 partners store and/or access information on a device, such as unique identifiers in cookies.

You may accept or manage your choices by clicking below, including your right to object
where legitimate interest is used.

Your choices will be signalled to our partners and will not affect browsing data.
You can withdraw your consent at any time.

Personalised advertising and content, advertising and content measurement, audience research and services development.

Accept all

Reject all

More options

By continuing to use this website you agree to the use of the VPN error 809 pages described in our cookie policy.
"""

CONSENT_DE = """
# Ihre Privatsphäre ist uns wichtig

Wir und unsere 214 Partner speichern Informationen auf Ihrem Gerät und greifen darauf zu, etwa auf Kennungen in Cookies.

Mit Ihrer Zustimmung verarbeiten wir und unsere Werbepartner Daten für personalisierte Anzeigen und Inhalte.

Sie können Ihre Einwilligung jederzeit widerrufen. Einige Partner verarbeiten Daten aufgrund berechtigten Interesses.

Alle akzeptieren

Nur notwendige Cookies akzeptieren

Einstellungen

Oder lesen Sie unsere Seiten zu Fehler 809 und L2TP werbefrei mit dem Pur-Abo für 2,99 Euro im Monat.
"""

LOGIN_EN = """
# Partner Portal

Please sign in to continue. This article is available only to registered partners with an active contract.

Username

Password

Remember me

Forgot your password?

Don't have an account? Register now to read all knowledge base articles about VPN error 809 and L2TP behind NAT.

You must sign in with your partner account. Unauthorized use of this system is prohibited and all access is recorded.

Enter your user name and password, then choose Sign in. If you have trouble, call the partner desk on weekdays.
"""

LOGIN_DE = """
# Kundenportal

Bitte melden Sie sich an, um diesen Beitrag zu lesen. Der Beitrag zu VPN-Fehler 809 ist nur für
registrierte Kunden sichtbar.

Benutzername

Kennwort

Angemeldet bleiben

Passwort vergessen?

Noch kein Kundenkonto? Jetzt registrieren

Sie müssen sich zuerst anmelden. Geben Sie Ihren Benutzernamen und Ihr Kennwort ein, die Sie mit dem
Vertrag erhalten haben.

Ihre Sitzung ist abgelaufen oder wurde von einem Administrator beendet, weil zehn Minuten lang nichts geschah.
"""

ERROR_EN = """
# 404 Not Found

The page you are looking for could not be found. It may have been moved, renamed or deleted.

Please check the URL for typing errors, or go back to the homepage and try the search. If you think this is a mistake,
contact the site administrator and tell him which link you followed to get here.

The requested URL /kb/vpn-error-809-l2tp-nat was not found on this server. Additionally, a 404 Not Found error was
encountered while trying to use an ErrorDocument to handle the request.
"""

ERROR_DE = """
# Seite nicht gefunden

Die angeforderte Seite existiert nicht mehr. Sie wurde gelöscht, verschoben oder umbenannt.

Prüfen Sie bitte die Adresse auf Tippfehler, oder gehen Sie zurück zur Startseite und nutzen Sie dort die Suche.
Wenn Sie über einen Link auf einer unserer Seiten hierher gekommen sind, geben Sie uns bitte einen Hinweis.

Wir bitten um Entschuldigung für die Unannehmlichkeiten. Versuchen Sie es später noch einmal.
"""

RESULTS_EN = """
# Search results for: vpn error 809

Showing 1-10 of 4,812 results. Did you mean: vpn error 800?

Sort by: relevance

VPN Error 809 Explained - The network connection between your computer and the VPN server could not be established ...

L2TP behind NAT: set the AssumeUDPEncapsulationContextOnSendRule value under the PolicyAgent key and restart the ...

Windows 11 VPN problems after the January update, a list of known issues with workarounds for error 809 and ...

Registry keys for IPsec clients, with the meaning of the values 0, 1 and 2 for servers that are behind a NAT ...

Page 1 of 482
"""

LINKS_DE = "# Linksammlung VPN\n\n" + "\n".join(
    f"- {name}"
    for name in (
        "VPN Fehler 809 L2TP beheben",
        "AssumeUDPEncapsulation setzen",
        "VPN unter Windows 11",
        "IPsec Grundlagen",
        "NAT-Traversal kurz",
        "Fehler 691 und Fehler 809",
        "L2TP Router-Liste",
        "IKEv2 einrichten",
        "WireGuard im Vergleich",
        "OpenVPN Installer",
        "RAS-Dienst Übersicht",
        "Ereignisanzeige lesen",
        "Firewall-Regeln UDP 4500",
        "VPN für Einsteiger",
        "Always On VPN",
        "Split Tunneling",
        "DNS im Tunnel",
        "MTU bestimmen",
        "Zertifikate verteilen",
        "Kennwörter ändern",
    )
)

ABOUT_COOKIES_EN = """
# How session cookies work in a single sign-on portal

A session cookie is set by the server after the user has signed in. The browser sends it back with every request, so
that the server recognises the session. It carries no expiry date and disappears when the browser is closed.

The attribute SameSite decides whether a cookie is sent with requests from other sites. With the value None the cookie
must also carry the attribute Secure, or browsers drop it. A login that redirects through an identity provider breaks
when the state cookie is missing on the way back.

A consent banner stores its decision in a cookie too. If that cookie is cleared at every start, the banner comes again.

Check in the developer tools whether the cookie arrives, and compare its domain with that of the application.
"""

ABOUT_LOGIN_DE = """
# Anmeldung am Portal schlägt nach Kennwortwechsel fehl

Nach einem Kennwortwechsel meldet das Portal, dass Benutzername oder Kennwort falsch sind. Ursache ist ein Kennwort,
das der Browser gespeichert hat und ungefragt einträgt.

Löschen Sie das gespeicherte Kennwort in den Einstellungen des Browsers. Danach fragt die Anmeldeseite wieder nach dem
Benutzernamen und dem Kennwort.

Ist das Konto gesperrt, hilft die Seite „Passwort vergessen?“ nicht weiter: die Sperre hebt nur der Service Desk auf.
Im Ereignisprotokoll des Domänencontrollers steht dann Ereignis 4740 mit dem Namen des Rechners, von dem die
fehlerhaften Anmeldungen kamen.
"""

ABOUT_404_EN = """
# Fixing 404 Not Found errors behind an nginx reverse proxy

A proxy answers with status 404 when the location block does not match the request. The trailing slash of proxy_pass
decides whether the matched part is cut from the path that the backend sees.

With proxy_pass http://backend/; the prefix is replaced by a slash. Without the slash the whole path is passed on, and
a backend that knows nothing of the prefix says that the page does not exist.

Look at the access log of the backend, not of the proxy: it shows the path that arrived there.
"""

ADDRESSING = [
    ("consent wall, English", CONSENT_EN, "We value your privacy", {}, "a consent wall"),
    ("consent wall, German", CONSENT_DE, "Zustimmung", {}, "a consent wall"),
    ("login, English", LOGIN_EN, "Partner Portal", {"has_password_field": True}, "a login page"),
    ("login, German", LOGIN_DE, "Kundenportal", {"has_password_field": True}, "a login page"),
    ("login without a form that was seen", LOGIN_DE, "Kundenportal", {}, "a login page"),
    ("error page, English", ERROR_EN, "404 Not Found", {}, "an error page"),
    ("error page, German", ERROR_DE, "Seite nicht gefunden", {}, "an error page"),
    ("search results", RESULTS_EN, "Search results for: vpn error 809", {}, "a page of search results"),
    ("link list", LINKS_DE, "Linksammlung VPN", {}, "a list of links"),
    ("text inside of links", ABOUT_404_EN, "Index", {"link_density": 0.8}, "a list of links"),
]


@pytest.mark.parametrize(
    ("text", "title", "form", "kind"), [row[1:] for row in ADDRESSING], ids=[r[0] for r in ADDRESSING]
)
def test_a_page_that_addresses_its_visitor_is_no_content(
    text: str, title: str, form: dict[str, float], kind: str
) -> None:
    verdict = judge_readable(text, title, **form)  # type: ignore[arg-type]
    assert (verdict.reason, verdict.kind) == ("not_content", kind)


TELLING = [
    ("about cookies", ABOUT_COOKIES_EN, "How session cookies work in a single sign-on portal"),
    ("about logins", ABOUT_LOGIN_DE, "Anmeldung am Portal schlägt nach Kennwortwechsel fehl"),
    ("about 404", ABOUT_404_EN, "Fixing 404 Not Found errors behind an nginx reverse proxy"),
]


@pytest.mark.parametrize(("text", "title"), [row[1:] for row in TELLING], ids=[row[0] for row in TELLING])
def test_an_article_about_logins_cookies_and_errors_is_content(text: str, title: str) -> None:
    assert judge_readable(text, title).reason is None


def test_a_forum_page_keeps_its_login_form() -> None:
    assert judge_readable(ABOUT_LOGIN_DE, "Anmeldung", has_password_field=True).reason is None


def test_an_article_with_a_banner_at_its_end_is_content() -> None:
    banner = "\n\nWir verwenden Cookies.\n\nAlle akzeptieren\n\nEinstellungen"
    assert judge_readable(ABOUT_LOGIN_DE + banner, "Anmeldung").reason is None


def test_short_text_is_too_short_and_says_how_short() -> None:
    verdict = judge_readable("Der Dienst muss neu gestartet werden, danach geht es wieder.")
    assert (verdict.reason, verdict.running) == ("too_short", 60)


def test_menu_lines_are_no_running_text() -> None:
    menu = "\n\n".join(["Start", "Produkte und mehr", "Über uns", "Kontakt aufnehmen"] * 40)
    assert judge_readable(menu, link_density=0.1).reason in {"too_short", "not_content"}


def test_an_empty_page_is_too_short() -> None:
    assert judge_readable("").reason == "too_short"


PHRASES = [
    pytest.param(kind, line, id=f"{name} {line[:40]}")
    for name, kind in (("consent", CONSENT), ("login", LOGIN), ("error", ERROR), ("results", RESULTS))
    for line in kind.lines
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "line"), PHRASES)
def test_whatever_a_phrase_matches_holds_one_of_the_hints(kind: Phrases, line: str) -> None:
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(re.compile(line, re.IGNORECASE), alphabet=st.characters(max_codepoint=0xFF)))
    def hinted(matched: str) -> None:
        assert kind.hinted(matched.lower())

    hinted()


@given(st.text(max_size=400), st.text(max_size=40))
def test_any_string_gets_a_verdict(text: str, title: str) -> None:
    verdict = judge_readable(text, title)
    assert verdict.reason in {"too_short", "not_content", None}
    assert verdict.why


def test_an_article_that_was_exported_from_here_is_no_evidence() -> None:
    text = "# VPN error 809\n\n" + "The gateway does not answer on UDP port 500, so the tunnel is not set up. " * 20
    assert judge_readable(text).reason is None
    mark = "Neural Brain article a_01ARZ3NDEKTSV4RRFFQ69G5FAV revision 2 digest 0123456789abcdef"
    judged = judge_readable(f"{text}\n\n{mark}\n")
    assert (judged.reason, judged.kind) == ("not_content", "our own")
    assert judge_readable(f"{text}\n\nNeural Brain article about revision 2.").reason is None
