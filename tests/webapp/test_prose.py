import re

import pytest

from lessons import contents, excerpts
from webapp import listing, prose

TEXT = """## A *heading*, and more

Plain <b>text</b> and `code < 1`.

{{ code reference/clock.py ManualClock.advance }}

| A | B |
| --- | --- |
| 1 | <script> |

```python
x = "<b>" & 1
```

{{ code demo.py Params }}

The end, with a {{ code }} that is none.
"""


@pytest.fixture
def shown(app, read):
    """shown(text) -> the HTML of that text in the first section's folder, and its elements."""

    def show(text):
        with app.test_request_context():
            html = prose.markdown(text, contents.sections()[0].folder)
        return str(html), read(html)

    return show


@pytest.fixture(params=contents.chapters(), ids=lambda chapter: chapter.slug)
def chapter(request):
    return request.param


def quotes(chapter):
    """(file, name) of what a chapter's text quotes."""
    for file, name in re.findall(r"^\{\{ code (\S+) (\S+) \}\}$", chapter.text, re.MULTILINE):
        yield (file if "/" in file else f"{chapter.folder}/{file}"), name


def test_quotes_are_the_source_as_it_is(chapter, page):
    figures = page(f"/{chapter.slug}").one("article", class_="prose").all("figure", class_="quote")
    expected = [excerpts.named(*quote) for quote in quotes(chapter)]

    assert [(excerpt.name, excerpt.file) for excerpt in expected] == [
        (figure.one("figcaption").one("code").text, figure.one("figcaption").one("small").text) for figure in figures
    ]
    for excerpt, figure in zip(expected, figures, strict=True):
        margin = min(len(line) - len(line.lstrip()) for line in excerpt.lines if line.strip())
        lines = figure.one("pre").all(class_="line")
        assert [line[margin:] for line in excerpt.lines] == [line.raw.removesuffix("\n") for line in lines]
        assert [str(line.number) for line in listing.lines(excerpt)] == [line["data-line"] for line in lines]
        assert [] == figure.all(aria_current=True), "nothing runs in a quote"


def test_no_sign_of_the_machinery_is_left(chapter, page):
    text = page(f"/{chapter.slug}").one("article", class_="prose").raw

    assert [False] * 4 == [sign in text for sign in ("{{", "}}", "@@", "](")]


def test_headings_can_be_linked_to(chapter, page):
    headings = page(f"/{chapter.slug}").one("article", class_="prose").all("h2")

    assert re.findall(r"^## (.+)$", chapter.text, re.MULTILINE) == [heading.text for heading in headings]
    assert all(re.fullmatch(r"[a-z0-9-]+", heading["id"]) for heading in headings)


def test_title_and_summary_are_told_once(chapter, page):
    shown = page(f"/{chapter.slug}").one("main")

    assert [chapter.title] == [heading.text for heading in shown.all("h1")]
    assert chapter.summary not in shown.one("article", class_="prose").text


def test_tables_can_be_scrolled_and_have_headings(shown):
    _, page = shown(TEXT)
    table = page.one("table")

    assert [("scroll", "0", "region")] == [(box["class"], box["tabindex"], box["role"]) for box in page.all("div")]
    assert [["A", "B"], ["1", "<script>"]] == [[cell.text for cell in row.all()] for row in table.all("tr")]


def test_a_section_with_a_table_shows_it(page):
    rows = page("/dead-letters").one("article", class_="prose").one("table").all("tr")

    assert ["The error", "What it is", "What to do"] == [cell.text for cell in rows[0].all("th")]
    assert len(rows) > 1


def test_html_in_a_text_is_text(shown):
    html, page = shown(TEXT)

    assert [] == page.all("b") + page.all("script")
    assert "Plain <b>text</b> and code < 1." == page.all("p")[0].text
    assert "&lt;script&gt;" in html


def test_a_heading_is_named_by_its_words(shown):
    heading = shown(TEXT)[1].one("h2")

    assert ("a-heading-and-more", "A heading, and more") == (heading["id"], heading.text)


def test_a_block_of_code_is_shown_as_it_is_and_can_be_scrolled(shown):
    block = shown(TEXT)[1].one("pre", class_="plain")

    assert ('x = "<b>" & 1\n', "0", "region") == (block.raw, block["tabindex"], block["role"])


def test_all_that_can_be_scrolled_has_a_name_of_its_own(shown):
    _, page = shown(TEXT.replace("The end", "```\nplain\n```\n\n```\nplain\n```\n\n| C |\n| --- |\n| 3 |\n\nThe end"))
    names = [element["aria-label"] for element in page.all(tabindex="0")]

    assert 7 == len(names)
    assert sorted(set(names)) == sorted(names)


def test_quotes_stand_where_they_are_asked_for_and_markdown_does_not_read_them(shown):
    _, page = shown(TEXT)
    captions = [figure.one("figcaption") for figure in page.all("figure")]

    assert ["h2", "p", "figure", "div", "pre", "figure", "p"] == [
        child.tag for child in page.children if not isinstance(child, str)
    ]
    assert ["ManualClock.advance reference/clock.py", f"Params {contents.sections()[0].program}"] == [
        caption.text for caption in captions
    ]


def test_an_answer_is_folded_away_and_what_follows_is_not(shown):
    _, page = shown("Why?\n\n{{ fold Show <it> }}\n\nBecause *so*.\n\n{{ end }}\n\nOn it goes.")
    folded = page.one("details")

    assert ["p", "details", "p"] == [child.tag for child in page.children if not isinstance(child, str)]
    assert ("Show <it>", "Because so.") == (folded.one("summary").text, folded.one("p").text)
    assert "open" not in folded.attrs


def test_a_quote_in_a_line_of_words_is_left_alone(shown):
    assert "The end, with a {{ code }} that is none." == shown(TEXT)[1].all("p")[-1].text


@pytest.mark.parametrize(
    ("quote", "error"),
    [
        ("{{ code reference/clock.py ManualClock.rewind }}", LookupError),
        ("{{ code demo.py nothing }}", LookupError),
        ("{{ code reference/no_such.py thing }}", OSError),
    ],
)
def test_an_unknown_quote_is_an_error_and_no_hole_in_the_page(quote, error, shown):
    with pytest.raises(error):
        shown(quote)


def test_an_unknown_quote_is_named_with_what_there_is(shown):
    with pytest.raises(LookupError, match=r"reference/clock\.py has no rewind; it has .*ManualClock\.advance"):
        shown("{{ code reference/clock.py rewind }}")
