"""What a word of a label is worth as an anchor (spec 04, topic guard).

A label's words do not weigh the same. "Fehler beim Start des Servers" names no subject at all; "Drucker"
names a field; "Postfix" or "AssumeUDPEncapsulation" names a thing. So every word of a label gets one of
these weights (`word_weight`), and only words that name something can show that a text speaks of the label:

    GENERIC   0.15  something is wrong, must be done, or is a computer: true of every page of the field
    ORDINARY  0.6   a field of the trade (printer, mailbox, certificate): narrows, but does not name
    COMPOUND  0.9   a German compound of such words (Druckerwarteschlange): narrow, and still no name
    NAME      1.0   any other word: products, protocols, components, rare words

The lists hold folded words of both languages and are compared by stem. `equivalents` knows the ordinary
words of the trade in the other language, because a German ticket is often answered by an English page.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from data.text import stem

__all__ = [
    "COMPOUND_WEIGHT",
    "GENERIC_WEIGHT",
    "NAME_WEIGHT",
    "ORDINARY_WEIGHT",
    "compound_parts",
    "done_to",
    "equivalents",
    "keys",
    "word_weight",
]

GENERIC_WEIGHT: Final = 0.15
ORDINARY_WEIGHT: Final = 0.6
COMPOUND_WEIGHT: Final = 0.9
NAME_WEIGHT: Final = 1.0

GENERIC: Final = """
    it ip id os ui kb mb gb tb hz laden laedt geladen schicken schickt geschickt holen holt geholt bauen baut gebaut
    vergabe vergeben verringern verringert ausfuehrlich ausfuehrlicher ausfuehrliche
    error errors problem problems issue issues failure failures fault trouble troubleshooting bug warning message
    messages fails failed fail failing broken crash crashes missing wrong invalid incorrect unable cannot working
    works worked work slow stuck hangs hang unexpected unknown occurs occurred happening cause causes caused fix fixed
    fixing solve solved solution solutions resolve resolved resolution workaround help support question questions
    answer guide guides howto tutorial manual documentation docs article articles knowledge base faq tips best
    practice practices overview introduction basics example examples reference information info details description
    summary general common new old latest current different various several many first second time times day days way
    ways case cases thing things server servers client clients computer computers machine machines system systems
    device devices pc pcs workstation software hardware application applications app apps program programs tool tools
    service services feature function user users customer customers people administrator administrators admin admins
    team company department install installing installed installation setup set up configure configured configuring
    configuration config setting settings option options change changed changes changing enable enabled enabling
    disable disabled disabling start started starting starts stop stopped stopping restart restarted reboot run
    running runs open opening opens close closed use used uses using create created creating add added adding remove
    removed removing delete deleted check checking checked test testing verify update updates updated updating upgrade
    upgrades upgraded upgrading version versions release releases build edition number value values name names code
    codes type types list lists page pages site website web online windows linux microsoft access connect connecting
    connected data fehler fehlermeldung fehlermeldungen fehlercode probleme stoerung stoerungen ausfall hinweis
    warnung meldung meldungen fehlgeschlagen schlaegt fehl scheitert geht gehen funktioniert funktionieren laeuft
    laufen haengt haengen kaputt defekt falsch ungueltig unbekannt fehlt fehlen fehlend langsam ploetzlich sporadisch
    tritt auftreten ursache ursachen grund loesung loesungen loesen geloest beheben behoben behebung abhilfe hilfe
    frage fragen antwort anleitung anleitungen handbuch dokumentation artikel wissen uebersicht einfuehrung grundlagen
    beispiel beispiele informationen beschreibung zusammenfassung allgemein neu neue neuen neuer neues alt alte alten
    aktuell aktuelle verschiedene mehrere erste zweite mal tag tage weise fall faelle ding dinge richtig rechner
    geraet geraete arbeitsplatz maschine anwendung anwendungen programm programme werkzeug dienst dienste funktion
    nutzer benutzer anwender kunde kunden mitarbeiter mitarbeiterin kollege kollegin kollegen firma abteilung buero
    etage standort meldet melden bittet bitte dringend installieren installiert einrichten einrichtung eingerichtet
    konfigurieren konfiguriert konfiguration einstellung einstellungen optionen aendern geaendert aenderung
    aenderungen aktivieren aktiviert deaktivieren deaktiviert starten startet gestartet neustart neustarten beenden
    beendet oeffnen oeffnet schliessen nutzen benutzen verwenden verwendet erstellen erstellt anlegen hinzufuegen
    entfernen entfernt loeschen geloescht pruefen geprueft pruefung testen aktualisieren aktualisiert aktualisierung
    umstellung umstellen versionen ausgabe nummer wert werte namen art arten liste listen seite seiten zugriff
    verbinden verbunden daten moeglich unmoeglich gross klein hinter ueber unter zwischen ohne one two three four five
    six seven eight nine ten eleven twelve ein eins zwei drei vier fuenf sechs sieben acht neun zehn elf zwoelf minute
    minutes hour hours week weeks month months year years minuten stunde stunden woche wochen monat monate jahr jahre
    today yesterday morning heute gestern morgen montag dienstag mittwoch donnerstag freitag wochenende too other
    others zu viel viele wenig alle ganz immer staendig dauernd dauer ploetzliche get gets got lassen laesst bekommen
    bekommt zeigt zeigen show shows showing see seen read sends senden sagt said tell right correctly really please
    thanks danke gruss hallo found find finds gefunden finden sucht nimmt kommt bleibt bleiben stehen steht macht
    machen geworden only just directly direkt central zentral automatically automatisch automatische automatischer
    manually manuell after before during since nach vor seit beim waehrend runbook abschnitt section kapitel chapter
    note notiz merkblatt call calls called says moved move moves umgezogen umzug migration migrated bricht brechen ab
    an auf abbildung able accept accepted according across action actions actual actually addition additional adjust
    advanced advantage aehnlich aehnliche aehnlicher aktion allow allowed allowing allows along alternative
    alternatively amount analyse andererseits anfang angeben angegeben angepasst angesehen angewendet angezeigt
    anschliessend anstatt anweisung anweisungen anzahl appear appended applied applies apply approach appropriate
    arbeit arbeiten arbeitet architecture asked assigned associated assume attempt attempts aufgefuehrt aufgenommen
    aufgerufen aufgrund aufruf aufrufen ausdruck ausdruecklich ausfuehren ausfuehrlich ausfuehrung ausgangspunkt
    ausgefuehrt ausgewaehlt ausserdem auswaehlen auswahl auszufuehren auszuwaehlen auto available avoid aware back
    basiert basis beachten bearbeiten become becomes bedarf bedeutet bedeutung befinden befindet befindlichen beginn
    beginnen beginnt begriff behandelt behavior beispielsweise bekannt benannt benoetigen benoetigt benoetigten
    benutzt benutzten bereit bereitgestellt bereitgestellte beruecksichtigt beschraenken beschraenkt beschreibt
    beschrieben besondere besonderen besonders besser bestehen bestehende bestehenden besteht bestimmen bestimmt
    bestimmte bestimmten bestimmter beteiligten betrieb better bevor bezeichnet bezeichnung beziehen bezieht
    beziehungsweise bieten bietet binding blick bringt buch buches built care certain choose chosen combination comes
    communicate community compatible compile compiled complete completely complex condition conditions considered
    continue controlled corresponding course dar dargestellt dazugehoerigen decision dedicated define defined
    defines definiert definitions deliver delivered depending depends deprecated derartige derselben described
    describes designed desired determine deutlich developed developers diejenigen dient discussion doesn dokumentiert
    don due dynamic dynamically earlier easily easy ebenso editieren editiert effect eher eigene eigenen eigentlich
    eindeutig einfach einfache einfachen einfacher einfachste eingesetzt eingestellt einsatz einschliesslich
    einschraenkungen einzelheiten einzelnen einzige einzigen einzurichten empfiehlt empfohlen encoded end ende
    englisch enough ensure enthaelt enthalten enthaltenen entire entscheiden entscheidung entsprechen entsprechend
    entsprechende entsprechenden entspricht entwickeln entwickelt entwicklung erfolgt erforderlich erforderlichen
    erfordern erfordert erfuellt ergebnis ergebnisse ergibt erhaelt erhalten erkennen erklaert erlaubt erledigt
    erleichtert ermoeglichen ermoeglicht erneut erreichen erreicht erscheinen erscheint ersetzen ersetzt erwarten
    erzeugen erzeugt especially established everything exactly except exceptions execute exist existing exists
    explicit explicitly export externe externen extra fact far fest festgelegt festgelegten festlegen feststellen
    festzulegen final finally folgen folgende folgenden folgt follow followed following follows force fortunately
    forward foundation free freie freien frequently frueher fuegen fuehren fuehrt fully future geben gefolgt gegensatz
    gehoeren gehoert gemacht gemeinsam gemeinschaft genannt genauer genauso generate generated generic genommen
    genuegt genutzt gerade gesamte geschickt geschieht geschrieben gesetzt gespeichert gestellt getrennt gewaehlt
    gewoehnlich gilt give given gives gleich gleiche gleichen gleichzeitig gluecklicherweise good grafische grafischen
    graphical greater grundlegende gut gute guter haelt haeufig haeufigsten halten hand handelt handle handling hard
    heisst heruntergeladen hierdurch hierfuer hierzu high higher hilfreich hilft hinaus hinzu hinzugefuegt
    hinzuzufuegen hochfahren identifizieren identifiziert ignored ignoriert immediately implement implementation
    implementations implemented implements important include included includes including incoming indicate indicates
    individual informiert initial innerhalb insbesondere integration integriert intended interessant interne
    jeweiligen jeweils keep keeping kennen kennt kept know known kommen kommunikation komplexitaet konfigurierung
    kopieren kosten kriterien kultur kurz kurzer laedt lang lange last latter laufenden least lediglich left legen
    legt leicht leider lesen less let letzte letzten liegt like likely loaded located lokale lokalen looks lower made
    main maintain maintained maintainer make makes making managed management manager manchmal manner meaning means
    meisten methode methoden minimal mithilfe modification modified modify moechte moechten moeglicherweise multiple
    natuerlich necessarily necessary need needed needs nehmen never next niemals noetig non none normal normale
    normalen normalerweise normally nuetzlich nutzung oben obtained oeffentlichen offensichtlich official offizielle
    offiziellen oft order original originally otherwise outside overhead override parent part particular parts party
    pass passed passenden perform performed perhaps personen place plain point possible praxis pre preferred present
    prevent previous prinzip prior probably profitieren project properly provide provided provider provides purpose
    purposes qualified reached readable real reason reasons receive received receives receiving recent recommended
    reconfigure reduce regardless regelmaessig regular reihe reihenfolge related relative relevant remain remains
    replace replaced require required requirements requires rest result resulting results return returned reverse safe
    sample satz schliesslich schnell schreiben schritt schritte schwierig sehen sei seines seitenleiste selten sent
    separate separated setzt shown sicherzustellen side siehe sieht similar simple simply single sinn sinnvoll
    situation sodass sofort solange spaeter special specific specifically specified specifies specify specifying
    speichert speziell spezielle stabilen stable standardmaessig statt stattdessen stellen stellt step steps strict
    style sub subject successful successfully sufficient sure taeglich take takes tatsaechlich tatsaechlichen teil
    teile thema third tipp together top translation treated treffen true try trying tun turn typical typically
    uebereinstimmung ueberpruefen ueberprueft ueberpruefung uebersetzt ueblichen ueblicherweise uebrigen umfasst
    umgehen unabhaengig unbedingt unlike unmittelbar unstable unternehmen unterschiedlichen unterstuetzen unterstuetzt
    unterstuetzung urspruenglich urspruenglichen usually valid variety veraendern veraendert veraenderungen verfahren
    verfolgen verfuegbar verfuegbare verfuegbaren verfuegt verfuegung vergleich verhalten verhindern verhindert
    vermeiden vermieden veroeffentlicht veroeffentlichung verstaendnis verstehen versuchen versucht verteilt verwalten
    verwaltet vielleicht voellig vollstaendig vollstaendige vollstaendigen vorgaenge vorgang vorhanden vorhandenen
    vorsicht vorteil waeren wahl wahrscheinlich want weiss weit weitere weiteren weiterhin welt wenigstens werfen
    whatever whole wichtig wichtige wichtigen wichtiger wichtigsten wirklich wish woerterverzeichnis wohl wollen
    worten write writing written yes zahl zahlen zahlreiche zahlreichen zeitpunkt ziehen ziemlich zuerst zugeordnet
    zugreifen zunaechst zurueck zusaetzlich zusaetzliche zusaetzlichen zusammen zusammenhang zuvor zuzugreifen zweck
"""

DEEDS: Final = """
    vergabe zuweisung zuordnung umstellung einrichtung aenderung pruefung ueberpruefung erstellung konfiguration
    installation deinstallation einstellung einstellungen aktualisierung problem probleme fehler fehlermeldung meldung
    stoerung ausfall ausfaelle
"""
"""Heads of German compounds for what is done or goes wrong."""

ORDINARY: Final = """
    timer timers directive directives direktive direktiven kompilieren kompiliert
    store stores shop network networks networking printer printers printing print queue queues mail mails email emails
    mailbox mailboxes message calendar contact contacts attachment attachments folder folders file files directory
    directories drive drives share shares disk disks storage memory cpu processor password passwords account accounts
    login logon signin authentication authorization permission permissions certificate certificates key keys
    encryption security firewall proxy gateway router switch port ports connection connections tunnel session sessions
    timeout domain domains address addresses host hosts hostname route routing interface interfaces protocol protocols
    packet packets traffic bandwidth database databases table tables index query queries transaction backup backups
    restore recovery snapshot replication cluster node nodes log logs logging event events monitoring alert alerts
    policy policies group groups role roles driver drivers registry package packages repository repositories module
    modules library libraries kernel boot partition screen display monitor keyboard mouse browser browsers cache
    cookie cookies script scripts job jobs task tasks schedule scheduler process processes thread threads token tokens
    header headers request requests response responses redirect relay delivery sender recipient spam filter filters
    rule rules template templates profile profiles license licence activation patch patches image images video audio
    camera headset phone scanner dock docking battery wireless cable laptop notebook desktop mobile remote local
    virtual cloud container containers mount volume volumes attack attacks attacker malware phishing ransomware
    vulnerability exploit credential credentials clock synchronization sync synchronisation search zone zones record
    records resolver lookup master slave primary secondary netzwerk netzwerke netz drucker drucken druck druckauftrag
    warteschlange warteschlangen postfach postfaecher kalender kontakt kontakte anhang anhaenge ordner datei dateien
    verzeichnis laufwerk laufwerke freigabe freigaben festplatte speicher arbeitsspeicher prozessor kennwort passwort
    kennwoerter passwoerter konto konten anmeldung anmelden abmeldung authentifizierung berechtigung berechtigungen
    rechte zertifikat zertifikate schluessel verschluesselung sicherheit verbindung verbindungen sitzung sitzungen
    zeitueberschreitung domaene domaenen adresse adressen schnittstelle protokoll protokolle paket pakete datenbank
    datenbanken tabelle abfrage sicherung sicherungen wiederherstellung replikation protokollierung ereignis
    ereignisse ueberwachung alarm richtlinie richtlinien gruppe gruppen rolle rollen treiber registrierung
    registrierungsdatenbank paketquelle bibliothek start bildschirm anzeige tastatur maus zwischenspeicher aufgabe
    aufgaben zeitplan prozess prozesse anfrage anfragen antwort weiterleitung zustellung absender empfaenger regel
    regeln vorlage vorlagen profil lizenz lizenzen aktivierung bild kamera telefon akku kabel funknetz entfernt
    virtuell angriff angriffe angreifer schadsoftware schwachstelle zugangsdaten uhr uhrzeit zeit zeitabweichung
    synchronisierung abgleich suche zonen eintrag eintraege full empty expired expiry locked denied refused blocked
    rejected deferred delayed large small long short report reports voll leer abgelaufen gesperrt verweigert abgelehnt
    blockiert erschoepft verzoegert vergroessern verkleinern vergroesserung offline standby bericht berichte meeting
    meetings room rooms besprechung besprechungsraum raum raeume halle lager portal portale kundenportal intranet
    extranet upload download uploads downloads hochladen herunterladen buero homeoffice hotel branch office zentrale
    filiale schalter terminal automat nachricht nachrichten newsletter hinterlegt hinterlegen hinterlegung erneuerung
    erneuern verteilen verteilung bereitstellen bereitstellung zugang einwahl verlust verloren lost leeren leert
    inspecting flushing limiting restricting growth resource resources ressource ressourcen size groesse limit limits
    grenze grenzen schutz schuetzen protection username benutzername benutzernamen deployment rollout ausrollen
    wechsel wechseln austausch uebertragung uebertragen transfer transfers abhaengigkeit abhaengigkeiten addr
    administratorrechte agent alias aliases arbeitsplatzrechner architektur architekturen archiv archive archives
    argument arguments attribute attributes auth background befehl befehle befehlen befehls befehlszeile bereich
    betriebssystem betriebssystemen bit boolean bytes chain character characters com command commands comment
    compatibility component components conf content contents context control controls copy daemon daemons dateisystem
    dateisystems datenverkehr debug debugging default defaults dev distribution distributionen distributions dump
    ebene eingabe element elemente entries entry entwickler environment environments etc extension extensions external
    feld field fields filename filesystem filesystems firmware flag flags form format formats global handbuchseite
    handbuchseiten hash hilfsprogramm hilfsprogramme home html http https identitaet identity ignore inhalt input
    inside instance instances instanz integer integritaet internal internet interval ipv konfigurationsdatei
    konfigurationsdateien konsole kontrolle layer length level levels lib line lines link links load loading localhost
    location locations look major map mapping match matches matching max maximum mechanism mechanisms method methods
    minimum mode modern modul modus multi net netzwerkkarte object objects operating operation operations org ort
    output owner ownership paketbetreuer parameter parameters path pathname performance pfad php platte platten prefix
    prioritaet priority private privileges projekt projekte projekts protokolldateien public quellcode quellen ram
    random range readme rewrite rom root sbin scope secret select selected selection sha shell sign signature signed
    skript socket source sources space speed speicherplatz sprache sprachen srv ssl standard standards state static
    status stream string strings struktur suffix suite syntax sys target tcp term terms text tls tmp track transport
    trust trusted tuning udp umgebung uri usage usr var variable variablen variables verification verwaltung view
    webseite webserver wiki www xml zeichen zeile zeilen zero ziel ziele scan scans scanning scannen gescannt dialog
    dialogs fenster window popup menu menue button schaltflaeche tab tabs icon symbol ping pings traceroute bandbreite
    latenz latency language languages sharing banner graphical graphics install setup program client name
"""

# One line a group of words that name the same thing; each word is looked up by its stem.
GLOSSARY: Final = """
    drucker printer
    drucken printing print
    druckauftrag print-job printjob
    druckwarteschlange spooler print-queue
    warteschlange queue
    postfach mailbox
    kalender calendar
    anhang attachment
    ordner folder directory verzeichnis
    datei file
    laufwerk drive
    netzlaufwerk mapped-drive network-drive
    freigabe share
    festplatte disk drive
    arbeitsspeicher memory ram
    speicher storage memory
    speicherplatz disk-space
    kennwort passwort password
    konto account
    benutzerkonto account
    anmeldung anmelden login logon sign-in authentication
    authentifizierung authentication
    berechtigung berechtigungen permission permissions rechte rights
    zertifikat certificate
    schluessel key
    verschluesselung encryption
    sicherheit security
    verbindung connection
    verbindungsabbruch disconnect drop
    abbruch abbrueche disconnect abort drop
    sitzung session
    zeitueberschreitung timeout
    domaene domain
    adresse address
    schnittstelle interface
    netzwerk network netz
    datenbank database
    tabelle table
    abfrage query
    sicherung backup datensicherung
    wiederherstellung restore recovery wiederherstellen
    replikation replication
    protokoll protocol log
    protokollierung logging
    ereignis event
    ueberwachung monitoring
    richtlinie policy
    gruppenrichtlinie group-policy gpo
    gruppe group
    rolle role
    treiber driver
    registrierung registry registrierungsdatenbank
    registrierungsschluessel registry-key
    paket package
    paketquelle repository
    bildschirm screen display monitor
    tastatur keyboard
    zwischenspeicher cache
    aufgabe task
    aufgabenplanung scheduler
    anfrage request
    weiterleitung forwarding redirect
    zustellung delivery zustellen
    absender sender
    empfaenger recipient
    vorlage template
    lizenz license licence
    kamera camera
    akku battery
    kabel cable
    funknetz wlan wifi wireless
    angriff attack
    angreifer attacker
    schadsoftware malware
    schwachstelle vulnerability sicherheitsluecke
    zugangsdaten credential credentials anmeldedaten
    uhrzeit uhr clock time
    zeitabweichung clock-skew skew
    zeitsynchronisation time-synchronization ntp
    synchronisierung synchronisation synchronization sync
    suche search
    eintrag record entry
    zone zone
    namensaufloesung name-resolution resolver
    rueckwaertsaufloesung reverse-lookup
    ausfallsicherung failover
    lastverteilung load-balancing
    aktualisierung update upgrade
    veraltet outdated deprecated
    abgelaufen expired expiry
    gesperrt locked blocked
    sperre lock lockout
    verweigert denied refused
    leer empty blank
    voll full
    dockingstation dock docking
    fernzugriff remote-access
    fernwartung remote-support
    besprechung meeting
    besprechungsraum meeting-room
    spam junk
    virenscanner antivirus
    datentraeger disk volume
    einhaengen mount
    quarantaene quarantine
    rechenzentrum datacenter
    blauer bluescreen
    haertung hardening
    ablauf expiry expiration
    verlaengern renew renewal
    erneuern renew renewal
    umleitung redirect
    durchsatz throughput
    leistung performance
    auslastung load utilization
    absturz crash
    sichern backup
    sperren lock block
    signatur signature
    skript script
    dienstkonto service-account
    passwortzuruecksetzung password-reset
"""


_UMLAUTS: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"))
_MIN_HEAD: Final = 6
"""A German compound is known by its head from six letters on: "Druckerwarteschlange" is a queue."""
_MIN_REST: Final = 4


@cache
def keys(word: str, language: str = "und") -> frozenset[str]:
    """Return the forms under which a folded `word` is compared: itself and its stem; both stems for `und`.

    Folded umlauts lose their e, so that "vorgaenge" and "vorgang" meet: the stemmer leaves German plurals apart.
    """
    languages = (language,) if language in {"de", "en"} else ("de", "en")
    return frozenset(_flat(form) for form in (word, *(stem(word, language) for language in languages)))


def _flat(form: str) -> str:
    for written, plain in _UMLAUTS:
        form = form.replace(written, plain)
    return form


@cache
def _known(words: str) -> frozenset[str]:
    return frozenset(_flat(stem(word, language)) for word in words.split() for language in ("de", "en"))


@cache
def _groups() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return word key → the other words of its groups, each a tuple of its parts ("print-queue" has two)."""
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for line in GLOSSARY.strip().splitlines():
        group = line.split()
        for word in group:
            others = [tuple(other.split("-")) for other in group if other != word]
            for key in keys(word):
                found.setdefault(key, {}).update(dict.fromkeys(others))
    return {key: tuple(others) for key, others in found.items()}


@cache
def _listed() -> frozenset[str]:
    return frozenset(GENERIC.split()) | frozenset(ORDINARY.split())


@cache
def _ordinary() -> frozenset[str]:
    return frozenset(ORDINARY.split()) - frozenset(GENERIC.split())


@cache
def word_weight(word: str) -> float:
    """Return the anchor weight of a folded word, in (0, 1]."""
    forms = keys(word)
    if word in _ordinary():  # as it is written: a stem that "timer" shares with "time" says less
        return ORDINARY_WEIGHT
    if not forms.isdisjoint(_known(GENERIC)):
        return GENERIC_WEIGHT
    if not forms.isdisjoint(_known(ORDINARY)):
        return ORDINARY_WEIGHT
    if (thing := done_to(word)) is not None:
        return word_weight(thing)
    if (parts := compound_parts(word)) and all(word_weight(part) < NAME_WEIGHT for part in parts):
        return COMPOUND_WEIGHT
    return NAME_WEIGHT


@cache
def equivalents(word: str) -> tuple[tuple[str, ...], ...]:
    """Return what says the same as a folded word, each a tuple of words that stand together; () where unknown."""
    groups = _groups()
    return next((groups[key] for key in sorted(keys(word), key=len, reverse=True) if key in groups), ())


@cache
def done_to(word: str) -> str | None:
    """Return what a German compound of a deed or a fault is about ("adressvergabe" is "adress"), or None.

    Such a head says as little as "problem" does: what is assigned, changed or broken names the subject.
    """
    for head in DEEDS.split():
        if word.endswith(head) and len(word) - len(head) >= _MIN_REST:
            rest = word[: -len(head)]
            linked = rest.endswith("s") and len(rest) > _MIN_REST and keys(rest).isdisjoint(_known(ORDINARY))
            return rest[:-1] if linked else rest
    return None


@cache
def compound_parts(word: str) -> tuple[str, str] | None:
    """Return (rest, head) of a German compound of known words, or of any word with a head of the trade, or None.

    "dateiserver" is ("datei", "server"), "druckerwarteschlange" is ("drucker", "warteschlange"); a linking s is
    dropped from the rest.
    """
    for start in range(_MIN_REST, len(word) - _MIN_HEAD + 1):
        head = word[start:]
        known = any(key in _groups() and len(key) >= _MIN_HEAD - 1 for key in keys(head))
        if known or (head in _listed() and word[:start] in _listed()):
            rest = word[:start]
            return (rest[:-1] if rest.endswith("s") and len(rest) > _MIN_REST else rest), head
    return None
