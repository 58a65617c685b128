"""A llama model of about 1 MB whose weights are counted here: a Markov chain over bytes in a real model's file.

How a chain fits into a transformer: each token's embedding is its own unit vector, so the output matrix, multiplied by
it, is one row of a table: the log-probabilities of what follows that token. The attention is left to add noise, on axes
of its own: it looks a distance back that depends on the token, and what stood there decides who gets ahead. So at
temperature 0, too, replies differ from prompt to prompt and do not run in circles, and the same prompt gets the same.
"""

from __future__ import annotations

import math
import re
from itertools import count
from pathlib import Path
from typing import Final

import gguf
import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]

END: Final = "<|im_end|>"
"""Ends every reply, whatever the template writes between turns."""
MAY_CALL: Final = "<|may_call|>"
"""A template that knows tools ends on it where tools are offered: a chain has no other way to know."""
_CALL: Final = "<tool_call>"
_CONTROL: Final = (END, MAY_CALL, "<|im_start|>", "[INST]", "[/INST]", "<start_of_turn>", "<end_of_turn>")
"""What templates write between turns: after any of them a sentence begins."""
_SHOWN: Final = (_CALL, "</tool_call>")

TEXT: Final = """\
The handbook names the form and the queue [1].
Send the report to the desk, with its number [2].
Requests are read in order, please wait [1].
Lost badges are reported in the **portal** [3].
Open `settings`, choose a team, save [2].
Form B-57 is for summer, form B-84 for winter [1].
Leave {name} empty if it is not known [2].
We could not find that page.
Справочник называет форму и очередь [1].
Отправьте заявку, укажите её номер [2].
Заявки читают по порядку, дождитесь ответа [1].
О потере пропуска сообщите в портал [3].
Летом нужна форма Б-17, зимой форма Б-8 [2].
"""
"""Sentences of ours; no digit after a blank, or scores would begin with it."""

_FAINT: Final = 1e-9
"""What text never says has a chance only where a grammar forbids all that text would say."""
_NEVER: Final = 1e-30

_UNDER_GRAMMAR: Final[dict[str, dict[str, float]]] = {
    ":": {"0": 90, '"': 30, "[": 15, "n": 4, "t": 3, "f": 3, " ": 3},
    '"': {",": 30, "]": 45, ":": 30, "}": 10, "n": 4, "r": 4},
    "0": {".": 60},
    # Six tenths are neither spam (from 0.7) nor unclear (below 0.6): with other digits few plans would be searched.
    ".": {"6": 8},
    " ": {"S": 8, '"': 20, "0": 60},
    **{digit: {",": 15, "}": 5} for digit in "123456789"},
}
"""Weights beside 1 for any printable character: JSON closes its strings and lists, scores are mostly within bounds."""


def write(
    path: Path,
    *,
    template: str,
    seed: int = 6,
    text: str = TEXT,
    call_chance: float = 0.97,
    end_chance: float = 0.5,
    noise: float = 1.3,
    window: int = 131_072,
) -> Path:
    """Write the model file and return its path.

    Args:
        path: where to; an existing file is replaced.
        template: the chat template, Jinja text.
        seed: of the noise; files of one seed are the same, byte for byte.
        text: what the chain is counted from, a sentence a line, characters of one or two bytes in UTF-8.
        call_chance: 0..1, how often tools are called where they are offered but not demanded.
        end_chance: 0..1, how often a reply ends after a full stop.
        noise: standard deviation of what the prompt adds to log-probabilities; 0 is the bare chain, 1.3 is as much
            as the dice add at temperature 1.
        window: tokens (bytes) that prompt and reply may have together.

    Raises:
        ValueError: the text has a character of more than two bytes, which the chain could not keep whole.
    """
    if wide := re.findall(r"[^\u0000-\u07ff]", text):
        raise ValueError(f"characters of more than two bytes: {wide[:5]}")
    letters = _byte_names()
    names = [*letters, letters[0xFE] + letters[0xFF], *_CONTROL, *_SHOWN]
    names += [f"<unused{number}>" for number in range(-len(names) % 32)]
    index = {name: number for number, name in enumerate(names)}

    table = _table(text.encode(), len(names), index[END], end_chance)
    table[index[MAY_CALL]] *= 1 - call_chance
    table[index[MAY_CALL], index[_CALL]] = call_chance
    table[index[_CALL]] = 0.0
    table[index[_CALL], ord("\n")] = 1.0

    writer = gguf.GGUFWriter(path, "llama")
    _add_vocabulary(writer, names, index)
    writer.add_chat_template(template)
    writer.add_context_length(window)
    _add_weights(writer, np.log(np.maximum(table, _NEVER)), noise, np.random.default_rng(seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# ------------------------------------------------------------------------------------------------------- vocabulary


def _byte_names() -> list[str]:
    """Return how byte-level vocabularies of GPT-2's kind write the 256 bytes: as a visible character each."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = count(0x100)
    return [chr(byte if byte in visible else next(spare)) for byte in range(256)]


def _add_vocabulary(writer: gguf.GGUFWriter, names: list[str], index: dict[str, int]) -> None:
    kinds = [gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.UNUSED] * (len(names) - 257)
    for name in _CONTROL:
        kinds[index[name]] = gguf.TokenType.CONTROL
    for name in _SHOWN:
        kinds[index[name]] = gguf.TokenType.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types(kinds)
    # The format wants a merge; these two bytes stand in no UTF-8 text.
    writer.add_token_merges([f"{names[0xFE]} {names[0xFF]}"])
    writer.add_bos_token_id(index[END])
    writer.add_eos_token_id(index[END])
    writer.add_add_bos_token(False)


# ------------------------------------------------------------------------------------------------------------ chain


def _table(text: bytes, size: int, end: int, end_chance: float) -> Table:
    """Return the chance of each token (column) after each (row), rows summing to about 1."""
    here, following = np.frombuffer(text, np.uint8)[:-1], np.frombuffer(text, np.uint8)[1:]
    counts = np.zeros((size, size))
    np.add.at(counts, (here, following), 1.0)
    # Sentences stand on lines of their own, and JSON has no raw line break in its strings: there the full stop's other
    # followers win, and strings end.
    stop = ord(".")
    counts[stop] *= (1 - end_chance) * 0.94 / counts[stop].sum()
    counts[stop, [ord(" "), ord('"')]] += 0.01, 0.05
    counts[stop, end] = end_chance
    counts[ord(">"), end] = 1.0

    begins = np.bincount([line[0] for line in text.split(b"\n") if line], minlength=size) + 0.0
    # What text never has begins a sentence, an opening quote, too; the rest of JSON's marks are left to the grammar.
    for row in np.flatnonzero(counts.sum(1) == 0):
        if chr(row) not in _UNDER_GRAMMAR or chr(row) == '"':
            counts[row] = begins
    table = counts / np.maximum(counts.sum(1, keepdims=True), 1.0)
    return table + _FAINT * _faint_weights(size)


def _faint_weights(size: int) -> Table:
    weights = np.zeros((size, size))
    # Not after the first byte of two: what follows it is always its second.
    whole = [token for token in range(size) if not 0xC0 <= token < 0x100]
    weights[np.ix_(whole, range(0x20, 0x7F))] = 1.0
    weights[np.ix_(whole, [ord(c) for c in "\n\t\\-eE"])] = 0.2
    for character, followers in _UNDER_GRAMMAR.items():
        for follower, weight in followers.items():
            weights[ord(character), ord(follower)] = weight
    return weights


# ---------------------------------------------------------------------------------------------------------- weights

_NOISE_AXES: Final = 32
_HEAD_SIZE: Final = 32
"""As many numbers as llama.cpp multiplies at once: for shorter heads it takes them one by one. A byte is a token, so a
prompt is thousands of them, and what each costs is looking back at the others: with one head a quarter of with four."""
_SEEN: Final = 0.117
"""Mean of the sum of an attention's squared weights, measured over 100 bytes."""
_FEED_FORWARD: Final = 32


def _add_weights(writer: gguf.GGUFWriter, logits: Table, noise: float, rng: np.random.Generator) -> None:
    size = len(logits)
    width = size + _NOISE_AXES
    gain = math.sqrt(width)  # the norm before each layer makes a unit vector this long

    def add(name: str, weights: Table) -> None:
        writer.add_tensor(name, weights.astype(np.float32))

    embedding = np.eye(size, width)
    # Keys are alike, so it is the position that is looked at, by the query's phases: some places, others for each token.
    # The slowest wave of every second token is one for all of those, and keeps them to the last few hundred bytes.
    phases = rng.uniform(0, 2 * math.pi, (_HEAD_SIZE // 2, width))
    strengths = np.full(phases.shape, 1.2)
    phases[-1, ::2], strengths[-1, ::2] = 0.0, 30.0
    query = (strengths * [np.cos(phases), np.sin(phases)]).transpose(1, 0, 2).reshape(_HEAD_SIZE, width)
    key = np.tile([1.0, 0.0], _HEAD_SIZE // 2)
    value = rng.normal(0, 1, (_HEAD_SIZE, width))
    back = np.zeros((width, _HEAD_SIZE))
    back[size:] = rng.normal(0, 1, (_NOISE_AXES, _HEAD_SIZE)) * 0.1 / math.sqrt(_NOISE_AXES * _HEAD_SIZE * _SEEN)
    output = np.zeros((size, width))
    output[:, :size] = logits.T / gain
    output[:, size:] = rng.normal(0, 1, (size, _NOISE_AXES)) * noise * 10 / gain

    writer.add_vocab_size(size)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(_HEAD_SIZE)
    writer.add_value_length(_HEAD_SIZE)
    writer.add_rope_dimension_count(_HEAD_SIZE)
    writer.add_rope_freq_base(1585.0)  # the slowest wave turns by 1 in 1,000 bytes
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    add("token_embd.weight", embedding)
    add("output_norm.weight", np.ones(width))
    add("output.weight", output)
    add("blk.0.attn_norm.weight", np.ones(width))
    add("blk.0.attn_q.weight", query * math.sqrt(_HEAD_SIZE) / gain)
    add("blk.0.attn_k.weight", np.tile(key[:, None], width) / gain)
    add("blk.0.attn_v.weight", value / gain)
    add("blk.0.attn_output.weight", back)
    add("blk.0.ffn_norm.weight", np.ones(width))
    add("blk.0.ffn_gate.weight", np.zeros((_FEED_FORWARD, width)))
    add("blk.0.ffn_up.weight", np.zeros((_FEED_FORWARD, width)))
    add("blk.0.ffn_down.weight", np.zeros((width, _FEED_FORWARD)))
