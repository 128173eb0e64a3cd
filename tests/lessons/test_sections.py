"""What holds for each section, whatever it is about."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from lessons import contents, excerpts, params
from lessons.recorder import STEP_LIMIT
from lessons.recording import LANES, as_text

HEADINGS = ["What happens here", "What to watch", "What it means", "Try it"]

each_section = pytest.mark.parametrize("section", contents.sections(), ids=lambda section: section.slug)


def test_there_are_sections_each_with_its_own_name():
    sections = contents.sections()

    assert sections
    chapters = contents.chapters()
    assert list(range(1, len(chapters) + 1)) == [chapter.number for chapter in chapters]
    assert len(sections) == len({section.slug for section in sections}) == len({section.title for section in sections})


@each_section
def test_the_default_run_prints_what_is_expected(section):
    assert section.expected == as_text(section.record(section.Params()))


@each_section
def test_the_same_run_has_the_same_version(section):
    first, again = (section.record(section.Params()) for _ in range(2))

    assert first.version == again.version


@each_section
def test_the_default_run_is_short_enough_to_walk_through(section):
    recording = section.record(section.Params())

    assert not recording.limit_reached
    assert len(recording.steps) <= 60


def texts(kind):
    """All that may be asked of a field, as a person would write it."""
    match kind:
        case params.Whole(low=low, high=high):
            numbers = st.integers(low, high).map(str)
            return st.just("never") | numbers if isinstance(kind, params.WholeOrNever) else numbers
        case params.Choice() | params.Flag():
            return st.sampled_from([value for value, _ in kind.options])
        case params.Text(max_length=max_length):
            printable = st.characters(codec="utf-8", exclude_categories=("C", "Z"))
            return st.just("@") | st.text(printable, min_size=1, max_size=max_length)
    raise AssertionError(f"no texts for {kind}")


@each_section
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_is_asked_the_run_is_sound(section, data):
    fields = {field.name: texts(field.kind) for field in params.fields(section.Params)}
    try:
        asked = params.read(section.Params, data.draw(st.fixed_dictionaries({}, optional=fields)))
    except params.Invalid:
        reject()  # values that do not go together

    recording = section.record(asked)
    steps = recording.steps

    assert recording == section.record(asked), "the same program with the same values does the same"
    assert asked == params.read(section.Params, params.query(asked)), "an address can repeat the run"
    assert recording.limit_reached == (steps[-1].kind == "limit") == (len(steps) == STEP_LIMIT)
    assert list(range(1, len(steps) + 1)) == [step.number for step in steps]
    times = [step.at_ms for step in steps]
    assert sorted(times) == times, "time never goes back"
    queues = {id(queue): queue for step in steps for queue in step.state.queues}.values()
    assert [] == [queue for queue in queues if not queue.balanced]
    assert {job.lane for queue in queues for job in queue.jobs} <= set(LANES)
    assert all(step.sentence for step in steps)
    for place in {step.place for step in steps}:
        assert place, "each step has a line"
        assert excerpts.around(place.file, place.line), "the line is in a function that can be shown"


def others(kind, default):
    """A few values that are not the default, to see whether any of them matters."""
    match kind:
        case params.Whole(low=low, high=high):
            found = [low, high, low + 1, *(default * k // 2 for k in (1, 3, 4) if default), (low + high) // 2]
            return sorted({value for value in found if low <= value <= high} - {default})
        case params.Choice():
            return [value for value, _ in kind.options if value != default]
        case params.Flag():
            return [not default]
        case params.Text(max_length=max_length):
            return [(default + "@")[:max_length], "x", default.partition(" ")[0]]
    raise AssertionError(f"no values for {kind}")


@each_section
def test_no_parameter_is_without_effect(section):
    """Each changes the default run, or one in which another parameter is changed too."""
    fields = params.fields(section.Params)
    changes = [{field.name: value} for field in fields for value in others(field.kind, field.default)]
    recordings = {}

    def recorded(values):
        key = tuple(sorted(values.items()))
        if key not in recordings:
            asked = section.Params(**values)
            fit = not getattr(asked, "conflicts", dict)()
            recordings[key] = section.record(asked) if fit else None
        return recordings[key]

    def matters(name):
        return any(
            recorded(around | change) not in (None, recorded(around))
            for around in [{}, *changes]
            if name not in around and recorded(around)
            for change in changes
            if name in change
        )

    assert [] == [field.name for field in fields if not matters(field.name)]


@each_section
def test_every_parameter_has_a_label(section):
    for field in params.fields(section.Params):
        assert field.label, field.name


@each_section
def test_the_text_says_what_happens_what_to_watch_what_it_means_and_what_to_try(section):
    assert section.title
    assert re.fullmatch(r"[^#{]*[.?!]", section.summary)
    headings = re.findall(r"^## (.+)$", section.text, re.MULTILINE)
    assert HEADINGS == [heading for heading in headings if heading in HEADINGS]
    assert 3 <= len(re.findall(r"^- ", section.text.partition("## Try it")[2], re.MULTILINE)) <= 6


@each_section
def test_all_source_that_the_text_quotes_is_there(section):
    for line in re.findall(r"^.*\{\{.*$", section.text, re.MULTILINE):
        if re.fullmatch(r"\{\{ (fold .+|end) \}\}", line):
            continue
        quote = re.fullmatch(r"\{\{ code (\S+) (\S+) \}\}", line)
        assert quote, f"not a quote on a line of its own: {line}"
        file, name = quote.groups()
        assert excerpts.named(file if "/" in file else f"{section.folder}/{file}", name).lines


def links(section):
    """(label, section it leads to, what it asks there, step or None) for each link."""
    for label, address in re.findall(r"\[([^\]]*)\]\(([^)]*)\)", f"{section.summary}\n{section.text}"):
        url = urlsplit(address)
        if url.netloc == "zudojs.oyinlola.site":
            continue  # the source lesson's academy
        assert not url.scheme and not url.netloc, f"{address} leads out of the lesson"
        slug = url.path.strip("/") or section.slug
        if slug == "glossary" or not isinstance(there := contents.chapter(slug), contents.Section):
            continue  # words, not a run; test_checklist follows these
        asked = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
        step = asked.pop("step", None)
        found = params.read(there.Params, asked)
        yield label, there, found, len(there.record(found).steps) if step == "last" else step and int(step)


@each_section
def test_each_link_of_the_text_leads_to_a_moment_of_a_run(section):
    for label, there, asked, step in links(section):
        last = len(there.record(asked).steps)
        assert 1 <= (step or 1) <= last, f"{label}: the run has {last} steps"
        if named := re.fullmatch(r"step (\d+)", label):
            assert int(named[1]) == step, f"{label} leads to step {step}"


@each_section
def test_each_link_changes_the_run_or_leads_to_a_moment(section):
    for label, there, asked, step in links(section):
        way_there = there != section and asked == there.Params() and not step
        assert step or way_there or there.record(asked) != there.record(there.Params()), f"{label} changes nothing"
