"""A section's words: Markdown, with source quoted by name."""

import re
from collections import Counter
from functools import cache
from typing import Any

import mistune
from flask import render_template
from markupsafe import Markup

from lessons import contents, excerpts
from lessons.contents import Section
from webapp import listing

QUOTE = re.compile(r"^\{\{ code (?P<file>\S+) (?P<name>\S+) \}\}$", re.MULTILINE)


def html(section: Section) -> Markup:
    """The text of a section without its title and summary."""
    return _html(section.slug)


@cache
def _html(slug: str) -> Markup:
    section = contents.section(slug)
    quotes: list[str] = []

    def quote(found: re.Match[str]) -> str:
        file = found["file"] if "/" in found["file"] else f"{section.folder}/{found['file']}"
        excerpt = excerpts.named(file, found["name"])
        quotes.append(render_template("_quote.html", excerpt=excerpt, lines=listing.lines(excerpt)))
        return f"\n\n@@{len(quotes) - 1}@@\n\n"

    markdown = mistune.create_markdown(renderer=_Renderer(), plugins=["table"])
    body: Any = markdown(QUOTE.sub(quote, section.text))
    # The quotes go in afterwards: Markdown must not read Python.
    return Markup(re.sub(r"<p>@@(\d+)@@</p>", lambda found: quotes[int(found[1])], body))


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
        name = re.sub(r"[^a-z0-9]+", "-", re.sub(r"<[^>]+>", "", text).lower()).strip("-")
        return f'<h{level} id="{name}">{text}</h{level}>\n'
