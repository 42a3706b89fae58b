"""Hybrid scripts as text that is kept in files."""

from __future__ import annotations

from tvm.error import ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class HybridModule:
    """The text of one script, and the function that it defines.

    Parameters
    ----------
    src : str, optional
        The text.
    name : str, optional
        The function's name; by default the first that the text defines.
    """

    def __init__(self, src: str | None = None, name: str | None = None) -> None:
        self.src_: str | None = None
        self.name: str | None = None
        self.func_: Any = None
        if src is not None:
            self._take(src, name)

    def _take(self, src: str, name: str | None) -> None:
        import ast
        import linecache

        from . import script

        functions = [node for node in ast.parse(src).body if isinstance(node, ast.FunctionDef)]
        chosen = [node for node in functions if name is None or node.name == name]
        if not chosen:
            raise ValueError_(
                f"hybrid: the text defines no function {name or ''}; it defines "
                f"{', '.join(node.name for node in functions) or 'none'}"
            )
        found = chosen[0]
        found.decorator_list = []
        file = f"<hybrid {found.name} {id(self):#x}>"
        text = ast.unparse(ast.Module([found], []))
        scope: dict[str, Any] = {}
        exec(compile(text, file, "exec"), scope)
        # inspect finds the source of the function there
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        self.src_, self.name = src, found.name
        self.func_ = script(scope[found.name])

    def __call__(self, *args: Any) -> Any:
        if self.func_ is None:
            raise ValueError_("hybrid: the module is empty; load a script first")
        return self.func_(*args)

    def get_source(self) -> str | None:
        """The text."""
        return self.src_

    def save(self, path: str) -> None:
        """Write the text to ``path``, with ``.py`` at its end."""
        if self.src_ is None:
            raise ValueError_("hybrid: the module is empty; load a script first")
        if not path.endswith(".py"):
            path += ".py"
        with open(path, "w") as file:
            file.write(self.src_)

    def load(self, path: str) -> None:
        """Read the text from a file."""
        with open(path) as file:
            self._take(file.read(), None)
