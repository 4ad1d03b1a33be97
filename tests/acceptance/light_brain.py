"""The `brain` command with the light embedder instead of the model: everything else is the real thing.

Run as a script by the acceptance tests, so that a process they kill is a whole one.
"""

from __future__ import annotations

import brain.embedding
from brain.cli.main import main
from tests.brain.cli_tools import light_embedder

if __name__ == "__main__":
    brain.embedding.SentenceTransformerEmbedder = light_embedder  # type: ignore[misc, assignment]
    main()
