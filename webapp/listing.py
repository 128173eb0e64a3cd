"""Python source with its kinds of words marked, line by line."""

from dataclasses import dataclass
from functools import cache
from html import escape

from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Literal, Name, Number, String, _TokenType

from lessons.excerpts import Excerpt, source

# Fewer kinds than Pygments knows: a listing is sent with every step that plays.
CLASSES = (
    (Comment, "c"),
    (String.Doc, "c"),
    (String, "s"),
    (Number, "m"),
    (Keyword.Constant, "m"),
    (Keyword, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Literal, "m"),
)


MOST_MARKED = 8_000  # characters: source of somebody's own can be made to take the lexer long


@dataclass(frozen=True)
class Line:
    number: int
    html: Markup

    @property
    def indent(self) -> int:
        """How deep it begins, in steps of four spaces; 6 stands for all that is deeper."""
        return min((len(self.html) - len(self.html.lstrip())) // 4, 6)


def lines(excerpt: Excerpt) -> tuple[Line, ...]:
    """The excerpt's lines, marked, without the indentation that all of them share."""
    marked = _file(excerpt.file)[excerpt.first_line - 1 : excerpt.first_line - 1 + len(excerpt.lines)]
    indent = min((len(text) - len(text.lstrip()) for text in excerpt.lines if text.strip()), default=0)
    return tuple(
        Line(number, Markup(html[indent:] if html[:indent].isspace() else html))
        for number, html in enumerate(marked, start=excerpt.first_line)
    )


def of_text(source: str) -> tuple[Line, ...]:
    """The lines of source that is in no file, marked; a very long one is shown plain."""
    # Spaces at the ends of lines cost the lexer time that grows with their square; nobody sees them.
    lines = [line.rstrip() for line in source.strip("\n").splitlines()] or [""]
    marked = _lines("\n".join(lines)) if len(source) <= MOST_MARKED else map(escape, lines)
    return tuple(Line(number, Markup(html)) for number, html in enumerate(marked, start=1))


@cache
def _file(name: str) -> tuple[str, ...]:
    # The whole file is read at once: a docstring's lines are only known by its beginning.
    return _lines(source(name))


def _lines(source: str) -> tuple[str, ...]:
    html = [""]
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        first, *others = text.split("\n")
        html[-1] += _marked(kind, first)
        html += [_marked(kind, part) for part in others]
    # Two words to the lexer, and yet no line may end in the middle of an arrow.
    return tuple(line.replace(" -&gt; ", ' <i class="o">-&gt;</i> ') for line in html)


def _marked(kind: _TokenType, text: str) -> str:
    name = next((name for family, name in CLASSES if kind in family), None)
    if not name or not text.strip():
        return escape(text)
    bare = text.lstrip()
    return f'{text[: len(text) - len(bare)]}<i class="{name}">{escape(bare)}</i>'
