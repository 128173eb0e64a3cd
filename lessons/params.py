"""What a section's run can be asked to do differently, declared once.

A section declares a frozen dataclass whose fields are made by `whole`, `choice`, `flag` and `text`;
the form, the check of a query string, the command line and the help all come from that declaration.
A class may also have a method `conflicts() -> Mapping[field name, message]` for rules between fields.
"""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Declared = TypeVar("Declared")


@dataclass(frozen=True)
class Kind:
    """How a field's text is read, and which values it may have."""

    label: str
    help: str = ""
    unit: str = ""
    inputmode = "text"

    @property
    def allowed(self) -> str:
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """The value; ValueError with what is not allowed."""
        raise NotImplementedError

    def to_text(self, value: Any) -> str:
        return "" if value is None else str(value)


@dataclass(frozen=True)
class Whole(Kind):
    low: int = 0
    high: int = 0
    inputmode = "numeric"

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}" + (f" ({self.unit})" if self.unit else "")

    def parse(self, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not self.low <= int(text) <= self.high:
            raise ValueError(text)
        return int(text)


@dataclass(frozen=True)
class WholeOrNever(Whole):
    """A time at which something happens, or None for "never"."""

    inputmode = "text"  # a phone's keys for numbers cannot write "never"

    @property
    def allowed(self) -> str:
        return f"never, or {super().allowed}"

    def parse(self, text: str) -> int | None:  # type: ignore[override]
        return None if text == "never" else super().parse(text)

    def to_text(self, value: int | None) -> str:
        return "never" if value is None else str(value)


@dataclass(frozen=True)
class Choice(Kind):
    options: tuple[tuple[str, str], ...] = ()

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(value for value, _ in self.options)

    def parse(self, text: str) -> str:
        if text not in dict(self.options):
            raise ValueError(text)
        return text


@dataclass(frozen=True)
class Flag(Kind):
    @property
    def allowed(self) -> str:
        return "yes or no"

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        return (("yes", "Yes"), ("no", "No"))

    def parse(self, text: str) -> bool:
        if text not in ("yes", "no"):
            raise ValueError(text)
        return text == "yes"

    def to_text(self, value: bool) -> str:
        return "yes" if value else "no"


@dataclass(frozen=True)
class Text(Kind):
    max_length: int = 100

    @property
    def allowed(self) -> str:
        return f"1 to {self.max_length} characters on one line"

    def parse(self, text: str) -> str:
        if not 1 <= len(text) <= self.max_length or not text.isprintable():
            raise ValueError(text)
        return text


def whole(default: int, *, label: str, low: int, high: int, unit: str = "", help: str = "") -> Any:
    """A whole number within bounds (both included)."""
    return dataclasses.field(default=default, metadata={"kind": Whole(label, help, unit, low, high)})


def whole_or_never(default: int | None, *, label: str, low: int, high: int, unit: str = "", help: str = "") -> Any:
    """A whole number within bounds, or None, which is written "never"."""
    return dataclasses.field(default=default, metadata={"kind": WholeOrNever(label, help, unit, low, high)})


def choice(default: str, options: Mapping[str, str], *, label: str, help: str = "") -> Any:
    """One of the options: value -> what the form calls it."""
    return dataclasses.field(default=default, metadata={"kind": Choice(label, help, "", tuple(options.items()))})


def flag(default: bool, *, label: str, help: str = "") -> Any:
    """Yes or no."""
    return dataclasses.field(default=default, metadata={"kind": Flag(label, help)})


def text(default: str, *, label: str, max_length: int, help: str = "") -> Any:
    """One line of text."""
    return dataclasses.field(default=default, metadata={"kind": Text(label, help, "", max_length)})


@dataclass(frozen=True)
class Field:
    name: str
    default: Any
    kind: Kind

    @property
    def label(self) -> str:
        return self.kind.label

    @property
    def help(self) -> str:
        return self.kind.help

    @property
    def unit(self) -> str:
        return self.kind.unit

    @property
    def allowed(self) -> str:
        """What the field may be, as a phrase: "a whole number from 1 to 100"."""
        return self.kind.allowed

    @property
    def default_text(self) -> str:
        return self.kind.to_text(self.default)


@dataclass(frozen=True)
class Problem:
    """One wrong field: the message names the field, what was given and what is allowed."""

    field: str
    value: str
    message: str
    allowed: str


class Invalid(ValueError):
    """Values that a run cannot have; `problems` has one entry for each wrong field."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(problem.message for problem in problems))
        self.problems = problems


def fields(params_class: type) -> tuple[Field, ...]:
    """The declared fields in order. One without a kind is a constant: nobody is asked for it."""
    declared = [f for f in dataclasses.fields(params_class) if "kind" in f.metadata]
    return tuple(Field(f.name, f.default, f.metadata["kind"]) for f in declared)


def read(params_class: type[Declared], given: Mapping[str, str]) -> Declared:
    """An instance made from text values; a field that is not given has its default. Invalid lists all that is wrong."""
    known = {field.name: field for field in fields(params_class)}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, value in given.items():
        if name not in known:
            allowed = "one of " + ", ".join(known)
            problems.append(Problem(name, value, f'there is no field "{_short(name)}": it must be {allowed}', allowed))
            continue
        try:
            values[name] = known[name].kind.parse(value.strip())
        except ValueError as wrong:
            allowed = known[name].allowed
            problems.append(Problem(name, value, f'{name} must be {allowed}, not "{_short(str(wrong))}"', allowed))
    if not problems:
        params = params_class(**values)
        conflicts: Mapping[str, str] = getattr(params, "conflicts", dict)()
        if not conflicts:
            return params
        for name, message in conflicts.items():
            value = known[name].kind.to_text(getattr(params, name))
            problems.append(Problem(name, value, message, known[name].allowed))
    raise Invalid(tuple(problems))


def query(params: Any) -> dict[str, str]:
    """The fields that differ from their defaults, as text: what an address must carry to repeat the run."""
    return {
        field.name: field.kind.to_text(getattr(params, field.name))
        for field in fields(type(params))
        if getattr(params, field.name) != field.default
    }


def _short(value: str) -> str:
    return value if len(value) <= 60 else value[:59] + "…"
