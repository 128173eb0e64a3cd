"""What both queues promise."""

import pytest

from lessons.reference.backoff import equal_jitter
from lessons.reference.job_queue import JobQueue, QueueOptions

RECEIPT = ("send-receipt", {"order_id": 1001})


def claimed_ids(queue):
    ids = []
    while (job := queue.claim()) is not None:
        ids.append(job.id)
    return ids


def test_a_retry_is_not_handed_out_before_its_time(make_queue, clock):
    queue = make_queue()
    id = queue.enqueue(*RECEIPT)

    assert "retry" == queue.fail(queue.claim().receipt, "503")
    assert 1_000 == queue.jobs[id].run_at_ms
    clock.advance(999)
    assert queue.claim() is None
    clock.advance(1)
    assert id == queue.claim().id


def test_a_job_nobody_settled_comes_back_when_its_lease_ends(make_queue, clock):
    queue = make_queue()
    queue.enqueue(*RECEIPT)

    assert 30_000 == queue.claim().leased_until_ms
    clock.advance(29_999)
    assert queue.claim() is None
    clock.advance(1)
    assert 2 == queue.claim().attempts


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
def test_max_attempts_is_the_number_of_calls(make_queue, clock, max_attempts):
    queue = make_queue(max_attempts)
    queue.enqueue(*RECEIPT)
    outcomes = []
    while (job := queue.claim()) is not None:
        outcomes.append(queue.fail(job.receipt, "503"))
        clock.advance(1_000)

    assert ["retry"] * (max_attempts - 1) + ["dead"] == outcomes
    assert 0 == queue.pending
    assert [(max_attempts, "503")] == [(job.attempts, job.last_error) for job in queue.dead]


def test_a_permanent_failure_is_dead_at_once(make_queue):
    queue = make_queue()
    queue.enqueue(*RECEIPT)

    assert "dead" == queue.fail(queue.claim().receipt, "no such address", permanent=True)
    assert [("job-1", 1, "no such address")] == [(job.id, job.attempts, job.last_error) for job in queue.dead]


def test_an_ack_removes_the_job(make_queue):
    queue = make_queue()
    queue.enqueue(*RECEIPT)

    assert "done" == queue.ack(queue.claim().receipt)
    assert (0, {}, []) == (queue.pending, dict(queue.jobs), queue.dead)


def test_a_new_job_is_due_at_once_and_has_no_history(make_queue, clock):
    queue = make_queue()
    clock.advance(1_234)
    queue.enqueue(*RECEIPT)
    job = queue.jobs["job-1"]

    assert ("send-receipt", {"order_id": 1001}, 1_234) == (job.type, job.payload, job.run_at_ms)
    assert (0, 0, None) == (job.attempts, job.leased_until_ms, job.last_error)


def test_a_second_enqueue_under_the_same_id_is_ignored(make_queue):
    queue = make_queue()

    assert ["order-1-receipt"] * 2 == [queue.enqueue(*RECEIPT, id="order-1-receipt") for _ in range(2)]
    assert 1 == queue.pending


def test_a_chosen_id_uses_up_no_number(make_queue):
    queue = make_queue()
    ids = [queue.enqueue(*RECEIPT, id=id) for id in (None, "mine", "mine", None)]

    assert ["job-1", "mine", "mine", "job-2"] == ids


def test_the_empty_string_is_an_id_like_any_other(make_queue):
    queue = make_queue()

    assert "" == queue.enqueue(*RECEIPT, id="")
    assert "" == queue.enqueue(*RECEIPT, id="")
    assert [""] == list(queue.jobs)
    assert "done" == queue.ack(queue.claim().receipt)
    assert 0 == queue.pending


@pytest.mark.parametrize("receipt", ["", "#", "#1", "job-1#", "job-1#0", "job-2#1", "nobody"])
def test_a_receipt_that_nobody_was_given_settles_nothing(make_queue, receipt):
    queue = make_queue()
    queue.enqueue(*RECEIPT)
    queue.claim()
    queue.ack(receipt)
    queue.fail(receipt, "503", permanent=True)

    assert (1, []) == (queue.pending, queue.dead)


def test_jobs_are_claimed_in_the_order_of_insertion(make_queue):
    queue = make_queue()
    for number in (3, 1, 2):
        queue.enqueue(*RECEIPT, id=f"order-{number}")

    assert ["order-3", "order-1", "order-2"] == claimed_ids(queue)


def test_a_retry_keeps_its_place_among_the_jobs_that_are_due(make_queue, clock):
    queue = make_queue()
    queue.enqueue(*RECEIPT, id="first")
    queue.fail(queue.claim().receipt, "503")
    queue.enqueue(*RECEIPT, id="second")
    clock.advance(1_000)
    queue.enqueue(*RECEIPT, id="third")

    assert ["first", "second", "third"] == claimed_ids(queue)


def test_an_expired_lease_keeps_the_job_in_its_place(make_queue, clock):
    queue = make_queue()
    queue.enqueue(*RECEIPT, id="first")
    queue.claim()
    queue.enqueue(*RECEIPT, id="second")
    clock.advance(30_000)

    assert ["first", "second"] == claimed_ids(queue)


def test_without_a_pause_a_failing_job_starves_those_behind_it(make_queue):
    queue = make_queue(max_attempts=1_000, backoff=lambda attempt: 0)
    queue.enqueue(*RECEIPT, id="poison")
    queue.enqueue(*RECEIPT, id="good")
    calls = 0
    while (job := queue.claim()).id == "poison":
        calls += 1
        queue.fail(job.receipt, "503")

    assert 1_000 == calls


def test_the_backoff_is_asked_with_the_attempts_made_and_only_for_a_retry(make_queue, clock):
    asked = []

    def backoff(attempt):
        asked.append(attempt)
        return 10

    queue = make_queue(max_attempts=3, backoff=backoff)
    queue.enqueue(*RECEIPT)
    queue.enqueue(*RECEIPT)
    queue.fail(queue.claim().receipt, "gone", permanent=True)
    for _ in range(3):
        queue.fail(queue.claim().receipt, "503")
        clock.advance(10)

    assert [1, 2] == asked
    assert 2 == len(queue.dead)


def test_no_random_number_is_drawn_for_a_dead_letter(make_queue):
    drawn = iter([])
    queue = make_queue(max_attempts=1, backoff=equal_jitter(1_000, 60_000, lambda: next(drawn)))
    queue.enqueue(*RECEIPT)

    assert "dead" == queue.fail(queue.claim().receipt, "503")


def test_a_failure_without_a_message_is_still_a_failure(make_queue):
    queue = make_queue(max_attempts=1)
    queue.enqueue(*RECEIPT)
    queue.fail(queue.claim().receipt, "")

    assert [""] == [job.last_error for job in queue.dead]


def test_the_payload_is_copied_when_it_is_enqueued(make_queue):
    queue = make_queue()
    payload = {"order_id": 1001, "items": ["rice"]}
    queue.enqueue("pick-items", payload)
    payload["order_id"] = 1002
    payload["items"].append("beans")

    assert {"order_id": 1001, "items": ["rice"]} == queue.claim().payload


def test_an_empty_queue_has_nothing_to_claim(make_queue):
    assert make_queue().claim() is None


@pytest.mark.parametrize("name", ["max_attempts", "visibility_ms"])
@pytest.mark.parametrize("value", [0, -1, 2.0, 0.5, float("nan"), float("inf"), True, "5", None])
def test_an_option_without_sense_is_refused_with_its_name_value_and_bound(name, value):
    options = {"max_attempts": 5, "visibility_ms": 30_000, "backoff": lambda attempt: 0, name: value}
    with pytest.raises(ValueError) as refused:
        QueueOptions(**options)

    assert f"{name} must be a whole number, 1 or more, not {value!r}" == str(refused.value)


def test_the_smallest_options_work(make_queue, clock):
    queue = make_queue(max_attempts=1, visibility_ms=1)
    queue.enqueue(*RECEIPT)
    queue.claim()

    assert queue.claim() is None


def test_the_receipt_of_the_lessons_queue_is_the_id(clock):
    queue = JobQueue(clock, QueueOptions(5, 30_000, lambda attempt: 0))
    queue.enqueue(*RECEIPT, id="order-1-receipt")

    assert "order-1-receipt" == queue.claim().receipt
