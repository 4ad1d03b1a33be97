"""What a word of a topic stands for when two topics are compared (spec 05). Pure.

People name one fault in many words: "hängt", "friert ein" and "freezes" are one, so are "MFA" and "zweiter
Faktor". Each word is therefore read as a *concept*: the words of a line below are one concept in both languages,
any other word is its own stem, and a German compound of known parts is the concepts of its parts. A concept weighs
2, one that says little about the subject ("does not work", "server") weighs 1.

Some concepts exclude each other as identifiers of one class do: what enables a thing is not what disables it, and
MySQL is not PostgreSQL.

The lists are of the trade and not of any one set of examples; a word belongs to one line only (tested).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from data.text import fold, stem

__all__ = [
    "EXCLUSIVE",
    "FULL",
    "LIGHT",
    "LINES",
    "concepts",
    "exclusive_sides",
    "joined_words",
    "light_concepts",
    "stem_both",
]

FULL: Final = 2
LIGHT: Final = 1

# The first word names the concept. A line that begins with ~ weighs little; one with - is left out.
LINES: Final = """
    - problem issue fault trouble stoerung
    - ticket incident anleitung howto runbook faq guide frage question
    - fix fixes fixed fixing beheben behebt behoben behebung
    - way weise mal first second gehen going begin beginnen seit heute morgen gestern today yesterday
      morning minute minuten hour stunde stunden sekunde second seconds sekunden halb halbe thirty dreissig ten zehn
      prozent percent
    - front vor hinter behind vorne use uses used using benutzen benutzt nutzen nutzt verwenden verwendet return
      returns returned answer answers answered antwortet antworten liefert liefern go goes ended ends endet laufen run
      runs running dauert dauern bleibt macht machen kommt kommen gibt get make made take takes new neu neue neuer neues
      another andere einzelne einzeln certain laut klagt klagen cause causes caused causing verursacht verursachen wegen
      reason ursache grund understand understanding verstehen mean means bedeuten bedeutet
    ~ fail fails failed failing failure fehler error fehlgeschlagen schlaegt fehl fehlschlag scheitern scheitert
      gescheitert kaputt defekt broken breaks broke unable cannot funktioniert funktionieren geht laeuft work works
      working moeglich unmoeglich possible impossible verhindert verhindern prevents
    ~ user users benutzer nutzer anwender mitarbeiter
    ~ server servers host hosts rechner computer maschine machine machines
    ~ client clients arbeitsplatz workstation workstations
    ~ show shows showing zeigt zeigen anzeigen angezeigt anzeige appear appears erscheint erscheinen sichtbar visible
      meldet melden meldung report reports reported reporting says message
    ~ want exists vorhanden exist
    ~ unexpected unexpectedly unerwartet suddenly ploetzlich
    ~ stay persist staendig dauernd permanent permanently repeatedly wiederholt
    ~ connect connects connecting connected connection connections verbinden verbindet verbindung verbindungen
      verbindungsaufbau verbunden aufbau
    lag backlog rueckstand
    crash crashes crashed crashing absturz abstuerze stuerzt stuerzen abgestuerzt died
    hang hangs hanging hung freeze freezes frozen freezing haengt haengen haengend friert einfrieren eingefroren stuck
      steht stehen stillstand reagiert responding responds unresponsive
    slow slowly langsam langsamer langsame traege
    drop drops dropped dropping disconnect disconnects abbruch abbrueche bricht abgebrochen abbrechen verbindungsabbruch
      verbindungsabbrueche unterbrechung unterbricht brechen trennt trennen getrennt trennung
    offline unreachable unerreichbar erreichbar reachable nichterreichbar down ausfall ausgefallen faellt ausfaelle
      outage
    expire expires expired expiry expiration abgelaufen ablauf ablaufen laeuftab
    renew renews renewal renewed renewing erneuern erneuert erneuerung verlaengern verlaengerung
    replace replaces replaced replacement replacing tausch tauschen getauscht ersetzen ersetzt ersatz austausch
      austauschen wechsel wechseln gewechselt
    supersede abloesen abloesung abgeloest abkuendigen abkuendigung abgekuendigt deprecate deprecated deprecation
      ausmustern
    rotate rotates rotation rotating rotieren schluesselwechsel rekey rekeying
    change changes changed changing aendern geaendert aenderung aenderungen umstellung umstellen umgestellt
    move moves moved moving migrate migrates migrated migration migrating migrieren migriert umzug umziehen umgezogen
    update updates updated updating aktualisieren aktualisierung aktualisiert patch patches patching patched
      einspielen upgrade upgrades upgraded upgrading
    install installs installed installing installation installieren installiert setup
    uninstall uninstalled uninstalling deinstallieren deinstallation deinstalliert
    enable enables enabled enabling aktivieren aktiviert aktivierung einschalten activate activated activation
    disable disables disabled disabling deaktivieren deaktiviert abschalten ausschalten abgeschaltet deactivate
    create creates created creating anlegen angelegt erstellen erstellt
    delete deletes deleted deleting loeschen geloescht geloeschte geloeschten geloeschter entfernen entfernt remove
      removes removed removing removal
    configure configures configured configuring configuration konfigurieren konfiguration konfiguriert einrichten
      einrichtung eingerichtet einzurichten set sets settings einstellung einstellungen festlegen festgelegt
    restore restores restored restoring recovery recover recovered wiederherstellen wiederherstellung wiederhergestellt
    backup backups sicherung sicherungen datensicherung sichern gesichert
    start starts started starting starten startet gestartet hochfahren
    restart restarts restarted restarting reboot reboots rebooted rebooting neustart neustarten neustartet
      neustartschleife
    shutdown herunterfahren heruntergefahren
    open opens opened opening oeffnen oeffnet geoeffnet
    send sends sending sent senden sendet gesendet versand versenden versendet verschicken verschickt verschicken
    receive receives received receiving receipt empfangen empfaengt empfang erhalten erhaelt
    deny denied denies refuse refused refuses refusing reject rejects rejected rejecting verweigert verweigern ablehnen
      abgelehnt weist abweisen abgewiesen zurueckgewiesen verweigerung
    lock locked locks locking lockout lockouts gesperrt gesperrte sperre sperrung sperrungen sperren sperrt
    unlock entsperren freigeben entsperrt
    block blocks blocked blocking blockiert blockieren blockade
    full voll fill fills filled filling fuellt fuellen flood floods flooded exhausted exhaustion
      erschoepft knapp neige ueberlaufen ueberfuellt
    grow grows growing growth waechst wachsen wachstum
    empty leer leere leeren blank
    corrupt corrupted corruption beschaedigt defekte korrupt
    lose loses losing lost loss verliert verlieren verloren verlust
    disappear disappears disappeared verschwindet verschwinden verschwunden missing fehlt fehlen fehlend fehlende
    large big grosse grossen grosser gross
    nightly night nachts nacht naechtlich naechtliche naechtlicher
    outdated veraltet veraltete veralteter veralteten stale
    harden hardening haerten haertung secure absichern absicherung abgesichert
    enforce enforces enforced erzwingen erzwungen require requires required
    detect detects detected detecting detection erkennen erkennt erkannt erkennung
    mitigate mitigation mitigations gegenmassnahme gegenmassnahmen abwehren abwehr defend
    attack attacks attacker attackers angriff angriffe angreifer ausgenutzt ausnutzen exploit exploits exploited
      exploiting
    vulnerability vulnerabilities luecke sicherheitsluecke schwachstelle schwachstellen
    backdoor hintertuer
    choose choosing choice choices decide waehlen auswahl wahl
    extend extends extending extension erweitern erweiterung vergroessern
    share shares shared sharing freigabe freigaben freigegeben freigegebene freigegebenen freigegebener
    distribute distribution deploy deploys deployed deploying deployment verteilen verteilung rollout ausrollen
    synchronise synchronises synchronised synchronisation synchronize synchronized synchronization sync synchronisieren
      synchronisiert synchronisierung
    replicate replicates replicated replication replikation replizieren repliziert
    encrypt encrypts encrypted encryption verschluesseln verschluesselt verschluesselung
    sign signing signed signature signierung signieren signiert signatur
    escrow hinterlegen hinterlegt hinterlegung hinterlegte
    mount mounts mounted mounting einbinden eingebunden einhaengen bereitstellen bereitgestellt
    reset resets resetting zuruecksetzen zurueckgesetzt zuruecksetzung
    ask asks asked asking prompt prompts prompted fragt fragen gefragt abfrage verlangt verlangen aufforderung
    load loads loaded loading laden laedt geladen
    active aktiv aktive aktiver aktiven
    incoming inbound eingehend eingehende eingehenden eingehender
    outgoing outbound ausgehend ausgehende ausgehenden ausgehender
    notebook notebooks laptop laptops
    activedirectory
    rdp
    hyperv
    onboarding eintritt
    offboarding austritt
    import imports imported importing importieren importiert
    export exports exported exporting exportieren exportiert
    upload uploads uploading hochladen
    download downloads downloading herunterladen
    microphone microphones mikrofon mikrofone mikrophon
    camera cameras kamera kameras webcam
    forget forgotten vergessen vergessene vergessenes
    flicker flickers flickering flackern flackert flackernd flackernder
    wake wakes resume aufwachen wacht
    sleep standby ruhezustand suspend
    print prints printing printed printer printers drucker drucken druckt druck druckauftrag
    scan scans scanned scanning scanner scannen scannt
    copier copiers kopierer multifunktionsgeraet
    page pages seite seiten
    screen screens display monitor bildschirm bildschirme
    sound audio ton
    picture video bild
    queue queues warteschlange warteschlangen
    spooler spoolers
    mail mails email emails nachricht nachrichten
    mailbox mailboxes postfach postfaecher postfaechern
    calendar calendars kalender
    attachment attachments anhang anhaenge anhaengen
    folder folders ordner directory verzeichnis verzeichnisse
    file files datei dateien
    drive drives laufwerk laufwerke netzlaufwerk netzlaufwerke
    disk disks platte platten festplatte festplatten
    space speicherplatz plattenplatz
    memory arbeitsspeicher ram
    storage speicher
    password passwords kennwort kennwoerter passwort passwoerter
    account accounts konto konten benutzerkonto benutzerkonten
    login logins logon logons signin anmelden anmeldung anmeldungen einwahl einwaehlen dialin
    mfa twofactor zwei-faktor faktor zweitfaktor
    permission permissions berechtigung berechtigungen rechte access zugriff zugriffe
    certificate certificates zertifikat zertifikate zertifikats cert
    key keys schluessel
    clock skew drift drifts zeitabweichung uhr uhrzeit zeitversatz abweichung
    ~ time times zeit zeiten
    ntp
    network networks netzwerk netzwerke netz
    wireless wlan wifi funknetz
    gateway gateways
    portal
    branch branches aussenstelle aussenstellen niederlassung filiale zweigstelle
    address addresses adresse adressen
    range scope bereich bereiche
    domain domains domaene domaenen
    controller controllers domaenencontroller
    database databases datenbank datenbanken
    table tables tabelle tabellen
    index indexes
    search searches searching suche suchen durchsuchen
    result results treffer ergebnis ergebnisse
    license licenses licence lizenz lizenzen
    driver drivers treiber
    package packages paket pakete
    recipient recipients empfaenger
    policy policies richtlinie richtlinien
    gpo gruppenrichtlinie gruppenrichtlinien
    profile profiles profil profile
    roaming servergespeichertes servergespeicherte
    battery batteries batterie batterien akku
    ups usv
    recognise recognised recognize recognized erkannte
    telephony telefonie
    phone phones telefon telefone
    meeting meetings besprechung besprechungen
    room rooms raum raeume
    task tasks aufgabe aufgaben
    job jobs auftrag auftraege
    log logs protokoll protokolle logging protokollierung protokollieren
    event events ereignis ereignisse
    transfer transfers uebertragung
    zone zones
    external externe externer externen extern
    internal interne interner internen intern
    data daten
    partition partitions
    small zu-klein klein kleine
    tape baender band bandsicherung
    cloud
    virtual virtuell virtuelle virtuellen virtueller
    support supportende endoflife
    technique techniques technik techniken
    dump dumping auslesen
    macro macros makro makros
    stock lager warehouse
    desk
    template templates vorlage vorlagen
    retention aufbewahrung aufbewahrungsfrist
    archive archives archiv archive
    ransomware erpressungssoftware
    web
    vm
"""

# Concepts of a line exclude each other: two topics that hold different ones of them are about two things.
EXCLUSIVE: Final = """
    enable disable
    install uninstall
    create delete
    lock unlock
    send receive
    sound picture
    tape cloud
    slow offline crash flicker empty
    windows macos linux android iphone
    mysql postgresql oracle mariadb mongodb mssql
    apache nginx iis tomcat
    outlook thunderbird
    sharepoint onedrive
    print scan
    reset delete
    backup restore
    incoming outgoing
    onboarding offboarding
    import export
    upload download
    mailbox calendar
    microphone camera sound
    nfs smb iscsi
    dns dhcp ntp
    kerberos ntlm
    veeam acronis bareos bacula
    vmware proxmox hyperv
    update uninstall
    chrome firefox edge safari
    teams zoom webex skype
    word excel powerpoint
    intune sccm
"""

_JOINED: Final = {
    r"(?:log|logs|logging|logged|sign|signs|signing|signed)[ -](?:in|on)": "login",
    r"active[ -]directory": "activedirectory",
    r"remote[ -]?desktops?": "rdp",
    r"hyper[ -]v": "hyperv",
}
"""What is written as two words and is one concept."""
_PHRASES: Final = tuple((re.compile(rf"\b{pattern}\b", re.IGNORECASE), word) for pattern, word in _JOINED.items())

_INDENT: Final = 4
"""Spaces before the first word of a concept in LINES; a line that is continued stands deeper."""
_MIN_HEAD: Final = 5
"""Letters of a compound's last part: shorter ones are found at the end of too many words by chance."""
_MIN_REST: Final = 4
_MIN_SURE: Final = 3
"""Letters of a last part behind a rest that is a word of the lists itself: "Backupjob"."""
_LINKS: Final = ("", "s", "n", "en", "es")


def joined_words(text: str) -> str:
    """Return `text` with what is one concept in two words written as one: "log in", "Active Directory"."""
    for pattern, word in _PHRASES:
        text = pattern.sub(word, text)
    return text


def stem_both(word: str) -> str:
    """Return the stem of a folded word, stemmed as German and then as English.

    A topic is too short to tell its language for sure ("Windows Update bricht ab" reads as neither), and a
    word must have one stem whatever stands around it; two stemmers in a row give it one.
    """
    return stem(stem(word, "de"), "en")


@cache
def _tables() -> tuple[Mapping[str, tuple[str, int]], Mapping[str, tuple[str, int]]]:
    """Return word → (concept, weight) and stem → (concept, weight); weight 0 is left out.

    A stem that words of two concepts share ("driver", "drive") tells nothing: such words are known as written alone.
    """
    words: dict[str, tuple[str, int]] = {}
    stems: dict[str, set[tuple[str, int]]] = {}
    concept: tuple[str, int] = ("", FULL)
    for line in LINES.splitlines():
        said = line.split()
        if said and len(line) - len(line.lstrip()) == _INDENT:
            weight = {"~": LIGHT, "-": 0}.get(said[0], FULL)
            said = said[1:] if said[0] in {"~", "-"} else said
            concept = (said[0], weight)
        for word in said:
            words[fold(word)] = concept
            stems.setdefault(stem_both(fold(word)), set()).add(concept)
    return words, {key: next(iter(found)) for key, found in stems.items() if len(found) == 1}


def _known(word: str) -> tuple[str, int] | None:
    words, stems = _tables()
    return words.get(word) or stems.get(stem_both(word))


@cache
def concepts(word: str) -> tuple[tuple[str, int], ...]:
    """Return the concepts of a folded word with their weights; () for a word that says nothing."""
    known = _known(word)
    if known is not None:
        return (known,) if known[1] else ()
    parts = _parts(word)
    if parts is None:
        return ((stem_both(word), FULL),)
    return tuple(dict.fromkeys(concept for part in parts for concept in concepts(part)))


def _parts(word: str) -> tuple[str, str] | None:
    """Return rest and head of a compound whose head is a known word; a linking letter is dropped from the rest."""
    if not word.isalpha():
        return None
    for start in range(_MIN_REST, len(word) - _MIN_SURE + 1):
        head, rest = word[start:], word[:start]
        if (_tables()[0].get(head) if len(head) < _MIN_HEAD else _known(head)) is None:
            continue
        for link in _LINKS:
            bare = rest.removesuffix(link)
            if rest.endswith(link) and len(bare) >= _MIN_REST and _known(bare) is not None:
                return bare, head
        if len(head) >= _MIN_HEAD:
            return (rest.removesuffix("s") if len(rest) > _MIN_REST else rest), head
    return None


@cache
def light_concepts() -> frozenset[str]:
    """Return the concepts that weigh LIGHT; all others weigh FULL."""
    return frozenset(name for name, weight in _tables()[0].values() if weight == LIGHT)


@cache
def exclusive_sides() -> Mapping[str, tuple[int, ...]]:
    """Return concept → numbers of the lines of EXCLUSIVE that it stands in."""
    found: dict[str, tuple[int, ...]] = {}
    for number, line in enumerate(EXCLUSIVE.strip().splitlines()):
        for word in line.split():
            for concept, _ in concepts(word):
                found[concept] = (*found.get(concept, ()), number)
    return found
