"""What a question is, and whether an answer to it is right."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["choose", "predict", "write"]
LONGEST_ANSWER = 20_000  # characters

OBJECTIVES = (
    "Decide what belongs in a job, and say what a queue gives and what it costs",
    "Build a job queue: leases, retries with backoff and jitter, dead letters",
    "Tell transient errors, permanent errors and poison messages apart",
    "Expect a message more than once, and make its consumer idempotent",
    "Keep the database and its messages together with a transactional outbox",
    "Fan one event out to several queues, and do not rely on order",
)
"""What a learner can do in the end. A question's `objective` counts from 1."""


@dataclass(frozen=True)
class Option:
    """One answer to choose. `why` tells why it is right, or why it is tempting and wrong; both are plain text."""

    key: str
    text: str
    right: bool
    why: str


@dataclass(frozen=True)
class Question:
    """A question as it is put to one learner; the same family and seed give the same one.

    `prompt` and `explanation` are Markdown, `proof` is the address of the step that shows it.
    choose: `options`. predict: `code`, and `expected`, which it prints. write: `starter`, `solution`, and
    `check`, the source of a module: check(source) -> checking.Verdict on a program that has just run, and
    check_names(namespace), which raises an AssertionError for a learner to read.
    """

    family: str
    seed: int
    kind: Kind
    objective: int
    prompt: str
    explanation: str
    proof: str
    code: str | None = None
    options: tuple[Option, ...] = ()
    starter: str | None = None
    solution: str | None = None
    check: str | None = None
    expected: str | None = None


@dataclass(frozen=True)
class Verdict:
    right: bool
    why: str


def judge(question: Question, answer: str) -> Verdict:
    """The verdict on a chosen key or a predicted print-out; ValueError for an answer that cannot be one."""
    if question.kind == "choose":
        return _judge_choice(question, answer)
    if question.kind == "predict":
        return _judge_prediction(question, answer)
    raise ValueError("answer: the code of a write question is judged by its check, where it runs, not by its text")


def _judge_choice(question: Question, answer: str) -> Verdict:
    for option in question.options:
        if option.key == answer:
            return Verdict(option.right, option.why)
    keys = ", ".join(option.key for option in question.options)
    raise ValueError(f'answer must be one of {keys}, not "{_short(answer)}"')


def _judge_prediction(question: Question, answer: str) -> Verdict:
    expected, given = _lines(question.expected or ""), _lines(answer)
    for number, (right, yours) in enumerate(zip(expected, given, strict=False), start=1):
        if right != yours:
            return Verdict(False, f'Line {number} differs: it is "{right}", and you wrote "{_short(yours)}".')
    if len(given) < len(expected):
        missing = expected[len(given)]
        return Verdict(False, f'Line {len(given) + 1} is missing: the program goes on to print "{missing}".')
    if len(given) > len(expected):
        return Verdict(False, f"Line {len(expected) + 1} is too much: the program prints {_counted(len(expected))}.")
    return Verdict(True, "Line by line what the program prints.")


def _lines(text: str) -> list[str]:
    """Blanks at the end of a line, and empty lines at the end, are nobody's mistake."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
