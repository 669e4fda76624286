"""A Strands agent with a tool: its own loop, its own client, the model under training.

Run it here:  npm start -- --agent agents/python/examples/strands_agent.py --python .venv/bin/python
"""

import re

from calculator_agent import SYSTEM, calculate
from strands import Agent, tool
from strands.models.openai import OpenAIModel


@tool
def calculator(expression: str) -> str:
    """Computes an arithmetic expression of numbers, + - * / and parentheses."""
    return calculate({"function": {"arguments": {"expression": expression}}})


def solve(question, answer, base_url, api_key, model_id):
    # The engine's queue may be silent for minutes, and a call that is made again is another sample.
    client = {"base_url": base_url, "api_key": api_key, "timeout": 900, "max_retries": 0}
    model = OpenAIModel(client_args=client, model_id=model_id, stream=False)
    agent = Agent(model=model, tools=[calculator], system_prompt=SYSTEM, callback_handler=None, retry_strategy=None)
    result = agent(question)
    right = number_in(str(result)) == number_in(str(answer))
    return {"rewards": [float(right)], "metrics": {"turns": result.metrics.cycle_count}}


def rollout(task, episode):
    return solve(task.main_query, task.metadata["answer"], episode.base_url, episode.api_key, episode.model_id)


def number_in(text):
    boxed = re.findall(r"\\boxed\{([^}]*)\}", text)
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", boxed[-1] if boxed else text)
    return float(numbers[-1].replace(",", "")) if numbers else None
