"""A job that kills its workers must not be delivered for ever: it goes to the dead letters."""

from lessons.reference.clock import ManualClock, seconds
from lessons.reference.job_queue import Job, JobQueue, QueueOptions


class LimitedQueue(JobQueue):
    def claim(self) -> Job | None:
        """The first job that is due, leased; one that is due without an attempt left goes to the dead letters."""
        now = self.clock.now()
        for job in list(self.jobs.values()):  # a copy: jobs leave on the way
            if job.run_at_ms <= now and job.leased_until_ms <= now:
                if job.attempts >= self.options.max_attempts:
                    del self.jobs[job.id]
                    job.last_error = "lease expired"
                    job.leased_until_ms = 0
                    self.dead.append(job)
                    continue
                job.attempts += 1
                job.leased_until_ms = now + self.options.visibility_ms
                return job
        return None


if __name__ == "__main__":
    clock = ManualClock()
    queue = LimitedQueue(clock, QueueOptions(max_attempts=3, visibility_ms=30_000, backoff=lambda attempt: 1_000))
    queue.enqueue("render-invoice", {"order_id": 1003})
    for _ in range(5):
        job = queue.claim()
        found = f"{job.id}, attempt {job.attempts}: the worker dies" if job else "nothing to do"
        print(f"t={seconds(clock.now())}s {found}")
        clock.advance(30_000)
    print("dead letters:", [f"{letter.id} after {letter.attempts}: {letter.last_error}" for letter in queue.dead])
