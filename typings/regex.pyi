VERSION0: int
IGNORECASE: int
MULTILINE: int

def search(pattern: str, string: str, flags: int = 0, *, timeout: float | None = None) -> object | None: ...
