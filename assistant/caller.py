"""Callers: who sends a question or asks for something, whatever way in they take."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a question, as the interface identifies them; never as a message claims.

    Attributes:
        name: That of the API key (letters, digits and dashes), or of a visitor or a user (`assistant.visitors`). Empty if
            nobody is told apart: then everybody who reaches the process is the same caller, who has all conversations but
            those of visitors and users.
        role: A role of the profile.
        address: Of a visitor's browser, for the budget of an address; it is nobody's name.
    """

    name: str = ""
    role: str = "user"
    address: str = field(default="", compare=False, repr=False)
