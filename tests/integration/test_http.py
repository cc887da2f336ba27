"""Files and steps over HTTP, as a user meets them; and whatever else one may send there."""

import io
import os
import zipfile
from typing import Any

import hypothesis
import nbformat
import pytest
import schemathesis

from tests.integration.http_world import PIECE, World, asked_as_it_is

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "10"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("http")]


# Files


def test_every_published_file_is_listed_and_comes_whole(world: World) -> None:
    listed = world.alice.get(f"/stepwell/threads/{world.thread}/artifacts").json()["artifacts"]
    assert {"answer.md", "analysis.py"} <= {one["name"] for one in listed}
    assert any(one["figure"] for one in listed)
    for one in listed:
        answer = world.alice.get(one["href"])
        assert (answer.status_code, len(answer.content)) == (200, one["size"])
        part = world.alice.get(one["href"], headers={"Range": "bytes=2-5"})
        assert (part.status_code, part.content) == (206, answer.content[2:6])


def test_only_what_a_thread_published_is_found_whatever_its_state_says(world: World) -> None:
    thread = world.bob.post("/threads", json={"metadata": {"graph_id": "stepwell"}}).json()["thread_id"]
    folder = world.served.home / "artifacts" / thread
    folder.mkdir(parents=True)
    (folder / "page.html").write_text("<script>alert(document.domain)</script>")
    (folder / "unlisted.csv").write_text("x")
    (folder / "answers.md").write_text("a file of the thread's own")
    (folder / "Makefile").write_text("all:\n")
    (folder / "link.csv").symlink_to(world.served.home.parent / "settings" / "keys")
    names = [
        "page.html",
        "answers.md",
        "link.csv",
        "Makefile",
        "../../../settings/keys",
        "/etc/passwd",
        f"../{world.thread}/answer.md",
        "",
        "a\r\nb",
    ]
    said = [
        {"name": name, "url": "/etc/passwd", "size": 1, "sha256": "", "mime": "text/html", "cell": 0} for name in names
    ]
    odd = [{"name": 5}, "page.html", None, {"url": "file:///etc/passwd"}]
    changed = world.bob.post(
        f"/threads/{thread}/state", json={"values": {"artifacts": said + odd}, "as_node": "upload"}
    )
    assert changed.status_code == 200, changed.text
    listed = world.bob.get(f"/stepwell/threads/{thread}/artifacts").json()["artifacts"]
    assert [one["name"] for one in listed] == ["page.html", "answers.md", "link.csv", "Makefile"]
    page = world.bob.get(f"/stepwell/threads/{thread}/artifacts/page.html")
    assert page.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in page.headers["content-security-policy"]
    base = f"/stepwell/threads/{thread}/artifacts"
    for path in (
        f"{base}/unlisted.csv", f"{base}/link.csv", f"{base}/..%2f..%2f..%2fsettings%2fkeys", f"{base}/%2fetc%2fpasswd",
        f"{base}/..%252f..%252fkeys", f"{base}/..%5c..%5ckeys", f"{base}/page.html%00.png", f"{base}//etc/passwd",
        f"{base}/..%2f{world.thread}%2fanswer.md", "/stepwell/threads/..%2f..%2fx/artifacts/keys",
        f"/stepwell/threads/{world.thread}/artifacts/answer.md",
    ):  # fmt: skip
        answer = asked_as_it_is(world, path)
        assert b" 404 " in answer.split(b"\r\n")[0], (path, answer[:300])
    with zipfile.ZipFile(io.BytesIO(world.bob.get(f"/stepwell/threads/{thread}/export").content)) as archive:
        assert archive.namelist() == ["answers-2.md", "page.html", "answers.md", "Makefile.txt", "missing.txt"]
        assert archive.read("answers.md") == b"a file of the thread's own"


def test_the_archive_holds_answer_code_and_files(world: World) -> None:
    answer = world.alice.get(f"/stepwell/threads/{world.thread}/export")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        names = {"answers.md", "analysis.py", "answer.md", "summary.xlsx", "report.html", "notebook.ipynb"}
        assert names <= set(archive.namelist())
        assert "What stands out?" in archive.read("answers.md").decode()
        compile(archive.read("analysis.py"), "analysis.py", "exec")


def test_a_thread_is_downloaded_as_a_report_and_as_a_notebook(world: World) -> None:
    base = f"/stepwell/threads/{world.thread}/export"
    report = world.alice.get(base, params={"format": "html"})
    assert report.headers["content-type"] == "text/html; charset=utf-8"
    assert report.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in report.headers["content-security-policy"]
    assert "What stands out?" in report.text
    assert "data:image/png;base64," in report.text
    notebook = world.alice.get(base, params={"format": "ipynb"})
    assert notebook.headers["content-disposition"].startswith("attachment")
    nbformat.validate(nbformat.reads(notebook.text, as_version=4))
    assert world.alice.get(base, params={"format": "pdf"}).status_code == 422
    assert world.bob.get(base, params={"format": "html"}).status_code == 404


def test_a_thread_without_a_question_has_no_report(world: World) -> None:
    thread = world.bob.post("/threads", json={"metadata": {"graph_id": "stepwell"}}).json()["thread_id"]
    answer = world.bob.get(f"/stepwell/threads/{thread}/export", params={"format": "html"})
    assert answer.status_code == 409
    assert "nothing to export yet" in answer.text


# Steps


def test_steps_make_a_tree_with_code_output_variables_and_files(world: World) -> None:
    steps = world.alice.get(f"/stepwell/threads/{world.thread}/steps").json()["steps"]
    assert [one["id"] for one in steps] == [str(number) for number in range(1, len(steps) + 1)]
    assert [one["head"] for one in steps] == [False] * (len(steps) - 1) + [True]
    step = world.alice.get(f"/stepwell/threads/{world.thread}/steps/4").json()
    assert step["code"]
    assert step["observation"].startswith("cell 4 ")
    assert step["purpose"] == steps[3]["purpose"]
    assert {"name", "kind", "summary"} <= set(step["namespace"][0])
    figure = next(path for path in step["workspace"] if path.startswith("figures/"))
    png = world.alice.get(f"/stepwell/threads/{world.thread}/steps/4/files/{figure}")
    assert png.content.startswith(b"\x89PNG")
    assert png.headers["content-disposition"].startswith("inline")
    assert len(png.content) == step["workspace"][figure]
    assert world.alice.get(f"/stepwell/threads/{world.thread}/steps/1/files/{figure}").status_code == 404
    for name in ("0", "99", "4b", "x", "..", "4@5"):
        assert world.alice.get(f"/stepwell/threads/{world.thread}/steps/{name}").status_code == 404


def test_files_are_served_without_the_state_of_their_thread(world: World) -> None:
    base = f"/stepwell/threads/{world.thread}"
    figure = next(
        path for path in world.alice.get(f"{base}/steps/4").json()["workspace"] if path.startswith("figures/")
    )
    read = world.served.log.stat().st_size
    whole = world.alice.get(f"{base}/artifacts/answer.md")
    for headers in ({"Range": "bytes=0-3"}, {"If-None-Match": whole.headers["etag"]}):
        assert world.alice.get(f"{base}/artifacts/answer.md", headers=headers).status_code in (206, 304)
    assert world.alice.get(f"{base}/artifacts").json()["artifacts"]
    png = world.alice.get(f"{base}/steps/4/files/{figure}", headers={"Range": "bytes=1-3"})
    assert (png.status_code, png.content) == (206, b"PNG")
    said = world.served.log.read_bytes()[read:]
    assert b"/threads/search" in said  # what the server asks itself is in its log: whose the thread is
    assert b"/state" not in said
    assert b"/history" not in said


def test_a_fork_in_the_same_thread_is_a_branch(world: World) -> None:
    thread = world.alice.post(f"/threads/{world.thread}/copy").json()["thread_id"]
    steps = world.alice.get(f"/stepwell/threads/{thread}/steps").json()["steps"]
    third = next(one for one in steps if one["id"] == "3")
    run = {"assistant_id": "stepwell", "input": None, "checkpoint": {"checkpoint_id": third["checkpoint"]}}
    world.alice.post(f"/threads/{thread}/runs/wait", json=run).raise_for_status()
    after = world.alice.get(f"/stepwell/threads/{thread}/steps").json()["steps"]
    branch = next(one for one in after if one["id"] == "4b")
    assert (branch["parent"], branch["branch"]) == ("3", "b")
    assert next(one["id"] for one in after if one["head"]).endswith("b")
    assert [one["id"] for one in after if one["branch"] == "a"] == [one["id"] for one in steps]


# Whatever else one may send


@pytest.fixture
def document(world: World) -> Any:
    """Our part of the OpenAPI document."""
    said = world.alice.get("/openapi.json").json()
    said["paths"] = {path: methods for path, methods in said["paths"].items() if path.startswith("/stepwell/")}
    # Either of two headers says who it is; this takes each of them for needed.
    said["components"] = {"securitySchemes": {"key": said["components"]["securitySchemes"]["key"]}}
    said["security"] = [{"key": []}]
    return schemathesis.openapi.from_dict(said)


schemathesis.serializer.alias(PIECE, "application/octet-stream")
described = schemathesis.pytest.from_fixture("document")


@described.parametrize()
@hypothesis.settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
def test_every_answer_is_one_that_the_document_promises(case: Any, world: World) -> None:
    parameters = case.path_parameters or {}
    if "thread_id" in parameters and int(str(parameters["thread_id"]).encode().hex(), 16) % 4:
        parameters["thread_id"] = world.thread  # else nothing but "no such thread" would be looked at
    key = world.keys["operator" if case.path.endswith("/metrics") else "alice"]
    case.call_and_validate(
        base_url=world.served.url,
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
        # Kinds of files, offsets and the like are refused for what they mean, with a status that the document names;
        # and parameters that nobody has heard of are passed over, as HTTP has it.
        excluded_checks=schemathesis.checks.CHECKS.get_by_names(
            ["positive_data_acceptance", "negative_data_rejection"]
        ),
    )
