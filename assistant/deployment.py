"""What a process serves: its settings, its profile, and the place of its data."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from assistant.config.profiles import load_profile
from assistant.config.run_settings import build_context, run_settings
from assistant.config.settings import Settings
from contracts.profile import Profile

if TYPE_CHECKING:
    from contracts.context import Context


@dataclass(frozen=True, slots=True)
class Deployment:
    """The settings and the profile that a process serves.

    Attributes:
        settings, profile: Where its data is, and what it serves.
        context_type: The class of its run settings.
        conversations: The folder of conversations, if it is not the profile's own.
    """

    settings: Settings
    profile: Profile
    context_type: type[Context]
    conversations: Path | None = None

    def build_context(self, **values: Any) -> Context:
        """Build the settings of one run by their names; `None` means the deployment's default.

        Raises:
            InputError: The setting or its value is not valid, or the profile has no such role.
        """
        return build_context(self.context_type, self.profile, values)

    @property
    def profile_version(self) -> str:
        """The version of its profile: 12 hexadecimal digits of a hash, the same as long as nothing in it changes."""
        return sha256(self.profile.model_dump_json().encode()).hexdigest()[:12]

    @property
    def folder(self) -> Path:
        """The folder of everything that belongs to this profile."""
        return self.settings.data.folder / self.profile.name

    @property
    def knowledge_folder(self) -> Path:
        """The record and the index of its documents."""
        return self.folder / "knowledge"

    @property
    def graph_folder(self) -> Path:
        """The graph of its documents."""
        return self.folder / "graph"

    @property
    def models_file(self) -> Path:
        """The file of what was found out about models and their servers."""
        return self.folder / "models.json"

    @property
    def starter_questions_file(self) -> Path:
        """The file of the questions that a welcome shows."""
        return self.folder / "starter_questions.json"

    @property
    def indexing_file(self) -> Path:
        """The file of what the last run of indexing did."""
        return self.folder / "indexing.json"

    @property
    def review_cases_file(self) -> Path:
        """The file of the cases that reviewers made on the server's page."""
        return self.folder / "review_cases.jsonl"

    @property
    def threads_file(self) -> Path:
        """The file of checkpoints and transcripts."""
        return (self.conversations or self.folder) / "threads.db"

    @property
    def locks_folder(self) -> Path:
        """The locks of conversations."""
        return (self.conversations or self.folder) / "locks"


def deployment(profile: str | None = None, environment: Mapping[str, str] | None = None) -> Deployment:
    """Read the settings and the profile of this process.

    Args:
        profile: Name or path; by default GUARDIAN_PROFILE.
        environment: Replaces the process's environment.

    Raises:
        ConfigError: The settings or the profile are wrong.
    """
    settings = Settings.read(environment, profile=profile)
    loaded = load_profile(settings.data.profile)
    return Deployment(settings, loaded, run_settings(settings, loaded))


@contextmanager
def ensure_storage(deployed: Deployment) -> Generator[Deployment]:
    """Yield a deployment that can store conversations.

    If its folder is not writable, conversations are kept only for this block.
    """
    from adapters.data_folder import can_write

    # One that is not there yet is made, or says why it cannot be.
    if not deployed.folder.is_dir() or can_write(deployed.folder):
        yield deployed
        return
    with TemporaryDirectory(prefix="guardian-") as folder:
        yield replace(deployed, conversations=Path(folder))


def index_command(deployed: Deployment) -> str:
    """Return the command that builds an index: of the profile's own folders, or of a folder that the user names."""
    path = "" if deployed.profile.knowledge else " path/to/docs"
    name = deployed.settings.data.profile
    return f"guardian index{path}" + ("" if name == "handbook" else f" --profile {name}")
