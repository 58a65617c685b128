"""`ArchitectSpec`: what an answer to one request type must look like, from the deployment's profile."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from contracts.values import Language


class Section(BaseModel):
    """A section that an answer must have, and the headings that count as it.

    Attributes:
        name: The section's name, which reasons quote.
        title: The heading to write, per language.
        aliases: Further headings that count, in any language.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    title: dict[Language, str] = Field(default_factory=dict[Language, str])
    aliases: tuple[str, ...] = ()

    def headings(self) -> tuple[str, ...]:
        """Return every heading that counts as this section."""
        return (self.name, *self.title.values(), *self.aliases)


class ArchitectSpec(BaseModel):
    """The contract of an answer.

    Attributes:
        response_format: Only `markdown` is written and checked today.
        required_sections: Each must be there as a heading, at any level and in any case.
        forbidden_content: Literal phrases, or regular expressions written as `/.../`.
        domain_terms: At least one must be used, in any word form; an empty tuple asks for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    response_format: str = Field(default="markdown", pattern="^markdown$")
    required_sections: tuple[Section, ...] = ()
    forbidden_content: tuple[str, ...] = ()
    domain_terms: tuple[str, ...] = ()
