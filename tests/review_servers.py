"""`inverse-deid review serve` and `serve` as processes of their own, certificates, and a visitor who logs in."""

from __future__ import annotations

import datetime
import ipaddress
import os
import random
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from proxies import wait_for
from review_stores import PASSWORD

_reserved = []
"""Sockets for UDP at the numbers of the ports that this process was given; they are open until it ends."""


def free_port():
    """Return a port that nobody listens on, that no connection gets by itself, and that no other test is given."""
    while True:
        port = random.randrange(15_000, 30_000)  # below those that systems give to connections
        taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            taken.bind(("127.0.0.1", port))
            with socket.socket() as free:
                free.bind(("", port))
        except OSError:
            taken.close()
        else:
            _reserved.append(taken)
            return port


def serving(store_file, *options):
    """Run a server of the review until the block ends; yield its port."""
    return running("review", "serve", "--store", store_file, *options)


@contextmanager
def running(*words):
    """Run a command of `inverse-deid` that serves until the block ends; yield its port."""
    with started("-m", "inverse_deid.cli.main", *words) as (port, _):
        yield port


@contextmanager
def started(*words, log=subprocess.DEVNULL):
    """Run a program of Python that serves until the block ends; yield its port and its process."""
    port = free_port()
    command = [sys.executable, *map(str, words), "--port", str(port)]
    here = Path(__file__).parent
    found = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": found}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=environment) as process:
        try:
            wait_for(port, process, seconds=240)
            yield port, process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)


def certificate(folder, *host_names):
    """Make a self-signed certificate for 127.0.0.1, or for host names, and its key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "review")])
    names = [x509.DNSName(one) for one in host_names]
    names = names or [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), False)
        .sign(key, hashes.SHA256())
    )
    chain, private = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return chain, private


def log_in(client, password=PASSWORD):
    page = client.get("/log-in")
    token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text).group(1)
    return client.post("/log-in", data={"name": "ann", "password": password, "csrf_token": token})


def cookies(answer):
    """Return the cookies of a response by name."""
    found = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        found.load(line)
    return found
