"""Judges a piece of code by many schedules, not by one example, and tells the shortest that breaks it.

A schedule is a list of operations: enqueue, claim, move the clock. A play carries one out, on the piece and
on a model of what is right, and writes a Diary: what was done, what was expected, what the piece did.

Nothing is left to chance: the same code always gets the same verdict.
"""

import contextlib
import io
import random
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

FILE = "exercise.py"
MODULE = "exercise"
RANDOM_SCHEDULES = 300
LONGEST_RANDOM = 14
SHRUNK = 10

Operation = tuple[Any, ...]
Schedule = tuple[Operation, ...]


class Crash(BaseException):
    """A process dies here. Not an Exception: no handler of the dead process may catch it."""


class Wrong(BaseException):
    """The piece did something else than was expected; both are said in words. No handler of the piece may catch it."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected, self.got = expected, got


@dataclass(frozen=True)
class Verdict:
    """`tried` schedules were carried out. If one broke the piece: its steps, of which none can be left out."""

    solved: bool
    tried: int
    steps: tuple[str, ...] = ()
    expected: str = ""
    got: str = ""
    printed: str = ""


class Diary:
    """What happens in one schedule, step by step."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def note(self, sentence: str) -> None:
        """A step that asks nothing of the piece."""
        self.steps.append(sentence)

    def step(
        self, sentence: str, expected: str, act: Callable[..., Any], *args: Any, show: Callable[[Any], str] = repr
    ) -> Any:
        """What `act(*args)` returned; Wrong when it is not what was expected. An error counts as an answer, too."""
        self.steps.append(sentence)
        try:
            answer = act(*args)
            got = show(answer)
        except Crash:
            answer, got = None, CRASHED
        except (Exception, SystemExit) as error:
            answer, got = None, raised(error)
            if got.startswith(expected) and expected.endswith(" was raised"):
                return None
        if got != expected:
            raise Wrong(expected, got)
        return answer

    def same(self, what: str, expected: Iterable[object], got: Iterable[object]) -> None:
        """Wrong when two lists differ, such as the jobs in a queue afterwards."""
        wanted, found = listed(expected), listed(got)
        if wanted != found:
            raise Wrong(f"{what}: {wanted}", f"{what}: {found}")


Play = Callable[[Any, Schedule, Diary], None]
CRASHED = "the process died"


def listed(items: Iterable[object]) -> str:
    """ "a, b"; "none" for nothing."""
    return ", ".join(map(str, items)) or "none"


def raised(error: BaseException) -> str:
    """An error in words, with the line of the piece that it came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    place = f", line {lines[-1]}" if lines else ""
    words = f": {error}" if str(error) else ""
    return f"{type(error).__name__} was raised{place}{words}"


def judge(
    source: str,
    name: str,
    play: Play,
    adversarial: Sequence[Schedule],
    random_schedule: Callable[[random.Random], Schedule],
) -> Verdict:
    """The verdict on the piece called `name`, after the adversarial schedules and the random ones."""
    schedules = [*adversarial, *(random_schedule(random.Random(seed)) for seed in range(RANDOM_SCHEDULES))]
    code = compile(source, FILE, "exec")
    first = _try(code, name, play, ())
    if first:
        return first
    broken = [schedule for schedule in schedules if _try(code, name, play, schedule)]
    if not broken:
        return Verdict(True, len(schedules))

    def fails(schedule: Schedule) -> Verdict | None:
        return _try(code, name, play, schedule)

    def steps(schedule: Schedule) -> int:
        return len(verdict.steps) if (verdict := fails(schedule)) else 0

    # Different roots lead to different shortest ones; the shortest of all is the easiest to read.
    broken.sort(key=len)
    shortest = min((shrink(fails, one) for one in broken[:SHRUNK]), key=steps)
    simplest = fails(shrink(fails, simplify(fails, shortest, schedules)))
    assert simplest
    return replace(simplest, tried=len(schedules))


def shrink(fails: Callable[[Schedule], object], schedule: Schedule) -> Schedule:
    """A part of the schedule that still fails, and would not if any one operation were left out."""
    size = len(schedule) // 2 or 1
    while True:
        start, smaller = 0, False
        while start < len(schedule):
            candidate = schedule[:start] + schedule[start + size :]
            if candidate and fails(candidate):
                schedule, smaller = candidate, True
            else:
                start += size
        if size == 1 and not smaller:
            return schedule
        size = max(size // 2, 1)


def simplify(fails: Callable[[Schedule], object], schedule: Schedule, known: Sequence[Schedule]) -> Schedule:
    """The schedule with other values that still fails; the sooner a value stands in those known, the simpler it is."""
    for at, operation in enumerate(schedule):
        alike = [one for schedule in known for one in schedule if one[0] == operation[0]]
        for place in range(1, len(operation)):
            for value in dict.fromkeys(one[place] for one in alike):
                if value == operation[place]:
                    break
                simpler = (*operation[:place], value, *operation[place + 1 :])
                candidate = (*schedule[:at], simpler, *schedule[at + 1 :])
                if fails(candidate):
                    return simplify(fails, candidate, known)
    return schedule


def _try(code: types.CodeType, name: str, play: Play, schedule: Schedule) -> Verdict | None:
    """None, or what went wrong. The code is run anew for each schedule: nothing is left over from the last."""
    diary, printed = Diary(), io.StringIO()
    wrong = None
    with contextlib.redirect_stdout(printed):
        try:
            module = types.ModuleType(MODULE)
            sys.modules[MODULE] = module  # dataclasses look their module up
            exec(code, module.__dict__)
            if not callable(getattr(module, name, None)):
                raise Wrong(f"something called {name} in the code", "there is nothing of that name")
            play(getattr(module, name), schedule, diary)
        except Wrong as error:
            wrong = error
        except (Exception, SystemExit) as error:
            wrong = Wrong("no error", raised(error))
    if wrong is None:
        return None
    return Verdict(False, 1, tuple(diary.steps), wrong.expected, wrong.got, printed.getvalue()[:2_000])
