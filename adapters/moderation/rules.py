"""The embedded moderation provider: a rule pack (`language/attacks/rules.toml`) over a message's matching view.

It uses no model and no network. Its reach is small and is stated here, because a guard that promises more than it
delivers is worse than none:

- It recognises classic jailbreaks and prompt injection by their wording, in English and Russian. New wordings, other
  languages, paraphrases and attacks spread over several messages pass. The spelling of a known wording does not matter:
  it may be spelt out, cut in two, or have tags, entities, signs or digits in it. It may also be encoded once: in
  base64, in hexadecimal, as an address or backwards.
- Harmful words are not a rule: on published sets they fire as often on safe prompts as on unsafe ones. A harmful
  question in plain words is Safe here.
- Punctuation and the shape of the sentence distinguish a mention from a use. A strong rule counts as weak if it matches
  inside quotation marks, after the beginning of a question ("how does ...", «почему ...»), or in reported speech
  (", the mail says", «пишет начальник»). An attack in such words is Controversial, not Unsafe, and with the default
  `block_threshold` the turn goes on.

`tests/adapters/test_moderation_rules.py` states the measurements and checks them.
"""

from __future__ import annotations

import asyncio

from contracts.enums import HarmCategory, ModerationState, SafetyLevel
from contracts.report import ModerationResult
from language.attacks.matching import find, shipped_pack
from language.attacks.rules import Pack

PROVIDER = "rules"

_LONG = 2_000
"""Characters from which a message is judged in a thread: below, the work is shorter than the way there."""


class RuleModerator:
    """Judges a message by a rule pack: strong match Unsafe, weak match Controversial, none Safe; category Jailbreak.

    Args:
        pack: The rules; without it, those that ship.

    Raises:
        ConfigError: The pack that ships with Guardian cannot be read.
    """

    def __init__(self, pack: Pack | None = None) -> None:
        self._pack = pack or shipped_pack()

    async def moderate(self, text: str) -> ModerationResult:
        """Return the level of a message; `raw_output` names the rules that matched, `model` the pack's version."""
        if len(text) < _LONG:
            return self.judge(text)
        return await asyncio.to_thread(self.judge, text)

    def judge(self, text: str) -> ModerationResult:
        """Return the level of a message, on the calling thread."""
        found = find(text, self._pack)
        return ModerationResult(
            safety_level=found.level,
            state=ModerationState(found.level.value),
            categories=[] if found.level is SafetyLevel.SAFE else [HarmCategory.JAILBREAK],
            raw_output=str(found),
            model=f"rules-{self._pack.version}",
            provider=PROVIDER,
        )
