"""The examples in the docstrings of the windows run, and every class that keeps a window has one."""

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

from clearhold.features import windows

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.iter_modules(windows.__path__, "clearhold.features.windows.")
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_given_the_examples_of_a_module_when_they_run_then_they_print_what_they_show(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_given_a_class_that_is_dumped_into_a_checkpoint_then_its_docstring_has_an_example() -> None:
    classes = {
        each
        for module in MODULES
        for _, each in inspect.getmembers(module, inspect.isclass)
        if each.__module__ == module.__name__ and hasattr(each, "dump")
    }

    assert len(classes) >= 7
    assert [each.__name__ for each in classes if ">>>" not in (each.__doc__ or "")] == []
