"""Seeded queues of research tasks, as a service desk would fill them: uneven groups of the same gap in other words.

`tasks(count, seed)` is the same list for the same arguments, on every machine. A gap is a product, a symptom and
mostly an occasion; half of the gaps carry an identifier. Each is queued once to a dozen times, reworded: words in
another order, an occasion more or less, German or English, with or without questions, seen in overlapping nodes.
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

PRODUCTS: Final = [
    "Outlook",
    "Exchange",
    "Teams",
    "SharePoint",
    "OneDrive",
    "Citrix",
    "VMware",
    "Veeam",
    "Zabbix",
    "GitLab",
    "Jenkins",
    "nginx",
    "Apache",
    "Postfix",
    "Dovecot",
    "Samba",
    "Kerberos",
    "LDAP",
    "DNS",
    "DHCP",
    "RADIUS",
    "AnyConnect",
    "FortiGate",
    "pfSense",
    "Grafana",
    "Prometheus",
    "PostgreSQL",
    "MySQL",
    "Oracle",
    "MongoDB",
    "Redis",
    "Kafka",
    "RabbitMQ",
    "Kubernetes",
    "Docker",
    "Ansible",
    "Puppet",
    "SAP",
    "DATEV",
    "Lexware",
    "Acrobat",
    "Firefox",
    "Chrome",
    "Thunderbird",
    "LibreOffice",
    "BitLocker",
    "Defender",
    "Intune",
    "Autopilot",
    "WSUS",
    "SCCM",
    "Hyper-V",
    "Proxmox",
    "Ceph",
    "NetApp",
    "Synology",
    "Zebra",
    "Kyocera",
    "Ricoh",
    "Lexmark",
    "Cisco",
    "Aruba",
    "Mikrotik",
    "Sophos",
    "Barracuda",
    "Nextcloud",
    "Keycloak",
    "Okta",
    "Duo",
    "Splunk",
    "Graylog",
    "Elastic",
    "Nagios",
    "Icinga",
    "Bareos",
    "Bacula",
    "Tomcat",
]
THINGS: Final = {
    "de": [
        "Anmeldung",
        "Druck",
        "Kalender",
        "Postfach",
        "Suche",
        "Sicherung",
        "Zertifikat",
        "Tunnel",
        "Replikation",
        "Lizenz",
        "Synchronisation",
        "Agent",
        "Dienst",
        "Konsole",
        "Import",
        "Export",
        "Bericht",
        "Schnittstelle",
        "Datenbank",
        "Warteschlange",
        "Profil",
        "Vorlage",
        "Freigabe",
        "Sitzung",
    ],
    "en": [
        "login",
        "print",
        "calendar",
        "mailbox",
        "search",
        "backup",
        "certificate",
        "tunnel",
        "replication",
        "license",
        "synchronisation",
        "agent",
        "daemon",
        "console",
        "import",
        "export",
        "report",
        "interface",
        "database",
        "queue",
        "profile",
        "template",
        "share",
        "session",
    ],
}
SYMPTOMS: Final = {
    "de": [
        "hängt",
        "bricht ab",
        "ist langsam",
        "verweigert den Zugriff",
        "ist abgelaufen",
        "ist voll",
        "startet nicht",
        "stürzt ab",
        "ist verschwunden",
        "liefert leere Seiten",
        "meldet Zeitüberschreitung",
        "bleibt gesperrt",
        "ist veraltet",
        "ist offline",
    ],
    "en": [
        "hangs",
        "drops",
        "is slow",
        "denies access",
        "has expired",
        "is full",
        "does not start",
        "crashes",
        "has disappeared",
        "returns empty pages",
        "reports a timeout",
        "stays locked",
        "is outdated",
        "is offline",
    ],
}
OCCASIONS: Final = {
    "de": [
        "nach dem Update",
        "seit dem Umzug",
        "in der Außenstelle",
        "im Lager",
        "am Wochenende",
        "nach Kennwortwechsel",
        "unter Windows 11",
        "unter Windows 10",
        "auf dem Terminalserver",
        "im Besprechungsraum",
        "über VPN",
        "nach Stromausfall",
    ],
    "en": [
        "after the update",
        "since the move",
        "in the branch",
        "in the warehouse",
        "at the weekend",
        "after password change",
        "on Windows 11",
        "on Windows 10",
        "on the terminal server",
        "in the meeting room",
        "over VPN",
        "after the power cut",
    ],
}
QUESTIONS: Final = {
    "de": (
        "Was ist die Ursache: {0}?",
        "Welche Schritte beheben das Problem: {0}?",
        "Welche Versionen von {1} betrifft es?",
    ),
    "en": ("What is the cause: {0}?", "Which steps resolve the problem: {0}?", "Which versions of {1} are affected?"),
}
SYLLABLES: Final = [
    "ka",
    "ve",
    "lo",
    "mar",
    "tin",
    "sol",
    "per",
    "dra",
    "nor",
    "fis",
    "bel",
    "gan",
    "tor",
    "mis",
    "ral",
    "zen",
    "pol",
    "quar",
    "lin",
    "des",
    "vor",
    "hex",
    "cal",
    "ura",
    "bri",
]
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


def _gap(random: Random, node: int) -> tuple[tuple[str, int, int, str, int, tuple[str, ...]], int]:
    """Return product, thing, symptom, identifier, occasion and seeds of a gap, and the next free node."""
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
        product = "".join(random.choice(SYLLABLES) for _ in range(3)).capitalize()
    gap = (product, random.randrange(24), random.randrange(14), code, random.randrange(12), seeds)
    return gap, node + len(seeds)


def _reworded(
    random: Random, product: str, thing: int, symptom: int, code: str, occasion: int, seeds: tuple[str, ...]
) -> TaskShape:
    language = "de" if random.random() < 0.6 else "en"
    subject = [f"{product}-{THINGS[language][thing]}" if language == "de" else f"{product} {THINGS[language][thing]}"]
    parts = [*subject, SYMPTOMS[language][symptom]]
    if code:
        parts.insert(random.choice((0, len(parts))), code)
    if random.random() < 0.8:
        parts.insert(random.choice((0, len(parts))), OCCASIONS[language][occasion])
    if random.random() < 0.15:
        parts.append(random.choice(OCCASIONS[language]))
    topic = " ".join(parts)
    questions = tuple(q.format(topic, product) for q in QUESTIONS[language]) if random.random() < 0.7 else ()
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
