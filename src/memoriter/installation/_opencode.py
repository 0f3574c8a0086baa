"""The plugin for opencode, which has no hooks that start a program: JavaScript that runs the hooks of memoriter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memoriter.coding_hooks import TIMEOUTS
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIRST_LINE = "// Written by `memoriter install opencode`. `memoriter install opencode --remove` deletes this file."
PLUGIN = """\
{first_line}
import {{ spawn }} from "node:child_process"

const COMMAND = {command}
const ENVIRONMENT = {environ}
const MILLISECONDS = {milliseconds}

// Return what a hook prints. After the time limit, or if anything fails, return undefined: opencode goes on without it.
const run = (event, input) =>
  new Promise((resolve) => {{
    let child
    let text = ""
    const timer = setTimeout(() => {{
      child?.kill("SIGKILL")
      resolve(undefined)
    }}, MILLISECONDS)
    const end = (value) => {{
      clearTimeout(timer)
      resolve(value)
    }}
    try {{
      child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", event], {{
        env: {{ ...process.env, ...ENVIRONMENT }},
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      }})
      child.on("error", () => end(undefined))
      child.stdin.on("error", () => {{}})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (part) => {{
        text += part
      }})
      child.on("close", () => {{
        try {{
          end(JSON.parse(text || "{{}}"))
        }} catch {{
          end(undefined)
        }}
      }})
      child.stdin.end(JSON.stringify(input))
    }} catch {{
      end(undefined)
    }}
  }})

export const Memoriter = async ({{ client, directory }}) => {{
  const begun = new Set() // sessions that have the session context
  const children = new Set() // sessions of subagents, whose messages no person wrote

  const warn = (message) => {{
    try {{
      Promise.resolve(client.tui.showToast({{ body: {{ message, variant: "warning" }} }})).catch(() => {{}})
    }} catch {{}}
  }}

  // Return why the next message needs the session context: "startup", or "compact"; undefined if messages have it.
  const missingContext = async (id) => {{
    try {{
      const earlier = await client.session.messages({{ path: {{ id }} }})
      const parts = earlier.data.flatMap((message) => message.parts)
      const compaction = parts.findLastIndex((part) => part.type === "compaction")
      if (parts.slice(compaction + 1).some((part) => part.id.endsWith("memoriter"))) return undefined
      return compaction < 0 ? "startup" : "compact"
    }} catch {{
      return "startup"
    }}
  }}

  // Return the texts for a message: the session context before the first one, and the passages that match it.
  const recall = async (id, prompt) => {{
    const input = {{ session_id: id, cwd: directory }}
    const texts = []
    const take = (output) => {{
      if (output?.systemMessage) warn(output.systemMessage)
      const text = output?.hookSpecificOutput?.additionalContext
      if (text) texts.push(text)
      return output !== undefined
    }}
    const source = begun.has(id) ? undefined : await missingContext(id)
    if (source) {{
      const start = {{ ...input, hook_event_name: "SessionStart", source }}
      if (!take(await run("session-start", start))) return texts // do not wait for it twice
    }}
    begun.add(id)
    take(await run("user-prompt", {{ ...input, hook_event_name: "UserPromptSubmit", prompt }}))
    return texts
  }}

  return {{
    event: async ({{ event }}) => {{
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) children.add(info.id)
      if (event.type === "session.compacted") begun.delete(event.properties.sessionID)
    }},
    "chat.message": async ({{ sessionID }}, {{ parts }}) => {{
      try {{
        const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
        const last = parts.at(-1)
        if (!last || !texts.length || children.has(sessionID)) return
        const recalled = await recall(sessionID, texts.map((part) => part.text).join("\\n"))
        if (!recalled.length) return
        const {{ messageID }} = last
        const text = recalled.join("\\n\\n")
        parts.push({{ id: `${{last.id}}memoriter`, sessionID, messageID, type: "text", text, synthetic: true }})
      }} catch {{}}
    }},
  }}
}}
"""


def plugin_text(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the plugin that runs a command with `hook` and the event, with these variables beside opencode's."""
    return PLUGIN.format(
        first_line=FIRST_LINE,
        command=json.dumps(list(command)),
        environ=json.dumps(dict(environ)),
        milliseconds=TIMEOUTS["user-prompt"] * 1_000,
    )


def put_plugin(text: str, name: str, plugin: str) -> str:
    """Return the file with the plugin in it. Raises ConfigError: the file exists, and memoriter did not write it."""
    if text.strip() and not text.startswith(FIRST_LINE):
        message = f"{name}: This file is not from memoriter."
        raise ConfigError(message, remedy="Nothing was written. Rename the file and retry, or use --no-hooks.")
    return plugin


def remove_plugin(text: str) -> str:
    """Return the file without the plugin: empty if memoriter wrote it."""
    return "" if text.startswith(FIRST_LINE) else text
