import pytest

both_queues = pytest.mark.parametrize("queue", ["lesson", "hardened"])


def lanes(recording):
    return {job.id: job.lane for job in recording.steps[-1].state.queues[0].jobs}


def test_bad_data_is_tried_once_and_bad_luck_as_often_as_allowed(ran, claims):
    recording = ran("dead-letters")

    assert [0] == claims(recording, "job-1")
    assert [0, 1_000, 3_000, 7_000] == claims(recording, "job-2")
    assert ["job-1", "job-2"] == [step.job for step in recording.steps if step.kind == "dead"]


@both_queues
def test_a_replay_after_the_repair_saves_the_invoice_but_not_the_bad_address(ran, claims, queue):
    recording = ran(f"dead-letters?renderer_fixed_at_ms=60000&replay_at_ms=60000&queue={queue}")

    assert [0, 60_000] == claims(recording, "job-1")
    assert [0, 1_000, 3_000, 7_000, 60_000] == claims(recording, "job-2")
    assert {"job-1": "dead", "job-2": "done"} == lanes(recording)
    assert recording.printed[-1].startswith("dead letters: ['job-1 after 1 attempt(s): not an e-mail address")


@both_queues
def test_a_replay_without_a_repair_fails_as_often_again(ran, claims, queue):
    recording = ran(f"dead-letters?replay_at_ms=60000&queue={queue}")

    assert [60_000, 61_000, 63_000, 67_000] == claims(recording, "job-2")[4:]
    assert {"job-1": "dead", "job-2": "dead"} == lanes(recording)
    assert {4} == {job.attempts for job in recording.steps[-1].state.queues[0].jobs if job.id == "job-2"}


@both_queues
def test_a_replay_is_seen_as_one_and_adds_no_job(ran, queue):
    recording = ran(f"dead-letters?replay_at_ms=60000&queue={queue}")

    assert ["job-1", "job-2"] == [step.job for step in recording.steps if step.kind == "replay"]
    jobs = recording.steps[-1].state.queues[0]
    assert (2, 2, 2) == (jobs.enqueued, jobs.replayed, len(jobs.jobs))


def test_only_what_is_dead_by_then_is_replayed(ran):
    recording = ran("dead-letters?replay_at_ms=5000")

    assert ["job-1"] == [step.job for step in recording.steps if step.kind == "replay"]
    assert "t=0s the operator replays 0 dead letter(s)" in ran("dead-letters?replay_at_ms=0").printed


def test_what_happens_at_one_moment_is_first_the_replay_and_then_the_claim(ran):
    recording = ran("dead-letters?replay_at_ms=1000")

    assert ["replay", "claim"] == [
        step.kind for step in recording.steps if step.at_ms == 1_000 and step.job == "job-1"
    ][:2]


def test_an_error_that_goes_away_costs_attempts_and_nothing_else(ran, claims):
    recording = ran("dead-letters?renderer_fixed_at_ms=2000")

    assert [0, 1_000, 3_000] == claims(recording, "job-2")
    assert {"job-1": "dead", "job-2": "done"} == lanes(recording)


def test_a_good_address_gets_its_receipt(ran):
    recording = ran("dead-letters?email=bola@example.com")

    assert ["receipt for order 1002 sent to bola@example.com"] == [e.what for e in recording.steps[-1].state.effects]
    assert {"job-1": "done", "job-2": "dead"} == lanes(recording)


def test_a_job_that_is_still_tried_at_the_end_is_no_dead_letter_yet(ran):
    recording = ran("dead-letters?max_attempts=6")

    assert {"job-1": "dead", "job-2": "delayed"} == lanes(recording)
    assert "still in the queue: ['job-2']" in recording.printed
    assert [31_000] == [job.run_at_ms for job in recording.steps[-1].state.queues[0].jobs if job.id == "job-2"]


@pytest.mark.parametrize("max_attempts", [1, 4, 5])
def test_the_20_s_after_a_replay_are_enough_for_5_attempts(ran, claims, max_attempts):
    recording = ran(f"dead-letters?replay_at_ms=60000&max_attempts={max_attempts}")

    assert 2 * max_attempts == len(claims(recording, "job-2"))
    assert {"job-1": "dead", "job-2": "dead"} == lanes(recording)


def test_an_address_with_quotes_is_printed_as_python_does(ran):
    assert (
        """dead letters: ['job-1 after 1 attempt(s): not an e-mail address: "it\\'s"',"""
        in ran("dead-letters?email=it's").printed[-1]
    )
