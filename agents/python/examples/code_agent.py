"""Runs the Python code that the model writes: as a Lambda function, where each episode has a microVM to itself.

What the model writes is anybody's code. In the function that Sortie makes of a folder it finds no key of the model's, no
neighbour, and a role that may write logs; put this file and sortie_agent.py into that folder.
"""

import json
import re
import subprocess
import sys
import tempfile

import sortie_agent

TURNS = 6
SECONDS = 5
TOOL = {
    "type": "function",
    "function": {
        "name": "python",
        "description": "Runs a Python program and returns what it prints.",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    },
}
SYSTEM = "Solve the problem by Python code that prints the answer, a number."


def rollout(task, episode):
    reference = number_in(str(task.metadata["answer"]))
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task.main_query}]
    printed, runs = "", 0
    for _ in range(TURNS):
        reply = episode.chat(messages, tools=[TOOL])
        messages.append({"role": "assistant", **reply})
        if not reply.get("tool_calls"):
            break
        for call in reply["tool_calls"]:
            printed, runs = run(call), runs + 1
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": printed})
    # Not the model's word for it, but what its program came to.
    right = number_in(printed) == reference
    return {"reward": float(right), "is_success": right, "metrics": {"runs": runs}}


def run(call):
    """What the program printed, or what was wrong with it: the model's mistakes are its to learn from."""
    try:
        code = json.loads(call["function"]["arguments"])["code"]
    except (ValueError, KeyError, TypeError) as error:
        return f"Error: {type(error).__name__}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            # Isolated, and with none of this function's environment.
            done = subprocess.run(
                [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=SECONDS, cwd=folder, env={}
            )
        except subprocess.TimeoutExpired:
            return f"Error: still running after {SECONDS} s"
    return (done.stdout or done.stderr)[-2000:]


def number_in(text):
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", text.split("####")[-1])
    return float(numbers[-1].replace(",", "")) if numbers else None


handler = sortie_agent.lambda_handler(rollout)
