"""How long a failed job waits before its next attempt. A backoff only decides; somebody else waits.

Exponential backoff with equal and full jitter: Marc Brooker, "Exponential Backoff And Jitter", 2015.
"""

import math
from collections.abc import Callable

Backoff = Callable[[int], int]
"""Attempts made so far, from 1 -> milliseconds to wait."""

Random = Callable[[], float]
"""A number from 0 up to 1, such as `random.Random(seed).random`."""


def equal_jitter(base_ms: int, cap_ms: int, random: Random) -> Backoff:
    """Half of the doubled and capped delay for certain, up to the other half by chance."""
    delay_ms = doubling(base_ms, cap_ms)

    def wait_ms(attempt: int) -> int:
        half_ms = delay_ms(attempt) / 2
        return round_half_up(half_ms + random() * half_ms)

    return wait_ms


def full_jitter(base_ms: int, cap_ms: int, random: Random) -> Backoff:
    """Anything from 0 up to the doubled and capped delay."""
    delay_ms = doubling(base_ms, cap_ms)
    return lambda attempt: round_half_up(random() * delay_ms(attempt))


def doubling(base_ms: int, cap_ms: int) -> Backoff:
    """base, 2 x base, 4 x base ... and never more than the cap; ValueError unless 0 < base <= cap."""
    if not (type(base_ms) is type(cap_ms) is int and 0 < base_ms <= cap_ms):
        raise ValueError(f"a backoff needs whole 0 < base_ms <= cap_ms, not {base_ms!r} and {cap_ms!r}")
    # More doublings than the cap has bits cannot change the answer, and would only make huge numbers.
    most_doublings = cap_ms.bit_length()
    return lambda attempt: min(cap_ms, base_ms * 2 ** min(attempt - 1, most_doublings))


def round_half_up(value: float) -> int:
    """500.5 is 501: round() would give the even 500."""
    return math.floor(value + 0.5)
