"""Trinkets: each writes one section of the window when an event asks it to."""

from frontmind.trinkets.base import EventAwareTrinket, TrinketPlacement
from frontmind.trinkets.context_search import GetContextTrinket
from frontmind.trinkets.domaindoc import DomaindocTrinket
from frontmind.trinkets.manifest import ManifestTrinket
from frontmind.trinkets.memory import ProactiveMemoryTrinket
from frontmind.trinkets.reminders import ReminderManager
from frontmind.trinkets.time import TimeManager
from frontmind.trinkets.tools import ToolDescription, ToolGuidanceTrinket, ToolHintsTrinket

__all__ = [
    "DomaindocTrinket",
    "EventAwareTrinket",
    "GetContextTrinket",
    "ManifestTrinket",
    "ProactiveMemoryTrinket",
    "ReminderManager",
    "TimeManager",
    "ToolDescription",
    "ToolGuidanceTrinket",
    "ToolHintsTrinket",
    "TrinketPlacement",
]
