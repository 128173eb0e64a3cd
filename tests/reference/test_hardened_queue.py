"""What only the hardened queue has."""

from dataclasses import FrozenInstanceError, replace

import pytest

from lessons.reference import hardened_queue
from lessons.reference.hardened_queue import HardenedQueue, IdConflict
from lessons.reference.job_queue import QueueOptions

JOB = ("render-invoice", {"order_id": 1001})


def claim_all(queue):
    jobs = []
    while (job := queue.claim()) is not None:
        jobs.append(job)
    return jobs


# Receipts


def test_each_claim_has_a_receipt_of_its_own(make_hardened, clock):
    queue = make_hardened()
    queue.enqueue(*JOB)
    queue.enqueue(*JOB)
    receipts = [job.receipt for job in claim_all(queue)]
    clock.advance(30_000)
    receipts += [job.receipt for job in claim_all(queue)]

    assert ["job-1#1", "job-2#2", "job-1#3", "job-2#4"] == receipts


@pytest.mark.parametrize("id", ["", "#", "a#1", "a#b#2"])
def test_an_id_may_look_like_a_receipt(make_hardened, id):
    queue = make_hardened()
    queue.enqueue(*JOB, id=id)
    receipt = queue.claim().receipt

    assert "lost" == queue.ack(id)
    assert "done" == queue.ack(receipt)


@pytest.mark.parametrize("settle", ["ack", "fail", "release"])
def test_a_receipt_settles_its_job_once(make_hardened, settle):
    queue = make_hardened()
    queue.enqueue(*JOB)
    receipt = queue.claim().receipt
    if settle == "fail":
        queue.fail(receipt, "503")
    else:
        getattr(queue, settle)(receipt)

    assert ["lost", "lost"] == [queue.ack(receipt), queue.fail(receipt, "503")]
    assert [False, False] == [queue.renew(receipt), queue.release(receipt)]


def test_a_report_after_the_lease_counts_as_long_as_nobody_else_has_the_job(make_hardened, clock):
    queue = make_hardened()
    queue.enqueue(*JOB)
    receipt = queue.claim().receipt
    clock.advance(50_000)

    assert "done" == queue.ack(receipt)


def test_a04_a_failure_after_the_release_is_lost(make_hardened, clock):
    queue = make_hardened()
    queue.enqueue(*JOB)
    receipt = queue.claim().receipt
    clock.advance(15_000)

    assert queue.release(receipt)
    clock.advance(1)
    assert "lost" == queue.fail(receipt, "shutting down")
    assert 1 == queue.pending


# Attempts


def test_a_job_dies_at_the_claim_that_would_be_one_too_many_and_the_next_gets_its_turn(make_hardened, clock):
    queue = make_hardened(max_attempts=1)
    queue.enqueue(*JOB, id="killer")
    queue.claim()
    queue.enqueue(*JOB, id="good")
    clock.advance(30_000)

    assert [] == queue.dead
    assert "good" == queue.claim().id
    assert [("killer", 1, "lease expired", 0)] == [
        (job.id, job.attempts, job.last_error, job.leased_until_ms) for job in queue.dead
    ]


def test_an_ack_that_comes_after_the_job_was_buried_is_lost(make_hardened, clock):
    queue = make_hardened(max_attempts=1)
    queue.enqueue(*JOB)
    receipt = queue.claim().receipt
    clock.advance(30_000)
    queue.claim()

    assert "lost" == queue.ack(receipt)
    assert 1 == len(queue.dead)


def test_an_error_reported_at_the_last_attempt_is_kept(make_hardened, clock):
    queue = make_hardened(max_attempts=1)
    queue.enqueue(*JOB)
    receipt = queue.claim().receipt
    clock.advance(30_000)
    queue.fail(receipt, "out of memory")

    assert ["out of memory"] == [job.last_error for job in queue.dead]


# Renew and release


def test_a_renewed_lease_ends_later(make_hardened, clock):
    queue = make_hardened()
    queue.enqueue(*JOB)
    receipt = queue.claim().receipt
    for _ in range(3):
        clock.advance(29_999)
        assert queue.claim() is None
        assert queue.renew(receipt)

    assert 3 * 29_999 + 30_000 == queue.jobs["job-1"].leased_until_ms
    clock.advance(30_000)
    assert 2 == queue.claim().attempts


def test_l01_renewing_keeps_a_long_job_in_one_pair_of_hands(make_hardened, clock):
    queue = make_hardened()
    queue.enqueue(*JOB)
    job = queue.claim()
    for _ in range(4):
        clock.advance(10_000)
        queue.renew(job.receipt)
        assert queue.claim() is None

    assert (40_000, 1, "done") == (clock.now(), job.attempts, queue.ack(job.receipt))


def test_l03_a_late_renewal_does_not_stretch_the_lease_of_another(make_hardened, clock):
    queue = make_hardened()
    queue.enqueue(*JOB)
    a = queue.claim().receipt
    clock.advance(30_000)
    b = queue.claim().receipt
    clock.advance(20_000)

    assert not queue.renew(a)
    assert 60_000 == queue.jobs["job-1"].leased_until_ms
    assert queue.renew(b)
    assert 80_000 == queue.jobs["job-1"].leased_until_ms


def test_a03_a_released_job_is_due_at_once_and_its_attempt_is_counted(make_hardened, clock):
    queue = make_hardened()
    queue.enqueue(*JOB)
    receipt = queue.claim().receipt
    clock.advance(15_000)

    assert queue.release(receipt)
    assert (15_000, 2) == (clock.now(), queue.claim().attempts)


def test_a_released_job_keeps_its_place(make_hardened):
    queue = make_hardened()
    queue.enqueue(*JOB, id="first")
    queue.enqueue(*JOB, id="second")
    queue.release(queue.claim().receipt)

    assert ["first", "second"] == [job.id for job in claim_all(queue)]


def test_a_job_released_at_its_last_attempt_has_none_left(make_hardened):
    queue = make_hardened(max_attempts=1)
    queue.enqueue(*JOB)
    queue.release(queue.claim().receipt)

    assert queue.claim() is None
    assert ["released"] == [job.last_error for job in queue.dead]


# Replay


def test_a_replayed_job_has_a_new_budget_and_its_history(make_hardened, clock):
    queue = make_hardened(max_attempts=2)
    queue.enqueue(*JOB)
    for _ in range(2):
        queue.fail(queue.claim().receipt, "503")
        clock.advance(1_000)

    assert queue.replay("job-1")
    job = queue.jobs["job-1"]
    assert (0, 1, "503", 2_000) == (job.attempts, job.replays, job.last_error, job.run_at_ms)
    assert [] == queue.dead
    assert "retry" == queue.fail(queue.claim().receipt, "503")


def test_a_replayed_job_goes_to_the_end(make_hardened):
    queue = make_hardened()
    queue.enqueue(*JOB, id="dead")
    queue.fail(queue.claim().receipt, "gone", permanent=True)
    queue.enqueue(*JOB, id="waiting")
    queue.replay("dead")

    assert ["waiting", "dead"] == list(queue.jobs) == [job.id for job in claim_all(queue)]


def test_only_a_dead_letter_can_be_replayed(make_hardened):
    queue = make_hardened()
    queue.enqueue(*JOB)
    answers = [queue.replay("job-1"), queue.replay("job-2")]
    queue.ack(queue.claim().receipt)

    assert [False] * 3 == [*answers, queue.replay("job-1")]


def test_a_job_can_be_replayed_again_and_again(make_hardened):
    queue = make_hardened()
    queue.enqueue(*JOB)
    for replays in range(3):
        assert replays == queue.jobs["job-1"].replays
        queue.fail(queue.claim().receipt, "gone", permanent=True)
        assert queue.replay("job-1")


# Ids


@pytest.mark.parametrize("remember_ms", [0, 1, 86_400_000])
def test_an_id_is_known_for_remember_ms_after_the_ack(make_hardened, clock, remember_ms):
    queue = make_hardened(remember_ms=remember_ms)
    queue.enqueue(*JOB, id="order-1")
    clock.advance(7_000)
    queue.ack(queue.claim().receipt)
    if remember_ms:
        clock.advance(remember_ms - 1)
        queue.enqueue(*JOB, id="order-1")
        assert 0 == queue.pending
        clock.advance(1)
    queue.enqueue(*JOB, id="order-1")

    assert 1 == queue.pending


def in_queue(queue):
    pass


def leased(queue):
    queue.claim()


def delayed(queue):
    queue.fail(queue.claim().receipt, "503")


def dead(queue):
    queue.fail(queue.claim().receipt, "gone", permanent=True)


def done(queue):
    queue.ack(queue.claim().receipt)


@pytest.mark.parametrize("happens", [in_queue, leased, delayed, dead, done])
def test_whatever_became_of_a_job_its_id_is_known(make_hardened, happens):
    queue = make_hardened()
    queue.enqueue("credit-points", {"points": 204}, id="k")
    happens(queue)
    before = dict(queue.jobs), queue.dead

    assert "k" == queue.enqueue("credit-points", {"points": 204}, id="k")
    for type, payload in (("credit-points", {"points": 500}), ("take-points", {"points": 204})):
        with pytest.raises(IdConflict):
            queue.enqueue(type, payload, id="k")
    assert before == (dict(queue.jobs), queue.dead)


def test_an_id_conflict_does_not_show_the_payload(make_hardened):
    queue = make_hardened()
    queue.enqueue("send-link", {"token": "SECRET-123"}, id="k")
    with pytest.raises(IdConflict) as conflict:
        queue.enqueue("send-link", {"token": "SECRET-456"}, id="k")

    assert "SECRET" not in str(conflict.value)


@pytest.mark.parametrize("happens", [in_queue, dead, done])
def test_the_queue_never_gives_an_id_that_is_known(make_hardened, happens):
    queue = make_hardened()
    queue.enqueue(*JOB, id="job-1")
    queue.enqueue(*JOB, id="job-2")
    happens(queue)

    assert ["job-3", "job-4"] == [queue.enqueue(*JOB) for _ in range(2)]


@pytest.mark.parametrize("remember_ms", [-1, 0.5, float("nan"), True, None])
def test_a_memory_without_sense_is_refused(clock, remember_ms):
    with pytest.raises(ValueError) as refused:
        HardenedQueue(clock, QueueOptions(5, 30_000, lambda attempt: 0), remember_ms=remember_ms)

    assert f"remember_ms must be a whole number, 0 or more, not {remember_ms!r}" == str(refused.value)


def test_a_job_under_a_used_id_does_not_inherit_the_place_of_the_first_one(make_hardened, clock):
    queue = make_hardened(remember_ms=0)
    queue.enqueue(*JOB, id="again")
    queue.ack(queue.claim().receipt)
    queue.enqueue(*JOB, id="other")
    clock.advance(30_000)  # now the first lease would have ended
    queue.enqueue(*JOB, id="again")

    assert ["other", "again"] == [job.id for job in claim_all(queue)]


# Copies


def test_what_was_handed_out_never_changes(make_hardened, clock):
    queue = make_hardened(max_attempts=2)
    queue.enqueue(*JOB)
    seen = []
    for _ in range(2):
        seen += [queue.jobs["job-1"], queue.claim()]
        clock.advance(30_000)
    queue.claim()
    seen += queue.dead
    copies = [replace(job) for job in seen]
    queue.replay("job-1")
    queue.ack(queue.claim().receipt)

    assert copies == seen
    assert [0, 1, 1, 2, 2] == [job.attempts for job in seen]


def test_nobody_can_change_the_queue_from_outside(make_hardened):
    queue = make_hardened()
    queue.enqueue("pick-items", {"items": ["rice"]})
    job = queue.claim()
    with pytest.raises(FrozenInstanceError):
        job.attempts = 0
    with pytest.raises(TypeError):
        del queue.jobs["job-1"]
    for shown in (job, queue.jobs["job-1"]):
        shown.payload["items"].append("beans")
    queue.fail(job.receipt, "gone", permanent=True)
    queue.dead[0].payload.clear()
    queue.dead.clear()

    assert [{"items": ["rice"]}] == [letter.payload for letter in queue.dead]


# A clock that is set back


class FreeClock:
    now_ms = 10_000

    def now(self):
        return self.now_ms


def test_no_job_is_lost_when_the_clock_is_set_back():
    clock = FreeClock()
    queue = HardenedQueue(clock, QueueOptions(5, 30_000, lambda attempt: 1_000))
    for id in ("first", "second", "third"):
        queue.enqueue(*JOB, id=id)
    queue.claim()
    clock.now_ms = 5_000
    assert queue.claim() is None
    queue.enqueue(*JOB, id="fourth")
    assert "fourth" == queue.claim().id
    clock.now_ms = 10_000

    assert ["second", "third"] == [job.id for job in claim_all(queue)]


def test_an_id_that_is_acked_after_the_clock_was_set_back_is_forgotten_in_time():
    clock = FreeClock()
    queue = HardenedQueue(clock, QueueOptions(5, 30_000, lambda attempt: 1_000), remember_ms=1_000)
    for id, clock.now_ms in (("first", 10_000), ("second", 5_000)):
        queue.enqueue(*JOB, id=id)
        queue.ack(queue.claim().receipt)
    clock.now_ms = 6_000
    for id in ("first", "second"):
        queue.enqueue(*JOB, id=id)

    assert ["second"] == list(queue.jobs)


# Cost


@pytest.fixture
def heap_calls(monkeypatch):
    calls = []
    for name in ("heappush", "heappop"):
        heap_function = getattr(hardened_queue, name)
        monkeypatch.setattr(
            hardened_queue, name, lambda *args, run=heap_function: (calls.append(len(args[0])), run(*args))[1]
        )
    return calls


@pytest.mark.parametrize("jobs", [10, 100, 2_000])
def test_the_life_of_a_job_takes_a_fixed_number_of_steps_on_a_heap(make_hardened, clock, heap_calls, jobs):
    queue = make_hardened(max_attempts=3)
    for _ in range(jobs):
        queue.enqueue(*JOB)
    for settle in (queue.release, lambda receipt: queue.fail(receipt, "503"), queue.ack):
        for job in claim_all(queue):
            queue.renew(job.receipt)
            settle(job.receipt)
        clock.advance(30_000)

    assert 0 == queue.pending
    # In each of 3 rounds an entry for claim, renewal and end, each pushed and popped twice at most.
    assert len(heap_calls) <= 3 * 3 * 4 * jobs


def test_claim_does_not_walk_past_the_jobs_that_others_hold(make_hardened, heap_calls):
    queue = make_hardened()
    for _ in range(2_001):
        queue.enqueue(*JOB)
    for _ in range(2_000):
        queue.claim()
    heap_calls.clear()

    assert "job-2001" == queue.claim().id
    assert len(heap_calls) <= 4


@pytest.mark.parametrize("jobs", [1, 100])
def test_outdated_entries_do_not_pile_up(make_hardened, jobs):
    queue = make_hardened(max_attempts=10**6, backoff=lambda attempt: 0)
    for _ in range(jobs):
        queue.enqueue(*JOB)
    most = 0
    for turn in range(10_000):
        receipt = queue.claim().receipt
        queue.renew(receipt)
        if turn % 2:
            queue.release(receipt)
        else:
            queue.fail(receipt, "503")
        most = max(most, len(queue._due) + len(queue._later))

    assert most <= 2 * jobs + 11
    assert jobs == queue.pending


def test_ids_do_not_pile_up_once_they_are_forgotten(make_hardened, clock):
    queue = make_hardened(remember_ms=1_000)
    most = 0
    for _ in range(5_000):
        queue.enqueue(*JOB)
        queue.ack(queue.claim().receipt)
        clock.advance(10)
        most = max(most, len(queue._done), len(queue._forget_at))

    assert most <= 101
