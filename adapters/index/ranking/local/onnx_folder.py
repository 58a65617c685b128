"""A model in a folder that the user names: an ONNX graph, `tokenizer.json` and a manifest in TOML.

`onnxruntime` runs the graph, and `tokenizers` splits texts into pieces. The graph accepts `input_ids` and, if it
declares them, `attention_mask` and `token_type_ids`, each of one text, or of one pair of texts.
"""

from __future__ import annotations

import atexit
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from adapters.index.ranking.local.loading import sha256_of
from contracts.enums import FaultKind, Language
from contracts.errors import ConfigError, ServerFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

TOKENIZER: Final = "tokenizer.json"
PACKAGES: Final = ("onnxruntime", "tokenizers")
INSTALL: Final = 'Install them: `pip install "guardian-assistant[meaning-own]"`.'
_KNOWN_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")

Text = Annotated[str, Field(min_length=1)]


class Manifest(BaseModel):
    """What the manifest of any model says.

    Attributes:
        graph: The file of the graph.
        longest: How many pieces of a text, or of a pair, are read.
        sha256: Digests of files of the folder, in hexadecimal; the graph and the tokenizer are among them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Text
    languages: Annotated[frozenset[Language], Field(min_length=1)]
    graph: Text = "model.onnx"
    longest: Annotated[int, Field(ge=2, le=100_000)] = 512
    sha256: Mapping[Text, Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")]]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name in (self.graph, TOKENIZER):
            if name not in self.sha256:
                raise ValueError(f"[sha256] has no {name!r}")
        for name in self.sha256:
            if Path(name).name != name:
                raise ValueError(f"{name!r} is not the name of a file in the folder")
        return self


_ManifestT = TypeVar("_ManifestT", bound=Manifest)


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a model, as messages name it.

    Attributes:
        path: The folder.
        what: What kind of model it is, such as "embedding model".
        setting: The setting that names the folder.
        manifest: The manifest's file name.
    """

    path: Path
    what: str
    setting: str
    manifest: str

    def read_manifest(self, kind: type[_ManifestT]) -> _ManifestT:
        """Read the manifest, and see that what runs the model is installed.

        Raises:
            ConfigError: There is no manifest, it is not valid, or a package is missing.
        """
        path = self.path / self.manifest
        try:
            read = kind.model_validate(tomllib.loads(path.read_text("utf-8")))
        except OSError as error:
            raise ConfigError(
                f"{self.setting} names the folder {self.path}, and its {self.manifest} cannot be read "
                f"({error.strerror}).",
                f"Write {self.manifest} there, as the page on dense search says, or name another folder.",
            ) from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(
                f"In {path} {where or 'something'} is wrong: {first['msg']}.", "Correct it there."
            ) from None
        except ValueError as error:
            raise ConfigError(f"{path} is no TOML in UTF-8: {error}.", "Correct it there.") from None
        if missing := missing_packages():
            raise ConfigError(
                f"{self.setting} names the folder {self.path}, and what runs its model is not installed: "
                f"{', '.join(missing)}.",
                INSTALL,
            )
        return read

    def load(self, manifest: Manifest) -> OnnxModel:
        """Check the files and load the model.

        Raises:
            ServerFault: A file is missing or has another digest, or the packages cannot read it.
        """
        for name, digest in manifest.sha256.items():
            self._check(self.path / name, digest.lower())
        try:
            return OnnxModel.load(self.path / manifest.graph, self.path / TOKENIZER, manifest.longest)
        except UnknownInputs as error:
            raise self.fault(
                f"asks for {error}, which nothing here gives",
                f"Export it with no other inputs than {', '.join(_KNOWN_INPUTS)}.",
            ) from None
        except Exception as error:  # what the two packages raise has no class in common
            raise self.fault(
                f"cannot be loaded: {short_message(error)}",
                "Export it again, and write the new digests into the manifest.",
            ) from error

    def fault(self, what: str, way_out: str) -> ServerFault:
        """Return the error that says what is wrong with the model in this folder."""
        return ServerFault(f"The {self.what} in {self.path} {what}.", way_out, kind=FaultKind.NOT_AS_ASKED)

    def _check(self, path: Path, digest: str) -> None:
        try:
            found = sha256_of(path)
        except OSError as error:
            raise self.fault(
                f"lacks {path.name} ({error.strerror})", f"Put it there, or name it otherwise in {self.manifest}."
            ) from error
        if found != digest:
            raise self.fault(
                f"has another {path.name} than its manifest says",
                f"Put the right file there; or, where this is the one that you want, write its sha256 into "
                f"{self.manifest}: {found}.",
            )


class UnknownInputs(ValueError):
    """A graph asks for inputs that nothing here gives; the text names them."""


class _Runs:
    """The runs of graphs that are under way: a process that ends inside one is aborted, so its end waits for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._ending = False

    def __enter__(self) -> None:
        with self._changed:
            if self._ending:
                raise RuntimeError("the process ends")
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ending = True
            self._changed.wait_for(lambda: self._count == 0, _LONGEST_END_S)


_LONGEST_END_S: Final = 10.0
"""Seconds that the end of a process waits for a graph; a pair of texts takes a tenth of one."""
_RUNS: Final = _Runs()
atexit.register(_RUNS.end)


class OnnxModel:
    """A graph, and the tokenizer that makes its input of a text."""

    def __init__(self, graph: Any, tokenizer: Tokenizer) -> None:
        self._graph = graph
        self._tokenizer = tokenizer
        self._inputs: list[str] = [node.name for node in graph.get_inputs()]

    @classmethod
    def load(cls, graph: Path, tokenizer: Path, longest: int) -> Self:
        """Load a model from its files.

        Raises:
            UnknownInputs: The graph asks for other inputs than those of a text.
            Exception: Whatever the two packages raise for a file that they cannot read.
        """
        import onnxruntime
        from tokenizers import Tokenizer

        runtime: Any = onnxruntime  # ships without types
        options = runtime.SessionOptions()
        # As for the other models: two threads on a busy machine wait for each other.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        with _RUNS:
            session = runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        pieces = Tokenizer.from_file(str(tokenizer))
        pieces.no_padding()
        pieces.enable_truncation(longest)
        unknown = [node.name for node in session.get_inputs() if node.name not in _KNOWN_INPUTS]
        if unknown:
            raise UnknownInputs(", ".join(unknown))
        return cls(session, pieces)

    def run(self, text: str, pair: str | None = None) -> NDArray[np.float32]:
        """Return the graph's first output for a text, or for a pair of texts; the longer of a pair is cut first.

        Raises:
            Exception: Whatever the two packages raise where graph and tokenizer do not belong together.
        """
        import numpy as np

        pieces = self._tokenizer.encode(text, pair)
        given = {"input_ids": pieces.ids, "attention_mask": pieces.attention_mask, "token_type_ids": pieces.type_ids}
        with _RUNS:
            made: Any = self._graph.run(None, {name: np.array([given[name]], np.int64) for name in self._inputs})[0]
        return np.asarray(made, np.float32)


def missing_packages() -> list[str]:
    """Return the packages that have to be installed; nothing is loaded."""
    return [name for name in PACKAGES if find_spec(name) is None]


def short_message(error: Exception) -> str:
    """Return what a package says is wrong, on one line."""
    return " ".join(str(error).split())[:300].rstrip(".")
