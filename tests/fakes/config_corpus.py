"""Realistic settings files: long and short, tidy and untidy, with artifacts of editors."""

from collections.abc import Iterator

_FULL = """\
# Hermes configuration
# ====================
model:
  default: anthropic/claude-sonnet-4   # the good one
  provider: openrouter
  # base_url: http://127.0.0.1:11434/v1

toolsets:
- hermes-cli

agent:
  max_turns: 90        # not more
  verbose: false
  reasoning_effort: medium
  personalities:
    helpful: "You are a helpful, friendly AI assistant."
    pirate: |
      Arrr! Ye be talkin' to Captain Hermes.

      Speak like a pirate.
    noir: >-
      The rain hammered
      against the terminal.

terminal:
  backend: local
  cwd: .
  timeout: 180

compression: {enabled: true, threshold: 0.5}

display:
  compact: off
  busy_input_mode: interrupt
  skin: default

session_reset:
  mode: both   # idle and daily
  at_hour: 4
  idle_minutes: 1440

# ---------------------------------------------------------------- platforms
telegram:
  require_mention: true
  allow_from:
    - '12345'   # Anna
    - '67890'   # Ben
discord:
  free_response_channels: ''
  allow_from: ["1", "2"]

platforms:
  telegram:
    enabled: true
    extra: {}
"""

_GATEWAY = """\
model: gpt-5
gateway:
  session_reset:
    mode: idle
    idle_minutes: 30
  unauthorized_dm_behavior: ignore
  platforms:
    slack: {enabled: true, extra: {a: 1}}
    email:
      enabled: yes
      extra:
        imap_host: imap.example.org
  streaming:
    enabled: on
    transport: edit
platforms: {}
"""

_SHORT = "model:\n  default: qwen3:8b\n  base_url: http://127.0.0.1:11434/v1\n"

_ODD = """\
---
"model":
    'default':   "a model: with signs # in it"
    provider:
    context_length: 0x1000
on: off
time: 1:30
version: 0o17
display:

    # an empty line above, and a remark

    busy_input_mode: queue
    busy_ack_enabled:   # nothing
agent: # remark behind a name
    max_turns: !!int 5
    restart_drain_timeout: 0
    nested:
      - a: 1
        b: 2
      - [x, y,
         z]
session_store_max_age_days: ~
reset_by_platform:
    telegram: &same
        mode: daily
    discord: *same
"""

_COMMENTS = "# nothing yet\n#\n# model:\n#   default: x\n"
_LISTS = """\
fallback_providers:
- provider: openrouter
  model: x/y
custom_providers:
  - name: local
    base_url: http://127.0.0.1:8080/v1
    key_env: LOCAL_KEY
telegram:
  allow_from:
  - '1'

  # the family
  - '2'
  - '3'
streaming:
  enabled: false
mcp_servers:
  files:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]
    env: {KEY: "${FILES_KEY}"}
"""
_KEEPING = """\
agent:
  system_prompt: |+
    Keep the lines behind.


  max_turns: 12
display:
  greeting: |2
      Indented by hand.
  busy_input_mode: steer
hooks:
  note: >+
    folded

"""
_UNICODE = """\
# ☃ Zürich 日本語
model: {default: 模型, provider: custom}
quick_commands:
  grüße: {type: exec, command: echo 👋}
"""
_NULLS = "agent:\ndisplay: null\nsession_reset: ~\ngateway: {}\nmodel: ''\n"
_FLOW = "{model: {default: a, provider: b}, agent: {max_turns: 3}}\n"
_TAIL = "model: x\nagent:\n  max_turns: 7\n\n\n# the end\n# really\n"
_DEEP = """\
gateway:
        platforms:
                telegram:
                        enabled: false
                        extra:
                                allow_from: 1,2
"""

BASES = {
    "full": _FULL,
    "gateway": _GATEWAY,
    "short": _SHORT,
    "odd": _ODD,
    "comments": _COMMENTS,
    "lists": _LISTS,
    "keeping": _KEEPING,
    "unicode": _UNICODE,
    "nulls": _NULLS,
    "flow": _FLOW,
    "tail": _TAIL,
    "deep": _DEEP,
    "empty": "",
    "full and gateway": _FULL + _GATEWAY.partition("\n")[2].replace("platforms: {}\n", ""),
}


def corpus() -> Iterator[tuple[str, str]]:
    """Yield names and texts, without byte-order marks: those are bytes, not text."""
    for name, text in BASES.items():
        yield name, text
        yield f"{name}, as Windows ends lines", text.replace("\n", "\r\n")
        yield f"{name}, without its last line end", text.rstrip("\n")
        yield f"{name}, lines between", text.replace("\n\n", "\n\n\n")
        yield f"{name}, blanks at the ends", text.replace(":\n", ":  \n")
        yield f"{name}, remarks behind", "\n".join(_remarked(line) for line in text.split("\n"))
        yield f"{name}, remark at the end", f"{text}# last words"
        yield f"{name}, mixed line ends", text.replace("\n", "\r\n", text.count("\n") // 2)


def _remarked(line: str) -> str:
    plain = line.rstrip().endswith(":") and "#" not in line
    return f"{line}  # on {line.strip()}" if plain else line
