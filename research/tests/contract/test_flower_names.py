"""Flower is used through its public modules alone."""

import ast
import importlib.util
from pathlib import Path

import pytest

import inverse_deid_research

PUBLIC_FLOWER = ("flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.simulation")


def names_of_flower():
    """What the package imports from Flower, as `module` or `module.name`."""
    for path in Path(inverse_deid_research.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (name.name for name in node.names if name.name.split(".")[0] == "flwr")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flwr":
                yield from (f"{node.module}.{name.name}" for name in node.names)


def test_flower_is_used_through_its_public_modules_alone():
    found = set(names_of_flower())
    assert found
    assert {name for name in found if name.rpartition(".")[0] not in PUBLIC_FLOWER} == set()


def test_flower_says_itself_that_these_names_are_public():
    """Its source is read, since importing it takes long."""
    flower = importlib.util.find_spec("flwr")
    if flower is None:
        pytest.skip("Flower is not installed")
    names = names_of_flower()
    assert names
    for name in names:
        module, _, attribute = name.rpartition(".")
        source = Path(flower.origin).parent / module.partition(".")[2] / "__init__.py"
        declared = source.read_text(encoding="utf-8").partition("__all__ = ")[2]
        assert attribute in ast.literal_eval(declared.partition("]")[0] + "]")
