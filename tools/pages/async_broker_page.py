"""Write `AsyncBroker` from the methods of `Broker`: the same text with `async` before a method and `await` before a call to the cluster.

A method of `Broker` with a coroutine counterpart calls the cluster by `_ask`, `_run`, `_wait`, `_command`, or by another method of
`Broker`. Such a call must be a statement or assignment of its own. Code that runs on the cluster's thread is a function outside of the
class.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Final

from groupmock.inprocess import broker, calls, lasting
from groupmock.inprocess.broker import Broker
from groupmock.inprocess.fault_rules import FaultBlock

WIDTH: Final = 140
CALLS: Final = {"_ask", "_run", "_wait", "_command"}
"""The blocking methods of `Calls`. The methods of `AsyncCalls` with these names are coroutines."""
TWINS: Final = {"Undo": "AsyncUndo", "FaultBlock": "AsyncFaultBlock", "Faults": "AsyncBroker", "Broker": "AsyncBroker"}
"""Maps a class to its asynchronous counterpart."""
BLOCKS: Final = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
HEAD: Final = '''"""The methods of `Broker` are coroutines here. Written by tools/pages/async_broker_page.py (`make docs`): do not edit."""

from __future__ import annotations

'''
BROKER: Final = '''class AsyncBroker(AsyncCalls):
    """This class has the names of `Broker`. A property of `Broker` is a property here, and everything that calls the
    cluster is awaited: `await broker.produce(...)`, `(await broker.groups)["kitchen"]`. Nothing happens before a coroutine is awaited.
    Python warns of a coroutine that was never awaited (RuntimeWarning), and mypy and pyright report it as an error (unused-coroutine,
    unused-awaitable, reportUnusedCoroutine)."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def __aenter__(self) -> AsyncBroker:
        return await self.start()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    def _up(self) -> Running:
        return self._broker._up()

    def _on(self) -> asyncio.AbstractEventLoop:
        return self._broker._on()
'''
BLOCK: Final = '''

class AsyncFaultBlock:
    """A fault rule that holds while an `async with` block lasts, as `FaultBlock` does for `with`."""
'''


def text() -> str:
    """Return the module, formatted as `ruff format` would."""
    parts = [kind for kind in Broker.__mro__[1:] if kind.__module__ not in (calls.__name__, "abc", "builtins")]
    body = ["__tracebackhide__: Final = True\n\n\n", BROKER]
    body += [_forwarded(method) for method in _methods(Broker) if not method.name.startswith("_")]
    body += [_twin(kind, method) for kind in parts for method in _methods(kind)]
    body += [BLOCK, *(_twin(FaultBlock, method) for method in _methods(FaultBlock))]
    code = "".join(body)
    modules = [*(sys.modules[kind.__module__] for kind in parts), broker, calls, lasting]
    return HEAD + _imports(code, modules) + "\n" + code


def _methods(kind: type) -> list[ast.FunctionDef]:
    [found] = ast.parse(inspect.getsource(kind)).body
    assert isinstance(found, ast.ClassDef)
    return [node for node in found.body if isinstance(node, ast.FunctionDef)]


def _forwarded(method: ast.FunctionDef) -> str:
    """Return the asynchronous counterpart of a method or property that starts or stops `Broker`'s thread. Its counterpart runs it in
    another thread and awaits that."""
    lines = inspect.getsource(Broker).splitlines()
    first = method.body[0]
    told = "\n".join(_head(lines, method, first.lineno - 1) + lines[first.lineno - 1 : first.end_lineno])
    if _is_property(method):
        return f"\n{told}\n        return self._broker.{method.name}\n"
    arguments = ", ".join([f"self._broker.{method.name}", *(argument.arg for argument in method.args.args[1:])])
    answer = "        return self\n" if _returns(method) == "Broker" else ""
    return f"\n{told}\n        await asyncio.to_thread({arguments})\n{answer}"


def _twin(kind: type, method: ast.FunctionDef) -> str:
    """Return an asynchronous method made from the text of a blocking one."""
    lines = inspect.getsource(kind).splitlines()
    assert method.end_lineno is not None
    for call in _awaited(method.body):
        line = lines[call.lineno - 1]
        lines[call.lineno - 1] = f"{line[: call.col_offset]}await {line[call.col_offset :]}"
    decorator = ["    @lasting"] if _returns(method) == "Undo" else []
    body = [_renamed(line) for line in lines[method.body[0].lineno - 1 : method.end_lineno]]
    return "\n".join(["", *decorator, *_head(lines, method, method.body[0].lineno - 1), *body, ""])


def _head(lines: list[str], method: ast.FunctionDef, end: int) -> list[str]:
    """Return the lines of a method before its body, including decorators."""
    begin = min([method.lineno, *(each.lineno for each in method.decorator_list)]) - 1
    head = [_renamed(line) for line in lines[begin:end]]
    if _is_coroutine(method):
        at = method.lineno - 1 - begin
        head[at] = head[at].replace("def ", "async def ", 1)
    return head


def _renamed(line: str) -> str:
    """Replace names in code by those of the counterpart. In a docstring, which quotes such names, only the word for a block is replaced."""
    line = re.sub(r"\ba `with`", "an `async with`", line)
    line = re.sub(r"(?<![`\w.])(" + "|".join(TWINS) + r")(?=\(| \||:|$|,)", lambda found: TWINS[found[1]], line)
    return re.sub("|".join(BLOCKS), lambda found: BLOCKS[found[0]], line)


def _is_coroutine(method: ast.FunctionDef) -> bool:
    if method.name.startswith("_"):
        return method.name in BLOCKS
    return bool(_awaited(method.body)) if _is_property(method) else _returns(method) != "FaultBlock"


def _is_property(method: ast.FunctionDef) -> bool:
    return any(ast.unparse(each) == "property" for each in method.decorator_list)


def _returns(method: ast.FunctionDef) -> str:
    return ast.unparse(method.returns) if method.returns else ""


def _awaited(nodes: Iterable[ast.AST]) -> list[ast.Call]:
    """Return the blocking calls, except those in a lambda, which runs elsewhere."""
    found: list[ast.Call] = []
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("self", "self._broker"):
            name = node.func.attr
            found += [node] if name in CALLS or (hasattr(Broker, name) and not name.startswith("_")) else []
        if not isinstance(node, ast.Lambda):
            found += _awaited(ast.iter_child_nodes(node))
    return found


def _imports(code: str, modules: Iterable[ModuleType]) -> str:
    """Return imports for the names that the code uses and these modules import or declare."""
    tree = ast.parse(code)
    used = set().union(*(_names(node) for kind in tree.body for node in ast.iter_child_nodes(kind)))
    used -= {kind.name for kind in tree.body if isinstance(kind, ast.ClassDef)}
    now: dict[str, tuple[str, str]] = {}
    for_types = {"Broker": (".broker", "Broker")}
    for module in modules:
        for node in ast.parse(inspect.getsource(module)).body:
            now |= _imported(node)
            if isinstance(node, ast.If):
                for_types |= {name: source for each in node.body for name, source in _imported(each).items()}
        now |= {name: ("." + module.__name__.rpartition(".")[2], name) for name in _declared(module) if name not in for_types}
    used.add("TYPE_CHECKING")
    lines = list(_import_lines({name: source for name, source in now.items() if name in used}))
    typed = {name: source for name, source in for_types.items() if name in used and name not in now}
    return "\n".join([*lines, "", "if TYPE_CHECKING:", *(f"    {line}" for line in _import_lines(typed)), ""])


def _names(node: ast.AST) -> set[str]:
    """Return the names that a syntax node uses and does not define, including builtins."""
    inner = list(ast.walk(node))
    own = {each.arg for each in inner if isinstance(each, ast.arg)}
    own |= {each.id for each in inner if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return {each.id for each in inner if isinstance(each, ast.Name)} - own


def _declared(module: ModuleType) -> Iterator[str]:
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            yield node.target.id


def _imported(node: ast.stmt) -> dict[str, tuple[str, str]]:
    """Map each name that an import binds to (module, name in it), with an empty name for a module itself."""
    if isinstance(node, ast.ImportFrom):
        return {each.asname or each.name: ("." * node.level + (node.module or ""), each.name) for each in node.names}
    return {each.name: (each.name, "") for each in node.names} if isinstance(node, ast.Import) else {}


def _import_lines(imports: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Yield import lines in the order of ruff's isort: standard library, packages, groupmock's, relative ones from the outermost on,
    modules before names."""
    sections: dict[int, list[str]] = {}
    for module in sorted({module for module, name in imports.values() if not name}):
        sections.setdefault(_section(module), []).append(f"import {module}")
    for module in sorted({module for module, name in imports.values() if name}, key=lambda each: (-_level(each), each)):
        pairs = [(name, told) for told, (where, name) in imports.items() if where == module and name]
        plain = sorted((name for name, told in pairs if name == told), key=lambda each: (not each.isupper(), not each[0].isupper(), each))
        renamed = sorted(f"{name} as {told}" for name, told in pairs if name != told)
        for names in [", ".join(plain), *renamed]:
            sections.setdefault(_section(module), []).extend(_from(module, names) if names else [])
    for place, section in enumerate(sections[each] for each in sorted(sections)):
        yield from [""] if place else []
        yield from section


def _from(module: str, names: str) -> list[str]:
    line = f"from {module} import {names}"
    return [line] if len(line) <= WIDTH else [f"from {module} import (", *(f"    {each}," for each in names.split(", ")), ")"]


def _level(module: str) -> int:
    return len(module) - len(module.lstrip("."))


def _section(module: str) -> int:
    top = module.partition(".")[0]
    return 3 if not top else 0 if top in sys.stdlib_module_names else 2 if top.startswith("groupmock") else 1
