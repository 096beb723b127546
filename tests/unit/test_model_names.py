"""Model names: every form is taken apart and put together again, everything else is refused with the forms."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.providers.names import (
    DEFAULT_ANTHROPIC,
    DEFAULT_OLLAMA_URL,
    DEFAULT_OPENAI,
    FORMS,
    ModelName,
    Provider,
    choose_model,
    parse_model_name,
)

KNOWN = (
    ("local", ModelName(Provider.LOCAL)),
    ("local:models/a b.gguf", ModelName(Provider.LOCAL, "models/a b.gguf")),
    ("local:C:/models/a.gguf", ModelName(Provider.LOCAL, "C:/models/a.gguf")),
    ("local:hf.co/owner/repo/file.gguf", ModelName(Provider.LOCAL, "hf.co/owner/repo/file.gguf")),
    ("anthropic:claude-sonnet-5", ModelName(Provider.ANTHROPIC, "claude-sonnet-5")),
    ("openai:ft:gpt:x@y", ModelName(Provider.OPENAI, "ft:gpt:x@y")),
    ("ollama:qwen3:0.6b", ModelName(Provider.OLLAMA, "qwen3:0.6b", DEFAULT_OLLAMA_URL)),
    (
        "compatible:qwen3@http://localhost:8080/v1",
        ModelName(Provider.COMPATIBLE, "qwen3", "http://localhost:8080/v1"),
    ),
    (
        "compatible:a:b@https://host:8443/v1",
        ModelName(Provider.COMPATIBLE, "a:b", "https://host:8443/v1"),
    ),
    ("echo", ModelName(Provider.ECHO)),
    ("scripted:talk.json", ModelName(Provider.SCRIPTED, "talk.json")),
)


@pytest.mark.parametrize(("text", "name"), KNOWN)
def test_every_form_is_taken_apart_and_put_together_again(text: str, name: ModelName) -> None:
    assert parse_model_name(text) == name
    assert parse_model_name(f"  {text}\n") == name
    assert str(name) == text


def test_every_provider_has_a_form_and_every_form_is_understood() -> None:
    forms = FORMS.split(", ")
    assert {parse_model_name(form.replace("@URL", "@http://host")).provider for form in forms} == set(Provider)


def test_an_empty_name_behind_local_is_the_built_in_model() -> None:
    assert parse_model_name("local:") == ModelName(Provider.LOCAL)


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ":", "gpt-5.5", "claude", "Local", "ECHO", "gpt:\n"),
        *("echo:x", "anthropic", "anthropic:", "openai", "ollama:", "scripted"),
        *("compatible", "compatible:", "compatible:qwen3"),
    ],
)
def test_what_has_no_known_form_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_model_name(text)
    message = str(caught.value)
    assert repr(text) in message
    assert "\n" not in message
    assert FORMS in message or "compatible:NAME@URL" in message or "echo takes no name" in message


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(
        st.text(max_size=30),
        st.builds("{}:{}".format, st.sampled_from(Provider), st.text(max_size=20)),
        st.builds("compatible:{}@http{}".format, st.text(max_size=9), st.text(max_size=9)),
    )
)
def test_any_text_is_refused_or_a_name_that_stays_the_same(text: str) -> None:
    try:
        name = parse_model_name(text)
    except UsageError:
        return
    assert parse_model_name(str(name)) == name


@pytest.mark.parametrize(
    ("option", "environment", "chosen"),
    [
        (None, {}, "local"),
        (None, {"OPENAI_API_KEY": "k"}, DEFAULT_OPENAI),
        (None, {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, DEFAULT_ANTHROPIC),
        (None, {"FRONTMIND_MODEL": "echo", "ANTHROPIC_API_KEY": "k"}, "echo"),
        ("scripted:a.json", {"FRONTMIND_MODEL": "echo", "ANTHROPIC_API_KEY": "k"}, "scripted:a.json"),
        (None, {"FRONTMIND_MODEL": "", "ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}, "local"),
    ],
)
def test_the_option_comes_first_then_the_setting_then_a_key_and_last_the_local_model(
    option: str | None, environment: dict[str, str], chosen: str
) -> None:
    assert str(choose_model(option, environment)) == chosen


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(("option", "environment"), [("gpt", {}), ("", {}), (None, {"FRONTMIND_MODEL": "gpt"})])
def test_a_chosen_name_of_no_known_form_is_refused_and_nothing_else_is_taken_instead(
    option: str | None, environment: dict[str, str]
) -> None:
    with pytest.raises(UsageError, match="unknown model"):
        choose_model(option, {"ANTHROPIC_API_KEY": "k", **environment})


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:8080",
        "http://",
        "http://[::1",
        "http://host:99999/v1",
        "ftp://host",
        "http://ho st/v1",
        "http://host/\x1b[31m",
        "http://user:hunter2@host/v1",
        "https://host/v1?api_key=hunter2",
        "https://host/v1#hunter2",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(UsageError, match="compatible:NAME@URL") as caught:
        parse_model_name(f"compatible:m@{address}")
    assert "hunter2" not in str(caught.value)
    assert str(caught.value).isprintable()
