"""A process that fetches the addresses it is given, all at once, and tells how each ended and what it cost.

`python -m tests.research.hostile_reader '{"urls": [...], "hosts": [...], "deadline_s": 5}'`. A process of its own,
because the memory that is measured must be the reader's, not that of the servers or of the test.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from data.extractor import Extractor
from research.fetch import Fetcher, FetchPolicy
from research.fetch_errors import FetchError


def most_memory() -> int:
    """Return the most that this process had resident so far, in KiB (getrusage would count what ran before exec)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1])


async def read(urls: list[str], hosts: list[str], deadline_s: float) -> dict[str, Any]:
    pauses: list[float] = []
    done: dict[str, dict[str, Any]] = {}

    async def beat() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            pauses.append(time.monotonic() - before - 0.01)

    async def one(url: str) -> None:
        began = time.monotonic()
        try:
            document = await fetcher.fetch(url)
            ended: dict[str, Any] = {"chars": len(document.text), "flags": list(document.flags)}
        except FetchError as error:
            ended = {"reason": str(error.reason), "message": error.message}
        done[url] = {**ended, "seconds": round(time.monotonic() - began, 2), "place": len(done)}

    policy = FetchPolicy(allow_hosts=tuple(hosts), host_delay_s=0.0, deadline_s=deadline_s)
    async with Extractor(workers=2) as extractor, Fetcher(None, extractor, policy) as fetcher:
        await one(urls[0])  # what is loaded once is no cost of the others
        before = most_memory()
        beating = asyncio.create_task(beat())
        await asyncio.gather(*map(one, urls[1:]))
        beating.cancel()
    return {
        "done": done,
        "grown_mib": round((most_memory() - before) / 1024, 1),
        "longest_pause_s": round(max(pauses), 3),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(read(**json.loads(sys.argv[1])))))
