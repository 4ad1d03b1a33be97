"""The ordinary words of the trade in the other language: an English page often answers a German ticket."""

from __future__ import annotations

from typing import Final

__all__ = ["GLOSSARY"]

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
