"""Which values of a package show narrative text in their `repr`."""

import dataclasses
import importlib
import inspect
import pkgutil

import msgspec

HOLDS_TEXT = {"text", "original", "words", "decoded", "narrative"}
"""Names of fields that hold words of a document."""


def list_classes(package):
    """Return all classes of a package with a field that holds words of a document."""
    found = {}
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        try:
            members = vars(importlib.import_module(module.name))
        except ImportError:  # an extra that is not installed
            continue
        for cls in members.values():
            if inspect.isclass(cls) and cls.__module__ == module.name and HOLDS_TEXT & list_fields(cls):
                found[f"{cls.__module__}.{cls.__qualname__}"] = cls
    return found


def list_fields(cls):
    """Return the names of fields that hold text of any kind."""
    if dataclasses.is_dataclass(cls):
        return {field.name for field in dataclasses.fields(cls) if "str" in str(field.type)}
    if issubclass(cls, msgspec.Struct) or hasattr(cls, "_fields"):
        return {name for name, kind in inspect.get_annotations(cls).items() if "str" in str(kind)}
    return set()


def shows_text(cls):
    """Whether the repr that Python or msgspec makes shows one of the fields."""
    if dataclasses.is_dataclass(cls):
        params = cls.__dataclass_params__
        shown = {field.name for field in dataclasses.fields(cls) if field.repr}
        return params.repr and "__repr__" not in _own(cls) and bool(shown & HOLDS_TEXT & list_fields(cls))
    return "__repr__" not in _own(cls)


def _own(cls):
    """Return what the class defines itself, without what the decorator made."""
    written = inspect.getsource(cls)
    return {"__repr__"} if "__repr__" in written else set()
