"""Judges a full jitter: each delay is the random part of the doubled and capped one."""

import random
from typing import Any

from lessons.checking import Diary, Schedule, Verdict, judge
from lessons.reference.backoff import full_jitter

# ("make", base_ms, cap_ms) and ("ask", attempt, what random gives)
ADVERSARIAL: list[Schedule] = [
    (("make", 1_000, 20_000), ("ask", 1, 0.5)),
    (("make", 1_000, 20_000), ("ask", 1, 1.0), ("ask", 6, 1.0)),
    (("make", 1_000, 20_000), ("ask", 3, 0.5), ("ask", 3, 0.25)),
    (("make", 1_001, 60_000), ("ask", 1, 0.5)),
    (("make", 1_000, 60_000), ("ask", 2_000, 1.0)),
    (("make", 500, 500), ("ask", 1, 0.0), ("ask", 9, 1.0)),
    (("make", 1_000, 20_000), ("make", 10, 40), ("ask", 4, 1.0)),
]


def check(source: str) -> Verdict:
    """The verdict on `full_jitter`."""
    return judge(source, "full_jitter", play, ADVERSARIAL, random_schedule)


def play(piece: Any, schedule: Schedule, diary: Diary) -> None:
    chance = 0.0
    right = wait_ms = None

    def give() -> float:
        return chance

    for operation in schedule:
        match operation:
            case ("make", base_ms, cap_ms):
                wait_ms = diary.step(
                    f"full_jitter(base_ms={base_ms}, cap_ms={cap_ms}, random) is called",
                    "a backoff",
                    piece,
                    base_ms,
                    cap_ms,
                    give,
                    show=lambda made: "a backoff" if callable(made) else repr(made),
                )
                right = full_jitter(base_ms, cap_ms, give)
            case ("ask", attempt, value) if right is not None and wait_ms is not None:
                chance = value
                words = f"random gives {value:g}, and the backoff is asked for attempt {attempt}"
                diary.step(words, f"{right(attempt)} ms", wait_ms, attempt, show=lambda ms: f"{ms} ms")


def random_schedule(chance: random.Random) -> Schedule:
    base_ms = chance.choice([1, 10, 500, 1_000, 1_001])
    asks = [("ask", chance.randint(1, 12), chance.choice([0.0, 0.25, 0.5, 0.75, 1.0])) for _ in range(4)]
    return (("make", base_ms, base_ms * chance.choice([1, 3, 20, 60])), *asks)
