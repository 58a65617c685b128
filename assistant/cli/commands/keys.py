"""`guardian keys`: makes, lists and removes API keys."""

from __future__ import annotations

import argparse
import json

from assistant.deployment import deployment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.access import keys_of
from contracts.errors import InputError


def run(options: argparse.Namespace) -> int:
    """Make, list or remove keys."""
    deployed = deployment(options.profile)
    keys, say = keys_of(deployed), phrases(own_language())
    match options.action:
        case "add":
            roles = deployed.profile.roles
            if options.role not in roles:
                raise InputError(
                    f"The profile {deployed.profile.name!r} has no role {options.role!r}.",
                    f"It has: {', '.join(roles)}.",
                )
            first = not keys.wanted
            made = keys.add(options.name, options.role, options.per_minute)
            print(made)
            print(f"\n{say['http_key_once']}")
            print(f"  curl -H 'Authorization: Bearer {made}' http://127.0.0.1:8000/v1/models")
            if first:
                print(say["http_key_first"])
        case "list":
            known = keys.all()
            if options.json:
                shown = [{"name": n, "role": k.role, "per_minute": k.per_minute} for n, k in known.items()]
                print(json.dumps(shown, indent=2))
                return 0
            width = max(map(len, known), default=0)
            for name, key in known.items():
                print(f"{name:<{width}}  {key.role:<10}  {say['http_per_minute'].format(count=key.per_minute)}")
            if not known:
                print(say[keys.opened_again if keys.wanted else "http_no_keys"])
        case _:
            keys.remove(options.name)
            print(say["http_key_removed"].format(name=options.name))
            if not keys.all():
                print(say[keys.opened_again])
    return 0
