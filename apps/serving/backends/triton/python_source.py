"""What a python model's source says of itself. It is parsed, never run. Pure."""

import ast
import warnings
from collections.abc import Iterator, Sequence

from apps.common.text import printable
from apps.serving.preflight import PythonSource

CLASS = "TritonPythonModel"
# Above this a source is data in disguise; parsing takes some hundred times its size in memory.
LIMIT_BYTES = 1 << 20


def read_source(content: bytes) -> PythonSource:
    """The source's class and methods, or why it cannot be read."""
    if len(content) > LIMIT_BYTES:
        return PythonSource()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
    except SyntaxError as error:
        return PythonSource(problem=_problem(error))
    except (ValueError, RecursionError, MemoryError) as error:
        return PythonSource(problem=printable(str(error), limit=200) or "it is nested too deeply")
    return _describe(list(_statements(tree.body)))


def _problem(error: SyntaxError) -> str:
    where = f"line {error.lineno or 0}, column {error.offset or 0}"
    return f"{where}: {printable(error.msg or 'it cannot be read', limit=200)}"


def _describe(statements: Sequence[ast.stmt]) -> PythonSource:
    for statement in statements:
        if isinstance(statement, ast.ClassDef) and statement.name == CLASS:
            return PythonSource(has_class=True, methods=_methods(statement))
    names = {name for statement in statements for name in _bound(statement)}
    if CLASS in names:
        return PythonSource(has_class=True)
    return PythonSource(has_class=None if "*" in names else False)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of the module itself, in branches too."""
    for statement in body:
        yield statement
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _statements(getattr(statement, inner, []))
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body)


def _methods(found: ast.ClassDef) -> tuple[str, ...] | None:
    """The class's own names; None where it inherits, or is decorated into something else."""
    bases = [base for base in found.bases if not (isinstance(base, ast.Name) and base.id == "object")]
    if bases or found.keywords or found.decorator_list:
        return None
    return tuple(dict.fromkeys(name for one in _statements(found.body) for name in _bound(one)))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names a statement gives a value."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
