import sqlite3
from contextlib import closing

import pytest

from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import JobQueue, QueueOptions


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture(params=[JobQueue, HardenedQueue], ids=["lesson", "hardened"])
def make_queue(request, clock):
    """Each test that asks for it runs on both queues."""

    def make(max_attempts=5, visibility_ms=30_000, backoff=lambda attempt: 1_000):
        return request.param(clock, QueueOptions(max_attempts, visibility_ms, backoff))

    return make


@pytest.fixture
def make_hardened(clock):
    def make(max_attempts=5, visibility_ms=30_000, backoff=lambda attempt: 1_000, **options):
        return HardenedQueue(clock, QueueOptions(max_attempts, visibility_ms, backoff), **options)

    return make


@pytest.fixture
def db():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection
