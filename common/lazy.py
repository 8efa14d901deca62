# SPDX-License-Identifier: Apache-2.0
"""Loads a package's public names when they are first used, so that importing the package costs next to nothing."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_attributes(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`: `places` has each public name's place, `.module:attribute` or `.module`.

    A name is looked up once and then kept in the package. Raises AttributeError for a name that is not in `places`.
    """

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = places[name].partition(":")
        loaded = import_module(module, package)
        value = getattr(loaded, attribute) if attribute else loaded
        setattr(sys.modules[package], name, value)
        return value

    return load


class CallablePackage(ModuleType):
    """A package that is also the function of its own name in it: `querytape.capture(...)` is `capture.capture(...)`.

    The package stays a package: `import querytape.capture.pipeline` works before and after a call.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return getattr(self, self.__name__.rpartition(".")[2])(*arguments, **options)


def make_callable(package: str) -> None:
    """Let a package be called as the function of its own name."""
    sys.modules[package].__class__ = CallablePackage
