"""Settings: precedence, clear refusals, and an example file that cannot lag behind."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from brain import policies
from brain.config import ConfigError, Settings, format_duration, load_settings, parse_duration, parse_size

ROOT = Path(__file__).parents[2]


def test_example_lists_every_setting_with_its_default() -> None:
    lines = (ROOT / "config.env.example").read_text(encoding="utf-8").splitlines()
    shown = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    settings, origins = load_settings(config=ROOT / "config.env.example", environment={})
    assert set(shown) == {"BRAIN_" + name.upper() for name in Settings.model_fields}
    assert settings == Settings()
    assert all(origin.source.endswith("config.env.example") for origin in origins)


def test_environment_wins_over_the_file_and_the_command_line_over_both(tmp_path: Path) -> None:
    file = tmp_path / "config.env"
    file.write_text("# c\nexport BRAIN_HOME='/from/file'\nBRAIN_VECTOR_GRAPH_K=5 # five\nBRAIN_THINKING_MAX_PAIRS=7\n")
    settings, origins = load_settings(
        config=file, home=tmp_path / "h", environment={"BRAIN_VECTOR_GRAPH_K": "9", "BRAIN_HOME": "/env", "PATH": "/x"}
    )
    assert (settings.home, settings.vector_graph_k, settings.thinking_max_pairs) == (tmp_path / "h", 9, 7)
    where = {origin.name: origin.source for origin in origins}
    assert where["BRAIN_HOME"] == "--home"
    assert where["BRAIN_VECTOR_GRAPH_K"] == "environment"
    assert where["BRAIN_THINKING_MAX_PAIRS"] == str(file)
    assert where["BRAIN_LEARNING"] == "default"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("BRAIN_LEARNIG", "true", "did you mean BRAIN_LEARNING"),
        ("BRAIN_ZZZZZ", "1", "is not a setting"),
        ("BRAIN_LEARNING_INTERVAL", "ten minutes", "10m"),
        ("BRAIN_LEARNING", "yes", "true or false"),
        ("BRAIN_INBOX_MAX_BYTES", "many", "20MiB"),
        ("BRAIN_VECTOR_GRAPH_DIMENSIONS", "4", "less than or equal to 3"),
        ("BRAIN_EVIDENCE_MIN_QUALITY", "1.4", "less than or equal to 1"),
        ("BRAIN_REASONER", "model", "BRAIN_REASONER=extractive"),
        ("BRAIN_API_PORT", "http", "valid integer"),
        ("BRAIN_VECTOR_OFFLOAD", "cluster:8786", "dask://HOST:PORT"),
        ("BRAIN_VECTOR_OFFLOAD", "dask://host", "dask://HOST:PORT"),
        ("BRAIN_VECTOR_DEVICE", "gpu", "'auto', 'cpu' or 'cuda'"),
    ],
)
def test_a_bad_setting_is_refused_by_name_value_and_expectation(name: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(environment={name: value})
    assert name in str(caught.value)
    assert expected in str(caught.value)
    if "not a setting" not in str(caught.value) and name != "BRAIN_REASONER":
        assert repr(value) in str(caught.value)


@pytest.mark.parametrize("content", ["BRAIN_HOME", "OTHER=1", "BRAIN HOME=1"])
def test_a_line_that_is_no_setting_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "c.env"
    file.write_text("\n" + content + "\n")
    with pytest.raises(ConfigError, match="Line 2"):
        load_settings(config=file, environment={})


def test_a_missing_file_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(config=tmp_path / "none.env", environment={})


def test_secrets_are_not_shown() -> None:
    _, origins = load_settings(environment={"BRAIN_API_TOKEN": "s3cret-token"})
    assert "s3cret" not in " ".join(origin.value for origin in origins)


@pytest.mark.parametrize(
    ("text", "seconds"), [("10m", 600), ("1h30m", 5400), ("30d", 2592000), ("1.5s", 1.5), ("0s", 0), ("2w", 1209600)]
)
def test_durations_read_and_print(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)
    assert parse_duration(format_duration(timedelta(seconds=seconds))) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("text", "size"), [("20MiB", 20971520), ("5MB", 5000000), ("1024", 1024), ("1.5 KiB", 1536)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("contact", ["ops@example.org", "mailto:ops@example.org", "https://example.org/bot?x=1", ""])
def test_a_contact_is_a_mail_address_or_a_page(contact: str) -> None:
    settings, _ = load_settings(environment={"BRAIN_FETCH_CONTACT": contact})
    assert settings.fetch_contact == contact


@pytest.mark.parametrize(
    "contact",
    ["ops", "ops@example.org\r\nX-Header: 1", "a b@example.org", "ftp://example.org", "x(@example.org", "ö@x.de"],
)
def test_a_contact_that_cannot_stand_in_a_header_is_refused(contact: str) -> None:
    with pytest.raises(ConfigError, match="BRAIN_FETCH_CONTACT"):
        load_settings(environment={"BRAIN_FETCH_CONTACT": contact})


def test_settings_of_guard_and_search_reach_their_policies() -> None:
    environment = {
        "BRAIN_TICKET_PREFIXES": "ORA-, NET",
        "BRAIN_SEARXNG_PAGES": "3",
        "BRAIN_FETCH_CONTACT": "ops@example.org",
        "BRAIN_EVIDENCE_MAX_AGE": "90d",
    }
    settings, _ = load_settings(environment=environment)
    assert policies.guard_policy(settings).ticket_prefixes == ("ORA-", "NET")
    assert policies.searxng_policy(settings).pages == 3
    assert policies.searxng_policy(settings).contact == policies.fetch_policy(settings).contact == "ops@example.org"
    assert policies.pair_policy(settings).evidence_max_age == timedelta(days=90)


@pytest.mark.parametrize(
    ("name", "value"),
    [("BRAIN_TICKET_PREFIXES", "OPS,*"), ("BRAIN_TICKET_PREFIXES", "4711"), ("BRAIN_SEARXNG_PAGES", "0"),
     ("BRAIN_SEARXNG_PAGES", "9")],
)  # fmt: skip
def test_settings_of_guard_and_search_are_checked(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_settings(environment={name: value})
