"""The words of the trade: what is true of every page, what is done or goes wrong, and what names a field.

Folded words of both languages; `research.vocabulary` says what each list is worth and compares by stem.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DEEDS", "GENERIC", "ORDINARY"]

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
