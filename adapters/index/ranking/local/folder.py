"""An embedding model in a folder that the user names: an ONNX graph, `tokenizer.json`, and a manifest, `embedder.toml`.

    name = "bge-m3"                     # its vectors are stored under this name and a digest of what made them
    languages = ["en", "ru"]            # texts in other languages are not given to it
    dimension = 1024                    # numbers in a vector
    pooling = "mean"                    # or "cls" (the first piece's vector), or "none" if the graph does it
    query_prefix = "query: "            # both prefixes are optional
    text_prefix = "passage: "

    [sha256]                            # of every file that affects the vectors
    "model.onnx" = "..."
    "tokenizer.json" = "..."

The graph accepts `input_ids` and, if it declares them, `attention_mask` and `token_type_ids`, each of one text. Its
first output has a vector for each piece, or one for the text. `onnxruntime` runs it; `tokenizers` splits texts into
pieces.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from adapters.index.ranking.local.loading import Once, sha256_of
from contracts.enums import FaultKind, Language
from contracts.errors import ConfigError, ServerFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

MANIFEST: Final = "embedder.toml"
TOKENIZER: Final = "tokenizer.json"
PACKAGES: Final = ("onnxruntime", "tokenizers")
INSTALL: Final = 'Install them: `pip install "guardian-assistant[meaning-own]"`.'
_KNOWN_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
_OF_PIECES: Final = 3
"""Axes of an output that has a vector for each piece; one for the text has one less."""

_Text = Annotated[str, Field(min_length=1)]


class Manifest(BaseModel):
    """The manifest of a folder.

    Attributes:
        graph: The file of the graph.
        words_share: The weight of the words if both rank, 0 to 1.
        longest: How many pieces of a text are read.
        sha256: Digests of files of the folder, in hexadecimal; the graph and the tokenizer are among them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _Text
    languages: Annotated[frozenset[Language], Field(min_length=1)]
    dimension: Annotated[int, Field(ge=1, le=100_000)]
    pooling: Literal["mean", "cls", "none"]
    graph: _Text = "model.onnx"
    query_prefix: str = ""
    text_prefix: str = ""
    words_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    longest: Annotated[int, Field(ge=2, le=100_000)] = 512
    sha256: Mapping[_Text, Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")]]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name in (self.graph, TOKENIZER):
            if name not in self.sha256:
                raise ValueError(f"[sha256] has no {name!r}")
        for name in self.sha256:
            if Path(name).name != name:
                raise ValueError(f"{name!r} is not the name of a file in the folder")
        return self

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a folder.

        Raises:
            ConfigError: There is no manifest, or it is not valid.
        """
        path = folder / MANIFEST
        try:
            return cls.model_validate(tomllib.loads(path.read_text("utf-8")))
        except OSError as error:
            raise ConfigError(
                f"GUARDIAN_EMBEDDER names the folder {folder}, and its {MANIFEST} cannot be read ({error.strerror}).",
                f"Write {MANIFEST} there, as the page on dense search says, or name another folder.",
            ) from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(
                f"In {path} {where or 'something'} is wrong: {first['msg']}.", "Correct it there."
            ) from None
        except ValueError as error:
            raise ConfigError(f"{path} is no TOML in UTF-8: {error}.", "Correct it there.") from None


def missing_packages() -> list[str]:
    """Return the packages that have to be installed; nothing is loaded."""
    return [name for name in PACKAGES if find_spec(name) is None]


class FolderModel:
    """The model of a folder; the manifest is read at once, and the files are checked and loaded by the first text.

    Raises:
        ConfigError: The manifest or a package is missing, or the manifest is wrong.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manifest = Manifest.read(folder)
        if missing := missing_packages():
            raise ConfigError(
                f"GUARDIAN_EMBEDDER names the folder {folder}, and what runs its model is not installed: "
                f"{', '.join(missing)}.",
                INSTALL,
            )
        made_by = self._manifest.model_dump_json(exclude={"words_share", "languages"})
        self._name = f"{self._manifest.name} {sha256(made_by.encode()).hexdigest()[:8]}"
        self._loaded: Once[_LoadedModel] = Once()

    @property
    def name(self) -> str:
        return self._name

    @property
    def languages(self) -> frozenset[Language]:
        return self._manifest.languages

    @property
    def words_share(self) -> float:
        return self._manifest.words_share

    @property
    def prefixes(self) -> tuple[str, str]:
        return self._manifest.query_prefix, self._manifest.text_prefix

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text, one a row.

        Raises:
            ServerFault: A file is missing or has another digest, or the model does not do what the manifest says.
        """
        import numpy as np

        loaded = self._loaded.get(self._load)
        return np.stack([loaded.vector(text) for text in texts])

    def _load(self) -> _LoadedModel:
        for name, digest in self._manifest.sha256.items():
            self._check(self._folder / name, digest.lower())
        try:
            loaded = _LoadedModel.of(self._folder, self._manifest)
        except ServerFault:
            raise
        except Exception as error:  # what the two packages raise has no class in common
            why = " ".join(str(error).split())[:300].rstrip(".")
            raise self._fault(
                f"cannot be loaded: {why}", "Export it again, and write the new digests into the manifest."
            ) from error
        loaded.vector("loaded")
        return loaded

    def _check(self, path: Path, digest: str) -> None:
        try:
            found = sha256_of(path)
        except OSError as error:
            raise self._fault(
                f"lacks {path.name} ({error.strerror})", f"Put it there, or name it otherwise in {MANIFEST}."
            ) from error
        if found != digest:
            raise self._fault(
                f"has another {path.name} than its manifest says",
                f"Put the right file there; or, where this is the one that you want, write its sha256 into {MANIFEST}: "
                f"{found}.",
            )

    def _fault(self, what: str, way_out: str) -> ServerFault:
        return _fault(self._folder, what, way_out)


def _fault(folder: Path, what: str, way_out: str) -> ServerFault:
    return ServerFault(f"The embedding model in {folder} {what}.", way_out, kind=FaultKind.NOT_AS_ASKED)


class _LoadedModel:
    """A graph and what makes its input of a text."""

    def __init__(self, folder: Path, manifest: Manifest, graph: Any, tokenizer: Tokenizer) -> None:
        self._folder = folder
        self._manifest = manifest
        self._graph = graph
        self._tokenizer = tokenizer
        self._inputs: list[str] = [node.name for node in graph.get_inputs()]

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> Self:
        import onnxruntime
        from tokenizers import Tokenizer

        runtime: Any = onnxruntime  # ships without types
        options = runtime.SessionOptions()
        # As for the other models: two threads on a busy machine wait for each other.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = runtime.InferenceSession(str(folder / manifest.graph), options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        tokenizer.no_padding()
        tokenizer.enable_truncation(manifest.longest)
        unknown = [node.name for node in graph.get_inputs() if node.name not in _KNOWN_INPUTS]
        if unknown:
            raise _fault(
                folder,
                f"asks for {', '.join(unknown)}, which nothing here gives",
                f"Export it with no other inputs than {', '.join(_KNOWN_INPUTS)}.",
            )
        return cls(folder, manifest, graph, tokenizer)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text.

        Raises:
            ServerFault: The graph's output has another shape.
        """
        import numpy as np

        pieces = self._tokenizer.encode(text)
        given = {"input_ids": pieces.ids, "attention_mask": pieces.attention_mask, "token_type_ids": pieces.type_ids}
        fed = {name: np.array([given[name]], np.int64) for name in self._inputs}
        try:
            made: Any = self._graph.run(None, fed)[0]
        except Exception as error:  # the package's errors have no class in common
            why = " ".join(str(error).split())[:300].rstrip(".")
            raise self._fault(f"cannot read a text: {why}", "See that graph and tokenizer belong together.") from error
        found = np.asarray(made, np.float32)
        pooled = self._pool(found) if found.size else np.zeros(self._manifest.dimension, np.float32)
        if pooled.shape != (self._manifest.dimension,) or not np.isfinite(pooled).all():
            raise self._fault(
                f"makes an output of the shape {list(found.shape)}, which is no vector of {self._manifest.dimension} "
                f"numbers by the pooling {self._manifest.pooling!r}",
                f"Correct dimension or pooling in {MANIFEST}: mean or cls where there is a vector for each piece, none "
                "where there is one for the text.",
            )
        length = np.linalg.norm(pooled)
        return cast("NDArray[np.float32]", pooled / length if length else pooled)

    def _pool(self, made: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return one vector; what cannot be pooled as the manifest says, as it is."""
        if self._manifest.pooling == "none" or made.ndim != _OF_PIECES:
            return made[0] if made.ndim == _OF_PIECES - 1 and self._manifest.pooling == "none" else made
        return made[0].mean(axis=0) if self._manifest.pooling == "mean" else made[0, 0]

    def _fault(self, what: str, way_out: str) -> ServerFault:
        return _fault(self._folder, what, way_out)


@cache
def folder_model(folder: Path) -> FolderModel:
    """Return the model of a folder: however many ask in a process, it is in memory once."""
    return FolderModel(folder)
