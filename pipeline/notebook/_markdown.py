"""Markdown that grows → HTML of our own making.

The plan. A block of markdown is final when the next one has begun on a line that is whole. So what is final is made into
HTML once, and only the last block is parsed anew for a frame. HTML in the source is text, an image is its words and its
address, and headings are bold paragraphs, since a notebook would list others in its table of contents.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from pipeline.notebook._looks import CODE, LINK, PLAIN, PRE, QUOTE, RULE, TD, TH, TIGHT
from pipeline.notebook._safe import address, escaped

_LINE_END = re.compile(r"\r\n|\r(?!\Z)")  # a CR at the end waits: an LF may follow
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")


class Markdown:
    r"""Takes pieces of a text, and has it as HTML.

    >>> text = Markdown()
    >>> for piece in ("Hello *wo", "rld*\n\n<script>"):
    ...     text.add(piece)
    >>> print(text.html())
    <p>Hello <em>world</em></p>
    <p>&lt;script&gt;</p>
    """

    def __init__(self) -> None:
        self._final: list[str] = []
        self._source: list[str] = []  # of what is final and not released
        self._open = ""

    def add(self, text: str) -> None:
        self._open = _LINE_END.sub("\n", self._open + text)

    def html(self) -> str:
        """All of it."""
        rest = self._settle()
        return "".join([*self._final, rest]).rstrip("\n")

    def release(self) -> tuple[str, str]:
        """What is final, as HTML and as it was written; from now on it is left out."""
        self._settle()
        released = "".join(self._final), "".join(self._source)
        self._final, self._source = [], []
        return released

    @property
    def source(self) -> str:
        """As it was written, without what was released."""
        return "".join(self._source) + self._open

    def _settle(self) -> str:
        """Put by what is final; the HTML of the rest."""
        blocks = SyntaxTreeNode(_PARSER.parse(self._open)).children
        whole = self._open.count("\n")
        final = 0
        for at, block in enumerate(blocks[1:], 1):
            if block.map and block.map[0] < whole:
                final = at
        if final:
            begin = blocks[final].map
            assert begin is not None
            done = "".join(f"{line}\n" for line in self._open.split("\n")[: begin[0]])
            self._source.append(done)
            self._open = self._open[len(done) :]
            self._final += [_block(block) for block in blocks[:final]]
        return "".join(_block(block) for block in blocks[final:])


# ---------------------------------------------------------------------------------------------------- blocks


def _block(node: SyntaxTreeNode) -> str:
    return _BLOCKS.get(node.type, _paragraph)(node)


def _blocks(node: SyntaxTreeNode) -> str:
    return "".join(map(_block, node.children))


def _paragraph(node: SyntaxTreeNode) -> str:
    inner = _inlines(node)
    return f"{inner}\n" if node.hidden else f"<p>{inner}</p>\n"


def _heading(node: SyntaxTreeNode) -> str:
    size = {"h1": "1.35em", "h2": "1.2em", "h3": "1.08em"}.get(node.tag, "1em")
    return f'<p style="font-size:{size}"><strong>{_inlines(node)}</strong></p>\n'


def _list(node: SyntaxTreeNode) -> str:
    start = node.attrs.get("start")
    first = f' start="{int(start)}"' if isinstance(start, (int, str)) else ""
    tag = "ol" if node.type == "ordered_list" else "ul"
    return f"<{tag}{first} {TIGHT}>\n{_blocks(node)}</{tag}>\n"


def _item(node: SyntaxTreeNode) -> str:
    return f"<li>{_blocks(node).rstrip()}</li>\n"


def _quote(node: SyntaxTreeNode) -> str:
    return f"<blockquote {QUOTE}>\n{_blocks(node)}</blockquote>\n"


def _code(node: SyntaxTreeNode) -> str:
    return f"<pre {PRE}><code {PLAIN}>{escaped(node.content)}</code></pre>\n"


def _rule(_node: SyntaxTreeNode) -> str:
    return f"<hr {RULE}>\n"


def _table(node: SyntaxTreeNode) -> str:
    rows = [row for part in node.children for row in part.children]
    return f"<table>\n{''.join(map(_row, rows))}</table>\n"


def _row(node: SyntaxTreeNode) -> str:
    return f"<tr>{''.join(map(_cell, node.children))}</tr>\n"


def _cell(node: SyntaxTreeNode) -> str:
    given = str(node.attrs.get("style", ""))
    align = "right" if "right" in given else "center" if "center" in given else "left"
    style = TH if node.type == "th" else TD
    return f'<{node.type} style="{style};text-align:{align}">{_inlines(node)}</{node.type}>'


_BLOCKS: dict[str, Callable[[SyntaxTreeNode], str]] = {
    "paragraph": _paragraph,
    "heading": _heading,
    "bullet_list": _list,
    "ordered_list": _list,
    "list_item": _item,
    "blockquote": _quote,
    "fence": _code,
    "code_block": _code,
    "hr": _rule,
    "table": _table,
}

# ---------------------------------------------------------------------------------------------------- within a line


def _inlines(node: SyntaxTreeNode) -> str:
    return "".join(map(_inline, node.children))


def _inline(node: SyntaxTreeNode) -> str:
    match node.type:
        case "softbreak":
            return "\n"
        case "hardbreak":
            return "<br>\n"
        case "em" | "strong" | "s":
            return f"<{node.type}>{_inlines(node)}</{node.type}>"
        case "code_inline":
            return f"<code {CODE}>{escaped(node.content)}</code>"
        case "image":
            return f"[image: {escaped(node.content)}]{_beside(node, 'src')}"
        case "link":
            return _link(node)
        case _:
            return _inlines(node) if node.children else escaped(node.content)


def _link(node: SyntaxTreeNode) -> str:
    """The words, then where they lead: a link whose target cannot be seen is a trap."""
    url = str(node.attrs.get("href", ""))
    href = address(url)
    words = _inlines(node)
    if href is not None:
        words = f'<a href="{href}" target="_blank" rel="noopener noreferrer nofollow" {LINK}>{words}</a>'
    shown = node.children[0].content if len(node.children) == 1 else ""
    return words if url == shown else words + _beside(node, "href")


def _beside(node: SyntaxTreeNode, name: str) -> str:
    url = str(node.attrs.get(name, ""))
    return f" <small>({escaped(url)})</small>" if url else ""
