"""Terms are asked for from several threads at once: thinking, scanning and gates each have their own."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from data.text import stem

WORDS = [f"{start}{middle}{end}" for start in ("druck", "verbind", "install", "geraet", "aktualisier", "benutz")
         for middle in ("er", "ung", "ation", "lich") for end in ("en", "ern", "heiten", "s", "")]  # fmt: skip


def test_a_stem_does_not_depend_on_what_other_threads_stem() -> None:
    fresh = stem.__wrapped__  # beside the cache, which would hide a wrong stem or keep it for ever
    alone = {(word, language): fresh(word, language) for word in WORDS for language in ("de", "en")}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            work = list(alone) * 4
            found = list(pool.map(lambda item: (item, fresh(*item)), work))
    finally:
        sys.setswitchinterval(interval)
    assert [(item, stemmed) for item, stemmed in found if alone[item] != stemmed] == []
