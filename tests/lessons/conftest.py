import linecache
from urllib.parse import parse_qsl

import pytest

from lessons import contents, params
from lessons.recorder import STEP_LIMIT, Recorder
from lessons.recording import LESSONS
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import JobQueue, QueueOptions

OPTIONS = QueueOptions(max_attempts=2, visibility_ms=30_000, backoff=doubling(1_000, 60_000))


class Lab:
    """A recorder with a clock, and a queue if one is asked for."""

    def __init__(self, queue=None, step_limit=STEP_LIMIT):
        self.recorder = Recorder(step_limit)
        self.clock = self.recorder.watch_clock(ManualClock())
        self.queue = self.recorder.watch_queue(queue(self.clock, OPTIONS)) if queue else None

    @property
    def steps(self):
        return self.recorder.steps

    @property
    def last(self):
        return self.steps[-1]

    def by(self, actor):
        return self.recorder.acting(actor)

    def kinds(self):
        return [step.kind for step in self.steps]

    def jobs(self):
        (queue,) = self.last.state.queues
        return queue.jobs


@pytest.fixture(scope="session")
def new_lab():
    """The class of labs: new_lab(), new_lab(JobQueue), new_lab(step_limit=5)."""
    return Lab


@pytest.fixture
def lab():
    return Lab(JobQueue)


@pytest.fixture
def hardened():
    return Lab(HardenedQueue)


@pytest.fixture
def ran():
    """Run a section as its address asks for it: ran("retries?max_attempts=3")."""

    def record(address):
        slug, _, query = address.partition("?")
        section = contents.section(slug)
        return section.record(params.read(section.Params, dict(parse_qsl(query, strict_parsing=bool(query)))))

    return record


@pytest.fixture
def claims():
    """When a job was claimed: claims(recording, "job-1")."""

    def times(recording, job):
        return [step.at_ms for step in recording.steps if (step.kind, step.job) == ("claim", job)]

    return times


@pytest.fixture(scope="session")
def source():
    """The line of source at a place, without its indent."""

    def line(place):
        return linecache.getline(str(LESSONS / place.file), place.line).strip()

    return line
