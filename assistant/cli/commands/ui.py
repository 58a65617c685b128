"""`guardian ui`: the chat page for the user of this machine."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from assistant.cli.commands.serve import check_role, describe_callers
from assistant.deployment import deployment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.documents import knowledge_base
from contracts.errors import ConfigError, InputError

if TYPE_CHECKING:
    from contracts.profile import Profile

_HOST: Final = "127.0.0.1"
_PACKAGES: Final = ("gradio", "fastapi", "fastapi_offline", "uvicorn", "prometheus_client")


def run(options: argparse.Namespace) -> int:
    """Serve the page on loopback until a signal comes."""
    if any(find_spec(name) is None for name in _PACKAGES):
        raise ConfigError(
            "The chat page needs packages that are not installed.",
            "Install them: pip install 'guardian-assistant[ui]'.",
        )
    deployed = deployment(options.profile)
    role = _role(deployed.profile, operator=options.operator)
    check_role(deployed, role, exposed=False)
    # What is missing is told before seconds go into loading the page.
    knowledge_base(deployed).close()

    from assistant.web.listening import open_socket
    from assistant.web.serving import run as serve
    from assistant.wiring.access import keys_of

    keys = keys_of(deployed)
    keys.all()  # a page that lets nobody in is not begun
    say = phrases(own_language())
    with open_socket(_HOST, options.port) as sock:
        from assistant.web.app import ServerOptions, create_app

        address = f"http://{_HOST}:{sock.getsockname()[1]}/"
        who = say["page_keys"] if keys.wanted else say["page_role"].format(role=role)
        told = describe_callers(deployed, keys, role) or who
        lines = (say["page_listening"].format(address=address), told, say["page_end"])
        chosen = ServerOptions(role=role, page=True)
        serve(lambda: create_app(deployed, chosen), sock, lambda: print("\n".join(lines), flush=True))
    return 0


def _role(profile: Profile, *, operator: bool) -> str:
    """Return in which role the page asks.

    Raises:
        InputError: The profile has no role that sees all.
    """
    if not operator:
        return "user"
    seeing = [name for name in profile.roles if profile.sees_all(name)]
    if not seeing:
        raise InputError(
            f"No role of the profile {profile.name!r} has the operator's view.",
            "Give one `operator_view = true` in the profile, or leave --operator out.",
        )
    return "operator" if "operator" in seeing else seeing[0]
