from collections import Counter

import pytest

from lessons.recorder import record
from lessons.s08_fan_out.demo import Params, run

TARGETS = ("mail provider", "warehouse", "loyalty accounts")


def effects(**asked):
    return record(run, Params(**asked)).steps[-1].state.effects


def counts(**asked):
    """How many receipts, picks and credits."""
    counted = Counter(effect.target for effect in effects(**asked))
    return tuple(counted[target] for target in TARGETS)


def times(target, **asked):
    return [effect.at_ms for effect in effects(**asked) if effect.target == target]


@pytest.mark.parametrize("publishes", [1, 2, 10])
def test_a_repeated_event_makes_one_job_for_each_subscriber(publishes):
    recording = record(run, Params(publishes=publishes))

    assert ["email: 1 warehouse: 1 loyalty: 1"] == recording.printed
    assert ["email", "warehouse", "loyalty"] == [queue.name for queue in recording.steps[0].state.queues]
    assert 3 * (publishes - 1) == sum(step.kind == "ignored" for step in recording.steps)
    assert (1, 1, 1) == counts(publishes=publishes)


def test_one_job_for_all_repeats_what_came_before_the_failure():
    assert (5, 5, 1) == counts(layout="one-job", failing="loyalty")
    assert [15_000] == times("loyalty accounts", layout="one-job", failing="loyalty")


@pytest.mark.parametrize("failing", ["email", "warehouse", "loyalty"])
def test_with_a_queue_each_a_failure_repeats_nobody_elses_work(failing):
    assert (1, 1, 1) == counts(failing=failing)
    late = {"email": "mail provider", "warehouse": "warehouse", "loyalty": "loyalty accounts"}[failing]
    assert [(target, 15_000 if target == late else 0) for target in TARGETS] == [
        (target, at_ms) for target in TARGETS for at_ms in times(target, failing=failing)
    ]


def test_five_failures_are_a_dead_letter():
    assert (1, 1, 0) == counts(failing="loyalty", failures=5)
    assert "dead letters: ['order-1001-paid:loyalty']" == record(run, Params(failing="loyalty", failures=5)).printed[-1]


def test_a_slow_warehouse_delays_nobody_who_has_a_queue_of_its_own():
    slow = {"orders": 3, "warehouse_ms": 20_000}

    assert [0, 0, 0] == times("mail provider", **slow)
    assert [20_000, 40_000, 60_000] == times("warehouse", **slow)
    assert [0, 0, 0] == times("loyalty accounts", **slow)


def test_a_slow_warehouse_delays_everybody_in_one_job():
    slow = {"orders": 3, "warehouse_ms": 20_000, "layout": "one-job"}

    assert [0, 20_000, 40_000] == times("mail provider", **slow)
    assert [20_000, 40_000, 60_000] == times("loyalty accounts", **slow)


@pytest.mark.parametrize("queue", ["lesson", "hardened"])
def test_a_retried_job_is_passed_by_newer_ones_and_passes_newer_ones(queue):
    picks = effects(orders=3, failing="warehouse", failures=1, warehouse_ms=5_000, queue=queue)

    assert [1002, 1001, 1003] == [int(e.what.split()[3]) for e in picks if e.target == "warehouse"]


@pytest.mark.parametrize(("queue", "sent"), [("lesson", (2, 2, 2)), ("hardened", (1, 1, 1))])
def test_a_late_repeat_counts_as_new_once_the_ids_are_forgotten(queue, sent):
    assert sent == counts(publish_when_done=True, queue=queue)


@pytest.mark.parametrize(("queue", "sent"), [("lesson", (2, 2, 1)), ("hardened", (1, 1, 0))])
def test_publishing_again_is_no_replay_of_a_dead_letter(queue, sent):
    asked = {"failing": "loyalty", "failures": 5, "publish_when_done": True, "queue": queue}

    assert sent == counts(**asked)
    assert ["order-1001-paid:loyalty"] == [
        job.id
        for state in record(run, Params(**asked)).steps[-1].state.queues
        for job in state.jobs
        if job.lane == "dead"
    ]


def test_the_workers_act_under_their_names():
    actors = {step.actor for step in record(run, Params()).steps if step.kind in ("claim", "effect", "ack")}

    assert {"the email worker", "the warehouse worker", "the loyalty worker"} == actors
