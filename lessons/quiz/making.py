"""What a family is made with: its declaration, runs to compute its answers, addresses to prove them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from string import Template
from typing import Any
from urllib.parse import urlencode

from lessons import contents, params
from lessons.quiz.question import Kind, Option, Question
from lessons.recording import Recording, State, Step
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.simulation import Actor, claim_at, simulate, work

MOST_OPTIONS = 4

Choice = tuple[str, str]
"""The text of an option, and why it is right or wrong."""


@dataclass(frozen=True)
class Choose:
    """`wrong` lists what plausible wrong rules give, the most tempting first; what equals another is left out."""

    prompt: str
    right: Choice
    wrong: Sequence[Choice]
    explanation: str
    proof: str
    code: str | None = None


@dataclass(frozen=True)
class Predict:
    program: str
    explanation: str
    proof: str
    prompt: str = "What does this program print?"


@dataclass(frozen=True)
class Write:
    prompt: str
    starter: str
    solution: str
    check: str
    explanation: str
    proof: str


Draft = Choose | Predict | Write


@dataclass(frozen=True)
class Family:
    """A question in many forms. `misconceptions` are numbers of a list of 25 that beginners often hold."""

    id: str
    objective: int
    kind: Kind
    misconceptions: tuple[int, ...]
    varies: bool
    build: Callable[..., Draft] = field(repr=False, compare=False)

    def make(self, seed: int) -> Question:
        """The question of that seed. If the family does not vary, only the order of the options changes."""
        draft = self.build(Random(f"{self.id} {seed}")) if self.varies else self.build()
        question = Question(self.id, seed, self.kind, self.objective, draft.prompt, draft.explanation, draft.proof)
        match draft:
            case Choose():
                order = Random(f"{self.id} {seed} order")
                return replace(question, code=draft.code, options=_options(draft, order))
            case Predict():
                return replace(question, code=draft.program, expected=printed_by(draft.program))
            case Write():
                check = f"{CHECKING}\n\n{draft.check}\n{JUDGING}"
                return replace(question, starter=draft.starter, solution=draft.solution, check=check)


REGISTERED: list[Family] = []


def choose(objective: int, *misconceptions: int) -> Callable[[Callable[..., Draft]], Callable[..., Draft]]:
    """A family of questions with options. A function that takes a Random varies, one without does not."""
    return _family("choose", objective, misconceptions)


def predict(objective: int, *misconceptions: int) -> Callable[[Callable[..., Draft]], Callable[..., Draft]]:
    """A family of programs whose print-out is asked for."""
    return _family("predict", objective, misconceptions)


def write(objective: int, *misconceptions: int) -> Callable[[Callable[..., Draft]], Callable[..., Draft]]:
    """A family of small functions to write."""
    return _family("write", objective, misconceptions)


def _family(
    kind: Kind, objective: int, misconceptions: tuple[int, ...]
) -> Callable[[Callable[..., Draft]], Callable[..., Draft]]:
    def register(build: Callable[..., Draft]) -> Callable[..., Draft]:
        varies = build.__code__.co_argcount > 0
        id = build.__name__.replace("_", "-")
        REGISTERED.append(Family(id, objective, kind, misconceptions, varies, build))
        return build

    return register


def _options(draft: Choose, order: Random) -> tuple[Option, ...]:
    texts, options = {draft.right[0]}, [(*draft.right, True)]
    for text, why in draft.wrong:
        if text not in texts and len(options) < MOST_OPTIONS:
            texts.add(text)
            options.append((text, why, False))
    if len(options) < 3:
        raise ValueError(f"too few different options: {sorted(texts)}")
    order.shuffle(options)
    return tuple(Option(key, text, right, why) for key, (text, why, right) in zip("abcdef", options, strict=False))


# Runs


class Run:
    """A section's run, and the addresses of its moments."""

    def __init__(self, slug: str, **values: Any) -> None:
        self.slug = slug
        self.params = contents.section(slug).Params(**values)
        self.recording = _recorded(slug, self.params)

    @property
    def end(self) -> State:
        return self.recording.steps[-1].state

    def find(self, kind: str, words: str = "", *, actor: str = "", nth: int = 1) -> Step:
        """The nth step of that kind (-1 is the last) whose sentence has the words; LookupError if there is none."""
        found = self.all(kind, words, actor=actor)
        if not found or nth > len(found):
            raise LookupError(f"{self.slug} {self.params}: no step {nth} of {kind!r} with {words!r}")
        return found[nth - 1 if nth > 0 else nth]

    def all(self, kind: str, words: str = "", *, actor: str = "") -> list[Step]:
        return [
            step
            for step in self.recording.steps
            if step.kind == kind and words in step.sentence and actor in step.actor
        ]

    def effects(self, target: str) -> list[int]:
        """The times at which something reached that part of the outside world."""
        return [effect.at_ms for effect in self.end.effects if effect.target == target]

    def at(self, step: Step) -> str:
        """The address of that moment."""
        return f"/{self.slug}?{urlencode({**params.query(self.params), 'step': step.number})}"


def proof(slug: str, kind: str, words: str = "", *, actor: str = "", nth: int = 1, **values: Any) -> str:
    """The address of one moment of a section's run, found as in Run.find."""
    run = Run(slug, **values)
    return run.at(run.find(kind, words, actor=actor, nth=nth))


@lru_cache(maxsize=64)
def _recorded(slug: str, values: Any) -> Recording:
    return contents.section(slug).record(values)


@lru_cache(maxsize=256)
def printed_by(program: str) -> str:
    """What a program of the bank prints, by running it."""
    lines: list[str] = []
    # A print of its own: sys.stdout belongs to every thread of the process.
    names = {"__name__": "__main__", "print": lambda *words: lines.append(" ".join(map(str, words)))}
    exec(compile(program, "question.py", "exec"), names)
    return "".join(line + "\n" for line in lines)


def new_queue(max_attempts: int = 5, visibility_ms: int = 30_000) -> tuple[ManualClock, JobQueue]:
    """A clock at t=0, and a queue that waits a second after each failure."""
    clock = ManualClock()
    return clock, JobQueue(clock, QueueOptions(max_attempts, visibility_ms, lambda attempt: 1_000))


def finished(durations_ms: Sequence[int], workers: int) -> list[tuple[str, int]]:
    """Jobs job-1, job-2 ... that take that long, done by so many workers: which is done when, in that order."""
    clock, queue = new_queue(visibility_ms=3_600_000)
    takes_ms = {queue.enqueue("work", {}): duration_ms for duration_ms in durations_ms}
    done: list[tuple[str, int]] = []

    def worker() -> Actor:
        yield claim_at(0)
        while job := queue.claim():
            yield work(takes_ms[job.id])
            queue.ack(job.receipt)
            done.append((job.id, clock.now()))

    simulate(clock, *(worker() for _ in range(workers)))
    return done


def by_hand(durations_ms: Sequence[int]) -> str:
    """The same jobs with two workers, as operations of the job queue's page; give it long leases."""
    ops, now_ms, waiting = ["enqueue"] * len(durations_ms), 0, list(durations_ms)
    busy_until_ms: dict[str, int] = {}
    while waiting or busy_until_ms:
        for name in ("A", "B"):
            if waiting and name not in busy_until_ms:
                ops.append(f"claim.{name}")
                busy_until_ms[name] = now_ms + waiting.pop(0)
        end_ms = min(busy_until_ms.values())
        ops.append(f"advance.{end_ms - now_ms}")
        now_ms = end_ms
        for name in [name for name, until_ms in busy_until_ms.items() if until_ms == end_ms]:
            ops.append(f"ack.{name}")
            del busy_until_ms[name]
    return " ".join(ops)


# Words


def s(ms: int) -> str:
    """Milliseconds as people say them: "1.5 s"."""
    return f"{seconds(ms)} s"


def times(count: int) -> str:
    """ "1 time", "3 times"."""
    return "1 time" if count == 1 else f"{count} times"


def counted(count: int, word: str, plural: str = "") -> str:
    """ "1 receipt", "2 receipts"."""
    return f"{count} {word if count == 1 else plural or word + 's'}"


def fill(program: str, **values: int | str) -> str:
    """The program with its $names filled in; whole numbers as 30_000."""
    shown = {name: f"{value:_}" if isinstance(value, int) else value for name, value in values.items()}
    return Template(program.strip("\n") + "\n").substitute(shown)


CHECKING = '''
def wanted(namespace, name):
    if not callable(namespace.get(name)):
        raise AssertionError(f"There is no function {name}. Keep its name: the check calls it.")
    return namespace[name]


def called(function, *args):
    """What the function returns; whatever it raises becomes a message."""
    try:
        return function(*args)
    except Exception as error:
        shown = ", ".join(map(repr, args))
        raise AssertionError(f"{function.__name__}({shown}) raised {type(error).__name__}: {error}") from error


def same(expected, function, *args):
    got = called(function, *args)
    if got != expected:
        shown = ", ".join(map(repr, args))
        raise AssertionError(f"{function.__name__}({shown}) gave {got!r}. It should give {expected!r}.")
'''.strip("\n")

JUDGING = '''
import sys

from lessons.checking import Verdict

check_names = check


def check(source):
    """Whether the program that has just run is right; if not, what a learner is told."""
    try:
        check_names(vars(sys.modules["__main__"]))
    except AssertionError as error:
        return Verdict(False, 1, got=str(error))
    return Verdict(True, 1)
'''.strip("\n")
