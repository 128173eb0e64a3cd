"""What a request asks for, read from its address once and for all views."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import request
from werkzeug.datastructures import MultiDict

from lessons import contents, exercises, params
from lessons.contents import Chapter, Section
from lessons.exercises import Exercise
from lessons.recording import Recording, Step

VIEWS = ("page", "present")
MAX_PACE_MS = 2_000
DEFAULT_PACE_MS = 800
RESERVED = ("step", "view", "play", "pace", "from", "steps")
FORMS = ("", "application/x-www-form-urlencoded", "multipart/form-data")
Value = TypeVar("Value")


class NotThere(LookupError):
    """Nothing is at this address; the message says what is, `back` is where to go instead."""

    def __init__(self, message: str, back: str = "/") -> None:
        super().__init__(message)
        self.back = back


class BadQuery(params.Invalid):
    """Fields that cannot be used, all of them. The `template` shows them; `page` is what else it needs."""

    def __init__(
        self,
        problems: Iterable[params.Problem],
        title: str = "This request cannot be used",
        template: str = "error.html",
        page: Mapping[str, Any] = {"back": "/"},
        status: int = 400,
    ) -> None:
        super().__init__(tuple(problems))
        self.title, self.template, self.page, self.status = title, template, page, status


@dataclass(frozen=True)
class Asked:
    """A moment of a run, as an address names it. `pace_ms` is the pause between two steps that play."""

    section: Section
    params: Any
    recording: Recording
    step_number: int = 1
    view: str = "page"
    play: bool = False
    pace_ms: int = DEFAULT_PACE_MS
    start: int = 0
    with_steps: bool = False

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

    @property
    def opens_at(self) -> int:
        """The step that an address means when it names none: a run that is driven by hand goes on at its end."""
        return self.last if self.section.controls else 1

    def at(self, number: int, play: bool | None = None) -> "Asked":
        return replace(self, step_number=number, play=self.play if play is None else play)

    def page(self, **changes: Any) -> str:
        """The address of the page at this moment; without the step where it opens anyway."""
        return _address(self.section, replace(self, **changes)._query(step=True))

    def run_of(self, values: Any) -> str:
        """The address of another run of this section, looked at in the same way, where that run opens."""
        return _address(self.section, self._query(step=False, values=values))

    def neighbour(self, ending: str, **more: str | int) -> str:
        """The address of another form of the same run: "run.txt", "run.json", "stream" or "edit"."""
        return _address(self.section, {**self._query(step=False), **more}, f"/{ending}")

    def query_fields(self) -> list[tuple[str, str | int]]:
        """What a form must carry along to stay in this run at this moment."""
        return list(self._query(step=True).items())

    def _query(self, step: bool, values: Any = None) -> dict[str, str | int]:
        query: dict[str, str | int] = dict(params.query(values or self.params))
        if step and self.step_number != self.opens_at:
            query["step"] = self.step_number
        if self.view != "page":
            query["view"] = self.view
        if step and self.play:
            query["play"] = "1"
        if self.pace_ms != DEFAULT_PACE_MS:
            query["pace"] = self.pace_ms
        return query


@lru_cache(maxsize=32)
def recorded(section: Section, values: Any) -> Recording:
    """The run; kept for a while, since a class, a stream and a learner who steps ask for the same one again."""
    return section.record(values)


@lru_cache(maxsize=32)  # they depend on the run alone, and each step of it shows them
def controls_of(section: Section, values: Any) -> Any:
    """What can be done next with the run, and the goals that it reaches; None if it is not driven by hand."""
    return section.controls(values, recorded(section, values)) if section.controls else None


def chapter_of(slug: str) -> Chapter:
    """The chapter of that name; NotThere lists what there is."""
    try:
        return contents.chapter(slug)
    except KeyError:
        names = ", ".join(chapter.slug for chapter in contents.chapters())
        raise NotThere(f'There is no chapter "{slug[:60]}". The chapters are {names}.') from None


def section(slug: str) -> Section:
    """The chapter of that name, which must have a program; else NotThere."""
    found = chapter_of(slug)
    if isinstance(found, Section):
        return found
    raise NotThere(f'"{found.title}" has no program to run.', back=f"/{found.slug}")


def exercise_of(name: str) -> Exercise:
    """The exercise of that name; NotThere lists what there is."""
    try:
        return exercises.exercise(name)
    except KeyError:
        names = ", ".join(found.slug for found in exercises.exercises())
        message = f'There is no exercise "{name[:60]}". The exercises are {names}.'
        raise NotThere(message, back="/practice") from None


def checked(
    declared: type, given: Mapping[str, str], query: MultiDict[str, str], several: str = ""
) -> tuple[Any, list[params.Problem]]:
    """The values given in the query as they are declared, and all that is wrong; only the field `several` may be
    given twice."""
    problems = _given_twice(query, several)
    try:
        return params.read(declared, given), problems
    except params.Invalid as error:
        return None, [*problems, *error.problems]


def _given_twice(query: MultiDict[str, str], several: str = "") -> list[params.Problem]:
    return [
        params.Problem(name, ", ".join(values), f"{name} must be given once, not {len(values)} times", "one value")
        for name, values in query.lists()
        if len(values) > 1 and name != several
    ]


def only(fields: Mapping[str, tuple[str, ...]]) -> None:
    """BadQuery unless the query has these fields alone, each once, with one of its values; no values mean any."""
    problems = _given_twice(request.args)
    for name, value in request.args.items():
        if name not in fields:
            allowed = f"one of {', '.join(fields)}"
            message = f'there is no field "{name[:60]}": it must be {allowed}'
            problems.append(params.Problem(name, value, message, allowed))
        elif fields[name] and value not in fields[name]:
            allowed = " or ".join(fields[name])
            problems.append(params.Problem(name, value, f'{name} must be {allowed}, not "{value[:60]}"', allowed))
    if problems:
        raise BadQuery(problems)


def only_form(*fields: str) -> None:
    """BadQuery unless what was sent is a form that has these fields alone, each at most once."""
    problems = _given_twice(request.form)
    allowed = f"one of {', '.join(fields)}" if fields else "left out"
    for name, value in request.form.items():
        if name not in fields:
            message = f'there is no field "{name[:60]}": it must be {allowed}'
            problems.append(params.Problem(name, value, message, allowed))
    if request.mimetype not in FORMS:
        forms = " or ".join(filter(None, FORMS))
        message = f'Content-Type must be {forms}, not "{request.mimetype[:60]}"'
        problems.append(params.Problem("Content-Type", request.mimetype, message, forms))
    if problems:
        raise BadQuery(problems)


def asked(slug: str, query: MultiDict[str, str] | None = None, beside: tuple[str, ...] = ()) -> Asked:
    """What the query, or else the current request's, asks for; NotThere or BadQuery when it cannot be given.

    The fields `beside` it are the caller's.
    """
    found = section(slug)
    query = request.args if query is None else query
    given = query.to_dict()
    own = {name: value for name, value in given.items() if name not in (*RESERVED, *beside)}
    values, problems = checked(found.Params, own, query)

    def reserved(name: str, default: Value, allowed: str, parse: Callable[[str], Value]) -> Value:
        if name not in given:
            return default
        try:
            return parse(given[name])
        except (ValueError, KeyError):
            message = f'{name} must be {allowed}, not "{given[name][:60]}"'
            problems.append(params.Problem(name, given[name], message, allowed))
            return default

    ms = f"a whole number from 0 to {MAX_PACE_MS:,} (ms)"
    looks: dict[str, Any] = {
        "view": reserved("view", "page", "one of page, present", {name: name for name in VIEWS}.__getitem__),
        "play": reserved("play", False, "1 or 0", {"1": True, "0": False}.__getitem__),
        "pace_ms": reserved("pace", DEFAULT_PACE_MS, ms, _within(0, MAX_PACE_MS)),
        "with_steps": reserved("steps", False, "1 or 0", {"1": True, "0": False}.__getitem__),
    }
    if not problems:
        answer = Asked(found, values, recorded(found, values), **looks)
        allowed = f"a whole number from 0 to {answer.last:,}, the run's last step"
        start = reserved("from", 0, allowed, _within(0, answer.last))
        answer = replace(answer, start=start, step_number=_step_number(answer, given.get("step")))
    if problems:
        page = {"section": found, "fields": params.fields(found.Params), "given": given}
        raise BadQuery(problems, "This run cannot be made", "bad_query.html", page)
    return answer


def _step_number(answer: Asked, text: str | None) -> int:
    if text is None:
        return answer.opens_at
    if text == "last":
        return answer.last
    try:
        return _within(1, answer.last)(text)
    except ValueError:
        message = f'This run has the steps 1 to {answer.last}, and "last" for the end; there is no step "{text[:60]}".'
        raise NotThere(message, back=answer.at(answer.opens_at).page()) from None


def _within(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 6 and low <= int(text) <= high):
            raise ValueError(text)
        return int(text)

    return parse


def _address(section: Section, query: Mapping[str, str | int], ending: str = "") -> str:
    return f"/{section.slug}{ending}" + (f"?{urlencode(query)}" if query else "")
