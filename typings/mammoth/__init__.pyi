from collections.abc import Callable
from typing import IO

from mammoth import images as images

class Result:
    value: str
    messages: list[object]

def convert_to_html(
    fileobj: IO[bytes],
    *,
    style_map: str = ...,
    include_embedded_style_map: bool = ...,
    convert_image: Callable[[object], object] = ...,
) -> Result: ...
