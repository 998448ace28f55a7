"""Which URLs are taken for endpoints, and which addresses nothing is ever sent to."""

from ipaddress import ip_address

import pytest

from clearhold.features.webhooks.delivery import MAX_URL_LENGTH, endpoint_url, is_blocked

BLOCKED = (
    "0.0.0.0",  # noqa: S104 - nothing binds to it
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.8.8.8",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "::",
    "::1",
    "::7f00:1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "no address",
    "",
)
PUBLIC = ("8.8.8.8", "1.1.1.1", "151.101.1.69", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e")


@pytest.mark.parametrize("address", BLOCKED)
def test_given_an_address_that_is_not_public_then_nothing_is_sent_to_it(address: str) -> None:
    assert is_blocked(address, allow_local=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_given_a_public_address_then_it_is_sent_to(address: str) -> None:
    assert not is_blocked(address, allow_local=False)


@pytest.mark.parametrize("address", BLOCKED)
def test_given_local_receivers_are_allowed_then_that_is_loopback_and_nothing_else(address: str) -> None:
    text = address.removeprefix("::ffff:")
    is_loopback = address not in {"", "no address"} and ip_address(text.partition("%")[0]).is_loopback

    assert is_blocked(address, allow_local=True) is not is_loopback


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://hooks.bank.example", "https://hooks.bank.example/"),
        ("https://Hooks.Bank.Example:443/a?b=c", "https://hooks.bank.example:443/a?b=c"),
        ("https://hooks.bank.example:1024/a", "https://hooks.bank.example:1024/a"),
        ("https://hooks.bank.example:65535/", "https://hooks.bank.example:65535/"),
        ("https://bücher.example/%C3%BC", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://[2606:4700:4700::1111]:8443/x", "https://[2606:4700:4700::1111]:8443/x"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://8.example/", "https://8.example/"),
        ("https://internal.example/", "https://internal.example/"),
        ("https://local.0x.example/", "https://local.0x.example/"),
    ],
)
def test_given_a_url_that_may_be_reached_when_registered_then_it_is_kept_with_an_ascii_host(
    text: str, kept: str
) -> None:
    assert endpoint_url(text, allow_local=False) == kept
    assert endpoint_url(kept, allow_local=False) == kept


HOSTILE = (
    "http://hooks.bank.example/",
    "ftp://hooks.bank.example/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "javascript:alert(1)",
    "//hooks.bank.example/",
    "hooks.bank.example",
    "https://",
    "https:///path",
    "https://user@hooks.bank.example/",
    "https://user:pass@hooks.bank.example/",
    "https://@hooks.bank.example/",
    "https://hooks.bank.example/#part",
    "https://hooks.bank.example/#",
    "https://hooks.bank.example:22/",
    "https://hooks.bank.example:80/",
    "https://hooks.bank.example:1023/",
    "https://hooks.bank.example:0/",
    "https://hooks.bank.example:65536/",
    "https://hooks.bank.example:port/",
    "https://hooks.bank.example\\@evil.example/",
    "https://hooks.bank.example /",
    "https://hooks.bank.example/\n",
    "https://hooks.bank.example/\u202e",
    "https://hooks.bank.example/ü",
    "https://a..b/",
    "https://h%6Fst/",
    "https://[::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[::1",
    "https://127.0.0.1/",
    "https://0/",
    "https://0x7f000001/",
    "https://0x7F.1/",
    "https://2130706433/",
    "https://127.1/",
    "https://0177.0.0.1/",
    "https://127.0.0.1.:8443/",
    "https://①②⑦.①/",
    "https://metadata.google.internal/",
    "https://Metadata.Google.Internal./computeMetadata/v1/",
    "https://printer.local/",
    "https://router/",
    "https://0b1/",
    "https://nas.home.arpa./",
    "https://nas.lan:8443/",
    "https://kubernetes.default.svc/",
    "https://localhost/",
    "https://a.localhost:8443/",
    "https://10.0.0.1/",
    "https://169.254.169.254/latest/meta-data",
    "http://127.0.0.1/",
    "http://localhost/",
    f"https://hooks.bank.example/{'a' * MAX_URL_LENGTH}",
    f"https://{'a' * 64}.example/",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_given_a_hostile_url_when_registered_then_it_is_refused_with_a_rule_that_does_not_quote_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must ") as refused:
        endpoint_url(text, allow_local=False)

    assert text not in str(refused.value)


@pytest.mark.parametrize("text", ["http://127.0.0.1:9000/hook", "http://localhost:9000/hook"])
def test_given_local_receivers_are_allowed_then_http_is_taken_for_this_machine_alone(text: str) -> None:
    assert endpoint_url(text, allow_local=True) == text
    for other in ("http://127.0.0.2:9000/", "http://hooks.bank.example/", "http://10.0.0.1/", "http://[::1]:9000/"):
        with pytest.raises(ValueError, match=r"^must "):
            endpoint_url(other, allow_local=True)
