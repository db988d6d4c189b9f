"""A SuperLink with certificates made on the spot, and sites that answer without a network of their own."""

import datetime
import ipaddress
import os
import secrets
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.research.federated.flower.superlink import answer_superlink
from inverse_deid.research.federated.messages import Envelope, Reply, open_sealed, pack, seal
from inverse_deid.research.federated.settings import FlowerServer, FlowerSite

LIMIT_S = 300
_PEM = serialization.Encoding.PEM
_PLAIN = serialization.NoEncryption()
_NOW = datetime.datetime.now(datetime.UTC)


class Authority:
    """Signs certificates."""

    def __init__(self, name):
        self._key = ec.generate_private_key(ec.SECP384R1())
        self._name = _named(name)
        self.certificate = self._signed(self._name, self._key, x509.BasicConstraints(True, None))

    def server(self):
        """A certificate for loopback and its key."""
        key = ec.generate_private_key(ec.SECP384R1())
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = self._signed(_named("localhost"), key, x509.SubjectAlternativeName(names))
        return certificate, key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, _PLAIN)

    def _signed(self, subject, key, extension):
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_NOW - datetime.timedelta(days=1))
            .not_valid_after(_NOW + datetime.timedelta(days=2))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        )
        return made.sign(self._key, hashes.SHA256()).public_bytes(_PEM)


def _named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def write_node_key(folder, name):
    """As `ssh-keygen -t ecdsa -b 384` writes it: NAME and NAME.pub."""
    key = ec.generate_private_key(ec.SECP384R1())
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    (folder / name).write_bytes(key.private_bytes(_PEM, serialization.PrivateFormat.OpenSSH, _PLAIN))
    (folder / f"{name}.pub").write_bytes(public)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class SuperLink:
    """`flower-superlink` as a process, as docs/federated.md says to start it."""

    def __init__(self, folder):
        self.folder, self.address = folder, f"127.0.0.1:{free_port()}"
        authority = Authority("centre")
        certificate, key = authority.server()
        (folder / "ca.pem").write_bytes(authority.certificate)
        (folder / "other-ca.pem").write_bytes(Authority("somebody else").certificate)
        (folder / "server.pem").write_bytes(certificate)
        (folder / "server.key").write_bytes(key)
        (folder / "secret").write_bytes(secrets.token_bytes(32))
        (folder / "nodes").mkdir()
        (folder / "keys").mkdir()
        self.process = None

    def start(self):
        host, port = self.address.split(":")
        command = [str(Path(sys.executable).with_name("flower-superlink"))]
        command += ["--host", host, "--port", port, "--ssl-certfile", "server.pem"]
        command += ["--ssl-keyfile", "server.key", "--ssl-ca-certfile", "ca.pem", "--enable-supernode-auth"]
        command += ["--isolation", "process", "--superexec-auth-secret-file", "secret"]
        command += ["--disable-runtime-dependency-installation", "--database", "superlink.db"]
        with (self.folder / "superlink.log").open("ab") as out:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT, env=quiet(self.folder)
            )
        end = time.monotonic() + LIMIT_S
        while True:
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < end
            try:
                socket.create_connection((host, int(port)), 1).close()
            except OSError:
                time.sleep(0.3)
            else:
                return self

    def log(self):
        return (self.folder / "superlink.log").read_text()

    def settings(self):
        folder = self.folder
        return FlowerServer(
            superlink=self.address,
            root_certificates=folder / "ca.pem",
            secret=folder / "secret",
            node_keys=folder / "nodes",
        )


def quiet(folder):
    """What a centre sets so that Flower tells nobody and looks for no newer version."""
    return os.environ | {
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_HOME": str(folder / "flower-home"),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


class Adder:
    """A site that adds its number to the weights; the first answer takes a while."""

    def __init__(self, name, key, number, patience_s):
        self.name, self.patience_s = name, patience_s
        self._key, self._number = key, number

    def say(self, line):
        print(line, flush=True)  # noqa: T201

    def open(self, data):
        return open_sealed(data, self._key)

    def declare(self):
        return seal(Envelope({"kind": "declaration", "site": self.name}), self._key)

    def answer(self, state):
        self.say(f"works on round {state.number}")
        time.sleep(2)
        weights = state.weights + np.float32(self._number)
        reply = Reply(self.name, state.run, state.number, 10, weights=weights)
        return seal(pack(reply), self._key)


def main(superlink, folder, name, number, patience_s, authority):
    folder = Path(folder)
    site = Adder(name, (folder / "keys" / f"{name}.key").read_bytes(), int(number), float(patience_s))
    settings = FlowerSite(
        superlink=superlink, root_certificates=folder / authority, node_key=folder / "nodes" / name
    )
    try:
        state = answer_superlink(site, settings)
    except InverseDeidError as error:
        print(error)  # noqa: T201
        return 2
    print("result", float(state.weights[0]))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
