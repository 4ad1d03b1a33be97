"""What the schema has on PostgreSQL alone: full text, and text in the order of its bytes.

Full text is an index of words as SQLite's FTS5 makes it with `unicode61 remove_diacritics 2`: runs of letters and
digits, lower case, without marks, no stemming. PostgreSQL's own parser would keep host names and paths whole, so
the words are cut by `store_words` and stored with their places. A document is cut into parts of `PART` words,
because a tsvector may hold one megabyte and 16383 places.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

__all__ = ["PART", "create_full_text", "sort_by_bytes", "wait_for_others"]

PART: Final = 4000
"""Words of a text in one part; with `_LONGEST` characters of up to four bytes each they fit a tsvector."""
_LONGEST: Final = 60
_TITLE: Final = 1000
"""Places kept for the words of a title, so that no phrase runs from it into the text."""

_FUNCTIONS: Final = (
    # Lower case is taken on both sides of the decomposition: some capitals have one only before, some only after.
    r"""
    CREATE FUNCTION store_plain(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN given ~ '^[[:ascii:]]*$' THEN lower(given COLLATE "default")
        ELSE lower(regexp_replace(normalize(lower(given COLLATE "default"), NFD), '[\u0300-\u036f]', '', 'g')
                   COLLATE "default") END
    $$
    """,
    f"""
    CREATE FUNCTION store_words(title text, body text)
    RETURNS TABLE (part integer, words tsvector, length integer) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        WITH word AS (
            SELECT 0 AS part, left(w, {_LONGEST}) AS w, row_number() OVER (ORDER BY n) AS place, 'A' AS weight
            FROM regexp_split_to_table(store_plain(title), '[^[:alnum:]]+') WITH ORDINALITY AS t (w, n) WHERE w <> ''
            UNION ALL
            SELECT ((n - 1) / {PART})::integer, w, {_TITLE} + (n - 1) % {PART} + 1, 'D' FROM (
                SELECT left(w, {_LONGEST}) AS w, row_number() OVER (ORDER BY n) AS n
                FROM regexp_split_to_table(store_plain(body), '[^[:alnum:]]+') WITH ORDINALITY AS t (w, n) WHERE w <> ''
            ) AS running
        )
        SELECT part, string_agg(w || ':' || place || weight, ' ')::tsvector, (SELECT count(*)::integer FROM word)
        FROM word WHERE weight = 'D' OR place <= {_TITLE} GROUP BY part
    $$
    """,  # noqa: S608 - our own numbers
    """
    CREATE FUNCTION store_index_node() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        number bigint;
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO node_text (node_id) VALUES (NEW.id) RETURNING id INTO number;
        ELSE
            SELECT id INTO number FROM node_text WHERE node_id = NEW.id;
            DELETE FROM node_fts WHERE document = number;
        END IF;
        IF number IS NOT NULL THEN  -- else its insertion is under way and will index it
            INSERT INTO node_fts SELECT number, w.part, w.words, w.length
            FROM node AS n CROSS JOIN store_words(n.label, n.body) AS w WHERE n.id = NEW.id;
        END IF;
        RETURN NULL;
    END $$
    """,
)
_TABLES: Final = (
    """
    CREATE TABLE node_fts (
        document bigint NOT NULL REFERENCES node_text (id) ON DELETE CASCADE,
        part integer NOT NULL, words tsvector NOT NULL, length integer NOT NULL, PRIMARY KEY (document, part))
    """,
    """
    CREATE TABLE library_fts (
        document integer NOT NULL REFERENCES library_document (id) ON DELETE CASCADE,
        part integer NOT NULL, words tsvector NOT NULL, length integer NOT NULL, body text NOT NULL,
        PRIMARY KEY (document, part))
    """,
    "CREATE INDEX ix_node_fts_words ON node_fts USING gin (words) WITH (fastupdate = off)",
    "CREATE INDEX ix_library_fts_words ON library_fts USING gin (words) WITH (fastupdate = off)",
    "CREATE TRIGGER node_fts_insert AFTER INSERT ON node FOR EACH ROW EXECUTE FUNCTION store_index_node()",
    """
    CREATE TRIGGER node_fts_update AFTER UPDATE OF label, body ON node FOR EACH ROW
    WHEN (OLD.label <> NEW.label OR OLD.body <> NEW.body) EXECUTE FUNCTION store_index_node()
    """,
)

_BY_BYTES: Final = """
    DO $$
    DECLARE
        found record;
    BEGIN
        FOR found IN
            SELECT c.relname, a.attname FROM pg_attribute AS a
            JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind = 'r'
            JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = current_schema()
            JOIN pg_collation AS o ON o.oid = a.attcollation AND o.collname <> 'C'
            WHERE a.atttypid = 'text'::regtype AND a.attnum > 0 AND NOT a.attisdropped
        LOOP
            EXECUTE format('ALTER TABLE %I ALTER COLUMN %I TYPE text COLLATE "C"', found.relname, found.attname);
        END LOOP;
    END $$
"""


def create_full_text(connection: Connection) -> None:
    """Create the words of nodes and of the library; part of revision 0001."""
    sort_by_bytes(connection)  # before a trigger names a column, whose type cannot be changed from then on
    for statement in (*_FUNCTIONS, *_TABLES):
        connection.exec_driver_sql(statement.replace("%", "%%"))


def sort_by_bytes(connection: Connection) -> None:
    """Give every text column the order of its bytes, as SQLite has it, whatever the database's own order is.

    Pages and comparisons of ids and times rely on it; columns that have it already are left alone.
    """
    connection.exec_driver_sql(_BY_BYTES.replace("%", "%%"))


def wait_for_others(connection: Connection) -> None:
    """Let one start at a time migrate this schema, until the transaction ends."""
    from data.postgres import migration_lock

    schema = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    connection.exec_driver_sql(migration_lock(schema or ""))
