import pytest

from lessons.reference.clock import ManualClock
from lessons.simulation import claim_at, event_at, simulate, work


@pytest.fixture
def clock():
    return ManualClock()


def test_in_one_millisecond_jobs_are_settled_then_other_things_happen_then_jobs_are_claimed(clock):
    seen = []

    def actor(name, pause):
        yield pause
        seen.append((clock.now(), name))

    simulate(
        clock,
        actor("claim", claim_at(30)),
        actor("event", event_at(30)),
        actor("settle", work(30)),
        actor("early claim", claim_at(29)),
        actor("late settle", work(31)),
    )

    assert [(29, "early claim"), (30, "settle"), (30, "event"), (30, "claim"), (31, "late settle")] == seen


def test_among_equals_the_order_is_that_of_asking(clock):
    seen = []

    def actor(name, *pauses):
        for pause in pauses:
            yield pause
            seen.append(name)

    simulate(
        clock,
        actor("a", claim_at(5), claim_at(9)),
        actor("b", claim_at(5), claim_at(9)),
        actor("c", claim_at(9)),
    )

    # c asked for 9 at the very start, a and b only at 5.
    assert ["a", "b", "c", "a", "b"] == seen


def test_an_actor_starts_at_once_and_does_things_between_its_pauses(clock):
    seen = []

    def actor():
        seen.append(clock.now())
        yield work(10)
        seen.append(clock.now())
        yield work(10)
        seen.append(clock.now())

    clock.advance(5)
    simulate(clock, actor())

    assert [5, 15, 25] == seen


def test_work_that_takes_no_time_is_settled_before_anyone_else_may_claim(clock):
    seen = []

    def worker(name):
        yield claim_at(0)
        seen.append(f"{name} claims")
        yield work(0)
        seen.append(f"{name} acks")

    simulate(clock, worker("A"), worker("B"))

    assert ["A claims", "A acks", "B claims", "B acks"] == seen


def test_a_moment_that_has_passed_means_now(clock):
    seen = []

    def actor():
        yield work(10)
        yield claim_at(3)
        seen.append(clock.now())
        yield event_at(0)
        seen.append(clock.now())

    simulate(clock, actor())

    assert [10, 10] == seen


def test_an_actor_that_is_closed_does_no_more(clock):
    seen = []

    def worker():
        yield work(100)
        seen.append("the work is done")

    victim = worker()

    def killer():
        yield event_at(50)
        victim.close()
        seen.append("killed")

    simulate(clock, victim, killer())

    assert ["killed"] == seen


def test_an_error_of_an_actor_is_not_hidden(clock):
    def actor():
        yield work(1)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        simulate(clock, actor())


def test_without_actors_nothing_happens(clock):
    simulate(clock)

    assert 0 == clock.now()
