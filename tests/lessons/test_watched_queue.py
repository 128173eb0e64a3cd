import sys
from functools import partial

import pytest

from lessons.recording import JobState
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue, IdConflict
from lessons.reference.job_queue import JobQueue, QueueOptions

OPTIONS = QueueOptions(max_attempts=2, visibility_ms=30_000, backoff=doubling(1_000, 60_000))


def test_an_enqueued_job_is_waiting(lab):
    with lab.by("the checkout"):
        lab.queue.enqueue("send-receipt", {})

    step = lab.last
    assert (1, 0, "the checkout", "enqueue", "job-1") == (
        step.number,
        step.at_ms,
        step.actor,
        step.kind,
        step.job,
    )
    assert "The checkout enqueues job-1 (send-receipt)." == step.sentence
    assert (JobState("job-1", "send-receipt", "waiting", 0, 0, 0, None, None),) == lab.jobs()


def test_a_claimed_job_is_leased_by_who_claimed_it(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        job = lab.queue.claim()

    assert "job-1" == job.id
    assert "claim" == lab.last.kind
    assert "Worker A claims job-1 (send-receipt): attempt 1, leased until t=30s." == lab.last.sentence
    assert (JobState("job-1", "send-receipt", "leased", 1, 0, 30_000, "worker A", None),) == lab.jobs()


def test_an_acked_job_is_done_and_stays_in_sight(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        assert "done" == lab.queue.ack(lab.queue.claim().receipt)

    assert "ack" == lab.last.kind
    assert "Worker A acks job-1: it is done and leaves the queue." == lab.last.sentence
    assert ("done", 1) == (lab.jobs()[0].lane, lab.jobs()[0].attempts)


def test_a_failed_job_is_delayed(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        assert "retry" == lab.queue.fail(lab.queue.claim().receipt, "mail provider: 503")

    assert "retry" == lab.last.kind
    assert "Worker A reports that job-1 failed: attempt 1 of 2, due again at t=1s." == lab.last.sentence
    assert "mail provider: 503" == lab.last.detail
    assert (JobState("job-1", "send-receipt", "delayed", 1, 1_000, 0, None, "mail provider: 503"),) == lab.jobs()


def test_a_job_that_is_due_again_is_waiting(lab):
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "503")
    lab.clock.advance(1_000)

    assert "The clock moves on 1s, to t=1s. job-1 is due again." == lab.last.sentence
    assert "waiting" == lab.jobs()[0].lane


def test_the_last_attempt_leads_to_the_dead_letters(lab):
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "503")
    lab.clock.advance(1_000)
    with lab.by("worker A"):
        assert "dead" == lab.queue.fail(lab.queue.claim().receipt, "504")

    assert "dead" == lab.last.kind
    assert "attempt 2 of 2 was the last" in lab.last.sentence
    assert ("dead", 2, "504") == (lab.jobs()[0].lane, lab.jobs()[0].attempts, lab.jobs()[0].last_error)


def test_a_permanent_error_leads_there_at_once(lab):
    lab.queue.enqueue("send-receipt", {})
    assert "dead" == lab.queue.fail(lab.queue.claim().receipt, "no such address", permanent=True)

    assert "dead" == lab.last.kind
    assert "the error is permanent" in lab.last.sentence


def test_a_look_that_finds_nothing_says_why(lab):
    with lab.by("worker A"):
        lab.queue.claim()
        lab.queue.enqueue("send-receipt", {})
        lab.queue.claim()
        lab.queue.claim()

    assert ["idle", "enqueue", "claim", "idle"] == lab.kinds()
    assert "Worker A asks for a job: the queue is empty." == lab.steps[0].sentence
    assert (
        "Worker A asks for a job: nothing is due before t=30s, when worker A's lease on job-1 ends."
        == lab.steps[3].sentence
    )


def test_a_repeated_id_is_ignored(lab):
    lab.queue.enqueue("send-receipt", {}, "order-1001")
    lab.queue.enqueue("send-receipt", {}, "order-1001")

    assert "ignored" == lab.last.kind
    assert "still in the queue" in lab.last.sentence
    assert 1 == lab.last.state.queues[0].enqueued == len(lab.jobs())


def test_a_repeated_id_is_ignored_when_the_queue_remembers_it(hardened):
    hardened.queue.enqueue("send-receipt", {}, "order-1001")
    hardened.queue.ack(hardened.queue.claim().receipt)
    hardened.queue.enqueue("send-receipt", {}, "order-1001")

    assert "ignored" == hardened.last.kind
    assert "is still known" in hardened.last.sentence


def test_a_lease_that_ends_is_a_step_of_its_own(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        lab.queue.claim()
    lab.clock.advance(29_999)
    assert "advance" == lab.last.kind
    assert "leased" == lab.jobs()[0].lane

    lab.clock.advance(1)

    assert ["advance", "lease expired"] == lab.kinds()[-2:]
    assert "job-1" == lab.last.job
    assert "Worker A's lease on job-1 ended at t=30s" in lab.last.sentence
    assert ("waiting", None) == (lab.jobs()[0].lane, lab.jobs()[0].holder)


def test_the_lessons_queue_lets_a_late_ack_settle_anothers_delivery(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        job = lab.queue.claim()
    lab.clock.advance(30_000)
    with lab.by("worker B"):
        lab.queue.claim()
    with lab.by("worker A"):
        lab.queue.ack(job.receipt)
    assert "Worker A acks job-1, although worker B holds it now" in lab.last.sentence

    with lab.by("worker B"):
        lab.queue.ack(job.receipt)
        assert "ack" == lab.last.kind
        assert "no such job" in lab.last.sentence
        lab.queue.fail(job.receipt, "already charged")

    assert "fail" == lab.last.kind
    assert "no such job" in lab.last.sentence
    assert ["done"] == [job.lane for job in lab.jobs()]


def test_the_hardened_queue_refuses_what_comes_too_late(hardened):
    hardened.queue.enqueue("send-receipt", {})
    with hardened.by("worker A"):
        job = hardened.queue.claim()
    hardened.clock.advance(30_000)
    with hardened.by("worker B"):
        hardened.queue.claim()

    with hardened.by("worker A"):
        for settle in (hardened.queue.ack, hardened.queue.renew, hardened.queue.release):
            settle(job.receipt)
            assert ("lost", "job-1") == (hardened.last.kind, hardened.last.job)
        hardened.queue.fail(job.receipt, "503")

    assert ("lost", "job-1") == (hardened.last.kind, hardened.last.job)
    assert "worker B" == hardened.jobs()[0].holder


def test_a_renewed_lease_ends_later(hardened):
    hardened.queue.enqueue("send-receipt", {})
    with hardened.by("worker A"):
        job = hardened.queue.claim()
        hardened.clock.advance(10_000)
        assert hardened.queue.renew(job.receipt)

    assert "Worker A renews its lease on job-1, now until t=40s." == hardened.last.sentence
    assert 40_000 == hardened.jobs()[0].leased_until_ms


def test_a_released_job_is_waiting(hardened):
    hardened.queue.enqueue("send-receipt", {})
    assert hardened.queue.release(hardened.queue.claim().receipt)

    assert "release" == hardened.last.kind
    assert "waiting" == hardened.jobs()[0].lane


def test_a_claim_may_send_another_job_to_the_dead_letters(hardened):
    hardened.queue.enqueue("send-receipt", {}, "poison")
    for _ in range(2):
        hardened.queue.claim()
        hardened.clock.advance(30_000)
    hardened.queue.enqueue("send-receipt", {}, "good")
    with hardened.by("worker A"):
        assert "good" == hardened.queue.claim().id

    assert ["dead", "claim"] == hardened.kinds()[-2:]
    assert "poison" == hardened.steps[-2].job
    assert "2 attempts are used up" in hardened.steps[-2].sentence


def test_a_replay_moves_a_dead_letter_back(hardened):
    hardened.queue.enqueue("send-receipt", {})
    hardened.queue.fail(hardened.queue.claim().receipt, "no such address", permanent=True)
    assert hardened.queue.replay("job-1")

    assert ("replay", "job-1") == (hardened.last.kind, hardened.last.job)
    assert ["waiting"] == [job.lane for job in hardened.jobs()]

    assert not hardened.queue.replay("job-1")
    assert "ignored" == hardened.last.kind


def test_a_letter_that_is_enqueued_again_by_hand_is_replayed_too(lab):
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "no such address", permanent=True)
    letter = lab.queue.dead.pop()
    lab.queue.enqueue(letter.type, letter.payload, letter.id)

    (queue,) = lab.last.state.queues
    assert ("replay", "job-1") == (lab.last.kind, lab.last.job)
    assert (1, 1, ["waiting"]) == (queue.enqueued, queue.replayed, [job.lane for job in queue.jobs])
    assert queue.balanced


def test_two_queues_are_told_apart(new_lab):
    lab = new_lab()
    for name in ("email", "loyalty"):
        lab.recorder.watch_queue(JobQueue(lab.clock, OPTIONS), name).enqueue("tell", {}, f"to-{name}")

    assert [("email", "to-email"), ("loyalty", "to-loyalty")] == [
        (queue.name, job.id) for queue in lab.last.state.queues for job in queue.jobs
    ]


def test_the_line_in_the_queue_is_the_one_on_which_it_answered(lab, source):
    lab.queue.enqueue("send-receipt", {})
    assert "return id" == source(lab.last.place)
    job = lab.queue.claim()
    assert "return job" == source(lab.last.place)
    lab.queue.claim()
    assert "return None" == source(lab.last.place)
    lab.queue.fail(job.receipt, "503")
    assert 'return "retry"' == source(lab.last.place)
    lab.queue.fail("unknown", "503")
    assert 'return "dead"' == source(lab.last.place)
    lab.queue.ack(job.receipt)
    assert 'return "done"' == source(lab.last.place)
    assert {"reference/job_queue.py"} == {step.place.file for step in lab.steps}


def test_two_answers_of_one_method_have_lines_of_their_own(lab):
    lab.queue.fail("unknown", "503")
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "400", permanent=True)

    unknown, dead = (step.place.line for step in lab.steps if step.kind in ("fail", "dead"))
    assert unknown < dead


@pytest.mark.parametrize("profiler", [None, lambda *_: None])
def test_the_profile_hook_is_as_it_was(hardened, profiler):
    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        hardened.queue.enqueue("send-receipt", {}, "order-1001")
        after_a_call = sys.getprofile()
        with pytest.raises(IdConflict):
            hardened.queue.enqueue("send-receipt", {"other": "content"}, "order-1001")
        after_an_error = sys.getprofile()
    finally:
        sys.setprofile(before)

    assert after_a_call is after_an_error is profiler


@pytest.mark.parametrize("queue", [JobQueue, HardenedQueue])
def test_only_the_watched_queue_is_watched(new_lab, queue):
    before = dict(vars(queue))
    lab = new_lab(queue)
    lab.queue.enqueue("send-receipt", {})
    other = queue(lab.clock, OPTIONS)
    other.enqueue("send-receipt", {})
    other.ack(other.claim().receipt)

    assert before == dict(vars(queue))
    assert 1 == len(lab.steps)
    assert {"enqueue", "claim", "ack"}.isdisjoint(vars(other))


def test_an_answer_passes_through_unchanged(lab):
    plain = JobQueue(ManualClock(), OPTIONS)
    for call in (
        partial(JobQueue.enqueue, type="send-receipt", payload={}, id="order-1001"),
        JobQueue.claim,
        partial(JobQueue.fail, receipt="order-1001", error="503"),
        partial(JobQueue.ack, receipt="order-1001"),
    ):
        name = (call.func if isinstance(call, partial) else call).__name__
        arguments = call.keywords if isinstance(call, partial) else {}

        assert call(plain) == getattr(lab.queue, name)(**arguments)
