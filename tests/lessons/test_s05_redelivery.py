import pytest

both_queues = pytest.mark.parametrize("queue", ["lesson", "hardened"])


def receipts(recording):
    return [effect.at_ms for effect in recording.steps[-1].state.effects]


def looks(recording):
    return [line for line in recording.printed if line.startswith("after ")]


@both_queues
def test_a_crash_before_the_ack_sends_the_receipt_twice(ran, queue):
    recording = ran(f"redelivery?queue={queue}")

    assert [0, 30_000] == receipts(recording)


@both_queues
@pytest.mark.parametrize(
    ("second_look_ms", "found"),
    [(29_999, "after 29.999s, claimable again? False"), (30_000, "after 30s, delivered again: attempt 2")],
)
def test_the_lease_ends_on_the_millisecond(ran, second_look_ms, found, queue):
    assert found == looks(ran(f"redelivery?second_look_ms={second_look_ms}&queue={queue}"))[1]


def test_the_first_look_can_be_the_one_that_finds_the_job(ran):
    recording = ran("redelivery?visibility_ms=5000")

    assert ["after 10s, delivered again: attempt 2", "after 30s, claimable again? False"] == looks(recording)


def test_the_looks_come_in_the_order_of_time(ran):
    recording = ran("redelivery?first_look_ms=40000&second_look_ms=20000")

    assert ["after 20s, claimable again? False", "after 40s, delivered again: attempt 2"] == looks(recording)


def test_a_look_that_finds_its_worker_busy_comes_when_it_is_done(ran):
    recording = ran("redelivery?visibility_ms=5000&work_ms=25000")

    assert ["after 10s, delivered again: attempt 2", "after 35s, claimable again? False"] == looks(recording)


def test_work_that_outlasts_the_lease_is_done_twice_by_healthy_workers(ran):
    recording = ran("redelivery?a_dies=never&work_ms=40000")

    assert [40_000, 70_000] == receipts(recording)
    late_ack, useless_ack = (step for step in recording.steps if step.kind == "ack")
    assert "although worker B holds it now" in late_ack.sentence
    assert "the queue has no such job any more" in useless_ack.sentence


def test_the_hardened_queue_refuses_the_late_ack_but_cannot_call_back_the_receipt(ran):
    recording = ran("redelivery?a_dies=never&work_ms=40000&queue=hardened")

    assert [40_000, 70_000] == receipts(recording)
    assert [("worker A", 40_000)] == [(step.actor, step.at_ms) for step in recording.steps if step.kind == "lost"]
    assert [("worker B", 70_000)] == [(step.actor, step.at_ms) for step in recording.steps if step.kind == "ack"]
    assert "worker A sent the receipt, then acked: lost" in recording.printed


@both_queues
def test_a_lease_that_is_long_enough_means_one_receipt(ran, queue):
    assert [40_000] == receipts(ran(f"redelivery?a_dies=never&work_ms=40000&visibility_ms=60000&queue={queue}"))


@both_queues
def test_an_ack_in_the_millisecond_in_which_the_lease_ends_is_in_time(ran, queue):
    recording = ran(f"redelivery?a_dies=never&work_ms=30000&queue={queue}")

    assert [30_000] == receipts(recording)
    assert "after 30s, claimable again? False" in recording.printed


@both_queues
@pytest.mark.parametrize(
    ("a_dies", "delivery", "sent"),
    [
        ("after", "leased", [0, 30_000]),
        ("before", "leased", [30_000]),
        ("never", "leased", [0]),
        ("after", "deleted", [0]),
        ("before", "deleted", []),
        ("never", "deleted", [0]),
    ],
)
def test_at_least_once_repeats_and_at_most_once_loses(ran, a_dies, delivery, sent, queue):
    recording = ran(f"redelivery?a_dies={a_dies}&delivery={delivery}&queue={queue}")

    assert sent == receipts(recording)
    assert f"receipts sent: {['receipt for 1001'] * len(sent)}" == recording.printed[-1]
    assert ["done"] == [job.lane for job in recording.steps[-1].state.queues[0].jobs]


def test_a_lease_that_is_far_too_long_hides_the_job_of_a_dead_worker(ran):
    recording = ran("redelivery?a_dies=before&visibility_ms=3600000")

    assert [] == receipts(recording)
    assert ["leased"] == [job.lane for job in recording.steps[-1].state.queues[0].jobs]
