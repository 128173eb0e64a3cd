from urllib.parse import parse_qsl

import pytest

from lessons import contents, params


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
