"""The address of GLPI's REST API, and of the pages that show an item (pure)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

__all__ = ["item_page", "normalised_api"]

_ENTRY: Final = "apirest.php"
_PAGES: Final = {"Ticket": "front/ticket.form.php", "KnowbaseItem": "front/knowbaseitem.form.php"}


def normalised_api(url: str) -> str:
    """Return the one address of an instance's API; raise ValueError with what is expected.

    Taken: `https://glpi.example.org/apirest.php`, the same without its last part, and an address that the web server
    rewrites (`…/api`; API documentation, section "Servers configuration"). GLPI 11 keeps this API at `…/api.php/v1`.
    """
    text = url.strip()
    expected = "the address of the API, such as https://glpi.example.org/apirest.php"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(expected) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"\s", text):
        raise ValueError(expected)
    if "@" in parts.netloc:
        raise ValueError(f"{expected}, without a name or password in it")
    if parts.query or parts.fragment:
        raise ValueError(f"{expected}, without anything after it")
    path = re.sub(rf"/{_ENTRY}/.*$", f"/{_ENTRY}", parts.path).rstrip("/")
    if not re.search(rf"/(?:{_ENTRY}|api|api\.php/v\d+(?:\.\d+)*)$", path):
        path = f"{path}/{_ENTRY}"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}"


def item_page(api: str, itemtype: str, item_id: int) -> str:
    """Return where a person sees the item: the form of GLPI beside the API's entry."""
    root = re.sub(r"/(?:apirest\.php|api|api\.php/v[\d.]+)$", "", api)
    return f"{root}/{_PAGES[itemtype]}?id={item_id}"
