# SPDX-License-Identifier: Apache-2.0
"""Loads a package's public names when they are first used, so that importing the package costs next to nothing."""

import ast
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from importlib.abc import InspectLoader
from types import ModuleType
from typing import Any

_OWN = frozenset({"TYPE_CHECKING", "lazy_names", "make_callable"})  # what packages import to have lazy names


def lazy_names(package: str, modules: Collection[str] = ()) -> tuple[Callable[[str], Any], list[str]]:
    """Return a package's `__getattr__` and `__all__`: what it imports under `if TYPE_CHECKING:`, the one table of them.

    A name is looked up once and then kept in the package; an unknown one raises AttributeError. `modules`: names that
    stand for the package's module of this name, not for what is imported. `__all__` has what the package has already
    as well, if it begins with no underscore and is no module.
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
    """Return (module, attribute) of each name that a package's text imports under `if TYPE_CHECKING:`."""
    spec = sys.modules[package].__spec__
    text = spec.loader.get_source(package) if spec and isinstance(spec.loader, InspectLoader) else None
    if text is None:
        raise ImportError(
            f"{package}: the source of the package, which lists its public names, cannot be read", name=package
        )
    return {
        alias.asname or alias.name: (f"{'.' * line.level}{line.module or ''}", alias.name)
        for block in ast.parse(text).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


class CallablePackage(ModuleType):
    """A package that is also the function of its own name in it: `querytape.capture(...)` is `capture.capture(...)`.

    The package stays a package: `import querytape.capture.record_source` works before and after a call.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return getattr(self, self.__name__.rpartition(".")[2])(*arguments, **options)


def make_callable(package: str) -> None:
    """Let a package be called as the function of its own name."""
    sys.modules[package].__class__ = CallablePackage
