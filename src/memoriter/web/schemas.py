"""JSON schemas of the answers. Their members are those of `memoriter.api_json`; more may be added at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Schema = dict[str, Any]


def object_schema(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these members, and any others."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": [*required]}


def extended(schema: Schema, more: Schema) -> Schema:
    """Return the schema of an object that also has the members of another one."""
    properties = {**schema["properties"], **more["properties"]}
    return {**schema, "properties": properties, "required": [*schema["required"], *more["required"]]}


def list_schema(items: Schema) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    return {**schema, "type": [schema["type"], "null"]}


TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
ANY: Schema = {"type": "object"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def reference(name: str) -> Schema:
    """Return a reference to a schema of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def whole(*names: str) -> dict[str, Schema]:
    """Return members that are whole numbers."""
    return dict.fromkeys(names, WHOLE)


def text(*names: str) -> dict[str, Schema]:
    """Return members that are text."""
    return dict.fromkeys(names, TEXT)


REASONS = list_schema(reference("Reason"))
SCHEMAS: dict[str, Schema] = {
    "Problem": object_schema(
        {**text("type", "title", "detail", "code", "remedy"), "status": WHOLE},
        {
            "errors": list_schema(object_schema(text("field", "message"))),
            "needed": TEXT,
            "limit": {"enum": ["requests", "at_once", "bytes", "streams"]},
            "path": TEXT,
            "text": nullable(TEXT),
            "hash": nullable(TEXT),
            "truncated": FLAG,
        },
    ),
    "Reason": object_schema(text("code", "message", "remedy")),
    "Health": object_schema({"ok": FLAG, "legs": ANY, "pending": WHOLE, "generation": WHOLE, "reasons": REASONS}),
    "Hit": object_schema(
        {**text("path", "snippet", "source", "text"), **whole("startLine", "endLine"), "score": SHARE},
        {
            **text("citation", "date", "changed", "author"),
            "outsideTime": FLAG,
            "heading": list_schema(TEXT),
            "answerLines": list_schema(WHOLE),
            "explain": ANY,
        },
    ),
    "SearchResult": object_schema(
        {
            "results": list_schema(reference("Hit")),
            "outcome": {"enum": ["match", "weak", "none"]},
            **text("provider", "model"),
            "mode": {"enum": ["hybrid", "keyword", "vector"]},
            "citations": {"enum": ["on", "off"]},
            "health": reference("Health"),
        },
        {
            **dict.fromkeys(("understood", "timings", "fallback", "certainty"), ANY),
            "reasons": REASONS,
            "truncatedBy": TEXT,
        },
    ),
    "WhyNot": object_schema(
        {
            **text("query", "citation", "passage"),
            "found": FLAG,
            "place": nullable(WHOLE),
            "hits": WHOLE,
            "stage": nullable(TEXT),
            "stages": list_schema(object_schema(text("stage", "status", "message"))),
            "reasons": REASONS,
        },
        {"fix": ANY, "remedy": TEXT, "explain": ANY, "candidacy": ANY},
    ),
    "Files": object_schema(
        {
            "files": list_schema(object_schema({**text("path", "source", "changedAt"), "bytes": WHOLE})),
            "total": WHOLE,
        },
        {"next": TEXT},
    ),
    "Excerpt": object_schema(
        {**text("path", "text"), "hash": nullable(TEXT)}, {"truncated": FLAG, "reasons": REASONS, "origin": TEXT}
    ),
    "Appended": object_schema(
        {
            **text("path", "citation"),
            **whole("startLine", "endLine"),
            "health": object_schema({"ok": FLAG, "reasons": REASONS}),
        },
        {"existing": FLAG},
    ),
    "Replaced": object_schema(
        {**text("path", "hash"), "marked": FLAG, "health": object_schema({"ok": FLAG, "reasons": REASONS})},
    ),
    "Status": object_schema(
        {
            **text("agent", "workspace", "index", "provider", "model", "vectorEngine", "backend"),
            **whole("files", "chunks", "vectors", "pending", "failed", "stale"),
            "health": reference("Health"),
            "skipped": list_schema(object_schema(text("path", "reason", "message"))),
        }
    ),
    "Parts": list_schema(object_schema({**text("name", "message"), "works": FLAG}, text("remedy", "code"))),
    "Cost": object_schema(
        {
            "days": list_schema(
                object_schema(
                    {**text("day", "provider", "model"), **whole("calls", "tokens", "unpriced"), "dollars": NUMBER}
                )
            ),
            "today": object_schema({"tokens": WHOLE, "dollars": NUMBER}),
            "budget": ANY,
        }
    ),
    "Map": object_schema(
        {
            "points": list_schema(
                object_schema(
                    {
                        **text("citation", "path", "text"),
                        **whole("startLine", "group"),
                        **dict.fromkeys(("x", "y"), NUMBER),
                        "heading": list_schema(TEXT),
                    }
                )
            ),
            "groups": list_schema(
                object_schema(
                    {
                        **whole("size", "centre"),
                        "files": list_schema(object_schema({"path": TEXT, "passages": WHOLE})),
                    }
                )
            ),
            "duplicates": list_schema(object_schema({"points": list_schema(WHOLE), "similarity": NUMBER})),
            **whole("chunks", "vectors"),
            "similarity": NUMBER,
            "variance": list_schema(SHARE),
            "reasons": REASONS,
        }
    ),
    "Indexed": object_schema(
        whole("files", "added", "changed", "removed", "chunks"),
        {**whole("embedded", "cached", "failed", "pending", "tokens"), "dryRun": FLAG, "reasons": REASONS},
    ),
    "Capture": object_schema(
        {**text("id", "day", "client", "kind", "citation", "path", "text"), **whole("startLine", "endLine")}
    ),
    "Captures": object_schema({"captures": list_schema(reference("Capture"))}),
    "UndoneCaptures": object_schema(
        {"captures": list_schema(reference("Capture")), "receipts": list_schema(object_schema({"left": REASONS}))}
    ),
    "Days": object_schema(
        {
            "year": WHOLE,
            "years": list_schema(WHOLE),
            "today": TEXT,
            "days": list_schema(
                object_schema({"day": TEXT, "paths": list_schema(TEXT), **whole("lines", "captures", "others")})
            ),
        }
    ),
    "Day": object_schema(
        {
            "day": TEXT,
            "notes": list_schema(
                object_schema(
                    {
                        **text("path", "text"),
                        "lines": WHOLE,
                        "truncated": FLAG,
                        "others": list_schema(object_schema({"origin": TEXT, **whole("startLine", "endLine")})),
                    }
                )
            ),
            "changed": list_schema(TEXT),
            "captures": list_schema(reference("Capture")),
            "recalled": list_schema(
                object_schema({**text("session", "audience", "at"), "context": FLAG, "passages": WHOLE})
            ),
        },
    ),
}
"""The schemas of memoriter's own answers, by their names in the OpenAPI document."""
