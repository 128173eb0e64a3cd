"""Time as an argument: nothing here waits, and every run can be repeated."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """The time in whole milliseconds."""
        ...


class SystemClock:
    """The clock on the wall."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that starts at 0 and stands still until it is told to move."""

    def __init__(self) -> None:
        self._now_ms = 0

    def now(self) -> int:
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Move `ms` milliseconds on; ValueError for a step back."""
        if ms < 0:
            raise ValueError(f"a clock cannot go back: advance({ms})")
        self._now_ms += ms


def seconds(ms: int) -> str:
    """Milliseconds as seconds without trailing zeros: 500 is "0.5", 30_000 is "30"."""
    return f"{ms / 1_000:.3f}".rstrip("0").rstrip(".")
