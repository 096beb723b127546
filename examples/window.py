"""A window for your own agent: one trinket of your own, a message list, and a request for your client."""

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

from frontmind.events import ComposeSystemPromptEvent, EventBus, SystemPromptComposedEvent, TurnContext
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.trinkets import EventAwareTrinket, TimeManager, TrinketPlacement
from frontmind.values.message import assistant, user
from frontmind.window.framing import closed
from frontmind.window.window import Window
from frontmind.working_memory.base_prompt import build_base_prompt
from frontmind.working_memory.core import WorkingMemory


class Weather(EventAwareTrinket):
    section_name = "weather_section"

    def generate_content(self, context: TurnContext) -> str:
        return "Sunny, 18 °C in Lisbon."


async def main() -> None:
    bus = EventBus()
    memory = WorkingMemory(bus)
    memory.register_trinket(TimeManager())
    memory.register_trinket(Weather(), placement=TrinketPlacement.NOTIFICATION_CENTER)

    composed: list[SystemPromptComposedEvent] = []
    bus.subscribe(SystemPromptComposedEvent, composed.append)
    now = datetime(2026, 11, 30, 9, 15, tzinfo=ZoneInfo("Europe/Lisbon"))
    prompt = build_base_prompt("You plan trips.")
    await bus.publish(ComposeSystemPromptEvent(TurnContext("trip", 2, now), prompt))

    profile = resolve_profile("anthropic", "claude-sonnet-5")
    window = Window(
        cached_system=composed[-1].cached_content,
        uncached_system=composed[-1].non_cached_content,
        history=(user("Hello!"), assistant("Hello! Where to?")),
        notification_center=composed[-1].notification_center,
        turn=(user("Lisbon. What do I wear today?"),),
        sections=composed[-1].sections,
        framing=choose_framing(profile),
    )
    request = encode_window(window, profile, max_output_tokens=1024)
    for message in request["messages"]:
        print(message["role"], "|", message["content"][0]["text"])

    history = closed(window, assistant("Something light."))
    print(len(history), "messages are the history of the next window")


if __name__ == "__main__":
    asyncio.run(main())
