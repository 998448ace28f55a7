"""How tests are distributed over processes: by file, and the readers of the console's demo together."""

from tests.support.scopes import readers_of_the_demo, scope_of


def test_given_files_that_read_the_demo_then_they_are_one_group() -> None:
    assert {"test_pages.py", "test_quality.py", "test_day.py"} <= readers_of_the_demo()
    assert {scope_of(f"tests/console/{name}") for name in readers_of_the_demo()} == {"tests/console/demo"}


def test_given_a_file_with_a_demo_of_its_own_or_in_another_folder_then_it_is_a_group_of_its_own() -> None:
    for file in ("tests/console/test_pictures.py", "tests/console/test_tabs.py", "tests/api/console/test_day.py"):
        assert scope_of(file) == file
