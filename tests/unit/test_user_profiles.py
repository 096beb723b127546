"""The file of the user's own facts: what it says, what is written into it, and errors that name model and fact."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frontmind.cli.options import resolve_selection
from frontmind.cli.profiles_file import (
    VARIABLE,
    profiles_file_path,
    read_profiles_file,
    require_writable,
    write_facts,
)
from frontmind.cli.settings import load_settings
from frontmind.errors import UsageError
from frontmind.providers.profiles.profile import Caching, Mark, MarkerKind, OperatorMessages
from frontmind.providers.profiles.user_profiles import parse_user_profiles, spelled_facts
from frontmind.window.choice import Framing, LayoutName

MODEL = "anthropic:claude-sonnet-5"
FACTS: dict[str, object] = {
    "alternate_roles": True,
    "caching": Caching.PREFIX,
    "framing": Framing.APPEND,
    "inputs": frozenset({"image/png", "image/jpeg"}),
    "look_back": None,
    "markers": MarkerKind.NONE,
    "min_cached_tokens": 2048,
    "operator_messages": OperatorMessages.NONE,
    "read_price": 0.05,
    "session_key": "session",
    "ttls": ("5m", "1h"),
}


def written(folder: Path, text: str) -> Path:
    path = folder / "profiles.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_facts_are_written_as_behind_the_option_or_as_toml_has_them() -> None:
    text = f"""
        ["{MODEL}"]
        alternate_roles = true
        min_cached_tokens = 2048
        look_back = "none"
        ttls = ["5m", "1h"]
        read_price = 0.05
        framing = "append"

        ["local"]
        alternate_roles = "false"
        ttls = "5m+1h"
        look_back = "7"
        """
    assert parse_user_profiles(text, source="it") == {
        MODEL: {
            "alternate_roles": True,
            "min_cached_tokens": 2048,
            "look_back": None,
            "ttls": ("5m", "1h"),
            "read_price": 0.05,
            "framing": Framing.APPEND,
        },
        "local": {"alternate_roles": False, "ttls": ("5m", "1h"), "look_back": 7},
    }


def test_what_is_written_reads_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "profiles.toml"
    write_facts(path, MODEL, FACTS)
    assert read_profiles_file(path) == {MODEL: FACTS}
    assert list(spelled_facts(FACTS)) == sorted(FACTS)


def test_other_models_other_facts_and_comments_stay(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"""# mine\n["local"]\nframing = "append"  # it forgets\n\n["{MODEL}"]\nlook_back = 5\nprefill = true\n""",
    )
    path.chmod(0o640)
    write_facts(path, MODEL, {"look_back": 1})
    write_facts(path, "openai:gpt-5.5", {"cache_step": 64})
    assert read_profiles_file(path) == {
        "local": {"framing": Framing.APPEND},
        MODEL: {"look_back": 1, "prefill": True},
        "openai:gpt-5.5": {"cache_step": 64},
    }
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# mine\n")
    assert "# it forgets" in text
    assert path.stat().st_mode & 0o777 == 0o640
    assert {entry.name for entry in tmp_path.iterdir()} <= {"profiles.toml", ".profiles.toml.lock"}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = written(tmp_path, "")
    link = tmp_path / "link.toml"
    link.symlink_to(target)
    write_facts(link, MODEL, {"look_back": 1})
    assert link.is_symlink()
    assert read_profiles_file(target) == {MODEL: {"look_back": 1}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "is not TOML"),
        ('framing = "append"', "'framing' is no table"),
        (f'["{MODEL}"]\nlookback = 5', "unknown fact 'lookback=5'"),
        (f'["{MODEL}"]\nlook_back = "far"', "look_back cannot be 'far'"),
        (f'["{MODEL}"]\nlook_back = true', "look_back cannot be 'true'"),
        (f'["{MODEL}"]\nframing = "aside"', "framing cannot be 'aside'"),
        (f'["{MODEL}"]\nframing = "append,prefill=true"', "'framing' has a value that no fact can have"),
        (f'["{MODEL}"]\nttls = [5]', "'ttls' has a value that no fact can have"),
        (f'["{MODEL}"]\nlook_back = {{ a = 1 }}', "'look_back' has a value that no fact can have"),
    ],
)
def test_a_broken_file_says_what_is_wrong_where(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    for use in (lambda: read_profiles_file(path), lambda: write_facts(path, "local", {"look_back": 1})):
        with pytest.raises(UsageError) as raised:
            use()
        assert said in str(raised.value)
        assert str(path) in str(raised.value)
        assert "\n" not in str(raised.value)
    assert path.read_text(encoding="utf-8") == text, "nothing is written over what cannot be read"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        read_profiles_file(path)


def test_without_a_file_there_are_no_facts(tmp_path: Path) -> None:
    assert read_profiles_file(tmp_path / "none.toml") == {}


def test_the_variable_names_the_file_and_it_may_not_be_there_yet(tmp_path: Path) -> None:
    named = tmp_path / "mine.toml"
    assert profiles_file_path({VARIABLE: str(named)}) == named
    assert profiles_file_path({}).name == "profiles.toml"
    with pytest.raises(UsageError, match="is no file"):
        profiles_file_path({VARIABLE: str(tmp_path)})


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot write"):
        write_facts(tmp_path / "file" / "profiles.toml", MODEL, {"look_back": 1})


@pytest.mark.parametrize("model", ['local:/a b/"q"\\x.gguf', "local:a\nb", "local:\u202e\x7f", "x.y", '\'"""\''])
def test_any_name_of_a_model_reads_back(tmp_path: Path, model: str) -> None:
    path = tmp_path / "profiles.toml"
    for facts in ({"look_back": 3}, {"prefill": True}):
        write_facts(path, model, facts)
    assert read_profiles_file(path) == {model: {"look_back": 3, "prefill": True}}


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="use another name"):
        write_facts(tmp_path / "profiles.toml", "local:\udc80", {"look_back": 3})
    assert not (tmp_path / "profiles.toml").exists()


def test_a_run_takes_the_facts_of_the_file_and_the_options_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "profiles.toml"
    write_facts(path, MODEL, {"look_back": 5, "min_cached_tokens": 4096})
    write_facts(path, "local", {"framing": Framing.USER_TEXT})
    monkeypatch.setitem(os.environ, VARIABLE, str(path))
    settings = load_settings()
    selection = resolve_selection(MODEL, None, "look_back=7", settings)
    assert (selection.profile.look_back, selection.profile.min_cached_tokens) == (7, 4096)
    assert selection.profile.sources["min_cached_tokens"].mark is Mark.YOURS
    assert selection.profile.caching is Caching.NONE, "what nobody says otherwise is as shipped"
    assert resolve_selection("local", None, None, settings).framing.framing is Framing.USER_TEXT
    assert resolve_selection("echo", None, None, settings).framing.framing is Framing.ASSISTANT


@pytest.mark.parametrize("number", ["9" * 6000, "0x" + "f" * 6000])
def test_a_number_of_thousands_of_digits_is_an_error_on_one_line(number: str) -> None:
    with pytest.raises(UsageError, match="it") as raised:
        parse_user_profiles(f'["{MODEL}"]\nlook_back = {number}\n', source="it")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 200
    assert "sys." not in str(raised.value)


def test_a_link_to_itself_is_said_to_be_none(tmp_path: Path) -> None:
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    with pytest.raises(UsageError, match="cannot use the file of your profiles"):
        profiles_file_path({VARIABLE: str(loop)})
    with pytest.raises(UsageError):
        write_facts(loop, MODEL, {"look_back": 10})
    assert loop.is_symlink()


def test_whether_it_can_be_written_is_found_out_without_writing_it(tmp_path: Path) -> None:
    require_writable(tmp_path / "new" / "profiles.toml")
    assert not list((tmp_path / "new").iterdir())
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot write"):
        require_writable(tmp_path / "file" / "profiles.toml")


def test_a_layout_that_a_model_does_not_take_names_those_that_it_takes() -> None:
    with pytest.raises(UsageError) as raised:
        resolve_selection(MODEL, None, None, load_settings(), layout=LayoutName.CLEAR_AT)
    assert "use --layout slide or append" in str(raised.value)
    for layout in (LayoutName.SLIDE, LayoutName.APPEND):
        resolve_selection(MODEL, None, None, load_settings(), layout=layout)
