"""Pages written for the tests of the gate and of the passes built on it, in German and English."""

from __future__ import annotations

from data.models import Label

VPN_809 = Label("n_a", "VPN Fehler 809 nach Windows-Update")
NAT_KEY = Label("n_b", "L2TP/IPsec hinter NAT: Registry-Schlüssel AssumeUDPEncapsulation")
SPOOLER = Label("n_c", "Druckerwarteschlange hängt, Aufträge bleiben stehen")
XZ = Label("n_d", "CVE-2024-3094")
XZ_TICKET = Label("n_e", "Backdoor in xz-utils: betroffene Debian-Server finden")
CLOCK_SKEW = Label("n_f", "Kerberos-Anmeldung scheitert wegen Zeitabweichung")
CHRONY = Label("n_g", "chrony auf den Domänencontrollern einrichten")

BOTH_EN = """
# L2TP/IPsec VPN clients behind NAT fail with error 809

## Symptoms

When a Windows client connects to an L2TP/IPsec VPN server and either side is behind a NAT device, the connection fails
with error 809 after about thirty seconds. The problem often appears after a feature update has reset the policy agent.

## Cause

By default Windows does not establish IPsec NAT-T security associations to servers that are located behind a NAT device.

## Resolution

Create the registry value AssumeUDPEncapsulationContextOnSendRule under the PolicyAgent service key of the VPN client
and set it to 2. Restart the computer. Error 809 no longer occurs, because UDP 4500 traffic is now encapsulated.
"""

BOTH_DE = """
# VPN-Fehler 809 hinter NAT

Nach dem Windows-Update meldet der VPN-Client den Fehler 809, sobald der Einwahlserver hinter einem NAT-Gerät steht.
Für L2TP/IPsec hinter NAT fehlt dann der Registry-Schlüssel AssumeUDPEncapsulationContextOnSendRule.

Der Schlüssel steht unter PolicyAgent und bekommt den Wert 2. Nach einem Neustart des Rechners kommt die Einwahl wieder
zustande. Bleibt der Fehler 809 bestehen, verwirft der Router am Standort die Pakete auf UDP 4500.

Auf Geräten mit mehreren Netzwerkkarten muss zusätzlich die Bindungsreihenfolge der Adapter geprüft werden, weil sonst
die falsche Adresse in der Aushandlung steht.
"""

OTHER_CODE_DE = BOTH_DE.replace("809", "691").replace("sobald der Einwahlserver", "obwohl der Einwahlserver")

ONE_SIDED_EN = """
# VPN error 809 after a Windows update

Several users report VPN error 809 after the January update for Windows. The tunnel comes up again once the update was
removed. A corrected build is announced for the next patch day, and the workaround is to pause updates until then.

The event log shows RasClient 20227 with the reason code 809. Removing the update restores the previous binaries of
the remote access client, as a comparison of file versions before and after has shown on three machines.
"""

NOT_TOGETHER_DE = """
# Rundbrief der Netzgruppe, März

## VPN Fehler 809

Nach dem Windows-Update im Februar meldeten elf Kollegen den VPN-Fehler 809. Ein Rückbau des Updates half in allen
Fällen, der Hersteller hat die Meldung bestätigt und ein korrigiertes Paket angekündigt.

## Urlaubsplanung

Bitte tragt eure Urlaube bis Ende des Monats ein. Die Vertretung der Rufbereitschaft regelt wie immer die Liste im
Sekretariat, und der Jahresausflug geht diesmal in den Harz.

## L2TP/IPsec hinter NAT

Für das Messnetz haben wir den Registry-Schlüssel AssumeUDPEncapsulationContextOnSendRule dokumentiert. Das betrifft
nur die beiden Leitstandsrechner in Halle 3, die noch über L2TP hinter NAT angebunden sind.
"""

NO_CODE_EN = """
# L2TP/IPsec behind NAT on Windows clients

A VPN that uses L2TP/IPsec behind NAT needs the registry key AssumeUDPEncapsulationContextOnSendRule on Windows. It
tells the policy agent that the server may be located behind a NAT device as well, after which the VPN comes up.

Set the value to 2, then restart the policy agent. The value survives a Windows update, but not a reset of the machine.
Some routers drop UDP 4500, in which case no registry value helps and another VPN protocol must be used.
"""

GENERIC_DE = """
# Fehler nach Windows-Update: was tun?

Tritt nach einem Windows-Update ein Fehler auf, hilft oft ein Neustart. Prüfen Sie zuerst, ob alle Updates installiert
sind, und sehen Sie in der Registry nach, ob ein Schlüssel fehlt. Ein Backup schützt vor Datenverlust.

Melden Sie den Fehler mit Nummer und Uhrzeit an den Service Desk. Je genauer die Beschreibung, desto schneller findet
sich eine Lösung. Allgemeine Hinweise zu Updates stehen im Handbuch des Herstellers.
"""

XZ_EN = """
# Backdoor in xz-utils 5.6.0 and 5.6.1

CVE-2024-3094 describes malicious code in the upstream tarballs of xz-utils. On Debian only the testing, unstable and
experimental distributions were affected; servers running a stable release never received the package.

To find affected Debian servers, list the installed version of liblzma5 with dpkg and compare it with 5.6.0. Upgrade,
then restart sshd, because the injected code hooks a function of that daemon through systemd.
"""

XZ_OTHER_EN = XZ_EN.replace("CVE-2024-3094", "CVE-2022-1271").replace("5.6.0 and 5.6.1", "zgrep")

KERBEROS_EN = """
# Clock skew too great

Kerberos rejects a ticket request when the clock of the client and that of the key distribution center differ by more
than five minutes. The login fails with the message "Clock skew too great", though the password was right.

Keep the clocks together: install chrony on every domain controller and let the clients follow them. The command
chronyc tracking shows the offset; a skew below one second is normal.
"""
