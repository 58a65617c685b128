from collections.abc import Iterator

from razdel import Substring

DELIMITER: str

class SentSplitter:
    def __init__(self, pattern: str = ..., window: int = ...) -> None: ...

class SentSegmenter:
    def __init__(self, split: SentSplitter = ...) -> None: ...
    def __call__(self, text: str) -> Iterator[Substring]: ...
