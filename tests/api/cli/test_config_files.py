"""A directory of configuration: it is read as it was written, and a bad one is refused with every fault of it."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
import yaml
from hypothesis import given, settings
from typer.testing import CliRunner

from clearhold.api.cli.config_files import ConfigDirError, read_config, write_config
from clearhold.api.cli.main import app
from clearhold.api.config.files import config_faults
from clearhold.api.config.yaml_text import written_file
from clearhold.features.configuration.files import ConfigFile, normal_files
from clearhold.store.given_files import MOST_GIVEN_BYTES
from tests.support.config_calls import CLOCK_PATH, RULE, RULE_PATH
from tests.support.configurations import configurations

GOOD: Final[dict[str, dict[str, Any]]] = {
    CLOCK_PATH: {"autoHours": 1, "standardHours": 24, "complexHours": 72, "appealHours": 72},
    RULE_PATH: RULE,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path, "first-bank", (ConfigFile(path=path, value=value) for path, value in GOOD.items()))
    return tmp_path


def faults(folder: Path) -> list[str]:
    with pytest.raises(ConfigDirError) as raised:
        read_config(folder)
    return [str(fault) for fault in raised.value.faults]


@settings(max_examples=40, deadline=None)
@given(configurations())
def test_given_any_configuration_when_written_and_read_then_it_is_the_same_and_its_bytes_are_too(
    files: tuple[ConfigFile, ...],
) -> None:
    with TemporaryDirectory() as name:
        first, second = Path(name) / "first", Path(name) / "second"
        write_config(first, "first-bank", files)
        read = read_config(first)
        assert read.tenant == "first-bank"
        assert normal_files(read.files) == files
        write_config(second, read.tenant, normal_files(read.files))
        for path in first.rglob("*.yaml"):
            assert (second / path.relative_to(first)).read_bytes() == path.read_bytes()
            assert path.read_bytes().endswith(b"\n...\n")
    assert [*config_faults((file.path, file.value) for file in files)] == []


@pytest.mark.parametrize(
    "text", ["NO", "1e3", "0x1F", "1_000", "null", "~", "", "007", ".5", "yes", " a", "a: b", "é\u2028"]
)
def test_given_a_text_that_looks_like_something_else_then_it_stays_a_text(text: str) -> None:
    written = written_file({"a": text, "b": [text]})
    assert yaml.safe_load(written)["b"] == [text] or text == "1e3"
    with TemporaryDirectory() as name:
        write_config(Path(name), "b", [])
        (Path(name) / "rules").mkdir()
        (Path(name) / "rules" / "a.yaml").write_bytes(written)
        with pytest.raises(ConfigDirError) as raised:
            read_config(Path(name))
    assert not any("must be a string" in str(fault) for fault in raised.value.faults)


def test_given_several_faults_then_all_are_named_with_their_lines(folder: Path) -> None:
    (folder / CLOCK_PATH).write_text(
        "schema: clearhold-config-v1\nautoHours: 1\nstandardHours: soon\ncomplexHours: 72\nappealHours: 72\n"
        "weekendHours: 3\n...\n"
    )
    text = (folder / RULE_PATH).read_text()
    (folder / RULE_PATH).write_text(text.replace("rail", "colour").replace("severity: high", "severity: grave"))
    (folder / "rules" / "other.yaml").write_text(text)
    told = "\n".join(faults(folder))
    assert f"{CLOCK_PATH}:3: standardHours must be a number" in told
    assert "weekendHours is not a known property" in told
    assert f"{RULE_PATH}:15: severity must be one of" in told
    assert "rules/other.yaml:2: id must be the name of the file, without .yaml" in told
    assert CliRunner().invoke(app, ["config", "check", str(folder)]).exit_code == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"schema: clearhold-config-v1\nname: \xff\n...\n", "is not UTF-8 text"),
        (b"schema: clearhold-config-v1\na: &a [1]\nb: [*a, *a]\n...\n", "Anchors and aliases are not allowed."),
        (b"schema: clearhold-config-v1\na: !!python/object:os.system x\n...\n", "Tags are not allowed."),
        (b"schema: clearhold-config-v1\nid: a\nid: b\n...\n", "stands twice in one mapping"),
        (b"schema: clearhold-config-v1\nid: a\nname: A rule that was cut", "does not end with the line ..."),
        (b"schema: clearhold-config-v9\nid: a\n...\n", "must begin with schema: clearhold-config-v1"),
        (b"- 1\n...\n", "must have fields"),
        (b"schema: clearhold-config-v1\na: [[[[[[[[[[1]]]]]]]]]]\n...\n", "nested deeper"),
        (b"a: 'b\n...\n", "The file is not YAML"),
        (b"#" * (MOST_GIVEN_BYTES + 1), "is over"),
    ],
)
def test_given_a_bad_file_then_it_is_refused(folder: Path, content: bytes, sentence: str) -> None:
    (folder / "rules" / "a.yaml").write_bytes(content)
    (told,) = faults(folder)
    assert told.startswith("rules/a.yaml")
    assert sentence in told


def test_given_a_file_of_no_setting_then_it_is_refused_and_others_beside_are_left_alone(folder: Path) -> None:
    (folder / "README.md").write_text("Ours.")
    assert len(read_config(folder).files) == 2
    (folder / "rules" / "a.yaml~").write_text("schema: clearhold-config-v1\n...\n")
    (told,) = faults(folder)
    assert "is not a file of a configuration" in told


def test_given_links_then_they_are_not_followed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.yaml").write_text("secret: 1\n")
    (folder / "rules" / "a.yaml").symlink_to(outside / "a.yaml")
    (folder / "webhooks").symlink_to(outside)
    (folder / "programs").mkdir()
    (folder / "programs" / "payroll").symlink_to(outside)
    told = faults(folder)
    assert [each.partition(":")[0] for each in told] == ["programs/payroll", "rules/a.yaml", "webhooks"]
    assert not any("secret" in each for each in told)


def test_given_an_export_that_did_not_come_to_its_end_then_it_is_no_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, count = Path.replace, 0

    def fail(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count > 1:
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    others = [ConfigFile(path=path, value={"id": path}) for path in ("rules/x.yaml", "rules/y.yaml")]
    with pytest.raises(OSError, match="No space"):
        write_config(folder, "first-bank", others)
    (told,) = faults(folder)
    assert told.startswith("clearhold.yaml: is missing")


def test_given_a_directory_that_is_not_there_then_the_command_does_not_start(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["config", "check", str(tmp_path / "none")]).exit_code == 2


@pytest.mark.parametrize("name", ["rules/notes.txt", "policies/clock.yaml", "programs/payroll/deep/main.py"])
def test_given_files_of_something_else_when_written_then_nothing_is_removed_or_changed(
    tmp_path: Path, name: str
) -> None:
    other = tmp_path / name
    other.parent.mkdir(parents=True)
    other.write_text("schema of mine\n")
    with pytest.raises(ConfigDirError, match="Move it away"):
        write_config(tmp_path, "first-bank", [ConfigFile(path=CLOCK_PATH, value=GOOD[CLOCK_PATH])])
    assert other.read_text() == "schema of mine\n"
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [other]


def test_given_a_linked_folder_when_written_then_neither_the_link_nor_what_it_leads_to_is_changed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (tmp_path / "rules").symlink_to(elsewhere)
    with pytest.raises(ConfigDirError, match="rules"):
        write_config(tmp_path, "first-bank", [ConfigFile(path=RULE_PATH, value=RULE)])
    assert (tmp_path / "rules").is_symlink()
    assert not [*elsewhere.iterdir()]


def test_given_a_write_that_was_cut_off_when_written_then_its_rest_is_removed(folder: Path) -> None:
    rest = folder / "policies" / ".clock.yaml.new"
    rest.write_bytes(b"sche")
    write_config(folder, "first-bank", [ConfigFile(path=CLOCK_PATH, value=GOOD[CLOCK_PATH])])
    assert sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()) == [
        "clearhold.yaml",
        CLOCK_PATH,
    ]
