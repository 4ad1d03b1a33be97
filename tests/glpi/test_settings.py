"""Settings of GLPI: bad ones are named, secrets are not shown, and without them nothing is asked."""

from __future__ import annotations

import pytest

from brain import policies
from brain.config import ConfigError, load_settings
from tests.glpi.standin import APP_TOKEN, USER_TOKEN


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("BRAIN_GLPI_URL", "glpi", "https://glpi.example.org/apirest.php"),
        ("BRAIN_GLPI_URL", "https://user:pass@glpi.example.org", "without a name or password"),
        ("BRAIN_GLPI_IMPORT", "all", "'both', 'tickets', 'articles' or 'none'"),
        ("BRAIN_GLPI_INTERVAL", "often", "10m"),
        ("BRAIN_GLPI_USER_TOKEN", "two words", "without a space"),
        ("BRAIN_GLPI_APP_TOKEN", "a\r\nX-Other: b", "without a space"),
    ],
)
def test_a_bad_value_is_named_and_a_bad_token_not_shown(name: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(environment={name: value})
    assert name in str(caught.value)
    assert expected in str(caught.value)
    if name.endswith("TOKEN"):
        assert value not in str(caught.value)


def test_tokens_are_hidden() -> None:
    environment = {
        "BRAIN_GLPI_URL": "https://glpi.example.org",
        "BRAIN_GLPI_APP_TOKEN": APP_TOKEN,
        "BRAIN_GLPI_USER_TOKEN": USER_TOKEN,
    }
    settings, origins = load_settings(environment=environment)
    shown = " ".join(origin.value for origin in origins) + repr(policies.glpi_policy(settings))
    assert APP_TOKEN not in shown
    assert USER_TOKEN not in shown
    assert "https://glpi.example.org/apirest.php" in shown


def test_an_address_without_a_token_is_refused_and_nothing_at_all_is_off() -> None:
    settings, _ = load_settings(environment={})
    assert policies.glpi_policy(settings) is None
    settings, _ = load_settings(environment={"BRAIN_GLPI_URL": "https://glpi.example.org"})
    with pytest.raises(ConfigError, match="BRAIN_GLPI_USER_TOKEN is not"):
        policies.glpi_policy(settings)


@pytest.mark.parametrize(
    ("chosen", "kinds"),
    [("both", ("tickets", "articles")), ("tickets", ("tickets",)), ("articles", ("articles",)), ("none", ())],
)
def test_what_the_loop_imports(chosen: str, kinds: tuple[str, ...]) -> None:
    settings, _ = load_settings(environment={"BRAIN_GLPI_IMPORT": chosen})
    assert policies.glpi_kinds(settings) == kinds
