"""Settings to policies: what each room is told of the configuration, and nothing more (spec 01)."""

from __future__ import annotations

from pathlib import Path

from articles.policies import ArticlePolicy
from brain.config import ConfigError, Settings
from brain.status import layout_mode
from data.inbox import InboxPolicy
from research.duplicates import DuplicatePolicy
from research.fetch import FetchPolicy
from research.gate import EvidencePolicy
from research.glpi.client import GlpiPolicy
from research.glpi.importing import KINDS
from research.glpi.intake import ImportPolicy
from research.opportunities import OpportunityPolicy
from research.pairs import PairPolicy
from research.private import GuardPolicy
from research.queue import QueuePolicy
from research.scan import ScanPolicy
from research.search.scope import ScopePolicy
from research.search.searxng import SearxngPolicy
from vector.maintenance import LayoutPolicy, VectorPolicy

__all__ = [
    "article_policy",
    "evidence_policy",
    "fetch_policy",
    "glpi_kinds",
    "glpi_policy",
    "guard_policy",
    "import_policy",
    "inbox_policy",
    "layout_policy",
    "pair_policy",
    "queue_policy",
    "scan_policy",
    "scope_policy",
    "searxng_policy",
    "source_tables",
    "vector_policy",
]


def guard_policy(settings: Settings) -> GuardPolicy:
    return GuardPolicy(
        private_terms=settings.private_terms,
        internal_suffixes=settings.private_suffixes,
        ticket_prefixes=settings.ticket_prefixes,
    )


def fetch_policy(settings: Settings) -> FetchPolicy:
    return FetchPolicy(
        host_delay_s=settings.fetch_host_delay.total_seconds(),
        allow_hosts=settings.fetch_allow_hosts,
        contact=settings.fetch_contact,
        cache_dir=settings.home / "cache" / "fetch",
    )


def scope_policy(settings: Settings) -> ScopePolicy:
    return ScopePolicy(allow_domains=settings.search_allow_domains, block_domains=settings.search_block_domains)


def searxng_policy(settings: Settings) -> SearxngPolicy:
    return SearxngPolicy(
        categories=settings.searxng_categories,
        safesearch=settings.searxng_safesearch,
        pages=settings.searxng_pages,
        contact=settings.fetch_contact,
    )


def source_tables(settings: Settings) -> tuple[Path, ...]:
    return (Path(settings.source_table),) if settings.source_table else ()


def evidence_policy(settings: Settings) -> EvidencePolicy:
    return EvidencePolicy(min_relevance=settings.evidence_min_relevance, min_quality=settings.evidence_min_quality)


def pair_policy(settings: Settings) -> PairPolicy:
    return PairPolicy(evidence_max_age=settings.evidence_max_age)


def queue_policy(settings: Settings) -> QueuePolicy:
    return QueuePolicy(
        max_tasks_per_day=settings.autonomous_research_max_tasks_per_day,
        lease=settings.research_lease,
        max_attempts=settings.research_max_attempts,
        history=settings.queue_history,
        evidence_max_age=settings.evidence_max_age,
        max_questions=settings.research_max_fetches_per_task,
        duplicates=DuplicatePolicy(score=settings.queue_duplicate_score),
    )


def scan_policy(settings: Settings) -> ScanPolicy:
    duplicates = DuplicatePolicy(score=settings.queue_duplicate_score)
    return ScanPolicy(
        opportunities=OpportunityPolicy(
            evidence_max_age=settings.evidence_max_age, privacy=guard_policy(settings), duplicates=duplicates
        )
    )


def vector_policy(settings: Settings) -> VectorPolicy:
    return VectorPolicy(
        k=settings.vector_graph_k,
        min_similarity=settings.vector_graph_min_similarity,
        min_affinity=settings.vector_graph_min_affinity,
        block_bytes=settings.vector_block_bytes,
        offload=settings.vector_offload,
        device=settings.vector_device,
        reevaluate_interval=settings.vector_graph_reevaluate_interval,
    )


def layout_policy(settings: Settings) -> LayoutPolicy:
    return LayoutPolicy(
        mode=layout_mode(settings),
        dims=settings.vector_graph_dimensions,
        k=settings.vector_graph_k,
        blend=settings.vector_graph_layout_blend,
        max_shift=settings.vector_graph_layout_max_shift,
    )


def inbox_policy(settings: Settings) -> InboxPolicy:
    return InboxPolicy(max_bytes=settings.inbox_max_bytes)


def glpi_policy(settings: Settings) -> GlpiPolicy | None:
    """Return how GLPI is asked, None where it is not connected; raise ConfigError where its token is missing."""
    if not settings.glpi_url:
        return None
    if not settings.glpi_user_token:
        raise ConfigError(
            "BRAIN_GLPI_URL is set and BRAIN_GLPI_USER_TOKEN is not; expected is the API token of a GLPI user (the "
            "user's settings, remote access keys)."
        )
    return GlpiPolicy(
        settings.glpi_url, settings.glpi_user_token, settings.glpi_app_token, contact=settings.fetch_contact
    )


def glpi_kinds(settings: Settings) -> tuple[str, ...]:
    """Return what the learning loop imports."""
    if settings.glpi_import == "none":
        return ()
    return KINDS if settings.glpi_import == "both" else (settings.glpi_import,)


def import_policy(settings: Settings) -> ImportPolicy:
    return ImportPolicy(inbox=inbox_policy(settings))


def article_policy(settings: Settings) -> ArticlePolicy:
    return ArticlePolicy(
        min_evidence=settings.article_min_evidence,
        min_publishers=settings.article_min_publishers,
        extra_fetches=settings.article_extra_fetches,
        max_quote_words=settings.article_max_quote_words,
        guard=guard_policy(settings),
    )
