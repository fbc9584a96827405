"""What a reference says, and whether it is allowed: nothing outside is asked."""

import ipaddress

import pytest

from apps.registry.sources.errors import AddressNotAllowed, ReferenceInvalid, ReferenceNotAllowed
from apps.registry.sources.policy import Policy
from apps.registry.sources.references import parse


@pytest.mark.parametrize(
    ("text", "place", "path", "filename"),
    [
        ("s3://models/digits/3.zip", "models", "digits/3.zip", "3.zip"),
        ("https://Files.Example.org/a%20b.zip", "files.example.org", "/a%20b.zip", "a b.zip"),
        ("https://h:8443/x.tar.gz?token=t", "h:8443", "/x.tar.gz?token=t", "x.tar.gz"),
        ("https://h:443/x", "h", "/x", "x"),
        ("https://h/modèle 3.zip?für=ß", "h", "/mod%C3%A8le%203.zip?f%C3%BCr=%C3%9F", "modèle 3.zip"),
        ("https://[2001:db8::1]:8443/x", "[2001:db8::1]:8443", "/x", "x"),
        ("/models/x.zip", "", "/models/x.zip", "x.zip"),
        ("models:/digits/3", "digits", "3", "3"),
        (f"sha256:{'a' * 64}", "", "a" * 64, "a" * 64),
    ],
)
def test_a_reference_is_taken_apart(text: str, place: str, path: str, filename: str) -> None:
    found = parse(text)

    assert (found.place, found.path, found.filename) == (place, path, filename)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " /models/x.zip",
        "x.zip",
        "http://host/x.zip",
        "ftp://host/x",
        "file:///etc/passwd",
        "s3://b/x",
        "s3://bucket",
        "s3://bucket/",
        "s3://bucket/folder/",
        "s3://Bucket/x",
        "/models/../etc/passwd",
        "/models/./x",
        "models:/digits",
        "models:/digits@champion",
        "models:/digits/latest",
        "sha256:abc",
        "https://",
        "https:///x",
        "https://host:port/x",
        "https://host:99999/x",
        "https://ho st/x",
        "https://host\\@other/x",
        "https://host/x\n",
        "https://host/\u202e",
        "/" + "x" * 2_000,
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ReferenceInvalid):
        parse(text)


@pytest.mark.parametrize(
    "text", ["https://me:hunter2@host/x", "http://me:hunter2@host/x?sig=hunter2", "https://h:p/x?sig=hunter2"]
)
def test_a_secret_in_a_refused_reference_is_not_repeated(text: str) -> None:
    with pytest.raises(ReferenceInvalid) as refused:
        parse(text)

    assert "hunter2" not in refused.value.message


def test_a_query_is_kept_and_never_shown() -> None:
    found = parse("https://host/x.zip?signature=hunter2")

    assert found.path.endswith("hunter2")
    assert found.shown == "https://host/x.zip?..."


POLICY = Policy(
    roots=("/models", "/srv/in/"),
    hosts=("files.example.org", "*.inner.example.org", "h:8443"),
    buckets=("models", "shared/ready/"),
    mlflow_url="https://mlflow",
)


@pytest.mark.parametrize(
    "text",
    [
        "/models/x.zip",
        "/srv/in/a/b.zip",
        "https://files.example.org/x",
        "https://a.b.inner.example.org/x",
        "https://h:8443/x",
        "s3://models/x",
        "s3://shared/ready/x",
        "models:/digits/3",
    ],
)
def test_a_listed_place_is_allowed(text: str) -> None:
    POLICY.require_allowed(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "/models-secret/x.zip",
        "/modelsx.zip",
        "/etc/passwd",
        "https://files.example.org:8443/x",
        "https://files.example.org.evil.org/x",
        "https://evil-inner.example.org/x",
        "https://inner.example.org/x",
        "https://h/x",
        "s3://models-secret/x",
        "s3://shared/readyish/x",
        "s3://shared/x",
    ],
)
def test_a_place_beside_a_listed_one_is_not_allowed(text: str) -> None:
    with pytest.raises(ReferenceNotAllowed) as refused:
        POLICY.require_allowed(parse(text))

    assert "CONCH_FETCH_" in refused.value.hint


def test_without_a_list_nothing_is_allowed() -> None:
    for text in ("/models/x.zip", "https://host/x", "s3://models/x", "models:/digits/3"):
        with pytest.raises(ReferenceNotAllowed):
            Policy().require_allowed(parse(text))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
    ],
)
def test_an_address_that_is_not_public_is_refused_however_it_is_written(address: str) -> None:
    with pytest.raises(AddressNotAllowed, match="not a public address"):
        Policy().require_address("host", address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_a_public_address_is_allowed(address: str) -> None:
    Policy().require_address("host", address)


def test_a_private_network_can_be_allowed_and_no_other_with_it() -> None:
    policy = Policy(networks=(ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00:1::/32")))

    for address in ("10.1.2.3", "::ffff:10.1.2.3", "fd00:1::5"):
        policy.require_address("host", address)
    for address in ("10.2.0.1", "fd00:2::5"):
        with pytest.raises(AddressNotAllowed):
            policy.require_address("host", address)
