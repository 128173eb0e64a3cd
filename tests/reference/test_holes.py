"""The same story on both queues: what the lesson's queue makes of it, and what the hardened one does.

The letters are those of the incidents that the stories come from.
"""

from contextlib import suppress

import pytest

from lessons.reference.backoff import equal_jitter
from lessons.reference.clock import ManualClock
from lessons.reference.fan_out import Subscriber, publish
from lessons.reference.hardened_queue import HardenedQueue, IdConflict
from lessons.reference.job_queue import JobQueue, QueueOptions

JOB = ("render-invoice", {"order_id": 1001})


def run(story, queue_class, max_attempts=5):
    clock = ManualClock()
    backoff = equal_jitter(1_000, 60_000, lambda: 1)
    return story(queue_class(clock, QueueOptions(max_attempts, 30_000, backoff)), clock)


def letters(queue):
    return [(job.id, job.attempts, job.last_error) for job in queue.dead]


def taken_over(queue, clock):
    """A claims at 0 and falls asleep, B claims at 30000, A wakes up at 35000: the receipts of A and B."""
    queue.enqueue(*JOB)
    a = queue.claim().receipt
    clock.advance(30_000)
    b = queue.claim().receipt
    clock.advance(5_000)
    return a, b


def test_p01_a_job_that_kills_its_workers():
    def story(queue, clock):
        queue.enqueue(*JOB)
        attempts = {}
        for _ in range(11):
            job = queue.claim()
            attempts[clock.now()] = job.attempts if job else [*letters(queue)]
            clock.advance(30_000)
        return attempts

    assert {at: at // 30_000 + 1 for at in range(0, 300_001, 30_000)} == run(story, JobQueue)
    dead = [("job-1", 5, "lease expired")]
    assert {0: 1, 30_000: 2, 60_000: 3, 90_000: 4, 120_000: 5} | {
        at: dead for at in range(150_000, 300_001, 30_000)
    } == run(story, HardenedQueue)


def test_l04_an_ack_that_comes_too_late():
    def story(queue, clock):
        a, b = taken_over(queue, clock)
        answers = [queue.ack(a), queue.pending]
        clock.advance(5_000)
        return [*answers, queue.fail(b, "charged already"), letters(queue)]

    assert ["done", 0, "dead", []] == run(story, JobQueue)
    assert ["lost", 1, "retry", []] == run(story, HardenedQueue)


def test_l04_the_worker_that_holds_the_job_can_still_ack_it():
    def story(queue, clock):
        a, b = taken_over(queue, clock)
        return [queue.ack(a), queue.ack(b), queue.pending]

    assert ["lost", "done", 0] == run(story, HardenedQueue)


def test_l05_a_failure_that_comes_too_late_makes_a_third_copy():
    def story(queue, clock):
        a, b = taken_over(queue, clock)
        starts, answer = [0, 30_000], queue.fail(a, "timed out")
        while clock.now() < 50_000:  # B is done at 50000
            if queue.claim():
                starts.append(clock.now())
            clock.advance(1_000)
        return answer, starts, queue.ack(b)

    assert ("retry", [0, 30_000, 37_000], "done") == run(story, JobQueue)
    assert ("lost", [0, 30_000], "done") == run(story, HardenedQueue)


def test_l06_a_late_failure_at_the_last_attempt_buries_a_job_that_is_done():
    def story(queue, clock):
        a, b = taken_over(queue, clock)
        answer = queue.fail(a, "timed out")
        clock.advance(5_000)
        return answer, queue.ack(b), letters(queue)

    assert ("dead", "done", [("job-1", 2, "timed out")]) == run(story, JobQueue, max_attempts=2)
    assert ("lost", "done", []) == run(story, HardenedQueue, max_attempts=2)


def test_the_number_of_the_attempt_would_not_do_as_a_receipt():
    def story(queue, clock):
        queue.enqueue(*JOB, id="report")
        a = queue.claim()
        clock.advance(30_000)
        b = queue.claim()
        first, second = (a.attempts, a.receipt), b.receipt
        queue.ack(second)
        clock.advance(300_000)  # long enough for either queue to forget the id
        queue.enqueue(*JOB, id="report")
        c = queue.claim()
        return c.attempts == 1, queue.ack(first[1]), queue.pending

    assert (True, "done", 0) == run(story, JobQueue)
    assert (True, "lost", 1) == run(story, HardenedQueue)


def test_a_failure_of_a_job_nobody_knows():
    def story(queue, clock):
        return queue.fail("job-7#1", "503"), letters(queue)

    assert ("dead", []) == run(story, JobQueue)
    assert ("lost", []) == run(story, HardenedQueue)


@pytest.mark.parametrize(
    "again_at_ms, lesson, hardened",
    [(0, 1, 0), (299_999, 1, 0), (300_000, 1, 1)],
)
def test_d04_the_repeat_of_a_job_that_is_done(again_at_ms, lesson, hardened):
    def story(queue, clock):
        queue.enqueue(*JOB, id="outbox-1")
        queue.ack(queue.claim().receipt)
        clock.advance(again_at_ms)
        queue.enqueue(*JOB, id="outbox-1")
        return queue.pending

    assert lesson == run(story, JobQueue)
    assert hardened == run(story, HardenedQueue)


def test_d07_other_content_under_an_id_that_is_known():
    def story(queue, clock):
        queue.enqueue("credit-points", {"points": 204}, id="k")
        try:
            queue.enqueue("credit-points", {"points": 500}, id="k")
        except IdConflict as conflict:
            return str(conflict)
        return queue.claim().payload

    assert {"points": 204} == run(story, JobQueue)  # the 500 are gone and nobody knows
    assert "the id 'k' belongs to a credit-points job with other content" == run(story, HardenedQueue)


def test_d06_an_id_that_names_the_thing_and_not_the_event():
    def story(queue, clock):
        done = []
        for change in ({"name": "Ada"}, {"name": "Ada L."}):
            queue.enqueue("sync-user", change, id="user-7")
            done.append(queue.claim().payload)
            queue.ack("user-7")
        return done

    assert [{"name": "Ada"}, {"name": "Ada L."}] == run(story, JobQueue)
    with pytest.raises(IdConflict, match="user-7"):
        run(story, HardenedQueue)


def test_a_dead_letter_and_a_waiting_job_of_the_same_id():
    def story(queue, clock):
        queue.enqueue(*JOB, id="order-1")
        queue.fail(queue.claim().receipt, "gone", permanent=True)
        queue.enqueue(*JOB, id="order-1")
        return queue.pending, len(queue.dead)

    assert (1, 1) == run(story, JobQueue)
    assert (0, 1) == run(story, HardenedQueue)


def test_r12_a_replayed_job_and_its_budget():
    def story(queue, clock):
        queue.enqueue(*JOB)
        for wait_ms in (1_000, 2_000, 597_000):
            queue.fail(queue.claim().receipt, "503")
            clock.advance(wait_ms)
        if isinstance(queue, HardenedQueue):
            queue.replay("job-1")
        else:  # the lesson's queue has nothing for it: somebody puts the record back by hand
            queue.jobs["job-1"] = queue.dead.pop()
        told = []
        for works in (False, True):
            job = queue.claim()
            if job is None:
                break
            settle = queue.ack(job.receipt) if works else queue.fail(job.receipt, "503")
            told.append((clock.now(), job.attempts, settle))
            clock.advance(1_000)
        return told

    assert [(600_000, 4, "dead")] == run(story, JobQueue, max_attempts=3)
    assert [(600_000, 1, "retry"), (601_000, 2, "done")] == run(story, HardenedQueue, max_attempts=3)


def test_what_a_worker_holds_changes_under_its_hands():
    def story(queue, clock):
        queue.enqueue(*JOB)
        a = queue.claim()
        clock.advance(30_000)
        queue.claim()
        return a.attempts, a.leased_until_ms

    assert (2, 60_000) == run(story, JobQueue)
    assert (1, 30_000) == run(story, HardenedQueue)


def test_a_handler_that_changes_its_payload_changes_the_retry():
    def story(queue, clock):
        queue.enqueue("pick-items", {"items": ["rice", "beans"]})
        job = queue.claim()
        job.payload["items"].pop()
        queue.fail(job.receipt, "503")
        clock.advance(1_000)
        return queue.claim().payload

    assert {"items": ["rice"]} == run(story, JobQueue)
    assert {"items": ["rice", "beans"]} == run(story, HardenedQueue)


def test_a_number_that_somebody_has_chosen_before():
    def story(queue, clock):
        queue.enqueue("pick-items", {}, id="job-1")
        return queue.enqueue("send-receipt", {}), queue.pending

    assert ("job-1", 1) == run(story, JobQueue)  # the receipt is swallowed
    assert ("job-2", 2) == run(story, HardenedQueue)


def test_f03_a_fan_out_that_stops_half_way_and_is_repeated():
    def story(email, clock):
        class Unreachable:
            def enqueue(self, type, payload, id=None):
                raise ConnectionError("warehouse unreachable")

        warehouse = type(email)(clock, email.options)
        receipts = 0
        for reachable in (Unreachable(), warehouse):
            subscribers = [
                Subscriber("email", "send-receipt", email),
                Subscriber("warehouse", "pick-items", reachable),
            ]
            with suppress(ConnectionError):
                publish("order-1001-paid", {"order_id": 1001}, subscribers)
            clock.advance(200)
            if (job := email.claim()) is not None:
                receipts += 1
                email.ack(job.receipt)
            clock.advance(4_800)
        return receipts, warehouse.pending

    assert (2, 1) == run(story, JobQueue)
    assert (1, 1) == run(story, HardenedQueue)


def test_claim_looks_at_one_job_after_the_other_or_goes_straight_to_it():
    looked_at = 0

    class CountingJobs(dict):
        def values(self):
            for job in super().values():
                nonlocal looked_at
                looked_at += 1
                yield job

        def get(self, id, default=None):
            nonlocal looked_at
            looked_at += 1
            return super().get(id, default)

    def story(queue, clock):
        nonlocal looked_at
        for _ in range(1_000):
            queue.enqueue(*JOB)
        for _ in range(999):
            queue.claim()
        name = "_jobs" if isinstance(queue, HardenedQueue) else "jobs"
        setattr(queue, name, CountingJobs(getattr(queue, name)))
        looked_at = 0
        return queue.claim().id, looked_at

    assert ("job-1000", 1_000) == run(story, JobQueue)
    assert ("job-1000", 1) == run(story, HardenedQueue)
