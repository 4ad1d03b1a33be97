"""What doctor says of the cluster and of the card that neighbours are computed on."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from brain import doctor
from brain.config import load_settings
from vector import offload
from vector.cluster import ClusterLost
from vector.offload import Cluster


async def looked(home: Path, **env: str) -> doctor.Check | None:
    settings, _ = load_settings(home=home, environment=env)
    return await doctor._elsewhere(settings)


async def test_nothing_is_said_of_this_machine_s_cores(tmp_path: Path) -> None:
    assert await looked(tmp_path) is None
    assert await looked(tmp_path, BRAIN_VECTOR_DEVICE="auto") is None


async def test_a_card_that_is_not_there_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    check = await looked(tmp_path, BRAIN_VECTOR_DEVICE="cuda")
    assert check is not None
    assert (check.subject, check.verdict) == ("device", "fault")
    assert "sees no CUDA device" in check.message


async def test_a_cluster_that_does_not_answer_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    monkeypatch.setattr(offload, "CONNECT_S", 0.3)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers here
        check = await looked(tmp_path, BRAIN_VECTOR_OFFLOAD=f"dask://127.0.0.1:{probe.getsockname()[1]}")
    assert check is not None
    assert (check.subject, check.verdict) == ("cluster", "fault")
    assert "no Dask scheduler answers" in check.message


@pytest.mark.parametrize(
    ("cluster", "verdict", "words"),
    [
        (Cluster(2, 8, ()), "well", "2 workers, 8 threads"),
        (Cluster(0, 0, ()), "fault", "has no worker"),
        (Cluster(1, 4, ("w1 has neural-brain 0.0.9, here is 0.1.0",)), "fault", "0.0.9"),
        (ClusterLost("no scheduler"), "fault", "no scheduler"),
    ],
)
async def test_what_a_cluster_answers_is_told(
    cluster: Cluster | ClusterLost, verdict: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_at(address: str) -> Cluster:
        assert address == "10.1.2.3:8786"
        if isinstance(cluster, ClusterLost):
            raise cluster
        return cluster

    monkeypatch.setattr(offload, "look_at", look_at)
    check = await looked(tmp_path, BRAIN_VECTOR_OFFLOAD="dask://10.1.2.3:8786")
    assert check is not None
    assert (check.subject, check.verdict) == ("cluster", verdict)
    assert words in check.message
