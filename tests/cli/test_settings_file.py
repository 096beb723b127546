"""The settings file: what it says, and errors that name the file and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontmind.cli.settings_file import FileSettings, read_settings_file, settings_file_path
from frontmind.errors import UsageError
from frontmind.tools.mcp import McpServer


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path, environment: dict[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as raised:
        read_settings_file(path, environment or {})
    text = str(raised.value)
    assert str(path) in text
    assert "\n" not in text
    return text


def test_without_a_file_there_are_no_servers(tmp_path: Path) -> None:
    assert read_settings_file(tmp_path / "settings.toml") == FileSettings()


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert read_settings_file(written(tmp_path, "# nothing yet\n"), {}) == FileSettings()


def test_servers_are_read_and_sorted_by_name(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [mcp.wiki]
        url = "https://wiki.example/${SPACE}/mcp"
        headers = { Authorization = "Bearer ${TOKEN}" }
        time_limit = 60

        [mcp.notes]
        command = ["uvx", "notes-server", "--name", "${NOT_REPLACED}"]
        env = { NOTES_TOKEN = "${TOKEN}-${TOKEN}", PLAIN = "$TOKEN" }

        [mcp.files]
        command = "npx files-server '/home/anna/My Files'"
        """,
    )
    assert read_settings_file(path, {"TOKEN": "hunter2", "SPACE": "home"}).mcp == (
        McpServer("files", ("npx", "files-server", "/home/anna/My Files")),
        McpServer(
            "notes",
            ("uvx", "notes-server", "--name", "${NOT_REPLACED}"),
            env={"NOTES_TOKEN": "hunter2-hunter2", "PLAIN": "$TOKEN"},
        ),
        McpServer(
            "wiki",
            url="https://wiki.example/home/mcp",
            headers={"Authorization": "Bearer hunter2"},
            time_limit=60.0,
        ),
    )


def test_variables_come_from_the_process_when_nothing_else_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOUP_OF_THE_TEST", "leek")
    path = written(tmp_path, '[mcp.a]\ncommand = ["b"]\nenv = { SOUP = "${SOUP_OF_THE_TEST}" }\n')
    assert read_settings_file(path).mcp[0].env == {"SOUP": "leek"}


def test_what_a_variable_holds_is_not_replaced_again(tmp_path: Path) -> None:
    path = written(tmp_path, '[mcp.a]\ncommand = ["b"]\nenv = { SOUP = "${ONE}" }\n')
    assert read_settings_file(path, {"ONE": "${TWO}", "TWO": "x"}).mcp[0].env == {"SOUP": "${TWO}"}


def test_a_missing_variable_is_named_with_its_key(tmp_path: Path) -> None:
    path = written(tmp_path, '[mcp.wiki]\nurl = "https://a/mcp"\nheaders = { Authorization = "${WIKI_TOKEN}" }\n')
    text = refused(path)
    assert "mcp.wiki.headers.Authorization" in text
    assert "'WIKI_TOKEN'" in text


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("[mcp.a]\ncommand = 5", "mcp.a.command", "list of texts"),
        ("[mcp.a]\ncommand = [5]", "mcp.a.command", "list of texts"),
        ("[mcp.a]\ncommand = []", "mcp.a.command", "names no program"),
        ("[mcp.a]\ncommand = ' '", "mcp.a.command", "names no program"),
        ("[mcp.a]\ncommand = ['']", "mcp.a.command", "names no program"),
        ("[mcp.a]\ncommand = 'a \"b'", "mcp.a.command", "cannot be split"),
        ("[mcp.a]\nurl = 5", "mcp.a.url", "must be a text"),
        ("[mcp.a]\nurl = 'http://a'\nheaders = ['b']", "mcp.a.headers", "must be a table"),
        ("[mcp.a]\ncommand = 'a'\nenv = { B = 5 }", "mcp.a.env.B", "must be a text"),
        ("[mcp.a]\ncommand = 'a'\ntime_limit = 'long'", "mcp.a.time_limit", "number of seconds"),
        ("[mcp.a]\ncommand = 'a'\ntime_limit = true", "mcp.a.time_limit", "number of seconds"),
        ("[mcp.a]\ncommand = 'a'\ntime_limit = 0", "mcp.a.time_limit", "more than 0"),
        ("[mcp.a]\ncommand = 'a'\ntime_limit = nan", "mcp.a.time_limit", "more than 0"),
        ("[mcp.a]\ncommand = 'a'\ntime_limit = inf", "mcp.a.time_limit", "at most 3600"),
        ("[mcp.a]\ncomand = 'a'", "mcp.a.comand", "is not a setting; the settings here are command, env, headers"),
        ("mcp = 5", "mcp", "must be a table"),
        ("[mcp]\na = 5", "mcp.a", "must be a table"),
        ("[mpc.a]\ncommand = 'a'", "mpc", "is not a setting; the settings here are mcp"),
        ("[mcp.a]", "'a'", "either a command or a url"),
        ("[mcp.a__b]\ncommand = 'a'", "'a__b'", "cannot name an MCP server"),
        ("[mcp.'a\\n\\u001b']\ncommand = 'a'", "cannot name", "single _"),
        ("[mcp.a]\nurl = 'ftp://a'", "'a'", "must begin with https://"),
        ("[mcp.a]\nurl == 5\n", "line 2", "is not TOML"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_file_and_key(tmp_path: Path, text: str, key: str, reason: str) -> None:
    error = refused(written(tmp_path, text))
    assert key in error
    assert reason in error


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in refused(path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert "cannot read the settings file" in refused(tmp_path)


def test_no_secret_stands_in_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, "[mcp.a]\nurl = '${URL}'\nheaders = { A = '${TOKEN}' }\n")
    assert "hunter2" not in refused(path, {"URL": "ftp://hunter2@a", "TOKEN": "hunter2"})


def test_the_file_is_the_one_that_the_variable_names(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    assert settings_file_path({"FRONTMIND_SETTINGS": str(path)}) == path


def test_a_variable_that_names_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="FRONTMIND_SETTINGS names"):
        settings_file_path({"FRONTMIND_SETTINGS": str(tmp_path / "gone.toml")})


@pytest.mark.parametrize("environment", [{}, {"FRONTMIND_SETTINGS": ""}])
def test_without_the_variable_it_is_in_the_persons_folder_for_settings(environment: dict[str, str]) -> None:
    path = settings_file_path(environment)
    assert path.name == "settings.toml"
    assert path.parent.name == "frontmind"
