"""`guardian serve`: one process that answers over HTTP."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from assistant.deployment import deployment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.documents import knowledge_base
from contracts.errors import ConfigError, InputError

if TYPE_CHECKING:
    from assistant.deployment import Deployment
    from assistant.keys import Keys
    from assistant.web.app import ServerOptions

_PACKAGES = ("fastapi", "fastapi_offline", "uvicorn", "prometheus_client")


def run(options: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    if any(find_spec(name) is None for name in _PACKAGES):
        raise ConfigError(
            "The HTTP server needs packages that are not installed.",
            "Install them: pip install 'guardian-assistant[serve]'.",
        )
    from assistant.keys import keys_of
    from assistant.web.addresses import is_loopback
    from assistant.web.app import ServerOptions, create_app
    from assistant.web.serving import open_socket
    from assistant.web.serving import run as serve

    deployed = deployment(options.profile)
    keys, loopback = keys_of(deployed), is_loopback(options.host)
    _check_role(deployed, options.role, exposed=not loopback and not keys.wanted)
    keys.all()
    # What is missing is told before anything listens.
    knowledge_base(deployed).close()
    chosen = ServerOptions(
        role=options.role,
        page=find_spec("gradio") is not None,
        mcp=find_spec("mcp") is not None,
        loopback=loopback,
    )
    sock = open_socket(options.host, options.port)
    port = sock.getsockname()[1]
    host = f"[{options.host}]" if ":" in options.host else options.host
    serve(lambda: create_app(deployed, chosen), sock, lambda: _announce(f"http://{host}:{port}", chosen, keys))
    return 0


def _check_role(deployed: Deployment, role: str, *, exposed: bool) -> None:
    """Check the role of everybody where no keys are used: what is everybody's may not be much.

    Raises:
        InputError: There is no such role, or it is too much for whoever comes.
    """
    profile = deployed.profile
    if role not in profile.roles:
        raise InputError(f"The profile {profile.name!r} has no role {role!r}.", f"It has: {', '.join(profile.roles)}.")
    if exposed and (profile.sees_all(role) or not profile.sources_for(role) <= profile.sources_for("user")):
        raise InputError(
            f"Whoever reaches this server would have the role {role!r}, for it asks for no API keys.",
            f"Make a key with that role (`guardian keys add NAME --role {role}`), or leave out --role or --host.",
        )


def _announce(address: str, chosen: ServerOptions, keys: Keys) -> None:
    """Say where what is, and who may ask."""
    say = phrases(own_language())
    page = f"{address}/" if chosen.page else say["http_missing"].format(extra="ui")
    tools = f"{address}/mcp" if chosen.mcp else say["http_missing"].format(extra="mcp")
    who = say["http_keys"].format(count=len(keys.all())) if keys.wanted else say["http_open"].format(role=chosen.role)
    lines = [
        say["http_listening"].format(address=address),
        f"  {say['http_api']}: {address}/v1 ({address}/docs)",
        f"  {say['http_page']}: {page}",
        f"  MCP: {tools}",
        who,
        say["http_end"],
    ]
    print("\n".join(lines), flush=True)
    if not chosen.loopback and not keys.wanted:
        print(say["http_exposed"], file=sys.stderr, flush=True)
