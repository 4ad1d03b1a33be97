"""What `brain doctor` looks at: each check ends well, with a warning, or with a fault and what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from brain.config import Settings
from brain.doctor_checks import Check, Verdict
from brain.doctor_glpi import glpi_checks
from brain.runtime import Runtime
from data.errors import HomeLocked
from data.evidence import evidence_paths
from data.integrity import database_faults, database_notes
from data.locks import HomeLock
from data.nodes import count_by_language
from data.state import get_state
from vector.cluster import ClusterLost, cluster_address
from vector.torchblocks import DeviceUnavailable, chosen_device

__all__ = ["Check", "examine"]

MOSTLY_GERMAN: Final = 0.5
"""Share of German nodes from which the bundled, mostly English model is worth a note: its German cosines are weak."""


async def examine(settings: Settings, runtime: Runtime) -> AsyncIterator[Check]:
    """Yield the checks one by one; the slow ones last."""
    yield _daemon(settings)
    async for check in _store(runtime):
        yield check
    yield await _evidence(runtime)
    probe = await runtime.search.probe()
    verdict: Verdict = "well" if probe.ok else "fault"
    named = probe.ok or probe.setting in probe.message
    yield Check("search", verdict, probe.message, "" if named else f"see {probe.setting}")
    yield await _library(runtime)
    async for check in glpi_checks(settings, runtime.store):
        yield check
    if (elsewhere := await _elsewhere(settings)) is not None:
        yield elsewhere
    async for check in _model(settings, runtime):
        yield check


def _daemon(settings: Settings) -> Check:
    try:
        with HomeLock(settings.home):
            return Check("daemon", "note", "no daemon runs on this home", "start one with `brain run`")
    except HomeLocked as error:
        return Check("daemon", "well", f"a daemon runs (process {error.pid}, since {error.since})")


async def _store(runtime: Runtime) -> AsyncIterator[Check]:
    faults = await runtime.store.read_bulk(database_faults)
    for fault in faults:
        yield Check("store", "fault", fault)
    if not faults:
        yield Check("store", "well", f"{runtime.store.where} holds together")
    for note in await runtime.store.read_bulk(database_notes):
        yield Check("store", "note", note)


async def _evidence(runtime: Runtime) -> Check:
    digests = await runtime.store.read(evidence_paths)
    faults = await asyncio.to_thread(runtime.files.check, digests)
    broken = [fault for fault in faults if fault.kind in {"missing", "altered"}]
    if broken:
        shown = "; ".join(f"{fault.path}: {fault.message}" for fault in broken[:5])
        return Check("evidence", "fault", f"{len(broken)} texts are missing or altered: {shown}", "restore a backup")
    if faults:
        return Check("evidence", "note", f"{len(faults)} files belong to no evidence", "they may be removed")
    return Check("evidence", "well", f"{len(set(digests))} texts, all whole")


async def _library(runtime: Runtime) -> Check:
    count = await runtime.library.count()
    if count == 0 and "library" in runtime.settings.search_backends:
        return Check(
            "library", "note", "the library holds no document", f"put documents under {runtime.settings.library_path}"
        )
    return Check("library", "well", f"{count} documents indexed")


async def _elsewhere(settings: Settings) -> Check | None:
    """Look at the cluster or the card that neighbours are computed on; None where that is this machine's cores."""
    address = cluster_address(settings.vector_offload)
    if address is None:
        if settings.vector_device != "cuda":
            return None
        try:
            await asyncio.to_thread(chosen_device, settings.vector_device)
        except DeviceUnavailable as error:
            return Check("device", "fault", str(error))
        return Check("device", "well", "torch sees a CUDA device for the neighbours")
    from vector.offload import look_at

    try:
        cluster = await asyncio.to_thread(look_at, address)
    except ClusterLost as error:
        return Check("cluster", "fault", str(error))
    if not cluster.workers:
        return Check("cluster", "fault", f"the Dask cluster at {address} has no worker", "start one with `dask worker`")
    if cluster.differences:
        shown = "; ".join(cluster.differences[:5])
        return Check("cluster", "fault", f"not every worker is like this machine: {shown}", "install the same versions")
    size = f"{cluster.workers} workers, {cluster.threads} threads"
    return Check("cluster", "well", f"the Dask cluster at {address} answers: {size}, the versions of this machine")


async def _model(settings: Settings, runtime: Runtime) -> AsyncIterator[Check]:
    known = await runtime.store.read(get_state, "embed_model")
    try:
        vector = await asyncio.to_thread(runtime.embedder.encode, ["neural brain"])
    except Exception as error:  # whatever a model file or its library raises, it is this check's finding
        yield Check("model", "fault", f"the embedding model cannot be loaded: {error}", "see BRAIN_EMBED_MODEL")
        return
    yield Check("model", "well", f"{known} gives vectors of {vector.shape[1]} numbers")
    languages = await runtime.store.read(count_by_language)
    total = sum(languages.values())
    if not settings.embed_model and total and languages.get("de", 0) / total > MOSTLY_GERMAN:
        yield Check(
            "model",
            "note",
            f"{languages['de']} of {total} nodes are German and the bundled model is mostly English",
            "a multilingual model gives better neighbours, e.g. "
            "BRAIN_EMBED_MODEL=/path/to/paraphrase-multilingual-MiniLM-L12-v2",
        )
