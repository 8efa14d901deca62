# SPDX-License-Identifier: Apache-2.0
"""Load the public names of a package on first use, so that importing the package is cheap. Prepare them early."""

import ast
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib import import_module
from importlib.abc import InspectLoader
from types import ModuleType
from typing import Any

_OWN = frozenset({"TYPE_CHECKING", "lazy_names", "make_callable"})  # names that packages import only for lazy loading


def lazy_names(package: str, modules: Collection[str] = ()) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` for a package. Its imports under `if TYPE_CHECKING:` define the lazy names.

    Each name is loaded once and then stored in the package. An unknown name raises AttributeError. A name in `modules`
    refers to the package's module of that name, instead of the imported attribute. `__all__` also contains the
    package's existing public names, except modules.
    """
    places = _places_of(package)
    own = sys.modules[package]

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = places[name]
        loaded = import_module(f".{name}" if name in modules else module, package)
        value = loaded if name in modules else getattr(loaded, attribute)
        setattr(own, name, value)
        return value

    ready = {name for name, value in vars(own).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    return load, sorted((ready - _OWN) | places.keys())


def _places_of(package: str) -> dict[str, tuple[str, str]]:
    """Return (module, attribute) of each name that the package source imports under `if TYPE_CHECKING:`."""
    spec = sys.modules[package].__spec__
    text = spec.loader.get_source(package) if spec and isinstance(spec.loader, InspectLoader) else None
    if text is None:
        raise ImportError(
            f"{package}: cannot read the source file of this package, which lists its public names", name=package
        )
    return {
        alias.asname or alias.name: (f"{'.' * line.level}{line.module or ''}", alias.name)
        for block in ast.parse(text).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


def prepare_early(*steps: Callable[[], object]) -> None:
    """Run steps such as imports in another thread, while this thread waits for a database.

    The steps only save time. If one fails, its error appears when the result is needed.
    """

    def prepare() -> None:
        for step in steps:
            with suppress(Exception):
                step()

    threading.Thread(target=prepare, name="prepare", daemon=True).start()


class CallablePackage(ModuleType):
    """A package that can be called like its function of the same name.

    `querytape.capture(...)` calls `capture.capture(...)`. Imports such as `import querytape.capture.record_source`
    still work.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function that has the name of the package."""
        return getattr(self, self.__name__.rpartition(".")[2])(*arguments, **options)


def make_callable(package: str) -> None:
    """Make a package callable: a call runs its function of the same name."""
    sys.modules[package].__class__ = CallablePackage
