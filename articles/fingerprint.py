"""What makes two attempts the same: only then is one not repeated (spec 06, "Fingerprint")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from articles.roles import ROLES
from data.models import ArticleAttempt
from research.reasoner import prompt_text

__all__ = ["PIPELINE", "TOPIC_GUARD", "blocking_attempt", "fingerprint", "prompt_digests"]

PIPELINE: Final = "adaptive_generate_review/v4-quality-routing-v10"
TOPIC_GUARD: Final = "topic-guard=strict-v3-relation-evidence"


def prompt_digests() -> dict[str, str]:
    """Return the SHA-256 of every role's prompt file by role name."""
    return {role.name: hashlib.sha256(prompt_text(role).encode()).hexdigest() for role in ROLES}


def fingerprint(
    *,
    topic_key: str,
    questions: Sequence[str],
    suggested: str | None,
    evidence_hashes: Sequence[str],
    reasoner: str,
    models: Sequence[str],
    directives: Sequence[str],
    rejections: Sequence[str],
) -> str:
    """Return the SHA-256 (hex) of everything an attempt depends on; the order of evidence does not matter.

    Questions and the suggested type belong to it: another question is another brief.
    """
    parts = {
        "pipeline": PIPELINE,
        "guard": TOPIC_GUARD,
        "topic": topic_key,
        "questions": list(questions),
        "suggested": suggested,
        "evidence": sorted(evidence_hashes),
        "reasoner": reasoner,
        "models": list(models),
        "prompts": prompt_digests(),
        "directives": list(directives),
        "rejections": list(rejections),
    }
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def blocking_attempt(attempts: Sequence[ArticleAttempt]) -> ArticleAttempt | None:
    """Return the attempt that forbids another with its fingerprint, or None.

    An outside error never does, nor does an attempt of another pipeline. A draft that was set aside for another type
    is part of the run that followed, whose own attempt counts.
    """
    counting = [
        attempt
        for attempt in attempts
        if attempt.pipeline == PIPELINE and attempt.outcome not in {"outside_error", "reconsidered"}
    ]
    return counting[-1] if counting else None
