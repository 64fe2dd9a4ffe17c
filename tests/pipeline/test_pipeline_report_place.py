"""A report in an object store consists of objects with the right names and types, written with Spark's credentials."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.report.out_folder import out_folder


class Bucket(BaseHTTPRequestHandler):
    """Answers multipart uploads like S3, because Arrow writes in parts."""

    protocol_version = "HTTP/1.1"  # Clients send "Expect: 100-continue", which http.server answers only for HTTP/1.1.
    uploads: dict[str, tuple[str, str]]
    """Path -> content type and access key of the upload."""
    parts: dict[str, bytes]

    def do_POST(self) -> None:
        path, _, query = self.path.partition("?")
        self.body()
        if query == "uploads":
            self.uploads[path] = (self.headers["Content-Type"], self.headers["Authorization"].split("Credential=")[1].split("/")[0])
            self.answer(b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
        else:
            self.answer(b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")

    def do_PUT(self) -> None:
        self.parts[self.path.partition("?")[0]] = self.body()
        self.answer(b"")

    def body(self) -> bytes:
        """Return the request body, of a known length or in chunks (RFC 9112, section 7.1)."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return found

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def bucket() -> Iterator[tuple[type[Bucket], str]]:
    class Own(Bucket):
        uploads, parts = {}, {}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    Thread(target=server.serve_forever, daemon=True).start()
    yield Own, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def told(**settings: str) -> Any:
    """Return an object with the part of a Spark session that reads these settings."""
    names = {f"spark.hadoop.fs.s3a.{name.replace('_', '.')}": value for name, value in settings.items()}
    return SimpleNamespace(conf=SimpleNamespace(get=names.get))


def test_objects_have_their_names_and_types_and_a_bucket_its_own_keys(bucket: tuple[type[Bucket], str]) -> None:
    seen, endpoint = bucket
    settings = {"endpoint": endpoint, "endpoint_region": "r", "access_key": "all", "secret_key": "s", "bucket_ci_access_key": "own"}
    out = out_folder(told(**settings), "s3a://ci/nightly/7/")
    out.write("report.html", "<p>\u7bc4".encode())
    out_folder(told(**settings), "s3a://other").write("a.png", b"\x89PNG")
    assert seen.uploads == {"/ci/nightly/7/report.html": ("text/html", "own"), "/other/a.png": ("image/png", "all")}
    assert "<p>\u7bc4".encode() in seen.parts["/ci/nightly/7/report.html"]


def test_a_place_that_nobody_knows() -> None:
    with pytest.raises(BadInput, match=r"ftp://here/x: .*; name a folder that can be written"):
        out_folder(told(), "ftp://here/x")


def test_a_folder_by_its_uri_is_of_this_machine(tmp_path: Path) -> None:
    out_folder(told(), f"file://{tmp_path}/a/b").write("x", b"1")
    assert (tmp_path / "a" / "b" / "x").read_bytes() == b"1"
