"""CommonMark to HTML by cmark-gfm, as CTFd does it, without its leaks.

``cmarkgfm`` gives neither the tree back that it has parsed nor the text that it has rendered: four times the source, at
each call, for as long as the process lives. Its functions are those of C, so the two that it leaves out are asked for
by their names.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from cmarkgfm import _cmark, cmark

_OPTIONS: Final = cmark.Options.CMARK_OPT_UNSAFE
_EXTENSIONS: Final = ("table", "strikethrough", "autolink")

cmark.core_extensions_ensure_registered()
_ATTACHED: Final = tuple(cmark.find_syntax_extension(name) for name in _EXTENSIONS)


def _releaser(library: ctypes.CDLL, name: str) -> Any:
    """A function of C that takes back what one pointer of ``cffi`` points to."""
    release = getattr(library, name)
    release.argtypes, release.restype = (ctypes.c_void_p,), None
    return lambda pointer: release(int(_cmark.ffi.cast("uintptr_t", pointer)))


_LIBRARY: Final = ctypes.CDLL(_cmark.__file__)
_forget_tree: Final = _releaser(_LIBRARY, "cmark_node_free")
# Strings come from cmark's default allocator, which is the C library's.
_forget_text: Final = _releaser(_LIBRARY, "free")


def html_of(source: str) -> str:
    """The HTML of *source*, whatever it holds left in it; ends with a newline unless it is empty."""
    parser = cmark.parser_new(options=_OPTIONS)
    try:
        for extension in _ATTACHED:
            cmark.parser_attach_syntax_extension(parser, extension)
        cmark.parser_feed(parser, source)
        tree = cmark.parser_finish(parser)
        try:
            extensions = cmark.parser_get_syntax_extensions(parser)
            text = _cmark.lib.cmark_render_html(tree, _OPTIONS, extensions)
        finally:
            _forget_tree(tree)
        try:
            html: str = _cmark.ffi.string(text).decode()
        finally:
            _forget_text(text)
        return html
    finally:
        cmark.parser_free(parser)
