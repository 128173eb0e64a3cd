import ast

import pytest

from lessons import contents, excerpts
from lessons.excerpts import LESSONS

QUEUE = "reference/job_queue.py"
REFERENCE = sorted(path.relative_to(LESSONS).as_posix() for path in (LESSONS / "reference").glob("*.py"))


def lines_of(file):
    return (LESSONS / file).read_text(encoding="utf-8").splitlines()


def line_with(file, text):
    """The number of the only line with this text."""
    (number,) = [number for number, line in enumerate(lines_of(file), start=1) if text in line]
    return number


def test_a_function_is_found_by_its_name():
    excerpt = excerpts.named("reference/clock.py", "seconds")

    assert ("reference/clock.py", "seconds") == (excerpt.file, excerpt.name)
    assert "def seconds(ms: int) -> str:" == excerpt.lines[0]
    assert excerpt.lines[-1].startswith("    return ")


def test_a_method_is_found_by_its_class_and_name():
    excerpt = excerpts.named(QUEUE, "JobQueue.claim")

    assert "    def claim(self) -> Job | None:" == excerpt.lines[0]
    assert "        return None" == excerpt.lines[-1]


def test_a_class_is_found_whole():
    excerpt = excerpts.named(QUEUE, "JobQueue")
    claim = excerpts.named(QUEUE, "JobQueue.claim")

    assert "class JobQueue:" == excerpt.lines[0]
    assert claim.text in excerpt.text


def test_decorators_belong_to_what_they_decorate():
    assert "@dataclass(frozen=True)" == excerpts.named(QUEUE, "QueueOptions").lines[0]
    assert "    @property" == excerpts.named(QUEUE, "JobQueue.pending").lines[0]


@pytest.mark.parametrize(
    ("file", "name", "first"),
    [
        ("reference/idempotent_consumer.py", "KOBO_PER_POINT", "KOBO_PER_POINT = 10_000"),
        ("reference/idempotent_consumer.py", "SCHEMA", 'SCHEMA = """'),
        ("reference/idempotent_consumer.py", "OrderPaid.message_id", "    message_id: str"),
        ("s03_retries/demo.py", "Params.max_attempts", "    max_attempts: int = params.whole("),
    ],
)
def test_a_constant_and_a_field_are_found(file, name, first):
    assert first == excerpts.named(file, name).lines[0]


def test_a_text_over_several_lines_is_whole():
    assert ('SCHEMA = """', '"""') == (
        excerpts.named("reference/outbox.py", "SCHEMA").lines[0],
        excerpts.named("reference/outbox.py", "SCHEMA").lines[-1],
    )


@pytest.mark.parametrize("file", REFERENCE)
def test_an_excerpt_is_what_stands_in_the_file(file):
    source = lines_of(file)
    names = [node.name for node in ast.parse("\n".join(source)).body if hasattr(node, "name")]
    for name in names:
        excerpt = excerpts.named(file, name)
        first = excerpt.first_line

        assert tuple(source[first - 1 : first - 1 + len(excerpt.lines)]) == excerpt.lines
        assert excerpt.lines[0].startswith(("def ", "class ", "@"))
        assert name in excerpt.text
        assert "\n".join(excerpt.lines) == excerpt.text
        ast.parse(excerpt.text)


@pytest.mark.parametrize("name", ["nothing", "claim", "JobQueue.nothing", "Job.claim", ""])
def test_an_unknown_name_is_an_error_that_tells_the_known_ones(name):
    with pytest.raises(LookupError, match=r"JobQueue\.claim"):
        excerpts.named(QUEUE, name)


def test_a_line_is_shown_in_its_method():
    line = line_with(QUEUE, "job.attempts += 1")
    excerpt = excerpts.around(QUEUE, line)

    assert "JobQueue.claim" == excerpt.name
    assert "job.attempts += 1" in excerpt.lines[line - excerpt.first_line]


def test_a_line_of_an_inner_function_is_shown_in_the_outermost():
    file = "s03_retries/demo.py"
    excerpt = excerpts.around(file, line_with(file, 'raise ConnectionError("mail provider'))

    assert "run" == excerpt.name


def test_the_first_and_the_last_line_belong_to_the_function():
    claim = excerpts.named(QUEUE, "JobQueue.claim")
    last_line = claim.first_line + len(claim.lines) - 1

    assert claim == excerpts.around(QUEUE, claim.first_line) == excerpts.around(QUEUE, last_line)


def test_a_decorator_belongs_to_its_method():
    pending = excerpts.named(QUEUE, "JobQueue.pending")

    assert pending == excerpts.around(QUEUE, pending.first_line)


@pytest.mark.parametrize("text", ['"""A job queue with leases.', "class JobQueue:", "    max_attempts: int"])
def test_a_line_outside_of_every_function_is_an_error(text):
    line = line_with(QUEUE, text)

    with pytest.raises(LookupError, match=str(line)):
        excerpts.around(QUEUE, line)


@pytest.mark.parametrize("section", contents.sections(), ids=lambda section: section.slug)
def test_each_step_of_a_run_has_a_listing_with_its_line(section):
    for step in section.record(section.Params()).steps:
        excerpt = excerpts.around(step.place.file, step.place.line)

        assert excerpt.first_line <= step.place.line < excerpt.first_line + len(excerpt.lines)
