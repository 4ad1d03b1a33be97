"""Draw the map of a home as SVG: nodes at their positions, vector edges faint, relations strong.

.venv/bin/python benchmarks/draw_map.py var docs/pictures/map.svg
"""

from __future__ import annotations

import argparse
import sqlite3
from html import escape
from pathlib import Path

SIZE = 900
MARGIN = 60
COLOURS = {
    "ticket": "#4c78a8",
    "article": "#59a14f",
    "section": "#59a14f",
    "document": "#8cd17d",
    "technique": "#e15759",
    "product": "#b07aa1",
    "note": "#9c755f",
    "evidence": "#f28e2b",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    database = sqlite3.connect(f"{(options.home / 'brain.db').absolute().as_uri()}?mode=ro", uri=True)
    nodes = {
        row[0]: row[1:]
        for row in database.execute(
            "SELECT n.id, n.kind, n.label, p.x, p.y FROM node n JOIN position p ON p.node_id = n.id WHERE n.active"
        )
    }
    edges = database.execute(
        "SELECT kind, source_id, target_id FROM edge WHERE active AND kind IN ('vector', 'relation') ORDER BY kind DESC"
    ).fetchall()
    reach = max(max(abs(x), abs(y)) for _, _, x, y in nodes.values())
    scale = (SIZE / 2 - MARGIN) / reach

    def place(node_id: str) -> tuple[float, float]:
        _, _, x, y = nodes[node_id]
        return SIZE / 2 + x * scale, SIZE / 2 - y * scale

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" font-family="sans-serif">',
        f'<rect width="{SIZE}" height="{SIZE}" fill="#fbfbf9"/>',
    ]
    for kind, source, target in edges:
        if source in nodes and target in nodes:
            (x1, y1), (x2, y2) = place(source), place(target)
            style = 'stroke="#333" stroke-width="1.6"' if kind == "relation" else 'stroke="#bbb" stroke-width="0.6"'
            parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>')
    for node_id, (kind, label, _, _) in nodes.items():
        x, y = place(node_id)
        colour = COLOURS.get(kind, "#777")
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"><title>{escape(label)}</title></circle>'
        )
    for number, (kind, colour) in enumerate(COLOURS.items()):
        if any(row[0] == kind for row in nodes.values()):
            y = 20 + number * 17
            parts.append(
                f'<circle cx="18" cy="{y}" r="5" fill="{colour}"/><text x="28" y="{y + 4}" font-size="12">{kind}</text>'
            )
    parts.append("</svg>")
    options.target.parent.mkdir(parents=True, exist_ok=True)
    options.target.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
