"""Settings as YAML: the text of each file of a configuration, the same for the same setting."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from clearhold.api.http.yaml_documents import plain_scalar
from clearhold.features.configuration.files import SCHEMA

HEAD: Final = "clearhold.yaml"
"""The file that names the tenant."""
_WIDTH: Final = 110


def body_text(value: Mapping[str, Any]) -> str:
    """A value as YAML, in the order of its fields."""
    if not value:
        return ""
    return yaml.dump(
        dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )


def written_head(tenant: str) -> bytes:
    return written_file({"tenant": tenant})


def written_file(value: Mapping[str, Any]) -> bytes:
    """The content of a file with this value. One of a rule takes some 3 ms."""
    return f"schema: {SCHEMA}\n{body_text(value)}...\n".encode()


class _Dumper(yaml.SafeDumper):
    """Quotes a text that a reader of YAML 1.2 would take for a number, a truth value or null."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - theirs
        """Indent lists in mappings too."""
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - theirs
        """Never write anchors."""
        return True


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = None if isinstance(plain_scalar(text), str) else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represented)
