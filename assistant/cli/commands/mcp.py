"""`guardian mcp`: tools for another assistant, on standard input and output; nothing else is written there."""

from __future__ import annotations

import argparse
import asyncio
from importlib.util import find_spec

from assistant.deployment import deployment
from contracts.errors import ConfigError


def run(options: argparse.Namespace) -> int:
    """Serve until the client closes its end."""
    if find_spec("mcp") is None:
        raise ConfigError(
            "The Model Context Protocol needs a package that is not installed.",
            "Install it: pip install 'guardian-assistant[mcp]'.",
        )
    from assistant.mcp.stdio import serve_stdio

    deployed = deployment(options.profile)
    deployed.build_context(role=options.role)  # whether there is such a role
    asyncio.run(serve_stdio(deployed, options.role))
    return 0
