"""What pyproject.toml cannot say: the folders of data beside the packages go into the wheel, as `assistant/bundled`."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DATA = {"profiles": "*.toml", "knowledge": "*/*.md"}
"""Which files of which folder. Where they are looked for: `assistant/config/profiles.py`."""


class BuildWithData(build_py):
    """An editable install has the folders where they are; a wheel gets a copy."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            # A page of an earlier build may be gone.
            shutil.rmtree(Path(self.build_lib) / "assistant" / "bundled", ignore_errors=True)
            for source, target in self._data():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), *(str(source) for source, _ in self._data())]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:  # noqa: FBT001, FBT002  # setuptools' own
        mine = [] if self.editable_mode else [str(target) for _, target in self._data()]
        return [*super().get_outputs(include_bytecode), *mine]

    def _data(self) -> list[tuple[Path, Path]]:
        bundled = Path(self.build_lib) / "assistant" / "bundled"
        found = [path for folder, pattern in DATA.items() for path in sorted(Path(folder).glob(pattern))]
        return [(path, bundled / path) for path in found]


setup(cmdclass={"build_py": BuildWithData})
