"""An application, and HTML and server-sent events in a shape that tests can ask."""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from lessons import contents, params
from webapp import create_app

VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
MOST_STEPS = 60  # of a changed run that is taken from a section's text


@dataclass
class Element:
    """An element of a page; `children` are elements and texts."""

    tag: str
    attrs: dict = field(default_factory=dict)
    children: list = field(default_factory=list)

    def __getitem__(self, name):
        return self.attrs[name]

    def get(self, name, default=None):
        return self.attrs.get(name, default)

    @property
    def classes(self):
        return self.get("class", "").split()

    @property
    def raw(self):
        """All text in it, to the space."""
        return "".join(child if isinstance(child, str) else child.raw for child in self.children)

    @property
    def text(self):
        """All text in it, with single spaces."""
        return " ".join(self.raw.split())

    def inside(self):
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.inside()

    def all(self, tag=None, **attrs):
        """The elements in it that match: class_="job" is one of its classes, data_job=True any value at all."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}

        def fits(element, name, value):
            if name == "class":
                return value in element.classes
            return name in element.attrs if value is True else element.get(name) == value

        return [
            element
            for element in self.inside()
            if tag in (None, element.tag) and all(fits(element, *item) for item in wanted.items())
        ]

    def one(self, tag=None, **attrs):
        found = self.all(tag, **attrs)
        assert 1 == len(found), f"{tag} {attrs}: {len(found)} of them"
        return found[0]


class Reader(HTMLParser):
    """Builds the tree, and insists that what is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(self.open[-1].children[-1])

    def handle_startendtag(self, tag, attrs):
        assert len(attrs) == len(dict(attrs)), f"<{tag}> has an attribute twice: {attrs}"
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag, f"</{tag}> at {self.getpos()} closes nothing"

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read_html(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert 1 == len(reader.open), f"not closed: {[element.tag for element in reader.open]}"
    return reader.open[0]


@dataclass
class Event:
    """One server-sent event, as a browser takes it."""

    fields: dict
    lines: list  # as they came over the wire

    @property
    def data(self):
        return self.fields.get("data", "")


def read_events(text):
    """(comments, events) of a stream that has ended."""
    comments, events = [], []
    assert text.endswith("\n\n"), "the last event has no end"
    for block in text.split("\n\n")[:-1]:
        if block.startswith(":"):
            comments.append(block)
            continue
        fields = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            fields[name] = f"{fields[name]}\n{value}" if name in fields else value
        events.append(Event(fields, block.split("\n")))
    return comments, events


@dataclass(frozen=True)
class Run:
    """A run that the lesson offers: a section and what is asked of it."""

    section: contents.Section
    query: tuple

    @property
    def path(self):
        return f"/{self.section.slug}"

    def address(self, ending="", **more):
        query = urlencode({**dict(self.query), **more})
        return f"{self.path}{ending}" + (f"?{query}" if query else "")

    @property
    def recording(self):
        return recorded(self)

    @property
    def looked_at(self):
        """Numbers of steps: all of a default run, some of another."""
        last = len(self.recording.steps)
        return sorted({*range(1, last + 1, 7 if self.query else 1), last})

    def __str__(self):
        return "&".join([self.section.slug, *(f"{name}={value}" for name, value in self.query)])


@cache
def recorded(run):
    return run.section.record(params.read(run.section.Params, dict(run.query)))


def runs():
    """The default run of each section, and the first other one that its text offers, if not long."""
    for section in contents.sections():
        found = [Run(section, ())]
        for address in re.findall(r"\]\((\?[^)]*)\)", section.text):
            asked = {name: value for name, value in parse_qsl(address[1:]) if name != "step"}
            run = Run(section, tuple(params.query(params.read(section.Params, asked)).items()))
            if run not in found and len(run.recording.steps) <= MOST_STEPS:
                found.append(run)
        yield from found[:2]


@pytest.fixture(params=contents.sections(), ids=lambda section: section.slug)
def section(request):
    """Each test that asks for it runs for each section."""
    return request.param


@pytest.fixture(params=runs(), ids=str)
def run(request):
    """Each test that asks for it runs for the default run of each section and some changed ones."""
    return request.param


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    return create_app({"TESTING": True, "DATABASE": tmp_path_factory.mktemp("kept")})


@pytest.fixture(scope="session")
def client(app):
    return app.test_client()


@pytest.fixture(scope="session")
def read():
    """read(html) -> its elements."""
    return read_html


@pytest.fixture(scope="session")
def page(app):
    """page(address) -> the page there; read once, for its address says all."""
    client = app.test_client()  # test_assets has a `client` of its own
    pages = {}

    def get(address):
        if address not in pages:
            response = client.get(address)
            assert (200, "text/html") == (response.status_code, response.mimetype), address
            pages[address] = read_html(response.text)
        return pages[address]

    return get


@pytest.fixture(scope="session")
def events():
    """events(text of a stream) -> its comments, its events."""
    return read_events


@pytest.fixture(scope="session")
def played(app):
    """played(address, **headers) -> the events of a stream, all but `done`."""
    client = app.test_client()

    def get(address, **headers):
        response = client.get(address, headers=headers)
        assert (200, "text/event-stream") == (response.status_code, response.mimetype), address
        _, found = read_events(response.text)
        assert {"event": "done", "data": "the run is over"} == found[-1].fields
        return found[:-1]

    return get


@pytest.fixture(scope="session")
def told(app):
    """told(run) -> its run.json."""
    client = app.test_client()
    return cache(lambda run: json.loads(client.get(run.address("/run.json")).data))


@pytest.fixture(scope="session")
def follow():
    """follow(address) -> (path, what it asks for); no address of the lesson asks for a thing twice."""

    def split(address):
        url = urlsplit(address)
        assert not url.netloc, f"{address} leads out of the lesson"
        query = parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query))
        assert len(query) == len(dict(query)), address
        return url.path, dict(query)

    return split
