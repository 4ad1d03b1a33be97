"""Settings: `config.env`, then BRAIN_* in the environment, which wins (spec 11).

The only module that reads the environment. Unknown BRAIN_ names and bad values are refused with a
sentence that names the variable, what was given and what is expected.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from research.glpi.address import normalised_api
from vector.cluster import cluster_address

__all__ = ["ConfigError", "Origin", "Settings", "load_settings", "parse_duration", "parse_size"]

PREFIX: Final = "BRAIN_"
SECRETS: Final = frozenset({"BRAIN_API_TOKEN", "BRAIN_DATABASE_URL", "BRAIN_GLPI_APP_TOKEN", "BRAIN_GLPI_USER_TOKEN"})

DURATION_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
SIZE_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class ConfigError(Exception):
    """A setting that cannot be used; the message is one sentence for the operator (exit status 2)."""


def parse_duration(value: object) -> timedelta:
    """Return `10m`, `2h`, `1h30m`, `30d`, `1.5s` as a timedelta; raise ValueError for anything else."""
    if isinstance(value, timedelta):
        return value
    text = str(value).strip().lower()
    if not re.fullmatch(r"(\d+(\.\d+)?[smhdw])+", text):
        raise ValueError("a duration such as 30s, 10m, 2h, 1h30m or 30d")
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhdw])", text)
    return timedelta(seconds=sum(float(number) * DURATION_UNITS[unit] for number, unit in parts))


def parse_size(value: object) -> int:
    """Return `20MiB`, `5MB`, `1024` as bytes; raise ValueError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]i?b|b|)", str(value).strip().lower())
    if match is None:
        raise ValueError("a size such as 512KiB, 20MiB or 1GiB")
    return int(float(match[1]) * SIZE_UNITS[match[2]])


def _parse_list(value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(str(item) for item in value)
    return tuple(item.strip() for item in str(value).split(",") if item.strip())


def _parse_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in {"true", "false"}:
        raise ValueError("true or false")
    return text == "true"


def _parse_contact(value: object) -> str:
    text = str(value).strip()
    if text and not re.fullmatch(r"[!-'*-~]{1,120}", text):
        raise ValueError("a mail address or a page, such as https://example.org/bot, in one word without brackets")
    if text and not re.fullmatch(r"(?:mailto:)?[^@\s:/]+@[^@\s]+\.[^@\s]+|https?://[^\s/]+\S*", text):
        raise ValueError("a mail address or a page, such as ops@example.org or https://example.org/bot")
    return text


def _parse_prefixes(value: object) -> tuple[str, ...]:
    prefixes = _parse_list(value)
    for prefix in prefixes:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,19}[-#]?", prefix):
            raise ValueError(f"keys of ticket projects such as OPS or NET-, and {prefix!r} is none")
    return prefixes


def _parse_offload(value: object) -> str:
    text = str(value).strip()
    cluster_address(text)  # says what is expected
    return text.rstrip("/")


def _parse_glpi(value: object) -> str:
    text = str(value).strip()
    return normalised_api(text) if text else ""


def _parse_token(value: object) -> str:
    text = str(value).strip()
    if not re.fullmatch(r"[!-~]{0,200}", text):
        raise ValueError("a token as GLPI shows it: letters, digits and signs without a space")
    return text


def _parse_database(value: object) -> str:
    text = str(value).strip()
    scheme, found, rest = text.partition("://")
    if not text or (scheme == "sqlite" and rest.strip("/")):
        return text
    if found and scheme.partition("+")[0] in {"postgresql", "postgres"}:
        if scheme not in {"postgresql", "postgres", "postgresql+psycopg"}:
            raise ValueError("postgresql://... (the driver is psycopg)")
        if urlsplit(text).path.strip("/"):
            return text
    raise ValueError("empty, sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE")


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
Size = Annotated[int, BeforeValidator(parse_size)]
Names = Annotated[tuple[str, ...], BeforeValidator(_parse_list)]
Contact = Annotated[str, BeforeValidator(_parse_contact)]
TicketPrefixes = Annotated[tuple[str, ...], BeforeValidator(_parse_prefixes)]
Offload = Annotated[str, BeforeValidator(_parse_offload)]
GlpiAddress = Annotated[str, BeforeValidator(_parse_glpi)]
Token = Annotated[str, BeforeValidator(_parse_token)]
Switch = Annotated[bool, BeforeValidator(_parse_bool)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """Every variable with its default; `config.env.example` shows the same list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Home and store
    home: Path = Path("./var")
    database_url: Annotated[str, BeforeValidator(_parse_database)] = ""
    event_retention: Duration = timedelta(days=30)
    shutdown_grace: Duration = timedelta(seconds=20)
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    # Inbox and library
    inbox_max_bytes: Size = 20 * 2**20
    library_dir: str = ""

    # GLPI
    glpi_url: GlpiAddress = ""
    glpi_app_token: Token = ""
    glpi_user_token: Token = ""
    glpi_import: Literal["both", "tickets", "articles", "none"] = "both"
    glpi_interval: Duration = timedelta(minutes=15)

    # Learning and vectors
    learning: Switch = True
    learning_interval: Duration = timedelta(minutes=1)
    embed_model: str = ""
    vector_maintenance: Switch = True
    vector_graph_k: Count = 12
    vector_graph_min_similarity: Share = 0.45
    vector_graph_min_affinity: Annotated[float, Field(ge=-2.0, le=2.0)] = -0.10
    vector_block_bytes: Size = 256 * 2**20
    vector_offload: Offload = "local"
    vector_device: Literal["auto", "cpu", "cuda"] = "cpu"
    vector_graph_reevaluate_interval: Duration = timedelta(minutes=30)
    vector_graph_layout: Switch = False
    vector_graph_relax_layout: Switch = True
    vector_graph_layout_relax_interval: Duration = timedelta(hours=2)
    vector_graph_layout_blend: Share = 0.08
    vector_graph_layout_max_shift: Share = 0.035
    vector_graph_dimensions: Annotated[int, Field(ge=2, le=3)] = 2

    # Thinking
    thinking: Switch = True
    thinking_interval: Duration = timedelta(minutes=5)
    thinking_max_pairs: Count = 20
    evidence_min_relevance: Share = 0.55
    evidence_min_quality: Share = 0.40
    evidence_max_age: Duration = timedelta(days=365)

    # Search and fetch
    search_backends: Names = ("library",)
    searxng_url: str = ""
    searxng_categories: Names = ("general",)
    searxng_safesearch: Annotated[int, Field(ge=0, le=2)] = 0
    searxng_pages: Annotated[int, Field(ge=1, le=5)] = 1
    search_allow_domains: Names = ()
    search_block_domains: Names = ()
    fetch_host_delay: Duration = timedelta(seconds=1)
    fetch_allow_hosts: Names = ()
    fetch_contact: Contact = ""
    source_table: str = ""
    private_terms: Names = ()
    private_suffixes: Names = ()
    ticket_prefixes: TicketPrefixes = ()

    # Autonomous research
    autonomous_research: Switch = True
    autonomous_research_interval: Duration = timedelta(minutes=10)
    autonomous_research_max_tasks_per_day: Annotated[int, Field(ge=0)] = 12
    research_worker: Switch = True
    research_lease: Duration = timedelta(minutes=10)
    research_max_attempts: Count = 3
    research_max_fetches_per_task: Count = 12
    queue_duplicate_score: Share = 0.55
    queue_history: Duration = timedelta(days=30)

    # Articles
    reasoner: Literal["extractive"] = "extractive"
    article_min_evidence: Count = 2
    article_min_publishers: Count = 2
    article_extra_fetches: Annotated[int, Field(ge=0)] = 6
    article_max_quote_words: Count = 25

    # API
    api_host: str = "127.0.0.1"
    api_port: Annotated[int, Field(ge=0, le=65535)] = 8787
    api_token: str = ""

    @property
    def library_path(self) -> Path:
        """The operator's own documents: BRAIN_LIBRARY_DIR, or `library/` in the home."""
        return Path(self.library_dir) if self.library_dir else self.home / "library"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one value came from, for `brain doctor`. A secret's value is never shown."""

    name: str
    value: str
    source: str


def load_settings(
    *, config: Path | None = None, home: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[Settings, tuple[Origin, ...]]:
    """Return the settings and where each came from.

    `config` is the file (default `./config.env` where it exists), `home` the command line's own word,
    which wins over both. Raises ConfigError with one sentence for an unreadable file, an unknown name
    or a value that does not fit.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, str] = {}
    sources: dict[str, str] = {}
    path = config if config is not None else Path("config.env")
    if config is not None or path.is_file():
        for name, value in _read_env_file(path).items():
            values[name], sources[name] = value, str(path)
    for name, value in environment.items():
        if name.startswith(PREFIX):
            values[name], sources[name] = value, "environment"
    if home is not None:
        values["BRAIN_HOME"], sources["BRAIN_HOME"] = str(home), "--home"
    known = {PREFIX + field.upper(): field for field in Settings.model_fields}
    for name in values:
        if name not in known:
            raise ConfigError(_unknown(name, sources[name], list(known)))
    try:
        settings = Settings.model_validate({known[name]: value for name, value in values.items()})
    except ValidationError as error:
        raise ConfigError(_explain(error, values, sources)) from None
    origins = tuple(
        Origin(name, _shown(name, getattr(settings, field)), sources.get(name, "default"))
        for name, field in known.items()
    )
    return settings, origins


def _read_env_file(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not UTF-8 text; save it as UTF-8.") from error
    values: dict[str, str] = {}
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ConfigError(f"Line {number} of {path} is not NAME=value: {line[:60]!r}.")
        if not name.startswith(PREFIX):
            raise ConfigError(f"Line {number} of {path} sets {name}; every setting's name starts with {PREFIX}.")
        values[name] = _unquote(value.strip())
    return values


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return re.split(r"\s+#", value, maxsplit=1)[0].rstrip()


def _unknown(name: str, source: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]}?" if near else "; `brain doctor` lists every setting."
    return f"{name} ({source}) is not a setting of Neural Brain{hint}"


def _explain(error: ValidationError, values: Mapping[str, str], sources: Mapping[str, str]) -> str:
    first = error.errors()[0]
    name = PREFIX + str(first["loc"][0]).upper()
    if name == "BRAIN_REASONER" and values.get(name) == "model":
        return "BRAIN_REASONER=model needs a model client, which this version lacks; set BRAIN_REASONER=extractive."
    if "error" in first.get("ctx", {}):
        expected = str(first["ctx"]["error"])
    else:
        expected = first["msg"].replace("Input should be", "").strip()
    given = "set to something else (hidden)" if name in SECRETS else repr(values.get(name))
    return f"{name} ({sources.get(name, 'default')}) is {given}; expected is {expected}."


def _shown(name: str, value: object) -> str:
    if name in SECRETS:
        return "(set, hidden)" if value else "(not set)"
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def format_duration(value: timedelta) -> str:
    """Return a timedelta in the form that parse_duration reads, largest units first."""
    seconds = value.total_seconds()
    if seconds != int(seconds):
        return f"{seconds:g}s"
    rest, parts = int(seconds), []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, DURATION_UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
