"""Folders, buckets and MLflow: what is there comes, and what is not is said."""

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.registry import sources
from apps.registry.sources import Policy, Position, parse
from apps.registry.sources.errors import ReferenceNotAllowed, SourceMissing, SourceRefused, SourceUnreachable
from demo.parts.ports import free_port
from tests.doubles.mlflow import Tracking
from tests.fixtures.s3 import BUCKET, client_of

CONTENT = bytes(range(256)) * 10_000


def read(text: str, policy: Policy, at: Position = Position()) -> tuple[sources.Opened, bytes]:
    with sources.opened(parse(text), policy, at) as opened:
        return opened, b"".join(opened.pieces)


# Folders


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "x.zip").write_bytes(CONTENT)
    (tmp_path / "secret").write_bytes(b"secret")
    return root


def test_a_file_comes_whole_or_from_where_one_was(root: Path) -> None:
    policy = Policy(roots=[str(root)])

    whole, content = read(f"{root}/x.zip", policy)
    rest, end = read(f"{root}/x.zip", policy, Position(1_000, whole.mark))
    other, again = read(f"{root}/x.zip", policy, Position(1_000, "another"))

    assert (whole.filename, whole.size_bytes, content) == ("x.zip", len(CONTENT), CONTENT)
    assert (rest.offset_bytes, end) == (1_000, CONTENT[1_000:])
    assert (other.offset_bytes, again) == (0, CONTENT)


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "link").symlink_to("x.zip")

    assert read(f"{root}/link", Policy(roots=[str(root)]))[1] == CONTENT


@pytest.mark.parametrize("to", ["../secret", "../../../../../../../../../etc/passwd", "/etc/passwd", "out/secret"])
def test_a_link_that_leads_out_is_refused(to: str, root: Path) -> None:
    (root / "out").symlink_to("..")
    (root / "link").symlink_to(to)

    with pytest.raises(ReferenceNotAllowed, match="link out of the allowed folders"):
        read(f"{root}/link", Policy(roots=[str(root)]))


def test_a_root_that_is_itself_a_link_is_what_it_leads_to(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)

    assert read(f"{tmp_path}/alias/x.zip", Policy(roots=[f"{tmp_path}/alias"]))[1] == CONTENT


def test_what_is_no_file_is_refused_without_waiting_for_it(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()

    for name in ("pipe", "folder"):
        with pytest.raises(SourceRefused):
            read(f"{root}/{name}", Policy(roots=[str(root)]))


def test_a_file_that_is_not_there_is_said(root: Path) -> None:
    with pytest.raises(SourceMissing, match="there is no such file"):
        read(f"{root}/none", Policy(roots=[str(root)]))


# S3


@pytest.fixture
def bucket(s3: dict[str, str], settings: Settings) -> Any:
    settings.CONCH = {**settings.CONCH, "s3": s3}
    return client_of(s3)


S3_POLICY = Policy(buckets=[BUCKET, "gone"])


def test_an_object_comes_whole_or_from_where_one_was(bucket: Any) -> None:
    bucket.put_object(Bucket=BUCKET, Key="a/x.zip", Body=CONTENT)

    whole, content = read(f"s3://{BUCKET}/a/x.zip", S3_POLICY)
    rest, end = read(f"s3://{BUCKET}/a/x.zip", S3_POLICY, Position(1_000, whole.mark))
    bucket.put_object(Bucket=BUCKET, Key="a/x.zip", Body=b"another")
    other, again = read(f"s3://{BUCKET}/a/x.zip", S3_POLICY, Position(1_000, whole.mark))

    assert (whole.filename, whole.size_bytes, content) == ("x.zip", len(CONTENT), CONTENT)
    assert (rest.offset_bytes, end) == (1_000, CONTENT[1_000:])
    assert (other.offset_bytes, again) == (0, b"another")


@pytest.mark.parametrize("where", [f"s3://{BUCKET}/none", "s3://gone/x"])
def test_an_object_that_is_not_there_is_said(where: str, bucket: Any) -> None:
    with pytest.raises(SourceMissing, match=where):
        read(where, S3_POLICY)


def test_an_s3_that_is_away_may_be_tried_again_and_no_secret_is_told(settings: Settings) -> None:
    away = {"endpoint_url": f"http://127.0.0.1:{free_port()}", "region": "", "access_key_id": "k"}
    settings.CONCH = {**settings.CONCH, "s3": away | {"secret_access_key": "hunter2"}}

    with pytest.raises(SourceUnreachable) as refused:
        read(f"s3://{BUCKET}/x", S3_POLICY)

    assert refused.value.retryable
    assert "hunter2" not in refused.value.message


# MLflow


def mlflow(tracking: Tracking, **more: Any) -> Policy:
    return Policy(mlflow_url=tracking.url, mlflow_token="t0ken", **more)


def test_an_archive_among_mlflow_s_own_files_is_taken_as_it_is(tracking: Tracking) -> None:
    tracking.locations["digits", "3"] = "mlflow-artifacts:/1/abc/artifacts/model"
    tracking.files = {
        "1/abc/artifacts/model/MLmodel": b"flavors: {}",
        "1/abc/artifacts/model/requirements.txt": b"numpy",
        "1/abc/artifacts/model/data/digits.tar.gz": CONTENT,
    }

    opened, content = read("models:/digits/3", mlflow(tracking))

    assert (opened.filename, opened.size_bytes, content) == ("digits.tar.gz", len(CONTENT), CONTENT)
    assert set(tracking.tokens) == {"Bearer t0ken"}


def test_a_folder_is_packed_always_the_same(tracking: Tracking) -> None:
    tracking.locations["digits", "3"] = "mlflow-artifacts:/model"
    tracking.files = {
        "model/1/model.onnx": CONTENT,
        "model/config.pbtxt": b'name: "digits"',
        "model/MLmodel": b"flavors: {}",
    }

    opened, content = read("models:/digits/3", mlflow(tracking))
    again = read("models:/digits/3", mlflow(tracking))[1]

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == ["1/model.onnx", "config.pbtxt"]
        assert archive.read("1/model.onnx") == CONTENT
        assert archive.testzip() is None
    assert opened.filename == "digits-3.zip"
    assert hashlib.sha256(content).digest() == hashlib.sha256(again).digest()


def test_a_model_in_a_bucket_is_read_there_if_that_is_allowed(tracking: Tracking, bucket: Any) -> None:
    tracking.locations["digits", "3"] = f"s3://{BUCKET}/runs/7"
    bucket.put_object(Bucket=BUCKET, Key="runs/7/model.onnx", Body=CONTENT)
    bucket.put_object(Bucket=BUCKET, Key="runs/7/MLmodel", Body=b"flavors: {}")

    content = read("models:/digits/3", mlflow(tracking, buckets=[BUCKET]))[1]

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.read("model.onnx") == CONTENT
    with pytest.raises(ReferenceNotAllowed):
        read("models:/digits/3", mlflow(tracking))


@pytest.mark.parametrize("location", ["file:///etc", "models:/m-1", "dbfs:/x", ""])
def test_a_location_that_conch_does_not_read_is_said(location: str, tracking: Tracking) -> None:
    tracking.locations["digits", "3"] = location or "x"

    with pytest.raises(SourceRefused, match="which Conch does not read"):
        read("models:/digits/3", mlflow(tracking))


def test_a_version_that_is_not_there_or_empty_is_said(tracking: Tracking) -> None:
    tracking.locations["digits", "4"] = "mlflow-artifacts:/nothing"

    for reference in ("models:/digits/3", "models:/digits/4"):
        with pytest.raises(SourceMissing, match=reference):
            read(reference, mlflow(tracking))


@pytest.mark.parametrize(
    ("status", "error"), [(503, SourceUnreachable), (429, SourceUnreachable), (403, SourceRefused)]
)
def test_a_tracking_server_that_refuses_is_said(status: int, error: type[Exception], tracking: Tracking) -> None:
    tracking.status = status

    with pytest.raises(error, match=f"answers {status}"):
        read("models:/digits/3", mlflow(tracking))


def test_a_tracking_server_whose_answer_does_not_end_is_waited_for_no_longer(
    tracking: Tracking, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracking.locations["digits", "3"], tracking.is_dripping = "mlflow-artifacts:/3", True
    monkeypatch.setattr("apps.registry.sources.mlflow.ANSWER_S", 0.1)

    with pytest.raises(SourceUnreachable, match="does not end"):
        read("models:/digits/3", mlflow(tracking))


def test_a_tracking_server_that_is_away_may_be_tried_again() -> None:
    with pytest.raises(SourceUnreachable):
        read("models:/digits/3", Policy(mlflow_url=f"http://127.0.0.1:{free_port()}"))
