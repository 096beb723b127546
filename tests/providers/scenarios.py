"""Conversations as every provider has to take them, played turn by turn with the values that the library gives back.

A scenario says what the person, the tools and the model say; the model's replies become messages by the way that a
caller gives, so that the history holds what a provider really sent: its ids, its signatures, its reasoning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from frontmind.trinkets.markup import Element, render
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Image, Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, Section
from frontmind.values.tool import Tool
from frontmind.window.choice import FramingChoice
from frontmind.window.framing import closed
from frontmind.window.history import History
from frontmind.window.normalise import normalise
from frontmind.window.window import Window
from frontmind.working_memory.composer import SystemPromptComposer
from providers.validators.replies import Call, Said

Hear: TypeAlias = Callable[[Said], Message]

# A picture of one pixel.
PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE: Final = Image("image/png", PNG)
TOOLS: Final = (
    Tool(
        "find_train",
        '{"type":"object","properties":{"to":{"type":"string"}},"required":["to"],"additionalProperties":false}',
        "Finds the next train.",
    ),
    Tool(
        "complete_reminder", '{"type":"object","properties":{"title":{"type":"string"}}}', "Marks a reminder as done."
    ),
)


@dataclass(frozen=True)
class Step:
    """One request of a conversation, and what the model answers to it."""

    window: Window
    said: Said


class Player:
    """Plays one conversation in one framing; ``steps`` are its requests so far."""

    def __init__(self, choice: FramingChoice, hear: Hear) -> None:
        self.steps: list[Step] = []
        self.history = History()
        self._choice = choice
        self._hear = hear
        self._composer = SystemPromptComposer()
        self._composer.set_base_prompt("You are a travel companion. The notification center comes with each message.")
        self._composer.add_section("tool_hints", "<tool_hints>Two tools.</tool_hints>", placement=PLACEMENT_SYSTEM)
        self.notify("active_reminders", "Call Anna <soon> & bring ═══ rules")

    def notify(self, name: str, text: str, *, author: Author = Author.OTHERS) -> None:
        """Set a section of the notification center, or remove it with an empty text."""
        content = render(Element(name, text)) if text else ""
        self._composer.add_section(name, content, placement=PLACEMENT_NOTIFICATION, author=author)

    def turn(self, message: Message, *replies: Said, changing: Mapping[int, str] | None = None) -> None:
        """One turn: the person's message, and the model's replies with a tool's result for each call in them.

        Args:
            changing: the new text of the reminders after a step, counted from 1.
        """
        if self._composer.section("active_reminders") is not None:
            minutes = len(self.steps)
            self.notify("datetime_section", f"09:{minutes % 60:02}, step {minutes}", author=Author.APPLICATION)
        composed = self._composer.compose()
        window = Window(
            cached_system=composed.cached_content,
            uncached_system=composed.non_cached_content,
            history=self.history,
            notification_center=composed.notification_center,
            turn=(message,),
            sections=composed.sections,
            tools=TOOLS,
            framing=self._choice,
            conversation="conversation-1",
        )
        for number, said in enumerate(replies, start=1):
            self.steps.append(Step(window, said))
            reply = self._hear(said)
            if not said.calls:
                self.history = closed(window, reply)
                return
            changed: Sequence[Section] = ()
            if changing and number in changing:
                self.notify("active_reminders", changing[number])
                self.notify("datetime_section", f"10:{number:02}, in the loop", author=Author.APPLICATION)
                names = ("active_reminders", "datetime_section")
                changed = [section for section in self._composer.compose().sections if section.name in names]
            window = window.extended(reply, results_of(reply), changed=changed)

    def chat(self, turns: int) -> None:
        """Further plain turns."""
        for _ in range(turns):
            number = len(self.steps) + 1
            self.turn(user(f"Question {number}?"), Said(f"Answer {number}."))


def results_of(reply: Message) -> Message:
    """The results of the calls in a reply, one of them empty and one a failure."""
    calls = [part for part in reply.parts if isinstance(part, ToolCall)]
    texts = [f"Result of {call.name}({call.arguments})" for call in calls]
    results = [ToolResult(call.id, text) for call, text in zip(calls, texts, strict=True)]
    if len(results) > 1:
        results[-1] = replace(results[-1], text="No such train.", is_error=True)
    if len(results) > 2:
        results[0] = replace(results[0], text="")
    return Message(Role.USER, tuple(results))


def find(number: int, *, town: str = "Porto") -> Call:
    return Call(f"call_{number}", "find_train", f'{{"to": "{town} \\u00e9 {number}"}}')


def first_turn(player: Player) -> None:
    player.chat(1)


def plain_turn(player: Player) -> None:
    player.chat(2)
    player.turn(Message(Role.USER, (Text(" \n"), Text("And now?"), Text("In one word."))), Said("Walk. ═ It is near."))
    player.chat(1)


def tool_loop(player: Player) -> None:
    player.chat(2)
    done = Call("call_2", "complete_reminder", '{"title": "Call Anna"}')
    player.turn(
        user("Find a train and call it done."),
        Said("I look.", (find(1),)),
        Said(calls=(done,)),
        Said("At nine."),
        changing={2: "Nothing is due."},
    )
    player.chat(1)


def parallel_results(player: Player) -> None:
    player.chat(1)
    calls = tuple(find(number) for number in range(25))
    player.turn(user("Find them all."), Said("I look 25 times.", calls), Said("Found them."))
    player.chat(1)


def image_in_the_history(player: Player) -> None:
    player.chat(1)
    player.turn(Message(Role.USER, (Text("What is this?"), IMAGE)), Said("A pixel."))
    player.chat(2)


def thinking_in_the_history(player: Player) -> None:
    player.turn(user("Think."), Said("A thought.", thinking="Hm, what do I think?"))
    player.turn(
        user("Think and look."),
        Said("I look.", (find(1),), thinking="A train, then."),
        Said(calls=(find(2),), thinking="Another one."),
        Said("At nine.", thinking="Nine it is."),
    )
    player.chat(1)


def empty_notification_center(player: Player) -> None:
    player.chat(1)
    player.notify("active_reminders", "")
    player.notify("datetime_section", "")
    player.chat(2)


def assistant_first(player: Player) -> None:
    imported = normalise([assistant("Welcome!"), assistant("Ask me."), user("Hello."), assistant("Hello.")])
    player.history = History(imported.messages)
    player.chat(2)


def three_hundred_turns(player: Player) -> None:
    player.chat(300)


SCENARIOS: Final[Mapping[str, Callable[[Player], None]]] = {
    "first_turn": first_turn,
    "plain_turn": plain_turn,
    "tool_loop_of_3_steps": tool_loop,
    "parallel_results": parallel_results,
    "image_in_the_history": image_in_the_history,
    "thinking_in_the_history": thinking_in_the_history,
    "empty_notification_center": empty_notification_center,
    "assistant_first": assistant_first,
    "three_hundred_turns": three_hundred_turns,
}


def play(scenario: str, choice: FramingChoice, hear: Hear) -> list[Step]:
    """The requests of a scenario, in order."""
    player = Player(choice, hear)
    SCENARIOS[scenario](player)
    return player.steps
