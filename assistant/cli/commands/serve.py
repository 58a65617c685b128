"""`guardian serve`: a process, or several, that answer over HTTP."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from assistant.deployment import deployment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.access import keys_of
from assistant.wiring.documents import knowledge_base
from contracts.errors import ConfigError, InputError

if TYPE_CHECKING:
    from socket import socket

    from assistant.deployment import Deployment
    from assistant.keys import Keys
    from assistant.web.app import ServerOptions
    from assistant.web.workers import Worker

MOST_WORKERS = 64
"""Each has its own memory, and more than the machine has processors bring nothing."""
_PACKAGES = ("fastapi", "fastapi_offline", "uvicorn", "prometheus_client")


def run(options: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    if any(find_spec(name) is None for name in _PACKAGES):
        raise ConfigError(
            "The HTTP server needs packages that are not installed.",
            "Install them: pip install 'guardian-assistant[serve]'.",
        )
    check_workers(options.workers)
    if options.workers == 1:
        _serve(options)
        return 0
    from assistant.web.listening import open_socket
    from assistant.web.workers import fork_workers

    with open_socket(options.host, options.port) as sock:
        # Before anything else is imported or read: what is forked is small, and has one thread.
        worker = fork_workers(options.workers)
        if isinstance(worker, int):
            return worker
        _serve(options, sock, worker)
    return 0


def _serve(options: argparse.Namespace, sock: socket | None = None, worker: Worker | None = None) -> None:
    """Serve until a signal comes, in the one process or in one of the workers."""
    from assistant.web.addresses import is_loopback
    from assistant.web.app import ServerOptions, create_app
    from assistant.web.listening import open_socket
    from assistant.web.serving import run as serve

    deployed = deployment(options.profile)
    keys, loopback = keys_of(deployed), is_loopback(options.host)
    check_role(deployed, options.role, exposed=not loopback and not is_identity_wanted(deployed, keys))
    keys.all()
    # What is missing is told before anything listens.
    knowledge_base(deployed).close()
    chosen = ServerOptions(
        role=options.role,
        page=find_spec("gradio") is not None,
        mcp=find_spec("mcp") is not None,
        loopback=loopback,
        counts=None if worker is None else worker.folder / "requests.db",
    )
    sock = sock or open_socket(options.host, options.port)
    port = sock.getsockname()[1]
    host = f"[{options.host}]" if ":" in options.host else options.host

    def announce() -> None:
        if worker is None or worker.first:
            _announce(f"http://{host}:{port}", chosen, deployed)

    serve(lambda: create_app(deployed, chosen), sock, announce, worker)


def check_workers(count: int) -> None:
    """Check the number of workers.

    Raises:
        InputError: There cannot be so many.
    """
    if not 1 <= count <= MOST_WORKERS:
        raise InputError(f"{count} is no number of workers.", f"Choose one from 1 to {MOST_WORKERS}.")
    if count > 1 and not hasattr(os, "fork"):
        raise InputError("This system forks no processes.", "Leave --workers out, or run Guardian on Linux or macOS.")


def is_identity_wanted(deployed: Deployment, keys: Keys) -> bool:
    """Whether a request has to say who sends it: by a key, a visitor's cookie, or a proxy's header."""
    callers = deployed.settings.callers
    return keys.wanted or callers.visitors or bool(callers.user_header)


def check_role(deployed: Deployment, role: str, *, exposed: bool) -> None:
    """Check the role of visitors, or of everybody: what whoever comes may do may not be much.

    Args:
        deployed: What is served.
        role: The role.
        exposed: Whether other machines can reach the server, and nobody has to say who they are.

    Raises:
        InputError: There is no such role, or it is too much for whoever comes.
    """
    profile = deployed.profile
    if role not in profile.roles:
        raise InputError(f"The profile {profile.name!r} has no role {role!r}.", f"It has: {', '.join(profile.roles)}.")
    if (exposed or deployed.settings.callers.visitors) and (
        profile.sees_all(role) or not profile.sources_for(role) <= profile.sources_for("user")
    ):
        raise InputError(
            f"Whoever reaches this server would have the role {role!r}, for {_why_open(deployed)}.",
            f"Make a key with that role (`guardian keys add NAME --role {role}`), or leave out --role or "
            f"{'GUARDIAN_VISITORS' if deployed.settings.callers.visitors else '--host'}.",
        )


def _why_open(deployed: Deployment) -> str:
    return "every browser is a visitor" if deployed.settings.callers.visitors else "it asks for no API keys"


def describe_callers(deployed: Deployment, keys: Keys, role: str) -> str:
    """Return a line that says who may ask beside the owners of keys; empty if the server tells nobody else apart."""
    say, callers = phrases(own_language()), deployed.settings.callers
    lines: list[str] = []
    if callers.visitors:
        lines.append(say["http_visitors"].format(role=role, count=len(keys.all())))
    if callers.user_header:
        proxies = ", ".join(map(str, callers.trusted_proxies))
        lines.append(say["http_users"].format(header=callers.user_header, proxies=proxies))
    return " ".join(lines)


def _announce(address: str, chosen: ServerOptions, deployed: Deployment) -> None:
    """Say where what is, and who may ask."""
    keys = keys_of(deployed)
    say = phrases(own_language())
    page = f"{address}/" if chosen.page else say["http_missing"].format(extra="ui")
    tools = f"{address}/mcp" if chosen.mcp else say["http_missing"].format(extra="mcp")
    who = say["http_keys"].format(count=len(keys.all())) if keys.wanted else say["http_open"].format(role=chosen.role)
    lines = [
        say["http_listening"].format(address=address),
        f"  {say['http_api']}: {address}/v1 ({address}/docs)",
        f"  {say['http_page']}: {page}",
        f"  MCP: {tools}",
        describe_callers(deployed, keys, chosen.role) or who,
        say["http_end"],
    ]
    print("\n".join(lines), flush=True)
    if not chosen.loopback and not is_identity_wanted(deployed, keys):
        print(say["http_exposed"], file=sys.stderr, flush=True)
