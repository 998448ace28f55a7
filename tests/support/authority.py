"""A bank's own certificate authority, and a server's certificate that it signed."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class OwnAuthority:
    """``ca_file`` has its certificate; ``server`` is what a server at 127.0.0.1 and localhost shows."""

    def __init__(self, folder: Path, name: str = "Bank Root") -> None:
        key, subject = ec.generate_private_key(ec.SECP256R1()), _name(name)
        own = _builder(subject, subject, key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        root = own.sign(key, hashes.SHA256())
        leaf_key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
        builder = _builder(_name("provider"), subject, leaf_key)
        leaf = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(key, hashes.SHA256())
        pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        self.ca_file, shown = folder / f"{name}.pem", folder / f"{name} server.pem"
        self.ca_file.write_bytes(root.public_bytes(pem))
        shown.write_bytes(leaf_key.private_bytes(pem, form, serialization.NoEncryption()) + leaf.public_bytes(pem))
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(shown)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
    )
