"""The sections of the lesson, in order: every folder `sNN_name` beside this file is one."""

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lessons.recording import Recorder, Recording, record

LESSONS = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Section:
    """One section: its words, its parameters and its program."""

    slug: str
    number: int
    title: str
    summary: str
    text: str
    expected: str
    folder: str
    Params: type
    run: Callable[[Any, Recorder], None]

    @property
    def program(self) -> str:
        """The program's file, relative to the folder of the lessons."""
        return f"{self.folder}/demo.py"

    def record(self, params: Any) -> Recording:
        """One run of the program, whole."""
        return record(self.run, params)


@cache
def sections() -> tuple[Section, ...]:
    """All sections in the order of their folders' numbers."""
    folders = sorted(path for path in LESSONS.glob("s[0-9][0-9]_*") if (path / "demo.py").is_file())
    return tuple(_load(folder, number) for number, folder in enumerate(folders, start=1))


def section(slug: str) -> Section:
    """The section of that name; KeyError when there is none."""
    return {section.slug: section for section in sections()}[slug]


def _load(folder: Path, number: int) -> Section:
    demo = importlib.import_module(f"lessons.{folder.name}.demo")
    # text.md: "# Title", then one paragraph that sums the section up, then the rest.
    heading, _, rest = (folder / "text.md").read_text(encoding="utf-8").partition("\n\n")
    summary, _, text = rest.partition("\n\n")
    return Section(
        slug=re.sub(r"^s\d\d_", "", folder.name).replace("_", "-"),
        number=number,
        title=heading.removeprefix("# ").strip(),
        summary=" ".join(summary.split()),
        text=text,
        expected=(folder / "expected.txt").read_text(encoding="utf-8"),
        folder=folder.name,
        Params=demo.Params,
        run=demo.run,
    )
