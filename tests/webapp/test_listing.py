import pytest

from lessons import excerpts
from webapp import listing

SOURCE = '''"""A module."""


class Odd:
    def escaped(self) -> str:
        return f"<b>{'&'}</b>"  # <!-- & -->

    def long(self):
        """First.

        Second <i>.
          Third.
        """
        text = """one
two
        three"""
        return text

    async_ = 1


def with_tabs():
\tif True:
\t\treturn 'a'
'''


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """lines(name) -> the listing of a thing in SOURCE."""
    (tmp_path / "odd.py").write_text(SOURCE)
    monkeypatch.setattr(excerpts, "LESSONS", tmp_path)
    caches = (excerpts.source, excerpts.named, excerpts._definitions, listing._file)
    for kept in caches:
        kept.cache_clear()
    yield lambda name: listing.lines(excerpts.named("odd.py", name))
    for kept in caches:
        kept.cache_clear()


def every_excerpt():
    for path in sorted(excerpts.LESSONS.rglob("*.py")):
        file = path.relative_to(excerpts.LESSONS).as_posix()
        for name, _ in excerpts._definitions(file):
            yield excerpts.named(file, name)


def test_a_listing_is_the_source_to_the_letter_and_each_line_is_whole_html(read):
    for excerpt in every_excerpt():
        shown = listing.lines(excerpt)
        margins = [len(line) - len(line.lstrip()) for line in excerpt.lines if line.strip()]

        assert [line[min(margins) :] for line in excerpt.lines] == [read(line.html).raw for line in shown]
        first = excerpt.first_line
        assert list(range(first, first + len(excerpt.lines))) == [line.number for line in shown]


def test_what_looks_like_html_is_escaped(lines, read):
    signature, body = lines("Odd.escaped")

    assert "-&gt;" in signature.html
    assert [True] * 3 == [text in body.html for text in ("&lt;b&gt;", "&amp;", "&lt;!-- &amp; --&gt;")]
    assert "    return f\"<b>{'&'}</b>\"  # <!-- & -->" == read(body.html).raw
    assert {"i"} == {element.tag for element in read(body.html).inside()}


def test_an_arrow_is_one_piece_so_that_no_line_ends_in_it(lines, read):
    signature, _ = lines("Odd.escaped")

    assert ["->"] == [mark.raw for mark in read(signature.html).all("i", class_="o")]


def test_the_indentation_that_all_lines_share_is_removed(lines, read):
    assert ["def escaped", "    return "] == [read(line.html).raw[:11] for line in lines("Odd.escaped")]


def test_a_line_that_starts_at_the_margin_keeps_all_others_where_they_are(lines, read):
    shown = [read(line.html).raw for line in lines("Odd.long")]

    assert "    def long(self):" == shown[0]
    assert ["two", '        three"""'] == shown[-3:-1]


def test_each_line_of_a_long_string_is_marked(lines, read):
    marks = [[(mark["class"], mark.raw) for mark in read(line.html).all("i")] for line in lines("Odd.long")]

    assert [("c", '"""First.')] == marks[1]
    assert [] == marks[2], "an empty line has nothing to mark"
    assert [[("c", "Second <i>.")], [("c", "Third.")], [("c", '"""')]] == marks[3:6]
    assert [[("s", '"""'), ("s", "one")], [("s", "two")], [("s", "three"), ("s", '"""')]] == marks[6:9]


def test_tabs_stay(lines, read):
    assert ["def with_tabs():", "\tif True:", "\t\treturn 'a'"] == [read(line.html).raw for line in lines("with_tabs")]


def test_words_of_the_language_names_and_numbers_are_told_apart(read):
    first = listing.lines(excerpts.named("reference/clock.py", "ManualClock.advance"))
    marks = {(mark.raw, mark["class"]) for line in first for mark in read(line.html).all("i")}

    assert {("def", "k"), ("advance", "f"), ("if", "k"), ("None", "m"), ("0", "m")} <= marks


def test_source_made_to_take_the_lexer_long_is_not_lexed_that_way(monkeypatch):
    lexed = []
    lines = listing._lines
    monkeypatch.setattr(listing, "_lines", lambda source: lexed.append(source) or lines(source))
    listing.of_text("x = 1\n" + " \n" * 1_000 + "y = 1")
    plain = listing.of_text("<" * (listing.MOST_MARKED + 1))

    assert ["x = 1\n" + "\n" * 1_000 + "y = 1"] == lexed
    assert "&lt;" * (listing.MOST_MARKED + 1) == plain[0].html
