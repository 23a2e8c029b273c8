"""How it looks: styles that stand at each element, so that a saved output needs nothing else, in light and in dark."""

from __future__ import annotations

_MONO = "font-family:var(--jp-code-font-family,ui-monospace,monospace)"
_FILL = "background:rgba(127,127,127,.13)"

WHOLE = 'style="max-width:48em;line-height:1.5;overflow-wrap:anywhere"'
PRE = f'style="{_FILL};padding:.6em .8em;border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere;{_MONO}"'
PLAIN = 'style="background:none;padding:0"'
CODE = f'style="{_FILL};padding:.1em .3em;border-radius:3px;{_MONO}"'
QUOTE = 'style="margin:.5em 0;padding:0 .9em;border-left:3px solid rgba(127,127,127,.5)"'
RULE = 'style="border:0;border-top:1px solid rgba(127,127,127,.5)"'
LINK = 'style="text-decoration:underline"'
TIGHT = 'style="margin:.4em 0;padding-left:1.7em"'
TD = "padding:.2em .7em;border-bottom:1px solid rgba(127,127,127,.3)"
TH = "padding:.2em .7em;border-bottom:2px solid rgba(127,127,127,.5)"

FOLD = 'style="margin:.4em 0;opacity:.8"'
SUMMARY = 'style="cursor:pointer"'
THOUGHT = 'style="white-space:pre-wrap;padding-left:.9em;border-left:2px solid rgba(127,127,127,.4);margin:.3em 0"'
CALL = 'style="margin:.5em 0;padding:.3em .8em;border-left:3px solid #2f8f9d;' + _FILL + '"'
RESULT = 'style="margin:-.5em 0 .5em;padding:.3em .8em;border-left:3px solid #3a9a52;' + _FILL + '"'
FAILED = 'style="margin:-.5em 0 .5em;padding:.3em .8em;border-left:3px solid #d04a4a;' + _FILL + '"'
ARGUMENTS = f'style="white-space:pre-wrap;overflow-wrap:anywhere;{_MONO};font-size:.92em;margin:.2em 0 0"'
NOTE = 'style="margin:.5em 0;opacity:.75"'
HEAD = 'style="margin:.8em 0 .2em;font-weight:600;opacity:.75"'
WARNING = 'style="margin:.5em 0;padding:.25em .8em;border-left:3px solid #c98a12"'
ERROR = 'style="margin:.5em 0;padding:.25em .8em;border-left:3px solid #d04a4a"'
FOOTER = 'style="margin:.4em 0 0;font-size:.85em;opacity:.7"'
VOID = 'style="opacity:.45;text-decoration:line-through"'
