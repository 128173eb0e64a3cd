import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.reference.backoff import doubling, equal_jitter, full_jitter, round_half_up

ATTEMPTS = range(1, 7)
JITTERS = pytest.mark.parametrize("jitter", [equal_jitter, full_jitter])


def test_the_delay_doubles_up_to_the_cap():
    wait_ms = equal_jitter(1_000, 4_000, lambda: 1)

    assert [1_000, 2_000, 4_000, 4_000, 4_000] == [wait_ms(attempt) for attempt in range(1, 6)]


@pytest.mark.parametrize(
    "random, delays",
    [
        (0, [500, 1_000, 2_000, 4_000, 8_000, 10_000]),
        (0.5, [750, 1_500, 3_000, 6_000, 12_000, 15_000]),
        (1, [1_000, 2_000, 4_000, 8_000, 16_000, 20_000]),
    ],
)
def test_equal_jitter_waits_at_least_half(random, delays):
    wait_ms = equal_jitter(1_000, 20_000, lambda: random)

    assert delays == [wait_ms(attempt) for attempt in ATTEMPTS]


def test_full_jitter_waits_anything_up_to_the_delay():
    lines = []
    for value in (0, 0.5, 1):
        wait_ms = full_jitter(1_000, 20_000, lambda value=value: value)
        lines.append(f"random {value}: " + ", ".join(str(wait_ms(attempt)) for attempt in ATTEMPTS))

    assert [
        "random 0: 0, 0, 0, 0, 0, 0",
        "random 0.5: 500, 1000, 2000, 4000, 8000, 10000",
        "random 1: 1000, 2000, 4000, 8000, 16000, 20000",
    ] == lines


@pytest.mark.parametrize(
    "jitter, base_ms, random, delay_ms",
    [
        (equal_jitter, 1_000, 0.001, 501),  # 500.5
        (equal_jitter, 1_000, 0.003, 502),  # 501.5
        (equal_jitter, 1, 0, 1),  # 0.5
        (equal_jitter, 5, 0, 3),  # 2.5
        (full_jitter, 1_000, 0.0005, 1),  # 0.5
        (full_jitter, 5, 0.5, 3),  # 2.5
        (full_jitter, 1, 0.499, 0),
    ],
)
def test_halves_round_up(jitter, base_ms, random, delay_ms):
    assert delay_ms == jitter(base_ms, 60_000, lambda: random)(1)


@pytest.mark.parametrize("value, rounded", [(0, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.4, 2), (500.5, 501)])
def test_rounding(value, rounded):
    assert rounded == round_half_up(value)


@JITTERS
@pytest.mark.parametrize("attempt", [17, 64, 1_024, 1_025, 5_000, 10**9])
def test_any_number_of_attempts_gives_the_cap(jitter, attempt):
    assert 60_000 == jitter(1_000, 60_000, lambda: 1)(attempt)


@JITTERS
@pytest.mark.parametrize(
    "base_ms, cap_ms",
    [(0, 0), (0, 10), (-1, 10), (11, 10), (1.5, 10), (1, 10.0), (True, 10), (1, float("inf")), ("1", "2")],
)
def test_a_backoff_without_sense_is_refused_with_its_values(jitter, base_ms, cap_ms):
    with pytest.raises(ValueError) as refused:
        jitter(base_ms, cap_ms, lambda: 1)

    assert f"0 < base_ms <= cap_ms, not {base_ms!r} and {cap_ms!r}" in str(refused.value)


def test_base_and_cap_may_be_the_same():
    assert [7, 7, 7] == [doubling(7, 7)(attempt) for attempt in (1, 2, 3)]


@JITTERS
def test_each_delay_draws_one_random_number(jitter):
    drawn = iter([0.0, 1.0])
    wait_ms = jitter(1_000, 60_000, lambda: next(drawn))
    wait_ms(1)
    wait_ms(1)

    assert [] == list(drawn)


@settings(deadline=None)
@given(
    base_ms=st.integers(1, 100_000),
    factor=st.integers(1, 10_000),
    attempt=st.integers(1, 2_000),
    random=st.floats(0, 1),
)
def test_delays_are_whole_and_within_their_bounds(base_ms, factor, attempt, random):
    cap_ms = base_ms * factor
    most_ms = doubling(base_ms, cap_ms)(attempt)
    equal_ms = equal_jitter(base_ms, cap_ms, lambda: random)(attempt)
    full_ms = full_jitter(base_ms, cap_ms, lambda: random)(attempt)

    assert min(cap_ms, base_ms * 2 ** (attempt - 1)) == most_ms
    assert most_ms / 2 <= equal_ms <= most_ms
    assert 0 <= full_ms <= most_ms
    assert {int} == {type(most_ms), type(equal_ms), type(full_ms)}
