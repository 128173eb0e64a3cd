"""The chapters of the lesson, in order: every folder `sNN_name` beside this file is one.

A chapter with a `demo.py` is a section: it has a program that can be run.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from lessons.excerpts import LESSONS, opening, source
from lessons.recorder import Recorder, record
from lessons.recording import Recording


@dataclass(frozen=True)
class Chapter:
    """A stop on the way through the lesson. `number` is its place, from 1."""

    slug: str
    number: int
    title: str
    summary: str
    text: str
    folder: str


@dataclass(frozen=True)
class Section(Chapter):
    """A chapter with a program: its parameters, its run, and what the default run prints."""

    expected: str
    Params: type
    run: Callable[[Any, Recorder], None]
    controls: Callable[[Any, Recording], Any] | None = None
    """(params, recording) -> what a section with a `drive.py` offers to do next, as plain data for _drive.html."""
    goals: tuple[Any, ...] = ()
    """What can be reached there, each with an `id` and a `title`; the controls say which ones the run reaches."""

    @property
    def program(self) -> str:
        """The program's file, relative to the folder of the lessons."""
        return f"{self.folder}/demo.py"

    def record(self, params: Any) -> Recording:
        """One run of the program, whole."""
        return record(self.run, params)


@cache
def chapters() -> tuple[Chapter, ...]:
    """All chapters in the order of their folders' numbers."""
    folders = sorted(path for path in LESSONS.glob("s[0-9][0-9]_*") if (path / "text.md").is_file())
    return tuple(_load(folder, number) for number, folder in enumerate(folders, start=1))


def sections() -> tuple[Section, ...]:
    """The chapters that have a program."""
    return tuple(chapter for chapter in chapters() if isinstance(chapter, Section))


def chapter(slug: str) -> Chapter:
    """The chapter of that name; KeyError when there is none."""
    return {chapter.slug: chapter for chapter in chapters()}[slug]


def section(slug: str) -> Section:
    """The section of that name; KeyError when there is none."""
    return {section.slug: section for section in sections()}[slug]


def _load(folder: Path, number: int) -> Chapter:
    slug, title, summary, text = opening(f"{folder.name}/text.md")
    if not (folder / "demo.py").is_file():
        return Chapter(slug, number, title, summary, text, folder.name)
    demo = importlib.import_module(f"lessons.{folder.name}.demo")
    expected = source(f"{folder.name}/expected.txt")
    section = Section(slug, number, title, summary, text, folder.name, expected, demo.Params, demo.run)
    if not (folder / "drive.py").is_file():
        return section
    drive = importlib.import_module(f"lessons.{folder.name}.drive")
    return replace(section, controls=drive.controls, goals=drive.GOALS)
