from collections.abc import Iterator

class Substring:
    start: int
    stop: int
    text: str

def sentenize(text: str) -> Iterator[Substring]: ...
def tokenize(text: str) -> Iterator[Substring]: ...
