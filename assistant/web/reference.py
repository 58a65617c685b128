"""`/docs`: the description of the API as one page without scripts, which loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Final

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

Json = Mapping[str, Any]

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
section { border-top: 1px solid GrayText; margin-top: 1.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; }
p { white-space: pre-line; }
"""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"


def install_reference(app: FastAPI) -> None:
    """Serve the description of all routes that an application has by then, at `/docs`."""

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}
        return HTMLResponse(page_of(app.openapi()), headers=headers)


def page_of(described: Json) -> str:
    """Return the description of an API (OpenAPI 3.1, as FastAPI makes it) as a page of HTML."""
    title = escape(described["info"]["title"])
    operations = [
        (method.upper(), path, ways[method])
        for path, ways in described["paths"].items()
        for method in _METHODS
        if method in ways
    ]
    shapes: Json = described.get("components", {}).get("schemas", {})
    return "\n".join(
        (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}: API</title>',
            '<meta name="viewport" content="width=device-width"><style>' + _STYLE + "</style>",
            f"<h1>{title}: API</h1>",
            '<p>For programs: <a href="/openapi.json">openapi.json</a>.</p>',
            *(_operation(*operation) for operation in operations),
            "<h1>Shapes</h1>",
            *(_shape(name, shape) for name, shape in shapes.items()),
            "</html>",
        )
    )


def _operation(method: str, path: str, operation: Json) -> str:
    parameters = [
        _row(f"{one['name']} ({one['in']})", one.get("schema", {}), one.get("description", ""), one.get("required"))
        for one in operation.get("parameters", [])
    ]
    bodies = [_media(operation.get("requestBody", {}))]
    replies = [
        f"<tr><td><code>{escape(status)}</code><td>{_media(reply)}<td>{escape(reply.get('description', ''))}"
        for status, reply in operation.get("responses", {}).items()
    ]
    return "\n".join(
        (
            f"<section><h2><code>{method} {escape(path)}</code></h2>",
            f"<p><strong>{escape(operation.get('summary', ''))}</strong></p>",
            f"<p>{escape(operation.get('description', ''))}</p>",
            _table("Parameters", parameters),
            *(f"<p>Body: {body}</p>" for body in bodies if body),
            _table("Replies", replies),
            "</section>",
        )
    )


def _shape(name: str, shape: Json) -> str:
    required = shape.get("required", [])
    rows = [
        _row(field, schema, schema.get("description", ""), field in required)
        for field, schema in shape.get("properties", {}).items()
    ]
    values = "" if rows else f"<p>{_kind(shape)}</p>"
    about = escape(shape.get("description", ""))
    return f'<section id="{escape(name)}"><h2>{escape(name)}</h2><p>{about}</p>{values}{_table("", rows)}</section>'


def _row(name: str, schema: Json, about: str, required: object) -> str:
    need = "required" if required else ""
    return f"<tr><td><code>{escape(name)}</code><td>{_kind(schema)}<td>{need}<td>{escape(about)}"


def _table(heading: str, rows: Iterable[str]) -> str:
    lines = "\n".join(rows)
    return f"<table><caption>{heading}</caption>{lines}</table>" if lines else ""


def _media(part: Json) -> str:
    return ", ".join(
        f"{_kind(one.get('schema', {}))} ({escape(kind)})" for kind, one in part.get("content", {}).items()
    )


def _kind(schema: Json) -> str:
    """Say in words what a schema takes; shapes with a name are linked."""
    if "$ref" in schema:
        name = escape(str(schema["$ref"]).rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_kind(one) for one in several)
    if "const" in schema or "enum" in schema:
        values: list[object] = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in values)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return escape(str(schema.get("type", "any")))
