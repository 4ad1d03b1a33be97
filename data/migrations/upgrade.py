"""Bringing a database up to the revision of this program. Loads Alembic; imported only when it is behind."""

from __future__ import annotations

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from data.migrations.names import HEAD

__all__ = ["configuration", "upgrade"]


def configuration() -> Config:
    """Return Alembic's configuration with the scripts of this package."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(engine: Engine, revision: str = HEAD) -> None:
    """Run the versions up to `revision` in the one transaction `engine` begins: all of them or none."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    config = configuration()
    with engine.connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            from data.migrations.postgres import sort_by_bytes, wait_for_others

            wait_for_others(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        if connection.dialect.name == "postgresql":
            sort_by_bytes(connection)
