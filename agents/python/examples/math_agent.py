"""One question, one answer: the reward is 1 where the last number of the answer is the task's reference.

Run it here:  npm start -- --agent agents/python/examples/math_agent.py

With the OpenAI SDK, where it is installed (pip install openai); with the kit's own client where it is not.
"""

import re

try:
    from openai import OpenAI
except ModuleNotFoundError:
    OpenAI = None

SYSTEM = "Solve the problem. Put the final answer into \\boxed{}."


def rollout(task, episode):
    reference = str(task.metadata["answer"])
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task.main_query}]
    text = ask(episode, messages)
    right = number_in(text) == number_in(reference)
    return {"reward": 1.0 if right else 0.0, "is_success": right, "metrics": {"answer_length": len(text)}}


def ask(episode, messages):
    if OpenAI is None:
        return episode.chat(messages)["content"] or ""
    # The engine's queue may be silent for minutes, and a repeated call on an episode that is gone only costs time.
    client = OpenAI(
        base_url=episode.base_url, api_key=episode.api_key, timeout=max(1, episode.seconds_left), max_retries=0
    )
    reply = client.chat.completions.create(model=episode.model_id, messages=messages)
    return reply.choices[0].message.content or ""


def number_in(text):
    boxed = re.findall(r"\\boxed\{([^}]*)\}", text)
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", boxed[-1] if boxed else text)
    return float(numbers[-1].replace(",", "")) if numbers else None
