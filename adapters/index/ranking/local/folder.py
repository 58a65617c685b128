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

The first output of the graph has a vector for each piece, or one for the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

from pydantic import Field

from adapters.index.ranking.local.loading import Once
from adapters.index.ranking.local.onnx_folder import Manifest, ModelFolder, OnnxModel, short_message
from contracts.enums import Language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MANIFEST: Final = "embedder.toml"
_OF_PIECES: Final = 3
"""Axes of an output that has a vector for each piece; one for the text has one less."""


class EmbedderManifest(Manifest):
    """The manifest of an embedding model.

    Attributes:
        words_share: The weight of the words if both rank, 0 to 1.
    """

    dimension: Annotated[int, Field(ge=1, le=100_000)]
    pooling: Literal["mean", "cls", "none"]
    query_prefix: str = ""
    text_prefix: str = ""
    words_share: Annotated[float, Field(ge=0, le=1)] = 0.5


class FolderModel:
    """The model of a folder; the manifest is read at once, and the files are checked and loaded by the first text.

    Raises:
        ConfigError: The manifest or a package is missing, or the manifest is wrong.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = ModelFolder(folder, "embedding model", "GUARDIAN_EMBEDDER", MANIFEST)
        self._manifest = self._folder.read_manifest(EmbedderManifest)
        made_by = self._manifest.model_dump_json(exclude={"words_share", "languages"})
        self._name = f"{self._manifest.name} {sha256(made_by.encode()).hexdigest()[:8]}"
        self._loaded: Once[OnnxModel] = Once()

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

        model = self._loaded.get(self._load)
        return np.stack([self._vector(model, text) for text in texts])

    def _load(self) -> OnnxModel:
        model = self._folder.load(self._manifest)
        self._vector(model, "loaded")
        return model

    def _vector(self, model: OnnxModel, text: str) -> NDArray[np.float32]:
        """Return the vector of a text.

        Raises:
            ServerFault: The graph's output has another shape.
        """
        import numpy as np

        try:
            found = model.run(text)
        except Exception as error:  # the package's errors have no class in common
            raise self._folder.fault(
                f"cannot read a text: {short_message(error)}", "See that graph and tokenizer belong together."
            ) from error
        pooled = self._pool(found) if found.size else np.zeros(self._manifest.dimension, np.float32)
        if pooled.shape != (self._manifest.dimension,) or not np.isfinite(pooled).all():
            raise self._folder.fault(
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


@cache
def folder_model(folder: Path) -> FolderModel:
    """Return the model of a folder: however many ask in a process, it is in memory once."""
    return FolderModel(folder)
