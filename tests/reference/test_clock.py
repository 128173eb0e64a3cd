import time

import pytest

from lessons.reference.clock import ManualClock, SystemClock, seconds


def test_a_manual_clock_starts_at_0_and_moves_only_when_told():
    clock = ManualClock()
    times = [clock.now(), clock.now()]
    clock.advance(1_500)
    clock.advance(0)

    assert [0, 0, 1_500] == [*times, clock.now()]


def test_a_manual_clock_cannot_go_back(clock):
    clock.advance(10)
    with pytest.raises(ValueError, match=r"advance\(-1\)"):
        clock.advance(-1)

    assert 10 == clock.now()


def test_the_system_clock_gives_whole_milliseconds_since_1970():
    before, now, after = time.time(), SystemClock().now(), time.time()

    assert type(now) is int
    assert int(before * 1_000) - 1 <= now <= after * 1_000 + 1


@pytest.mark.parametrize(
    "ms, text",
    [
        (0, "0"),
        (1, "0.001"),
        (10, "0.01"),
        (500, "0.5"),
        (1_000, "1"),
        (7_250, "7.25"),
        (30_000, "30"),
        (100_000, "100"),
        (3_600_000, "3600"),
    ],
)
def test_seconds_have_no_trailing_zeros(ms, text):
    assert text == seconds(ms)
