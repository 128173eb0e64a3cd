"""What a run was: a Recording is its list of Steps, each with the whole state after it, and the words for them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from lessons.reference.clock import seconds

LANES = ("waiting", "delayed", "leased", "dead", "done")
LESSONS = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the lesson's source. `file` is relative to the folder of the lessons."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the queue has it after a step. `lane` is one of LANES."""

    id: str
    type: str
    lane: str
    attempts: int
    run_at_ms: int
    leased_until_ms: int
    holder: str | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class QueueState:
    """All jobs a queue ever accepted: those in it, then the dead, then the done."""

    name: str
    jobs: tuple[JobState, ...]
    enqueued: int
    replayed: int

    def count(self, lane: str) -> int:
        return sum(job.lane == lane for job in self.jobs)

    @property
    def balanced(self) -> bool:
        """Whether nothing is lost: each job that was enqueued is in one lane. A replay only moves a dead one."""
        return self.enqueued == len(self.jobs)


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that reached the outside world and cannot be taken back."""

    at_ms: int
    target: str
    what: str


@dataclass(frozen=True, slots=True)
class State:
    queues: tuple[QueueState, ...] = ()
    tables: tuple[Table, ...] = ()
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One operation and the state after it. `number` counts from 1; `calls` leads from the program to the line."""

    number: int
    at_ms: int
    actor: str
    kind: str
    sentence: str
    printed: str | None
    detail: str | None
    job: str | None
    calls: tuple[Place, ...]
    state: State

    @property
    def place(self) -> Place | None:
        """The line that did it."""
        return self.calls[-1] if self.calls else None


@dataclass(frozen=True)
class Recording:
    steps: tuple[Step, ...]
    limit_reached: bool = False

    @property
    def printed(self) -> list[str]:
        """The printed lines alone."""
        return [step.printed for step in self.steps if step.printed is not None]

    @cached_property
    def version(self) -> str:
        """A short digest of what was told: the same run has the same version."""
        return hashlib.sha256(as_text(self, steps=True).encode()).hexdigest()[:8]


def as_text(recording: Recording, steps: bool = False) -> str:
    """The printed lines; with `steps` the sentence of each step, and what it printed below it.

    A run that was cut off says so at the end.
    """
    if not steps:
        cut_off = [recording.steps[-1].sentence] if recording.limit_reached else []
        return "".join(line + "\n" for line in [*recording.printed, *cut_off])
    lines = []
    for step in recording.steps:
        lines.append(f"{step.number:>4}  t={in_seconds(step.at_ms)}  {step.sentence}")
        lines += [f"      > {line}" for line in (step.printed or "").splitlines() if step.printed is not None]
    return "".join(line + "\n" for line in lines)


def in_seconds(ms: int) -> str:
    """500 is "0.5s", 30_000 is "30s"."""
    return f"{seconds(ms)}s"


def listed(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; a long list is cut."""
    if len(names) > 5:
        return f"{', '.join(names[:4])} and {len(names) - 4} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


@cache
def place(filename: str, line: int) -> Place | None:
    """The place as the lesson names it, or None for one that learners are not shown."""
    path = Path(filename).resolve()
    inside = path.is_relative_to(LESSONS) and path.parent != LESSONS
    return Place(path.relative_to(LESSONS).as_posix(), line) if inside else None
