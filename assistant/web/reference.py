"""`/docs`: the API reference in Swagger UI; all of its files come from this server."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Final

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

_FILES: Final = "/docs/files"


def install_reference(app: FastAPI) -> None:
    """Serve the reference of an application's routes at `/docs`."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=f"{app.title}: API",
        swagger_js_url=f"{_FILES}/swagger-ui-bundle.js",
        swagger_css_url=f"{_FILES}/swagger-ui.css",
        swagger_favicon_url="data:,",
        # It is for reading: a form to try a route with would have no place for an API key. What checks a description
        # is a server elsewhere.
        swagger_ui_parameters={"supportedSubmitMethods": [], "validatorUrl": None},
    )
    html = bytes(page.body).decode()
    script = html.rpartition("<script>")[2].partition("</script>")[0]
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    headers = {
        "Content-Security-Policy": (
            f"default-src 'none'; script-src 'self' 'sha256-{allowed}'; style-src 'self'; img-src data:; "
            "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
    }

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(html, headers=headers)

    app.mount(_FILES, StaticFiles(packages=[("fastapi_offline", "static")]))
