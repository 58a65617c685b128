"""Prompts that chat clients send by themselves, one of each kind."""

from __future__ import annotations

from assistant.web.background_prompts import (
    BackgroundPrompt,
)
from tests.support.cli_helpers import QUESTION

HISTORY = f"### Chat History:\n<chat_history>\nUSER: {QUESTION}\nASSISTANT: Use the command [1].\n</chat_history>"


KINDS = {
    BackgroundPrompt.TITLE: f'### Task:\nName it.\n### Guidelines:\n- Short.\n### Output:\nJSON format: {{ "title": "x" }}\n{HISTORY}',
    BackgroundPrompt.TAGS: f'### Task:\nTag it.\n\n### Guidelines:\n- Few.\n\n### Output:\nJSON format: {{ "tags": ["a"] }}\n\n{HISTORY}',
    BackgroundPrompt.FOLLOW_UPS: f'### Task:\nGo on.\n### Guidelines:\n- Few.\n### Output:\nJSON format: {{ "follow_ups": ["a"] }}\n{HISTORY}',
    BackgroundPrompt.SEARCH_QUERIES: '### Task:\nSearch.\n\n### Guidelines:\n- In the format: { "queries": [] }.\n\n### Output:\n'
    f'Strictly in JSON: \n{{\n  "queries": ["a"]\n}}\n\n{HISTORY}\n',
    BackgroundPrompt.IMAGE_PROMPT: f'### Task:\nDraw.\n\n### Guidelines:\n- Well.\n\n### Output:\nStrictly:\n{{\n    "prompt": "x"\n}}\n\n{HISTORY}',
    BackgroundPrompt.COMPLETION: '### Task:\nComplete it.  \n\n### **Instructions**:\n1. If unsure: `{ "text": "" }`.\n\n'
    '### **Output Rules**:\n- Only JSON: `{ "text": "<x>" }`.\n\n---\n### Context:\n<chat_history>\nUSER: a\n</chat_history>\n'
    "<type>General</type>  \n<text>How do I</text>  \n#### Output:\n",
}
