"""Hosts on this machine: network namespaces, with links that a test cuts. Only root may make them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import pytest

_IP: Final = shutil.which("ip")


class Host(NamedTuple):
    """A namespace; its address for this process, and on the link between the two hosts."""

    name: str
    address: str
    link_address: str


class LinkedHosts(NamedTuple):
    """Two hosts that this process reaches, whatever becomes of the link between them."""

    one: Host
    two: Host

    def cut(self) -> None:
        _ip("netns", "exec", self.one.name, "ip", "link", "set", "between", "down")

    def heal(self) -> None:
        _ip("netns", "exec", self.one.name, "ip", "link", "set", "between", "up")


@contextmanager
def linked_hosts() -> Iterator[LinkedHosts]:
    """Skips the test where namespaces cannot be made."""
    if _IP is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the program ip")
    number = os.getpid() % 200 + 20
    hosts = [Host(f"chtest{number}{side}", f"10.{number}.{side}.2", f"10.{number}.3.{side}") for side in (1, 2)]
    with ExitStack() as opened:
        for host in hosts:
            made = subprocess.run([_IP, "netns", "add", host.name], capture_output=True, text=True, check=False)
            if made.returncode:
                pytest.skip(f"network namespaces cannot be made here: {made.stderr.strip()}")
            opened.callback(_ip, "netns", "delete", host.name)
            outside = f"ch{host.name[-4:]}"
            _ip("link", "add", outside, "type", "veth", "peer", "name", "outside", "netns", host.name)
            opened.callback(_gone, outside)
            _ip("address", "add", f"{host.address[:-1]}1/24", "dev", outside)
            _ip("link", "set", outside, "up")
            _ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", "outside")
            _ip("-n", host.name, "link", "set", "outside", "up")
            _ip("-n", host.name, "link", "set", "lo", "up")
        one, two = hosts
        _ip("-n", one.name, "link", "add", "between", "type", "veth", "peer", "name", "between", "netns", two.name)
        for host in hosts:
            _ip("-n", host.name, "address", "add", f"{host.link_address}/24", "dev", "between")
            _ip("-n", host.name, "link", "set", "between", "up")
        yield LinkedHosts(one, two)


def _ip(*words: str) -> None:
    assert _IP is not None
    subprocess.run([_IP, *words], check=True, capture_output=True)


def _gone(device: str) -> None:
    """The kernel removes it with its namespace, or soon after."""
    assert _IP is not None
    subprocess.run([_IP, "link", "delete", device], check=False, capture_output=True)
