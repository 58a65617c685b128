"""What a process serves: its settings, its profile, and where its data is."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
    """What a process serves.

    Attributes:
        settings, profile: Where its data is, and what is served.
        context_type: The class of its run settings.
        conversations: The folder of conversations where that is not the profile's own.
    """

    settings: Settings
    profile: Profile
    context_type: type[Context]
    conversations: Path | None = None

    def build_context(self, **values: Any) -> Context:
        """Return the settings of one run, by their names; `None` stands for the deployment's default.

        Raises:
            InputError: There is no such setting, or it cannot have that value; or the profile has no such role.
        """
        return build_context(self.context_type, self.profile, values)

    @property
    def folder(self) -> Path:
        """Everything of this profile's own."""
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
        """What was found out about models and their servers."""
        return self.folder / "models.json"

    @property
    def threads_file(self) -> Path:
        """Checkpoints and transcripts."""
        return (self.conversations or self.folder) / "threads.db"

    @property
    def locks_folder(self) -> Path:
        """The locks of conversations."""
        return (self.conversations or self.folder) / "locks"


def deployment(profile: str | None = None, environment: Mapping[str, str] | None = None) -> Deployment:
    """Read the settings and the profile of this process.

    Args:
        profile: Name or path; else GUARDIAN_PROFILE.
        environment: Stands in for the process's.

    Raises:
        ConfigError: Either is wrong.
    """
    settings = Settings.read(environment, profile=profile)
    loaded = load_profile(settings.data.profile)
    return Deployment(settings, loaded, run_settings(settings, loaded))


@contextmanager
def ensure_storage(deployed: Deployment) -> Generator[Deployment]:
    """Yield a deployment whose conversations can be written; one in a folder that cannot be, keeps them for this block alone."""
    from adapters.data_folder import can_write

    # One that is not there yet is made, or says why it cannot be.
    if not deployed.folder.is_dir() or can_write(deployed.folder):
        yield deployed
        return
    with TemporaryDirectory(prefix="guardian-") as folder:
        yield replace(deployed, conversations=Path(folder))


def index_command(deployed: Deployment) -> str:
    """Return what to type for an index: the profile's own folders, or one to be named."""
    path = "" if deployed.profile.knowledge else " path/to/docs"
    name = deployed.settings.data.profile
    return f"guardian index{path}" + ("" if name == "handbook" else f" --profile {name}")
