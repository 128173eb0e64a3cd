import pytest

from lessons.reference.backoff import equal_jitter
from lessons.reference.worker import PermanentJobError, Worker


@pytest.fixture
def lines():
    return []


@pytest.fixture
def make_worker(clock, lines):
    def make(queue, log=lines.append, **handlers):
        handlers = {name.replace("_", "-"): handler for name, handler in handlers.items()}
        return Worker(queue, handlers, clock, log)

    return make


def fails_with(error):
    def handler(job):
        raise error

    return handler


def test_an_evening_without_the_mail_provider(make_queue, make_worker, clock, lines):
    queue = make_queue(backoff=equal_jitter(1_000, 60_000, lambda: 1))

    def send_receipt(job):
        if clock.now() < 5_000:
            raise ConnectionError("mail provider: 503")
        lines.append(f"  (receipt for order {job.payload['order_id']} sent to {job.payload['email']})")

    def render_invoice(job):
        lines.append(f"  (invoice-{job.payload['order_id']}.pdf rendered)")

    worker = make_worker(queue, send_receipt=send_receipt, render_invoice=render_invoice)
    queue.enqueue("send-receipt", {"order_id": 1001, "email": "ada@example.com"})
    queue.enqueue("render-invoice", {"order_id": 1001})
    while queue.pending > 0:
        worker.drain()
        clock.advance(1_000)

    assert [
        "t=0s send-receipt job-1 attempt 1: failed (mail provider: 503), retry at t=1s",
        "  (invoice-1001.pdf rendered)",
        "t=0s render-invoice job-2 attempt 1: done",
        "t=1s send-receipt job-1 attempt 2: failed (mail provider: 503), retry at t=3s",
        "t=3s send-receipt job-1 attempt 3: failed (mail provider: 503), retry at t=7s",
        "  (receipt for order 1001 sent to ada@example.com)",
        "t=7s send-receipt job-1 attempt 4: done",
    ] == lines


def test_a_permanent_error_is_dead_at_once_and_another_when_its_attempts_are_used_up(
    make_queue, make_worker, clock, lines
):
    queue = make_queue(max_attempts=2)
    worker = make_worker(
        queue,
        send_receipt=fails_with(PermanentJobError('not an e-mail address: "bola.example.com"')),
        render_invoice=fails_with(RuntimeError("the renderer crashed")),
    )
    queue.enqueue("send-receipt", {"order_id": 1002})
    queue.enqueue("render-invoice", {"order_id": 1003})
    while queue.pending > 0:
        worker.drain()
        clock.advance(1_000)

    assert [
        't=0s send-receipt job-1 attempt 1: failed (not an e-mail address: "bola.example.com"), '
        "moved to the dead-letter queue",
        "t=0s render-invoice job-2 attempt 1: failed (the renderer crashed), retry at t=1s",
        "t=1s render-invoice job-2 attempt 2: failed (the renderer crashed), moved to the dead-letter queue",
    ] == lines
    assert [("job-1", 1), ("job-2", 2)] == [(job.id, job.attempts) for job in queue.dead]


def test_run_once_says_whether_there_was_a_job(make_queue, make_worker):
    queue = make_queue()
    worker = make_worker(queue, tick=lambda job: None)
    queue.enqueue("tick", {})

    assert [True, False] == [worker.run_once(), worker.run_once()]


def test_drain_works_off_all_that_is_due_in_order(make_queue, make_worker):
    queue, seen = make_queue(), []
    for number in range(3):
        queue.enqueue("tick", {"number": number})
    make_worker(queue, tick=lambda job: seen.append(job.payload["number"])).drain()

    assert [0, 1, 2] == seen


@pytest.mark.parametrize("error, shown", [(Exception(), ""), (Exception(""), ""), (Exception("0"), "0")])
def test_the_message_of_an_error_is_kept_as_it_is(make_queue, make_worker, lines, error, shown):
    queue = make_queue(max_attempts=1)
    queue.enqueue("tick", {})
    make_worker(queue, tick=fails_with(error)).run_once()

    assert [f"t=0s tick job-1 attempt 1: failed ({shown}), moved to the dead-letter queue"] == lines
    assert [shown] == [job.last_error for job in queue.dead]


@pytest.mark.parametrize("handler", [lambda job: None, fails_with(OSError("503"))], ids=["done", "failed"])
def test_a_log_that_breaks_changes_no_outcome(make_queue, make_worker, handler):
    settled = []
    for log in (lambda line: None, fails_with(OSError("disk full"))):
        queue = make_queue()
        queue.enqueue("tick", {})
        try:
            make_worker(queue, log, tick=handler).run_once()
        except OSError as error:
            assert "disk full" == str(error)
        settled.append([(job.attempts, job.run_at_ms, job.last_error) for job in queue.jobs.values()])

    assert settled[0] == settled[1]


def test_a_crash_is_no_failure_and_settles_nothing(make_queue, make_worker, clock, lines):
    queue = make_queue()
    queue.enqueue("tick", {})
    with pytest.raises(KeyboardInterrupt):
        make_worker(queue, tick=fails_with(KeyboardInterrupt())).run_once()

    assert (1, [], None) == (queue.pending, lines, queue.claim())
    clock.advance(30_000)
    assert 2 == queue.claim().attempts


def test_a_job_without_a_handler_fails_like_any_other(make_queue, make_worker, lines):
    queue = make_queue()
    queue.enqueue("unheard-of", {})
    make_worker(queue).run_once()

    assert ["t=0s unheard-of job-1 attempt 1: failed (no handler for unheard-of), retry at t=1s"] == lines


def test_the_line_tells_time_and_attempt_of_the_start(make_queue, make_worker, clock, lines):
    queue = make_queue()
    queue.enqueue("tick", {})
    make_worker(queue, tick=lambda job: clock.advance(250)).run_once()

    assert ["t=0s tick job-1 attempt 1: done"] == lines


@pytest.mark.parametrize("handler", [lambda job: None, fails_with(OSError("503"))], ids=["ack", "fail"])
def test_a_worker_that_lost_its_lease_says_so(make_hardened, make_worker, clock, lines, handler):
    queue = make_hardened()

    def slow(job):
        clock.advance(30_000)
        queue.claim()
        handler(job)

    queue.enqueue("tick", {})
    make_worker(queue, tick=slow).run_once()

    assert lines[0].endswith("too late: the lease was lost")
    assert 2 == queue.jobs["job-1"].attempts
