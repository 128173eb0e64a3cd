"""Full jitter: a random delay from 0 up to the doubled and capped one."""

from collections.abc import Callable

from lessons.reference.backoff import round_half_up


def full_jitter(base_ms: int, cap_ms: int, random: Callable[[], float]) -> Callable[[int], int]:
    """A backoff: attempts made so far, from 1 -> whole milliseconds to wait."""

    def wait_ms(attempt: int) -> int:
        return round_half_up(base_ms * 2 ** (attempt - 1))

    return wait_ms


def delays(value: float) -> str:
    wait_ms = full_jitter(1_000, 20_000, lambda: value)
    return ", ".join(str(wait_ms(attempt)) for attempt in range(1, 7))


if __name__ == "__main__":
    for value in [0, 0.5, 1]:
        print(f"random {value}: {delays(value)}")
