"""The exercises of the lesson, in order: every folder `exercises/eNN_name` of a chapter is one.

    task.md       "# Title", a paragraph that sums it up, the task, "## Hints" as a list, "## Afterwards"
    starter.py    what the learner begins with        check.py    check(source) -> Verdict
    solution.py   the official solution               expected.txt   what the solution prints when it is run
    ask.py        for questions: Params, and decide(params) -> one Answer for each group of fields

An exercise has code to write, questions to answer, or both.
"""

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lessons.excerpts import LESSONS, opening, source


@dataclass(frozen=True)
class Group:
    """Fields of a form that belong to one question."""

    name: str
    question: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What a run says of the answers to one question: right or not, why, and what happened in the run."""

    group: str
    right: bool
    words: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Questions:
    """A form: its fields are declared as those of a run are, with "open" for what is not answered yet."""

    Params: type
    groups: tuple[Group, ...]
    decide: Callable[[Any], list[Answer]]


@dataclass(frozen=True)
class Code:
    """A piece to write: `check` is a module of that name, and it has check(source) -> Verdict."""

    starter: str
    solution: str
    expected: str
    check: str


@dataclass(frozen=True)
class Exercise:
    slug: str
    number: int
    title: str
    summary: str
    task: str
    hints: tuple[str, ...]
    afterwards: str
    folder: str
    code: Code | None
    questions: Questions | None


@cache
def exercises() -> tuple[Exercise, ...]:
    """All exercises in the order of their folders' numbers."""
    folders = sorted(path.parent for path in LESSONS.glob("s[0-9][0-9]_*/exercises/e[0-9][0-9]_*/task.md"))
    return tuple(_load(folder, number) for number, folder in enumerate(folders, start=1))


def exercise(slug: str) -> Exercise:
    """The exercise of that name; KeyError when there is none."""
    return {exercise.slug: exercise for exercise in exercises()}[slug]


def _load(folder: Path, number: int) -> Exercise:
    place = folder.relative_to(LESSONS).as_posix()
    slug, title, summary, rest = opening(f"{place}/task.md")
    task, _, rest = rest.partition("\n## Hints\n")
    hints, _, afterwards = rest.partition("\n## Afterwards\n")
    package = f"lessons.{place.replace('/', '.')}"
    questions = None
    if (folder / "ask.py").is_file():
        ask = importlib.import_module(f"{package}.ask")
        questions = Questions(ask.Params, ask.GROUPS, ask.decide)
    return Exercise(
        slug=slug,
        number=number,
        title=title,
        summary=summary,
        task=task,
        hints=tuple(hint.strip() for hint in re.split(r"^- ", hints, flags=re.MULTILINE) if hint.strip()),
        afterwards=afterwards,
        folder=place,
        code=_code(place, package) if (folder / "starter.py").is_file() else None,
        questions=questions,
    )


def _code(place: str, package: str) -> Code:
    def text(name: str) -> str:
        return source(f"{place}/{name}") if (LESSONS / place / name).is_file() else ""

    return Code(text("starter.py"), text("solution.py"), text("expected.txt"), f"{package}.check")
