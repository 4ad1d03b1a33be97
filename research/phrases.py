"""Phrases with which a page addresses its visitor instead of telling something (see `research.readable`).

One regular expression a line, in German and English, matched without regard to case in one sentence. They
are phrases of walls, forms and error pages *to* a visitor; words that an article about logins, cookies or
HTTP errors would use stay out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["CONSENT", "ERROR", "ERROR_TITLE", "LOGIN", "RESULTS", "RESULTS_TITLE", "Phrases"]


@dataclass(frozen=True, slots=True)
class Phrases:
    """One kind of address. `hints` are literals of which every phrase holds one: most texts hold none of them."""

    lines: tuple[str, ...]
    pattern: re.Pattern[str]
    hints: tuple[str, ...]

    def search(self, sentence: str) -> bool:
        """Tell whether the sentence holds one of the phrases."""
        lower = sentence.lower()
        return any(hint in lower for hint in self.hints) and self.pattern.search(sentence) is not None

    def hinted(self, lower: str) -> bool:
        """Tell whether a text in lower case may hold one at all."""
        return any(hint in lower for hint in self.hints)


def _any_of(phrases: str, hints: str = "") -> Phrases:
    lines = tuple(line.strip() for line in phrases.strip().splitlines())
    pattern = re.compile("|".join(f"(?:{line})" for line in lines), re.IGNORECASE)
    return Phrases(lines, pattern, tuple(hints.split()) or ("",))


CONSENT: Final = _any_of(
    r"""
    \bwe and our (?:\d+ )?(?:advertising )?partners?\b
    \bwe use cookies (?:to|and|on this|for)\b
    \bwe (?:value|respect|care about) your privacy
    \b(?:our|these) (?:\d+ )?partners (?:store|process|use|may|can)\b
    \b(?:accept|reject|allow|decline) (?:all|optional|necessary) cookies
    ^(?:accept|reject|allow|agree to) all\b
    ^(?:accept|agree|i agree|reject|decline|settings|more options)\W*$
    \bmanage (?:your )?(?:preferences|choices|consent|cookies|privacy)\b
    \bstore and/or access information on a device
    \bpersonali[sz]ed (?:ads|advertising|content)
    \bwithdraw your consent
    \bchange your (?:mind|choice|preferences) at any time
    \blegitimate interests?\b
    \b(?:cookie|privacy) (?:preferences|settings|notice|choices)\b
    \bby (?:clicking|continuing to|using this (?:site|website))\b
    \byour consent\b
    \bconsent to (?:the use|our use|these|this)\b
    \b(?:vendor|partner) list\b
    \bread this (?:article|site) with (?:ads|advertising)
    \bwir und unsere (?:\d+ )?(?:werbe)?partner
    \bwir (?:verwenden|nutzen|setzen|benutzen) (?:technisch notwendige )?cookies
    \bwir (?:schätzen|respektieren|achten) ihre privatsphäre
    \bwir (?:benötigen|brauchen) ihre (?:zustimmung|einwilligung)
    \bunsere (?:\d+ )?(?:werbe)?partner\b
    \b(?:alle|alles|nur notwendige|nur essenzielle) (?:cookies )?(?:akzeptieren|ablehnen|annehmen|erlauben|zulassen)
    ^(?:alle[sn]? )?(?:akzeptieren|zustimmen|ablehnen|einverstanden|einstellungen)\W*$
    \b(?:akzeptieren|zustimmen) und (?:weiter|schließen)
    \b(?:einwilligung|zustimmung) (?:jederzeit|widerrufen|erteilen)
    \bihre (?:einwilligung|zustimmung|privatsphäre|datenschutz-?einstellungen|cookie-?einstellungen)
    \bberechtigte[sn]? interesse
    \bpersonalisierte (?:werbung|anzeigen|inhalte)
    \bauf (?:einem|ihrem) (?:end)?gerät (?:zu )?(?:speicher|gespeichert|ab)
    \binformationen auf (?:einem|ihrem) (?:end)?gerät
    \bcookie-(?:richtlinie|einstellungen|hinweise?)\b
    \b(?:pur-abo|werbefrei lesen|mit werbung (?:weiter)?lesen)\b
""",
    """
    partner cookie privacy read accept agree reject allow decline settings options manage store personali consent change
    legitimate clicking continuing using vendor advertising akzept ablehn annehm erlaub zulassen zustimm einverst
    einstell einwillig privatsphäre datenschutz berechtigte interesse personalisierte gerät pur-abo werb
    """,
)

LOGIN: Final = _any_of(
    r"""
    ^(?:sign in|log ?in|log on|sign up|register|join now|next|submit)\W*$
    ^(?:create (?:an )?account|continue with \w+|user ?name|password|e-?mail(?: address)?)\W*$
    ^(?:user ?name or e-?mail(?: address)?|forgot (?:your )?(?:password|username))\W*$
    \bforgot(?:ten)? (?:your )?(?:password|username)\?
    \b(?:remember me|keep me (?:signed|logged) in)\b
    \bdo(?:n['’]t| not) have an account
    \balready (?:have an account|registered)\b
    \bnew (?:here|user|customer)\?
    \b(?:please|you (?:must|need to|have to)) (?:first )?(?:sign|log) ?(?:in|on)\b
    ^(?:sign|log) ?in (?:to|with)\b
    \bto (?:continue|view|read|access) (?:this|the) .{0,30}(?:sign|log) ?in\b
    \b(?:only )?(?:available|visible) (?:only )?(?:to|for) (?:registered|members|subscribers|partners)
    \benter your (?:user ?name|e-?mail|password|credentials|user id)
    \byour session has (?:expired|timed out)
    \bunauthori[sz]ed (?:use|access) .{0,20}is prohibited
    ^(?:anmelden|einloggen|registrieren|login|weiter|absenden)\W*$
    ^(?:benutzername|passwort|kennwort|e-?mail(?:-adresse)?|konto erstellen)\W*$
    ^(?:jetzt (?:registrieren|anmelden)|passwort vergessen|kennwort vergessen)\W*$
    \b(?:passwort|kennwort|zugangsdaten) vergessen\?
    \bangemeldet bleiben\b
    \bnoch kein (?:konto|benutzerkonto|kunde|account|mitglied)\b
    \bbereits (?:registriert|mitglied|kunde)\?
    \bneu hier\?
    \bbitte (?:melden|loggen) sie sich\b
    \bbitte (?:hier )?(?:anmelden|einloggen)\b
    \bsie müssen (?:sich (?:zuerst |erst )?(?:anmelden|einloggen)|angemeldet|eingeloggt)
    \b(?:anmeldung|registrierung) (?:ist )?erforderlich,? um\b
    \bum .{3,40} (?:zu (?:lesen|sehen|öffnen)|anzuzeigen|lesen zu können).{0,30}(?:meld|logg|registrier)
    \bgeben sie (?:hier |bitte )?ihr(?:e|en)? (?:benutzernamen?|kennwort|passwort|zugangsdaten|e-?mail)
    \bmelden sie sich (?:mit ihre[mn]|an, um)\b
    \bnur für (?:registrierte|angemeldete|mitglieder|abonnenten|partner)\b
    \bihre sitzung ist (?:abgelaufen|beendet)
""",
    """
    sign log register join next submit account continue password user e-mail email forgot remember registered new
    available visible enter session unauthori anmeld einlog registrier weiter absenden benutzername passwort kennwort
    konto zugangsdaten angemeldet kein mitglied kunde hier? meld einloggen abonnent partner sitzung
    """,
)

ERROR: Final = _any_of(
    r"""
    \b(?:page|file|url|document|resource|address) (?:that )?you (?:requested|tried|(?:are|were) looking for)
    \bthe requested (?:page|file|url|document|resource|address)\b
    \b(?:page|article|document) (?:not found|no longer exists|does not exist|has (?:been )?(?:moved|removed|deleted))
    \bcould not be found on this server
    \b(?:go|return|back) to (?:the |our )?(?:home ?page|start page|previous page)
    \bcheck the (?:url|spelling)\b
    \bchecking (?:your browser|if the site connection)
    \bplease (?:enable|turn on) (?:javascript|cookies)
    \bjavascript is (?:disabled|required)
    \byou need to enable javascript
    \bverify(?:ing)? (?:that )?you are (?:a )?human
    \bray id\b
    \bour systems have detected unusual traffic
    \byou (?:don['’]t|do not) have permission to access
    \baccess (?:to this page )?has been (?:denied|blocked)
    \b(?:down for maintenance|be right back|(?:please )?try again (?:later|in a few))
    \bif you (?:think|believe) this is (?:a mistake|an error)
    \bcontact the (?:site|web) ?(?:administrator|master|owner)
    \bdie (?:von ihnen )?(?:angeforderte|gesuchte|aufgerufene) (?:seite|datei|url|adresse)
    \b(?:seite|beitrag|dokument) (?:wurde |konnte |ist )?(?:leider )?nicht (?:gefunden|verfügbar|vorhanden)
    \b(?:seite|beitrag|dokument) existiert (?:leider )?nicht
    \b(?:gelöscht|verschoben) oder (?:umbenannt|verschoben|gelöscht)
    \bzur(?:ück zur)? startseite
    \bprüfen sie (?:bitte )?die (?:adresse|url|schreibweise)
    \bbitte (?:aktivieren|schalten) sie .{0,10}javascript
    \bihr browser wird (?:überprüft|geprüft)
    \bsie haben keine berechtigung,? (?:auf diese|um diese)
    \bvorübergehend nicht (?:verfügbar|erreichbar)
    \bwartungsarbeiten\b
    \bversuchen sie es (?:bitte )?(?:später|in einigen)
    \bwir bitten um entschuldigung
    \bbestätigen sie,? dass sie (?:ein mensch|kein roboter)
""",
    """
    page file url document resource address article found spelling browser connection javascript cookies human
    ray systems permission access maintenance back try mistake error contact seite datei adresse beitrag dokument
    gelöscht verschoben startseite prüfen berechtigung vorübergehend wartung versuchen entschuldigung bestätigen
    """,
)

_STATUS = r"(?:40[0134]|410|429|50[0234])"
ERROR_TITLE: Final = _any_of(rf"""
    ^\W*(?:(?:error|fehler|http|status)\W*)?{_STATUS}\W*(?:$|\W*[-–|])
    ^\W*(?:(?:error|fehler|http)\W*)?{_STATUS}?\W*(?:page |file )?not found\b
    ^\W*(?:(?:error|fehler|http)\W*)?{_STATUS}?\W*(?:seite |datei )?nicht gefunden\b
    ^\W*(?:(?:error|http)\W*)?{_STATUS}?\W*(?:forbidden|bad gateway|access denied|too many requests)\b
    ^\W*(?:(?:error|http)\W*)?{_STATUS}?\W*(?:service (?:temporarily )?unavailable|internal server error)\b
    ^\W*(?:fehler\W*)?{_STATUS}?\W*(?:zugriff verweigert|dienst nicht verfügbar|seite existiert nicht)\b
    ^\W*(?:just a moment|attention required|are you a robot|security check|oops|maintenance)\b
    ^\W*(?:sicherheitsprüfung|wartungsarbeiten|ein moment|hoppla)\b
""")

RESULTS: Final = _any_of(
    r"""
    \b(?:search results|results for|showing (?:results )?\d|results \d+\s*[-–]\s*\d+ of)
    \b\d[\d.,]* (?:results|matches|hits) (?:for|found|in)\b
    \babout \d[\d.,]* results
    \bdid you mean\b
    \brefine (?:your )?search
    \bsort(?:ed)? by:? relevance
    \bno results (?:found|for)
    \bpage \d+ of \d+
    \bsuchergebnisse\b
    \btreffer (?:für|zu|\d+)
    \b\d[\d.]* (?:treffer|ergebnisse)\b
    \bergebnisse (?:für|\d+\s*(?:[-–]|bis)\s*\d+ von)
    \bmeinten sie\b
    \bsuche verfeinern
    \bsortier(?:en|t|ung)(?: nach)?:? relevanz
    \bkeine (?:treffer|ergebnisse)\b
    \bseite \d+ von \d+
""",
    """
    results showing matches hits mean search relevance page
    suchergebnisse treffer ergebnisse meinten suche relevanz seite
    """,
)

RESULTS_TITLE: Final = _any_of(r"""
    \bsearch results\b
    \bsuchergebnisse\b
    ^\W*(?:search|suche)\W*(?:$|[:|–-])
    ^\W*(?:results|ergebnisse|treffer|search|suche) (?:for|für|zu|nach)\b
""")
