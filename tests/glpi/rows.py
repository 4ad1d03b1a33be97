"""What the stand-in's GLPI holds: tables of rows, who may see them, and how their texts are stored.

Sources of the rules, in GLPI's public repository (glpi-project/glpi): `src/Toolbox/Sanitizer.php` (how GLPI 10 and
earlier store special characters), `src/KnowbaseItem.php` (who sees an item, what a profile forces on a new one, whose
it is), `src/Api/API.php` (`getItems`: filters, order, joins that count a row more than once), `install/mysql`
(columns), `inc/define.php` and `src/CommonITILObject.php` (status and types of tickets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]

READ, UPDATE, CREATE, DELETE, PURGE = 1, 2, 4, 8, 16
READALL = 1024  # Ticket
KNOWBASEADMIN, READFAQ, PUBLISHFAQ = 1024, 2048, 4096  # KnowbaseItem
TARGETS = ("KnowbaseItem_User", "Group_KnowbaseItem", "KnowbaseItem_Profile", "Entity_KnowbaseItem")
TECHNICIAN = {"ticket": READ | READALL, "followup": 1, "knowbase": READ | UPDATE | CREATE, "interface": "central"}
OWN_USER = 7
COLUMNS: dict[str, Row] = {
    "Ticket": {
        "entities_id": 0,
        "name": "",
        "content": "",
        "date": "2026-01-01 08:00:00",
        "date_mod": "2026-01-01 08:00:00",
        "solvedate": None,
        "closedate": None,
        "status": 5,
        "type": 1,
        "urgency": 3,
        "priority": 3,
        "itilcategories_id": 0,
        "users_id_recipient": 2,
        "is_deleted": 0,
    },
    "ITILFollowup": {
        "itemtype": "Ticket",
        "items_id": 0,
        "content": "",
        "is_private": 0,
        "users_id": 2,
        "date": "2026-01-01 09:00:00",
        "date_mod": "2026-01-01 09:00:00",
    },
    "ITILSolution": {
        "itemtype": "Ticket",
        "items_id": 0,
        "content": "",
        "status": 3,  # CommonITILValidation::ACCEPTED; 4 is REFUSED
        "users_id": 2,
        "date_creation": "2026-01-01 10:00:00",
        "date_mod": "2026-01-01 10:00:00",
    },
    "KnowbaseItem": {
        "name": "",
        "answer": "",
        "is_faq": 0,
        "users_id": 0,
        "view": 0,
        "begin_date": None,
        "end_date": None,
        "date_creation": "2026-01-01 08:00:00",
        "date_mod": "2026-01-01 08:00:00",
    },
    "KnowbaseItem_User": {"knowbaseitems_id": 0, "users_id": 9},
    # Without an entity they hold everywhere (`no_entity_restriction`); `getItems` lists rows of open entities alone.
    "Group_KnowbaseItem": {"knowbaseitems_id": 0, "groups_id": 4, "entities_id": None},
    "KnowbaseItem_Profile": {"knowbaseitems_id": 0, "profiles_id": 6, "entities_id": None},
    "Entity_KnowbaseItem": {"knowbaseitems_id": 0, "entities_id": 0, "is_recursive": 1},
}
TEXTS = {"name", "content", "answer"}
RIGHT_OF = {
    "Ticket": ("ticket", READ | READALL),
    "ITILFollowup": ("followup", READ),  # SEEPUBLIC
    "ITILSolution": ("ticket", READ),
}
_TEN = (("&", "&#38;"), ("<", "&#60;"), (">", "&#62;"))
_NINE = (("<", "&lt;"), (">", "&gt;"))


@dataclass
class House:
    """One GLPI. `version` decides how texts are stored: 9.5 and 10 encode them, 11 does not."""

    version: str = "10.0.17"
    profile: Row = field(default_factory=lambda: dict(TECHNICIAN))
    categories: dict[int, str] = field(default_factory=lambda: {3: "Netzwerk > VPN"})
    entities: dict[int, str] = field(default_factory=lambda: {0: "Root entity", 1: "Root entity > Branch"})
    default_entity: int = 0
    tables: dict[str, dict[int, Row]] = field(default_factory=lambda: {name: {} for name in COLUMNS})
    clock: str = "2026-02-01 12:00:00"

    def stored(self, text: str) -> str:
        """Return a text as the database has it."""
        mapping = _NINE if self.version.startswith("9.") else () if self.version.startswith("11") else _TEN
        for raw, encoded in mapping:
            text = text.replace(raw, encoded)
        return text

    def add(self, itemtype: str, /, **values: Any) -> int:
        """Add a row as the interface of GLPI would; returns its id."""
        table = self.tables[itemtype]
        unknown = set(values) - {*COLUMNS[itemtype], "id"}
        assert not unknown, unknown
        number = values.pop("id", max(table, default=0) + 1)
        row = {"id": number, **COLUMNS[itemtype], **values}
        table[number] = {name: self.stored(v) if name in TEXTS else v for name, v in row.items()}
        return int(number)

    def change(self, itemtype: str, number: int, **values: Any) -> bool:
        """Change a row; `date_mod` moves only where something did (CommonDBTM::update)."""
        row = self.tables[itemtype][number]
        new = {name: self.stored(v) if name in TEXTS and isinstance(v, str) else v for name, v in values.items()}
        changed = any(row[name] != value for name, value in new.items())
        row.update(new)
        if changed and "date_mod" in row and "date_mod" not in values:
            row["date_mod"] = self.clock
        return changed

    def purge(self, itemtype: str, number: int) -> None:
        """Remove a row for good, with what hangs on it (`cleanDBonPurge`)."""
        del self.tables[itemtype][number]
        if itemtype == "KnowbaseItem":
            for target in TARGETS:
                table = self.tables[target]
                for one in [key for key, row in table.items() if row["knowbaseitems_id"] == number]:
                    del table[one]

    def ticket(self, **values: Any) -> int:
        return self.add("Ticket", **values)

    def article(self, *, public: bool = True, **values: Any) -> int:
        """Add an item of the knowledge base, by default of another author and shown to the root entity."""
        number = self.add("KnowbaseItem", **{"users_id": 2, **values})
        if public:
            self.add("Entity_KnowbaseItem", knowbaseitems_id=number)
        return number

    def right(self, name: str) -> int:
        return int(self.profile.get(name, 0))

    def may_list(self, itemtype: str) -> bool:
        if itemtype == "KnowbaseItem" or itemtype in TARGETS:
            return bool(self.right("knowbase") & (READ | READFAQ))
        name, needed = RIGHT_OF[itemtype]
        return bool(self.right(name) & needed)

    def targets_of(self, number: int) -> int:
        """Return how many visibility targets an item has: each joined row counts it once more."""
        return sum(row["knowbaseitems_id"] == number for name in TARGETS for row in self.tables[name].values())

    def sees(self, itemtype: str, row: Row, entities: set[int]) -> bool:
        if itemtype == "KnowbaseItem":
            if row["users_id"] == OWN_USER or self.right("knowbase") & KNOWBASEADMIN:
                return True
            return self.targets_of(row["id"]) > 0
        return row.get("entities_id", 0) in entities

    def listed(
        self, itemtype: str, entities: set[int], matches: Callable[[Row], bool], *, deleted: bool
    ) -> tuple[list[Row], int]:
        """Return the rows that a list shows, and the total that GLPI counts."""
        rows, total = [], 0
        for row in self.tables[itemtype].values():
            if row.get("is_deleted", int(deleted) if "is_deleted" in COLUMNS[itemtype] else 0) != (
                int(deleted) if "is_deleted" in COLUMNS[itemtype] else 0
            ):
                continue
            if self.sees(itemtype, row, entities) and matches(row):
                rows.append(row)
                total += max(1, self.targets_of(row["id"])) if itemtype == "KnowbaseItem" else 1
        return rows, total

    def shown(self, row: Row, *, names: bool) -> Row:
        """Return a row as the API sends it; `names` puts names where ids of dropdowns are."""
        row = dict(row)
        if names and "itilcategories_id" in row and row["itilcategories_id"]:
            row["itilcategories_id"] = self.stored(self.categories[row["itilcategories_id"]])
        if names and "entities_id" in row:
            row["entities_id"] = self.stored(self.entities[row["entities_id"]])
        return row


def sample(house: House, tickets: int = 120) -> House:
    """Fill a house with tickets that a service desk knows, for trying the commands by hand."""
    subjects = tuple(_subjects())
    for number in range(tickets):
        subject, cause, cure = subjects[number % len(subjects)]
        ticket = house.ticket(
            name=f"{subject} ({number + 1})",
            content=f"<p>{subject}.</p><p>Since this morning on &quot;PC-{number:03}&quot;.</p>",
            itilcategories_id=3 if "VPN" in subject else 0,
            date_mod=f"2026-01-{1 + number % 28:02} {number % 24:02}:{number % 60:02}:00",
        )
        house.add("ITILFollowup", items_id=ticket, content=f"<p>{cause}</p>")
        house.add("ITILFollowup", items_id=ticket, content="<p>Call Mr. Braun at home.</p>", is_private=1)
        house.add("ITILSolution", items_id=ticket, content=f"<p>{cure}</p>")
    house.article(
        name="Setting up the VPN client",
        answer="<h2>Requirements</h2><p>A valid certificate.</p><h2>Steps</h2><ol><li>Install the client.</li>"
        "<li>Import the profile <code>office.ovpn</code>.</li></ol>",
    )
    house.article(name="Draft nobody may see yet", answer="<p>Unfinished.</p>", public=False)
    return house


def _subjects() -> Iterator[tuple[str, str, str]]:
    yield (
        "VPN connection fails with error 809",
        "UDP port 500 was blocked by the firewall.",
        "Opened UDP 500 and 4500 for the VPN gateway; the connection stands.",
    )
    yield (
        "Drucker druckt nur leere Seiten",
        "Der Toner war leer.",
        "Toner getauscht und eine Testseite gedruckt.",
    )
    yield (
        "Outlook asks for the password again and again",
        "An old password was in the credential manager.",
        "Removed the stored credentials and signed in again.",
    )
