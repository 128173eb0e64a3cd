from collections import Counter

import pytest

HOUR = "provider_up_at_ms=3600000"
HERD = "receipts=50&base_ms=8000&provider_up_at_ms=10000"


def dead(recording):
    return [job.attempts for job in recording.steps[-1].state.queues[0].jobs if job.lane == "dead"]


def test_the_receipt_goes_out_at_the_first_attempt_after_the_outage(ran, claims):
    recording = ran("retries")

    assert [0, 1_000, 3_000, 7_000] == claims(recording, "job-1")
    assert [0] == claims(recording, "job-2"), "the invoice does not wait for the receipt"
    assert [7_000] == [effect.at_ms for effect in recording.steps[-1].state.effects]


@pytest.mark.parametrize("queue", ["lesson", "hardened"])
@pytest.mark.parametrize("most", [1, 2, 3, 5, 7])
def test_max_attempts_counts_the_first_try(ran, claims, most, queue):
    recording = ran(f"retries?{HOUR}&max_attempts={most}&queue={queue}")

    assert [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000][:most] == claims(recording, "job-1")
    assert [most] == dead(recording)


@pytest.mark.parametrize(
    ("query", "last_call_ms", "given_up"),
    [
        ("max_attempts=5", 15_000, True),
        ("max_attempts=65", 3_543_000, True),
        ("max_attempts=66", 3_603_000, False),
        ("max_attempts=100", 3_603_000, False),
        ("max_attempts=15&cap_ms=600000", 3_423_000, True),
        ("max_attempts=16&cap_ms=600000", 4_023_000, False),
    ],
)
def test_how_many_attempts_an_outage_of_an_hour_needs(ran, claims, query, last_call_ms, given_up):
    recording = ran(f"retries?{HOUR}&{query}")

    assert last_call_ms == claims(recording, "job-1")[-1]
    assert given_up == bool(dead(recording))


def second_attempts(recording):
    """How many second attempts fall in each second."""
    return Counter(
        step.at_ms // 1_000 for step in recording.steps if step.kind == "claim" and "attempt 2," in step.sentence
    )


def test_without_jitter_what_failed_together_comes_back_together(ran):
    recording = ran(f"retries?{HERD}")

    assert {8: 50} == second_attempts(recording)
    assert {0: 50, 8_000: 50, 24_000: 50} == Counter(
        step.at_ms for step in recording.steps if step.kind == "claim" and "send-receipt" in step.sentence
    )


def test_jitter_spreads_the_herd(ran):
    equal, full = (second_attempts(ran(f"retries?{HERD}&jitter={jitter}")) for jitter in ("equal", "full"))

    assert (16, 10) == (max(equal.values()), max(full.values()))
    assert 50 == equal.total() == full.total()
    assert (5, 8) == (min(equal), max(equal)), "half of the pause is certain"
    assert (1, 8) == (min(full), max(full))


def test_another_seed_is_another_run_and_the_same_seed_the_same(ran):
    assert ran("retries?jitter=full&seed=2") != ran("retries?jitter=full")
    assert ran("retries?jitter=full&seed=2") == ran("retries?jitter=full&seed=2")
    assert ran("retries?seed=2") == ran("retries"), "without jitter nothing is random"


@pytest.mark.parametrize("queue", ["lesson", "hardened"])
def test_a_retry_that_is_due_at_once_overtakes_a_new_job(ran, queue):
    recording = ran(f"retries?base_ms=1&jitter=full&queue={queue}")

    assert ["job-1", "job-1", "job-2"] == [step.job for step in recording.steps if step.kind == "claim"][:3]
    assert ("claim", "job-1") == (recording.steps[5].kind, recording.steps[5].job)


@pytest.mark.parametrize("queue", ["lesson", "hardened"])
def test_due_jobs_go_in_the_order_they_were_added_not_of_their_due_times(ran, queue):
    recording = ran(f"retries?receipts=2&jitter=full&seed=6&queue={queue}")
    before, claim = recording.steps[27:29]

    due = {job.id: job.run_at_ms for job in before.state.queues[0].jobs if job.lane == "waiting"}
    assert {"job-1": 1_970, "job-3": 1_523} == due
    assert ("claim", "job-1", 2_000) == (claim.kind, claim.job, claim.at_ms)
