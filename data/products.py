"""Products whose versions are named in service desks, and the forms a version takes.

The table holds what people write with a bare number behind ("Windows 11", "Exchange 2019"); every other
product is recognised by a dotted version of three parts or a leading v.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from data.characters import word_set
from data.language import STOP_WORDS
from data.signs import signs_of

__all__ = [
    "AFTER_NUMBER",
    "GENERIC_VERSION",
    "NOT_A_PRODUCT",
    "PRODUCTS",
    "V_VERSION",
    "WORD_VERSION",
    "Product",
    "named_products",
]

_LINK: Final = r"(?:[- ](?:ab[- ])?(?:version|release|ver\.?|v\.)[ ]|[ ]|[-/_])v?"  # between a name and its version
AFTER_NUMBER: Final = (
    r"(?![\w%]|\.\d|-\d|[ ]?(?:[kmgt]i?b|ms|sek\w*|sec\w*|min\w*|stunden?|hours?|tagen?|days?|mal|times|x|uhr|prozent|"
    r"percent|users?|benutzern?|pcs?|server[ns]?|clients?|lizenzen|licen[cs]es|geräten?|rechnern?|fehler[n]?|errors?)\b)"
)
"""What must not stand behind a number that names something: digits that go on, or a unit that makes it a quantity."""
_DOTTED: Final = r"\d{1,4}(?:\.\d{1,6}){1,4}(?:[a-z]\d{0,2})?(?:[-+~](?:p|rc|beta|alpha|b|deb|ubuntu)?\d[\w.+~]{0,12})?"
_SMALL: Final = r"\d{1,2}"
_YEAR: Final = r"(?:19|20)\d\d"
_UPDATE: Final = r"(?:[ ,-]{1,2}(?P<update>(?:CU|SP|RU|R|KB|Update|Service Pack|Kumulatives Update)[ ]?\d{1,2}))?"


@dataclass(frozen=True, slots=True)
class Product:
    """A product's canonical name and the pattern of name plus version (groups `version`, `update`)."""

    name: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    """Lower-case pieces of which a text must hold one: looking for them first spares most of the patterns."""


_GROUP: Final = re.compile(r"\(\?:[^()]*\)(?:[?*]|\{\d,\d\})?")
_LOOSE: Final = re.compile(r"\[[^]]*\]\??|\w\?|\\.")


def _product(name: str, pattern: str, version: str, link: str = _LINK) -> Product:
    plain = _LOOSE.sub(" ", pattern)
    while _GROUP.search(plain):
        plain = _GROUP.sub(" ", plain)
    hints = tuple(max(part.split(), key=len) for part in plain.split("|"))
    whole = rf"(?<![\w.-])(?:{pattern}){link}(?P<version>{version}){_UPDATE}{AFTER_NUMBER}"
    return Product(name, re.compile(whole, re.IGNORECASE), hints)


def _rows(version: str, *names: str) -> list[Product]:
    """Return rows for names that are their own pattern, written `canonical` or `canonical=pattern`."""
    rows = []
    for entry in names:
        name, _, pattern = entry.partition("=")
        rows.append(_product(name, pattern or re.escape(name).replace(r"\ ", "[ -]"), version))
    return rows


_ANY: Final = rf"(?:{_DOTTED}|{_SMALL})"

PRODUCTS: Final[tuple[Product, ...]] = (
    *_rows(rf"{_YEAR}(?:[ ]?R2)?", "windows server=(?:windows[ -]|win[ -])?server"),
    *_rows(
        r"(?:(?:10|11)(?:,?[ ](?:version[ ])?(?:[12]\dH[12]|1[5-9]\d\d|200[49]))?|8\.1|7|8|2000)",
        "windows=(?:microsoft[ -]|ms[ -])?windows",
    ),
    _product("windows", "win", r"(?:10|11)(?:[ ]\d\dH[12])?", link="[ -]?"),
    *_rows(
        _YEAR,
        "exchange=(?:microsoft[ -]|ms[ -])?exchange(?:[ -]server)?",
        "sql server=(?:microsoft[ -]|ms[ -])?sql[ -]server|mssql(?:[ -]server)?",
        "sharepoint=sharepoint(?:[ -]server)?",
        "visual studio",
        "outlook",
        "excel",
        "project",
        "visio",
        "autocad",
        "skype for business",
        "word=(?:microsoft|ms)[ -]word",
        "access=(?:microsoft|ms)[ -]access",
        "dynamics nav",
        "acrobat=(?:adobe[ -])?acrobat(?:[ -](?:reader|pro|dc)){0,2}|adobe[ -]reader",
    ),
    *_rows(rf"(?:{_YEAR}|365|XP)", "office=(?:microsoft[ -]|ms[ -])?office"),
    *_rows(
        r"\d{1,2}(?:c|g|ai)(?:[ ]?R[12])?|\d{2}\.\d{1,2}(?:\.\d{1,2}){0,3}", "oracle=oracle(?:[ -](?:database|db))?"
    ),
    *_rows(r"\d{2}\.\d{2}(?:\.\d{1,2})?(?:[ ]LTS)?", "ubuntu=ubuntu(?:[ -](?:server|linux))?"),
    *_rows(
        _ANY,
        "debian=debian(?:[ -](?:gnu/)?linux)?",
        "red hat enterprise linux=red[ ]?hat(?:[ -]enterprise[ -]linux)?|rhel",
        "sles=sles|suse[ -]linux[ -]enterprise(?:[ -]server)?",
        "opensuse=opensuse(?:[ -]leap)?",
        "centos=centos(?:[ -]linux)?",
        "rocky linux=rocky(?:[ -]linux)?",
        "almalinux",
        "fedora",
        "macos=mac[ ]?os(?:[ ]x)?",
        "ios",
        "ipados",
        "android",
        "java=java|jre",
        "jdk=(?:open)?jdk",
        "python",
        "php",
        "perl",
        "ruby",
        "node.js=node(?:\\.?js)",
        "postgresql=postgres(?:ql)?",
        "mysql",
        "mariadb",
        "mongodb",
        "tomcat=(?:apache[ -])?tomcat",
        "iis",
        "dotnet=\\.net(?:[ -](?:framework|core|runtime))?",
        "powershell",
        "esxi=(?:vmware[ -])?esxi?",
        "vsphere=(?:vmware[ -])?vsphere",
        "vcenter=(?:vmware[ -])?vcenter(?:[ -]server)?",
        "proxmox=proxmox(?:[ -]ve)?",
        "veeam=veeam(?:[ -]backup(?:[ -]&[ -]replication)?)?",
        "citrix receiver",
        "drupal",
        "typo3",
        "fortios",
        "pan-os",
        "junos",
        "glpi",
        "zammad",
        "internet explorer=internet[ -]explorer|ie",
        "openssl",
        "openssh",
        "samba",
        "dovecot",
        "linux=(?:linux[- ])?kernel",
        "kubernetes=kubernetes|k8s",
    ),
    *_rows(
        _DOTTED,
        "tls",
        "ssl",
        "smb",
        "bind=bind[ ]?9?",
        "apache=apache(?:[ -](?:httpd|http[ -]server))?|httpd",
        "nginx",
        "postfix",
        "kerberos=kerberos|krb5",
        "openvpn",
        "wireguard",
        "teams=(?:microsoft[ -])?teams",
        "sap gui",
        "firefox=(?:mozilla[ -])?firefox",
        "chrome=(?:google[ -])?chrome",
        "edge=(?:microsoft[ -])?edge",
        "thunderbird",
        "libreoffice",
        "docker",
        "ansible",
        "terraform",
        "jenkins",
        "gitlab",
        "jira",
        "confluence",
        "redis",
        "elasticsearch",
        "anyconnect=(?:cisco[ -])?anyconnect",
        "systemd",
        "glibc",
        "bitlocker",
    ),
    *_rows(
        r"\d{2,3}",
        "firefox=(?:mozilla[ -])?firefox(?:[ -]esr)?",
        "chrome=(?:google[ -])?chrome",
        "edge=microsoft[ -]edge",
    ),
    *_rows(r"[1-3](?=\b)", "smb=smbv?", "tls", "ssl", "ntlm=ntlmv?", "ike=ikev?", "snmp=snmpv?", "nfs=nfsv?"),
    _product("smb", "smb", r"[1-3](?:\.\d){0,2}", link="v?"),
    _product("ike", "ike", r"[12]", link="v"),
)
"""Most specific first: what an earlier one claims is no longer there for a later one."""

_HINTS: Final = tuple((hint, place) for place, product in enumerate(PRODUCTS) for hint in product.hints)


def named_products(text: str) -> list[Product]:
    """Return the products that a text may name with a version, most specific first."""
    signs = signs_of(text)
    before = text.lower() if signs is None else signs.near
    return [PRODUCTS[place] for place in sorted({place for hint, place in _HINTS if hint in before})]


GENERIC_VERSION: Final = re.compile(
    r"(?<![\w.@/-])(?P<product>[A-Za-z][A-Za-z0-9+_]{1,30}(?:-[A-Za-z][A-Za-z0-9]{1,20})?)"
    r"(?:[ -](?:version|release|ver\.)[ ]v?|[ ]|[ ]v|-|/)"
    r"(?P<version>\d{1,4}(?:\.\d{1,6}){2}(?:[a-z]\d{0,2})?(?:[-+~][a-z]{0,6}\d[\w+~]{0,12})?|(?<=[ ]v)\d{1,4}\.\d{1,6})"
    r"(?!\w|\.\d)"
)
V_VERSION: Final = re.compile(
    r"(?<![\w.@/-])v(?P<version>\d{1,4}(?:\.\d{1,6}){1,3}(?:-(?:rc|beta|alpha)[.]?\d{0,3})?)(?!\w|\.\d)", re.IGNORECASE
)
WORD_VERSION: Final = re.compile(
    r"(?<![\w-])(?:version|release)[ ](?P<version>\d{1,4}(?:\.\d{1,6}){1,3})(?!\w|\.\d)", re.IGNORECASE
)

NOT_A_PRODUCT: Final = STOP_WORDS | word_set(
    """
    version versions release releases ver section sections kapitel chapter abschnitt anhang appendix abbildung
    abb figure fig table tabelle tab punkt schritt step seite page paragraph absatz nummer number nr no teil
    part update upgrade patch build ip adresse address host server netz netzwerk subnet gateway datum date stand
    rev revision uhr listing beispiel example oid note hinweis kap sec ca status code fehler error ndr smtp dsn
    id tel fax see siehe item regel rule
    """
)
"""Folded words before a dotted number that make it a section, a date, an address or a bare version."""
