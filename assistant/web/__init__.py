"""The HTTP server: FastAPI over one `Service`. Needs the extra `serve`."""
