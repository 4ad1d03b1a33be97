"""Seeded queues of research tasks, as a service desk would fill them: uneven groups of the same gap in other words.

`tasks(count, seed)` is the same list for the same arguments, on every machine. A gap is a product, a symptom and
mostly an occasion; half of the gaps carry an identifier. Each is queued once to a dozen times, reworded: words in
another order, an occasion more or less, German or English, with or without questions, seen in overlapping nodes.
What is particular to a gap (a part of the product, what its questions ask about) comes from 15,625 invented names, the
first ones far more often, as names do; a task then has about thirty terms, most of them in its questions.
Near misses come by themselves: the same product with another symptom, the same symptom with another code.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from research.consolidation import QueueEntry
from research.duplicates import TaskShape

__all__ = ["queue_entries", "shapes", "tasks"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split("|"))


PRODUCTS: Final = _words("""
    Outlook Exchange Teams SharePoint OneDrive Citrix VMware Veeam Zabbix GitLab Jenkins nginx Apache
    Postfix Dovecot Samba Kerberos LDAP DNS DHCP RADIUS AnyConnect FortiGate pfSense Grafana Prometheus
    PostgreSQL MySQL Oracle MongoDB Redis Kafka RabbitMQ Kubernetes Docker Ansible Puppet SAP DATEV Lexware
    Acrobat Firefox Chrome Thunderbird LibreOffice BitLocker Defender Intune Autopilot WSUS SCCM Hyper-V
    Proxmox Ceph NetApp Synology Zebra Kyocera Ricoh Lexmark Cisco Aruba Mikrotik Sophos Barracuda Nextcloud
    Keycloak Okta Duo Splunk Graylog Elastic Nagios Icinga Bareos Bacula Tomcat
""")
THINGS: Final = {
    "de": _words("""
        Anmeldung Druck Kalender Postfach Suche Sicherung Zertifikat Tunnel Replikation Lizenz
        Synchronisation Agent Dienst Konsole Import Export Bericht Schnittstelle Datenbank Warteschlange
        Profil Vorlage Freigabe Sitzung
    """),
    "en": _words("""
        login print calendar mailbox search backup certificate tunnel replication license synchronisation
        agent daemon console import export report interface database queue profile template share session
    """),
}
SYMPTOMS: Final = {
    "de": _phrases("""
        hängt | bricht ab | ist langsam | verweigert den Zugriff | ist abgelaufen | ist voll | startet nicht
        | stürzt ab | ist verschwunden | liefert leere Seiten | meldet Zeitüberschreitung | bleibt gesperrt
        | ist veraltet | ist offline
    """),
    "en": _phrases("""
        hangs | drops | is slow | denies access | has expired | is full | does not start | crashes | has
        disappeared | returns empty pages | reports a timeout | stays locked | is outdated | is offline
    """),
}
OCCASIONS: Final = {
    "de": _phrases("""
        nach dem Update | seit dem Umzug | in der Außenstelle | im Lager | am Wochenende | nach
        Kennwortwechsel | unter Windows 11 | unter Windows 10 | auf dem Terminalserver | im Besprechungsraum
        | über VPN | nach Stromausfall
    """),
    "en": _phrases("""
        after the update | since the move | in the branch | in the warehouse | at the weekend | after
        password change | on Windows 11 | on Windows 10 | on the terminal server | in the meeting room |
        over VPN | after the power cut
    """),
}
QUESTIONS: Final = {
    "de": (
        "Was ist die Ursache: {0}?",
        "Welche Schritte beheben das Problem: {0}?",
        "Welche Versionen von {1} betrifft es?",
    ),
    "en": (
        "What is the cause: {0}?",
        "Which steps resolve the problem: {0}?",
        "Which versions of {1} are affected?",
    ),
}
DETAILS: Final = {"de": "Hat es zu tun mit", "en": "Has it to do with"}
SYLLABLES: Final = _words("""
    ka ve lo mar tin sol per dra nor fis bel gan tor mis ral zen pol quar lin des vor hex cal ura bri
""")
"""What names of applications are made of: an organisation has thousands that no list of products knows."""
START: Final = datetime(2026, 1, 1, tzinfo=UTC)


def tasks(count: int, *, seed: int = 1) -> Iterator[TaskShape]:
    """Yield `count` task shapes in groups of the same gap, shuffled within a window of a thousand."""
    random = Random(seed)
    window: list[TaskShape] = []
    made = node = 0
    while made < count:
        gap, node = _gap(random, node)
        size = min(count - made, 1 + int(random.paretovariate(1.6)), 12)
        made += size
        window += [_reworded(random, *gap) for _ in range(size)]
        if len(window) > 1_000 or made >= count:
            random.shuffle(window)
            yield from window
            window.clear()


def _name(random: Random) -> str:
    """Return one of 25³ invented names; the first hundred stand for 8 % of all."""
    number = int(25**3 * random.random() ** 2)
    return "".join(SYLLABLES[(number // 25**place) % 25] for place in range(3)).capitalize()


Gap = tuple[str, tuple[str, ...], int, int, str, int, tuple[str, ...]]


def _gap(random: Random, node: int) -> tuple[Gap, int]:
    """Return product, names of its own, thing, symptom, identifier, occasion, seeds; and the next free node."""
    kind = random.random()
    code = ""
    if kind < 0.15:
        code = f"CVE-{random.randint(2015, 2026)}-{random.randint(1000, 49999)}"
    elif kind < 0.3:
        code = f"KB{random.randint(4_000_000, 5_099_999)}"
    elif kind < 0.5:
        code = random.choice(
            ["HTTP 503", "HTTP 401", "0x80070005", "Error 1603", f"ORA-{random.randint(100, 30000):05}"]
        )
    seeds = tuple(f"n_{node + number}" for number in range(random.randint(1, 5)))
    if random.random() < 0.4:
        product = random.choice(PRODUCTS)
    else:
        product = _name(random)
    own = tuple(_name(random) for _ in range(random.randint(12, 26)))
    gap = (product, own, random.randrange(24), random.randrange(14), code, random.randrange(12), seeds)
    return gap, node + len(seeds)


def _reworded(
    random: Random,
    product: str,
    own: tuple[str, ...],
    thing: int,
    symptom: int,
    code: str,
    occasion: int,
    seeds: tuple[str, ...],
) -> TaskShape:
    language = "de" if random.random() < 0.6 else "en"
    subject = [f"{product}-{THINGS[language][thing]}" if language == "de" else f"{product} {THINGS[language][thing]}"]
    parts = [*subject, own[0], SYMPTOMS[language][symptom]]
    if code:
        parts.insert(random.choice((0, len(parts))), code)
    if random.random() < 0.8:
        parts.insert(random.choice((0, len(parts))), OCCASIONS[language][occasion])
    if random.random() < 0.15:
        parts.append(random.choice(OCCASIONS[language]))
    topic = " ".join(parts)
    questions = tuple(q.format(topic, product) for q in QUESTIONS[language])
    if random.random() < 0.8:
        asked = random.sample(own, len(own) - random.randint(0, 3))
        questions = (*questions, f"{DETAILS[language]} {', '.join(asked)}?")
    # what a person or an agent asked for was seen in no node
    seen = random.sample(seeds, random.randint(1, len(seeds))) if random.random() < 0.85 else []
    return TaskShape(topic, frozenset(seen), questions)


def shapes(count: int, *, seed: int = 1) -> list[TaskShape]:
    """Return `count` task shapes."""
    return list(tasks(count, seed=seed))


def queue_entries(count: int, *, seed: int = 1) -> list[QueueEntry]:
    """Return them as a queue: priorities from 20 to 95, one task a second."""
    random = Random(seed + 1)
    return [
        QueueEntry(f"task_{number:06}", shape, random.randrange(20, 96), START + timedelta(seconds=number))
        for number, shape in enumerate(tasks(count, seed=seed))
    ]
