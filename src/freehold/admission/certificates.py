"""Certificates of the webhook: issued by a CA of its own, whose key is thrown away at once. Pure.

A new certificate has a new CA. Its CA is trusted before it is served: :func:`decide` says which step is due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from ipaddress import IPv4Address
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE: Final = timedelta(days=90)
_BACKDATED: Final = timedelta(hours=1)
"""The clocks of API servers may be behind."""
GRACE: Final = timedelta(minutes=2)
"""The time after which every API server has a new CA of the configuration."""

CERTIFICATE, KEY, AUTHORITIES = "tls.crt", "tls.key", "ca.crt"
NEXT_CERTIFICATE, NEXT_KEY = "next.crt", "next.key"
"""Entries of the Secret: what is served, whom API servers must trust, and what is served next."""


class BrokenCertificates(ValueError):
    """Certificates that cannot be used; the text says why."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Pair(...)"


@dataclass(frozen=True)
class Certificates:
    """The content of a Secret. ``authorities`` are all CAs to be trusted, in PEM; ``following`` is served next."""

    served: Pair
    authorities: bytes
    following: Pair | None = None

    def to_data(self) -> dict[str, bytes]:
        """Return the entries of the Secret."""
        data = {CERTIFICATE: self.served.certificate, KEY: self.served.key, AUTHORITIES: self.authorities}
        if self.following:
            data |= {NEXT_CERTIFICATE: self.following.certificate, NEXT_KEY: self.following.key}
        return data


class Step(Enum):
    """The step that is due."""

    NOTHING = "nothing"
    ISSUE = "issue"
    """There is nothing that can be served: a new one, at once."""
    PREPARE = "prepare"
    """Two thirds of its life are over: make the next one, whose CA is trusted beside the old one from now on."""
    PROMOTE = "promote"
    """The CA of the next one is trusted everywhere: serve it."""


def issue(names: Sequence[str], now: datetime, life: timedelta = LIFE) -> Certificates:
    """Issue a CA, and one certificate for these DNS names. Nobody has the key of the CA afterwards."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"freehold-webhook-ca-{now:%Y%m%d%H%M%S}")])
    authority = (
        _begin(title, title, authority_key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    alternatives = [*(x509.DNSName(each) for each in names), x509.IPAddress(IPv4Address("127.0.0.1"))]
    certificate = (
        _begin(subject, title, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificates(Pair(_to_pem(certificate), private), _to_pem(authority))


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(**uses: bool) -> x509.KeyUsage:
    names = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return x509.KeyUsage(**{name: uses.get(name, False) for name in names})


def _to_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def read(data: Mapping[str, bytes]) -> Certificates:
    """Read the entries of a Secret. Raises BrokenCertificates."""
    missing = [name for name in (CERTIFICATE, KEY, AUTHORITIES) if not data.get(name)]
    if missing:
        raise BrokenCertificates(f"entry {missing[0]} is missing")
    served = Pair(data[CERTIFICATE], data[KEY])
    following = Pair(data[NEXT_CERTIFICATE], data[NEXT_KEY]) if {NEXT_CERTIFICATE, NEXT_KEY} <= data.keys() else None
    for pair in (served, following) if following else (served,):
        _check_pair(pair, data[AUTHORITIES])
    return Certificates(served, data[AUTHORITIES], following)


def _check_pair(pair: Pair, authorities: bytes) -> None:
    certificate = check_key(pair)
    try:
        trusted = x509.load_pem_x509_certificates(authorities)
    except ValueError as problem:
        raise BrokenCertificates(f"ca.crt is not in PEM: {problem}") from None
    if not any(_is_signed_by(certificate, each) for each in trusted):
        raise BrokenCertificates("no CA of ca.crt has signed the certificate")


def check_key(pair: Pair) -> x509.Certificate:
    """Return the certificate of a pair whose key is its own. Raises BrokenCertificates."""
    try:
        certificate, key = load(pair), serialization.load_pem_private_key(pair.key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        raise BrokenCertificates(f"the certificate or its key is not in PEM: {problem}") from None
    if certificate.public_key() != key.public_key():
        raise BrokenCertificates("the key is not that of the certificate")
    return certificate


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def load(pair: Pair) -> x509.Certificate:
    """Load the certificate of a pair. Raises ValueError."""
    return x509.load_pem_x509_certificate(pair.certificate)


def end_of(pair: Pair) -> datetime:
    """Return when a certificate ends."""
    return load(pair).not_valid_after_utc


def decide(held: Certificates | None, now: datetime, trusted_since: datetime | None) -> Step:
    """Decide which step is due. ``trusted_since``: since when the configuration has had ``authorities``, if it has."""
    if held is None or end_of(held.served) <= now:
        return Step.ISSUE
    if held.following is not None:
        is_trusted = trusted_since is not None and now - trusted_since >= GRACE
        return Step.PROMOTE if is_trusted else Step.NOTHING
    begin, end = load(held.served).not_valid_before_utc, end_of(held.served)
    return Step.PREPARE if now >= begin + (end - begin) * 2 / 3 else Step.NOTHING


def prepare(held: Certificates, new: Certificates, now: datetime) -> Certificates:
    """Add the next certificate; its CA comes before the old ones that still count."""
    authorities = [each for each in x509.load_pem_x509_certificates(held.authorities) if each.not_valid_after_utc > now]
    return replace(held, authorities=new.authorities + b"".join(map(_to_pem, authorities)), following=new.served)


def promote(held: Certificates) -> Certificates:
    """Serve the next certificate. The old CA stays trusted: other replicas serve the old one until they look again."""
    assert held.following is not None, "decide() asks for it only then"
    return replace(held, served=held.following, following=None)


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)
