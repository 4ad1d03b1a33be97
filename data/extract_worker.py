"""The extraction process: reads framed documents on its standard input, answers on its standard output.

Started by `data.extractor` only. It limits its own memory and processor time, so that a document that runs away
ends it even when nobody is left to kill it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final

from data.clock import to_iso
from data.extract import Document, ExtractionError, extract

__all__ = ["main"]

_FRAME: Final = struct.Struct(">II")
_ANSWER: Final = struct.Struct(">I")


def _read_exactly(source: BinaryIO, length: int) -> bytes | None:
    data = source.read(length)
    return data if len(data) == length else None


def _send(target: BinaryIO, answer: dict[str, Any]) -> None:
    body = json.dumps(answer).encode()
    target.write(_ANSWER.pack(len(body)) + body)
    target.flush()


def _limit_memory(extra: int) -> None:
    """Allow `extra` bytes of address space beyond what the process has now; without /proc there is no limit."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return
    limit = pages * resource.getpagesize() + extra
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _limit_time(seconds: float) -> None:
    """Let this process use `seconds` of processor time more than it has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime + seconds)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _fields(document: Document) -> dict[str, Any]:
    fields = {item.name: getattr(document, item.name) for item in dataclasses.fields(document)}
    fields["published_at"] = to_iso(document.published_at) if document.published_at else None
    fields["sections"] = [dataclasses.astuple(section) for section in document.sections]
    return fields


def _answer(data: bytes, request: dict[str, str]) -> dict[str, Any]:
    try:
        document = extract(data, content_type=request["content_type"], url=request["url"])
    except ExtractionError as error:
        return {"error": error.reason, "message": error.message}
    except MemoryError:
        return {"error": "crashed", "message": "needs more memory than its reader may take", "lost": True}
    except RecursionError:
        return {"error": "crashed", "message": "is nested too deeply to be read"}
    except Exception as error:  # whatever a parser throws at hostile input fails this document alone
        return {"error": "crashed", "message": f"broke its reader ({type(error).__name__})"}
    return {"document": _fields(document)}


def main() -> int:
    """Serve until the input ends; return the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    memory, seconds = int(sys.argv[1]), float(sys.argv[2])
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the frames
    import lxml.html  # noqa: F401
    import trafilatura  # noqa: F401

    import data.html_text  # noqa: F401 - the imports every page needs, before the memory is counted

    _limit_memory(memory)
    _send(target, {"ready": True})
    while header := _read_exactly(source, _FRAME.size):
        request_length, data_length = _FRAME.unpack(header)
        request = _read_exactly(source, request_length)
        data_ = _read_exactly(source, data_length)
        if request is None or data_ is None:
            break
        _limit_time(seconds)
        answer = _answer(data_, json.loads(request))
        _send(target, answer)
        if answer.get("lost"):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
