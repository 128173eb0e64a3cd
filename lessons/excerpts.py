"""Pieces of the lesson's own source, found by name, so that what is shown is what runs."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lessons.recording import LESSONS


@dataclass(frozen=True)
class Excerpt:
    """Some lines of a file. `file` is relative to the folder of the lessons, lines count from 1."""

    file: str
    name: str
    first_line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@cache
def source(file: str) -> str:
    """The text of a file of the lesson."""
    return (LESSONS / file).read_text(encoding="utf-8")


def opening(file: str) -> tuple[str, str, str, str]:
    """Slug, title, summary and rest of a text: "# Title", then one paragraph that sums it up, then the rest.

    The slug is its folder's name without the number: "job-queue" for "s02_job_queue".
    """
    heading, _, rest = source(file).partition("\n\n")
    summary, _, rest = rest.partition("\n\n")
    slug = Path(file).parent.name.partition("_")[2].replace("_", "-")
    return slug, heading.removeprefix("# ").strip(), " ".join(summary.split()), rest


@cache
def named(file: str, name: str) -> Excerpt:
    """A class, function, method or constant, such as ("reference/job_queue.py", "JobQueue.claim").

    LookupError when the file has nothing of that name.
    """
    nodes = dict(_definitions(file))
    if name not in nodes:
        raise LookupError(f"{file} has no {name}; it has {', '.join(nodes)}")
    return _excerpt(file, name, nodes[name])


@cache
def around(file: str, line: int) -> Excerpt:
    """The function or method that holds a line (the outermost function; in a class the method)."""
    holding = [
        (name, node)
        for name, node in _definitions(file)
        if isinstance(node, ast.FunctionDef) and _first_line(node) <= line <= (node.end_lineno or 0)
    ]
    if not holding:
        raise LookupError(f"{file}:{line} is in no function")
    return _excerpt(file, *holding[0])


@cache
def _definitions(file: str) -> tuple[tuple[str, ast.stmt], ...]:
    found: list[tuple[str, ast.stmt]] = []

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef(name=name):
                    found.append((prefix + name, node))
                case ast.ClassDef(name=name, body=inner):
                    found.append((prefix + name, node))
                    collect(inner, f"{prefix}{name}.")
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    found.append((prefix + name, node))

    collect(ast.parse(source(file)).body, "")
    return tuple(found)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _excerpt(file: str, name: str, node: ast.stmt) -> Excerpt:
    first = _first_line(node)
    return Excerpt(file, name, first, tuple(source(file).splitlines()[first - 1 : node.end_lineno]))
