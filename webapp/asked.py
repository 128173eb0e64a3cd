"""What a request asks for, read from its address once and for all views."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import request
from werkzeug.datastructures import MultiDict

from lessons import contents, params
from lessons.contents import Chapter, Section
from lessons.recording import Recording, Step

VIEWS = ("page", "present")
MAX_PACE_MS = 2_000
DEFAULT_PACE_MS = 800
RESERVED = ("step", "view", "play", "pace", "from", "steps")
Value = TypeVar("Value")


class NotThere(LookupError):
    """Nothing is at this address; the message says what is, `back` is where to go instead."""

    def __init__(self, message: str, back: str = "/") -> None:
        super().__init__(message)
        self.back = back


class BadQuery(ValueError):
    """Fields that cannot be used, all of them. `section` and `given` are there to show the form of a run again."""

    def __init__(
        self, problems: tuple[params.Problem, ...], section: Section | None = None, given: Mapping[str, str] = {}
    ) -> None:
        super().__init__("\n".join(problem.message for problem in problems))
        self.problems, self.section, self.given = problems, section, given


@dataclass(frozen=True)
class Asked:
    """A moment of a run, as an address names it. `pace_ms` is the pause between two steps that play."""

    section: Section
    params: Any
    step_number: int = 1
    view: str = "page"
    play: bool = False
    pace_ms: int = DEFAULT_PACE_MS
    start: int = 0
    with_steps: bool = False
    run: list[Recording] = field(default_factory=list, compare=False, repr=False)

    @property
    def recording(self) -> Recording:
        if not self.run:  # it stays with the moment and those made from it: a stream never records its run again
            self.run.append(recorded(self.section.slug, self.params))
        return self.run[0]

    @property
    def looks(self) -> tuple[object, ...]:
        """All that decides how the moment looks: moments with the same looks can share what was made for one."""
        return self.section.slug, self.params, self.step_number, self.view, self.play, self.pace_ms

    @property
    def step(self) -> Step:
        return self.recording.steps[self.step_number - 1]

    @property
    def last(self) -> int:
        return len(self.recording.steps)

    def at(self, number: int, play: bool | None = None) -> "Asked":
        return replace(self, step_number=number, play=self.play if play is None else play)

    def page(self, **changes: Any) -> str:
        """The address of the page at this moment; without the step at the first one."""
        return _address(self._path(), replace(self, **changes)._query(step=True))

    def end_of(self, params: Any) -> str:
        """The address of the page at the last step of another run of this section."""
        query = replace(self, params=params, play=False)._query(step=False)
        return _address(self._path(), {**query, "step": "last"})

    @property
    def default_run(self) -> str:
        """The address of the default run, looked at in the same way."""
        return replace(self, params=self.section.Params(), run=[]).page(step_number=1, play=False)

    def neighbour(self, ending: str, **more: str | int) -> str:
        """The address of another form of the same run: "run.txt", "run.json" or "stream"."""
        return _address(f"{self._path()}/{ending}", {**self._query(step=False), **more})

    def query_fields(self) -> list[tuple[str, str | int]]:
        """What a form must carry along to stay in this run at this moment."""
        return list(self._query(step=True).items())

    def _path(self) -> str:
        return f"/{self.section.slug}"

    def _query(self, step: bool) -> dict[str, str | int]:
        query: dict[str, str | int] = dict(params.query(self.params))
        if step and self.step_number > 1:
            query["step"] = self.step_number
        if self.view != "page":
            query["view"] = self.view
        if step and self.play:
            query["play"] = "1"
        if self.pace_ms != DEFAULT_PACE_MS:
            query["pace"] = self.pace_ms
        return query


@lru_cache(maxsize=32)
def recorded(slug: str, values: Any) -> Recording:
    """The run; kept for a while, since a class, a stream and a learner who steps ask for the same one again."""
    return contents.section(slug).record(values)


def chapter_of(slug: str) -> Chapter:
    """The chapter of that name; NotThere lists what there is."""
    try:
        return contents.chapter(slug)
    except KeyError:
        names = ", ".join(chapter.slug for chapter in contents.chapters())
        raise NotThere(f'There is no section "{slug[:60]}". The sections are {names}.') from None


def section(slug: str) -> Section:
    """The chapter of that name, which must have a program; else NotThere."""
    found = chapter_of(slug)
    if isinstance(found, Section):
        return found
    raise NotThere(f'"{found.title}" has no program to run.', back=f"/{found.slug}")


def given_twice() -> list[params.Problem]:
    """The fields of the query that are there more than once."""
    return [
        params.Problem(name, ", ".join(values), f"{name} must be given once, not {len(values)} times", "one value")
        for name, values in request.args.lists()
        if len(values) > 1
    ]


def only(fields: Mapping[str, tuple[str, ...]]) -> None:
    """BadQuery unless the query has these fields alone, each once, with one of its values; no values mean any."""
    problems = given_twice()
    for name, value in request.args.items():
        if name not in fields:
            allowed = f"one of {', '.join(fields)}" if fields else "left out"
            message = f'there is no field "{name[:60]}": it must be {allowed}'
            problems.append(params.Problem(name, value, message, allowed))
        elif fields[name] and value not in fields[name]:
            allowed = " or ".join(fields[name])
            problems.append(params.Problem(name, value, f'{name} must be {allowed}, not "{value[:60]}"', allowed))
    if problems:
        raise BadQuery(tuple(problems))


def asked(slug: str) -> Asked:
    """What the current request asks for; NotThere or BadQuery when it cannot be given."""
    found = section(slug)
    query: MultiDict[str, str] = request.args
    given = query.to_dict()
    problems = given_twice()

    def reserved(name: str, default: Value, allowed: str, parse: Callable[[str], Value]) -> Value:
        if name not in given:
            return default
        try:
            return parse(given[name])
        except (ValueError, KeyError):
            message = f'{name} must be {allowed}, not "{given[name][:60]}"'
            problems.append(params.Problem(name, given[name], message, allowed))
            return default

    answer = Asked(
        found,
        None,
        view=reserved("view", "page", "one of page, present", {name: name for name in VIEWS}.__getitem__),
        play=reserved("play", False, "1 or 0", {"1": True, "0": False}.__getitem__),
        pace_ms=reserved(
            "pace", DEFAULT_PACE_MS, f"a whole number from 0 to {MAX_PACE_MS:,} (ms)", _within(0, MAX_PACE_MS)
        ),
        with_steps=reserved("steps", False, "1 or 0", {"1": True, "0": False}.__getitem__),
    )
    try:
        values: Any = params.read(found.Params, {name: value for name, value in given.items() if name not in RESERVED})
        answer = replace(answer, params=values, run=[])
    except params.Invalid as error:
        problems += error.problems
    if not problems:
        start = reserved(
            "from", 0, f"a whole number from 0 to {answer.last:,}, the run's last step", _within(0, answer.last)
        )
        answer = replace(answer, start=start, step_number=_step_number(answer, given.get("step")))
    if problems:
        raise BadQuery(tuple(problems), found, given)
    return answer


def _step_number(answer: Asked, text: str | None) -> int:
    if text is None:
        return 1
    if text == "last":
        return answer.last
    try:
        return _within(1, answer.last)(text)
    except ValueError:
        message = f'This run has the steps 1 to {answer.last}, and "last" for the end; there is no step "{text[:60]}".'
        raise NotThere(message, back=answer.page()) from None


def _within(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 6 and low <= int(text) <= high):
            raise ValueError(text)
        return int(text)

    return parse


def _address(path: str, query: Mapping[str, str | int]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
