"""A chapter's words: Markdown, with source quoted by name and answers folded away."""

import re
from collections import Counter
from functools import cache
from typing import Any

import mistune
from flask import render_template
from markupsafe import Markup, escape

from lessons import excerpts
from lessons.contents import Chapter
from webapp import listing

COMMAND = re.compile(
    r"^\{\{ (?:code (?P<file>\S+) (?P<name>\S+)|fold (?P<summary>.+)|(?P<end>end)) \}\}$", re.MULTILINE
)


@cache
def html(chapter: Chapter) -> Markup:
    """The text of a chapter without its title and summary."""
    return markdown(chapter.text, chapter.folder)


@cache
def headings(chapter: Chapter) -> list[tuple[int, str, str]]:
    """(level, anchor, words) of each heading of the text."""
    found = re.findall(r'<h([23]) id="([^"]*)">(.*)</h\1>', html(chapter))
    return [(int(level), name, Markup(words).striptags()) for level, name, words in found]


def markdown(text: str, folder: str = "") -> Markup:
    """Markdown as HTML. A line `{{ code FILE NAME }}` quotes source, `{{ fold WORDS }}` to `{{ end }}` is folded away.

    A FILE without a folder is one of `folder`.
    """
    pieces: list[str] = []

    def piece(found: re.Match[str]) -> str:
        if found["summary"]:
            pieces.append(f"<details><summary>{escape(found['summary'])}</summary>\n")
        elif found["end"]:
            pieces.append("</details>\n")
        else:
            file = found["file"] if "/" in found["file"] else f"{folder}/{found['file']}"
            excerpt = excerpts.named(file, found["name"])
            pieces.append(render_template("_quote.html", excerpt=excerpt, lines=listing.lines(excerpt)))
        return f"\n\n@@{len(pieces) - 1}@@\n\n"

    body: Any = mistune.create_markdown(renderer=_Renderer(), plugins=["table"])(COMMAND.sub(piece, text))
    # The pieces go in afterwards: Markdown must not read Python.
    return Markup(re.sub(r"<p>@@(\d+)@@</p>", lambda found: pieces[int(found[1])], body))


class _Renderer(mistune.HTMLRenderer):
    """What is wider than a phone scrolls by itself, by keyboard too, and has a name of its own to be found by."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = Counter[str]()

    def block_code(self, code: str, info: str | None = None) -> str:
        return f'<pre class="plain"{self._scrolls(info or "Text")}><code>{mistune.escape(code)}</code></pre>\n'

    def table(self, text: str) -> str:
        return f'<div class="scroll"{self._scrolls("Table")}><table>{text}</table></div>\n'

    def _scrolls(self, name: str) -> str:
        self._numbers[name] += 1
        return f' tabindex="0" role="region" aria-label="{mistune.escape(name)} {self._numbers[name]}"'

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        return f'<h{level} id="{anchor(text)}">{text}</h{level}>\n'


def anchor(heading: str) -> str:
    """The name by which a link finds a heading."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"<[^>]+>", "", heading).lower()).strip("-")
