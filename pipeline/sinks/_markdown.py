"""A text in markdown → its blocks, each laid out as rows.

HTML is text here, and so are reference definitions: what a model says is all to be seen. An address stands beside the
words that link to it, since a link whose target cannot be seen is a trap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from rich import box
from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pipeline.sinks._code import code_rows, folded, headed, rule
from pipeline.sinks._painter import Painter, Row, indented
from pipeline.sinks._visible import visible

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")
_AIRY = {"heading", "fence", "code_block", "table", "hr", "blockquote"}  # have a blank line around them


class Piece(NamedTuple):
    """A block, or one item of a list, and the line of the source at which it begins."""

    node: SyntaxTreeNode
    begin: int

    @property
    def kind(self) -> str:
        return self.node.type


@lru_cache(maxsize=4)  # a frame asks for the same ones more than once
def pieces(source: str) -> tuple[Piece, ...]:
    """The blocks of a text. Lists are taken apart, since an item is final as soon as the next one begins.

    >>> [(piece.kind, piece.begin) for piece in pieces("Two:\\n- one\\n- two\\n\\n# End")]
    [('paragraph', 0), ('list_item', 1), ('list_item', 2), ('heading', 4)]
    """
    return tuple(
        Piece(node, node.map[0] if node.map else 0)
        for block in SyntaxTreeNode(_PARSER.parse(source)).children
        for node in (block.children if block.type in {"bullet_list", "ordered_list"} else [block])
    )


def apart(above: str, below: str, *, blank: bool) -> bool:
    """Is a blank line between pieces of these kinds, where the source has one, or has none?"""
    return blank or above in _AIRY or below in _AIRY


def laid_out(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    """From a block to rows of this width."""
    return _LAYOUTS.get(node.type, _text)(node, paint, max(width, 8))


def _all(nodes: Sequence[SyntaxTreeNode], paint: Painter, width: int, *, airy: bool) -> list[Row]:
    rows: list[Row] = []
    above = ""
    for node in nodes:
        found = laid_out(node, paint, width)
        if rows and found and apart(above, node.type, blank=airy):
            rows.append([])
        rows += found
        above = node.type
    return rows


def _text(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    return paint.rows(_inline(node), width)


def _heading(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    text = _inline(node)
    text.stylize_before("answer.heading1" if node.tag == "h1" else "answer.heading")
    if node.tag in {"h3", "h4", "h5", "h6"}:  # the first two stand out, these say their level
        text = Text.assemble((f"{'#' * int(node.tag[1])} ", "answer.marker"), text)
    return paint.rows(text, width)


def _list(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    items = node.children
    return _all(items, paint, width, airy=any(_is_loose(item) for item in items))


def _item(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    marker = f"{node.info}{node.markup} " if node.info else "• "
    rows = _all(node.children, paint, width - len(marker), airy=_is_loose(node)) or [[]]
    return indented(rows, " " * len(marker), first=Segment(marker, paint.style("answer.marker")))


def _is_loose(item: SyntaxTreeNode) -> bool:
    return any(child.type == "paragraph" and not child.hidden for child in item.children)


def _quote(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    return indented(_all(node.children, paint, width - 2, airy=True), Segment("│ ", paint.style("answer.quote")))


def _code(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    code = node.content.removesuffix("\n").split("\n")
    rows = [part for row in code_rows(paint, code, node.info) for part in folded(row, width)]
    return [*headed(paint, width, node.info), *rows, rule(paint, width)]


def _hr(_node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    return [rule(paint, width)]


def _table(node: SyntaxTreeNode, paint: Painter, width: int) -> list[Row]:
    head, *body = (row.children for part in node.children for row in part.children)
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
        border_style="answer.rule",
        header_style="bold",
    )
    titles = [_inline(cell) for cell in head]
    words = [max((cell_len(word) for word in title.plain.split()), default=0) for title in titles]
    whole = sum(words) + 2 * len(words) <= width  # then no title is broken within a word
    for cell, title, word in zip(head, titles, words, strict=True):
        table.add_column(title, justify=_justified(cell), overflow="fold", min_width=word if whole else None)
    for row in body:
        table.add_row(*map(_inline, row))
    return paint.rows(table, width)


def _justified(cell: SyntaxTreeNode) -> JustifyMethod:
    style = str(cell.attrs.get("style", ""))
    return "right" if "right" in style else "center" if "center" in style else "left"


_LAYOUTS: dict[str, Callable[[SyntaxTreeNode, Painter, int], list[Row]]] = {
    "paragraph": _text,
    "heading": _heading,
    "bullet_list": _list,
    "ordered_list": _list,
    "list_item": _item,
    "blockquote": _quote,
    "fence": _code,
    "code_block": _code,
    "hr": _hr,
    "table": _table,
}

# ---------------------------------------------------------------------------------------------------- within a line


def _inline(node: SyntaxTreeNode) -> Text:
    text = Text()
    for part, styles in _spans(node):
        begin = len(text)
        text.append(part)
        for style in styles:
            text.stylize(f"answer.{style}", begin)
    return text


def _spans(node: SyntaxTreeNode, *styles: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for child in node.children:
        if child.type in {"softbreak", "hardbreak"}:
            yield (" " if child.type == "softbreak" else "\n"), styles
        elif child.type == "image":
            yield f"[image: {visible(child.content)}]", (*styles, "link")
            yield from _address(child, "src", *styles)
        elif child.type == "link":
            yield from _spans(child, *styles, "link")
            yield from _address(child, "href", *styles)
        elif child.children:
            yield from _spans(child, *styles, *([] if child.type == "inline" else [child.type]))
        else:  # entities have been resolved by now, and may be anything
            yield visible(child.content), (*styles, "code") if child.type == "code_inline" else styles


def _address(node: SyntaxTreeNode, name: str, *styles: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    address = visible(str(node.attrs.get(name, "")))
    if address and address != "".join(part for part, _ in _spans(node)):
        yield f" ({address})", (*styles, "url")
