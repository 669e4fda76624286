"""Several turns with a tool: the model may call a calculator as often as it likes, then answers.

Run it here:  npm start -- --agent agents/python/examples/calculator_agent.py
"""

import ast
import json
import operator
import re

TURNS = 8
TOOL = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Computes an arithmetic expression of numbers, + - * / and parentheses.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "for example (12 + 3.5) * 4"}},
            "required": ["expression"],
        },
    },
}
SYSTEM = "Solve the problem. Use the calculator for arithmetic. Put the final answer into \\boxed{}."
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


async def rollout(task, episode):
    reference = number_in(str(task.metadata["answer"]))
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task.main_query}]
    calls = 0
    for turn in range(1, TURNS + 1):
        # An episode that nobody wants any more must not ask the model again.
        episode.raise_if_stopped()
        reply = await episode.achat(messages, tools=[TOOL])
        messages.append({"role": "assistant", **reply})
        if not reply.get("tool_calls"):
            break
        for call in reply["tool_calls"]:
            calls += 1
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": calculate(call)})
    right = number_in(reply.get("content") or "") == reference
    return {"reward": float(right), "is_success": right, "metrics": {"turns": turn, "tool_calls": calls}}


def calculate(call):
    """The result, or what was wrong with the call: the model's mistakes are its to learn from."""
    try:
        arguments = call["function"]["arguments"]
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        return f"{value_of(ast.parse(arguments['expression'], mode='eval').body):.10g}"
    except (ValueError, KeyError, TypeError, SyntaxError, ZeroDivisionError) as error:
        return f"Error: {error}"


def value_of(node):
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value_of(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
    raise ValueError("expected numbers, + - * / and parentheses")


def number_in(text):
    boxed = re.findall(r"\\boxed\{([^}]*)\}", text)
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", boxed[-1] if boxed else text)
    return float(numbers[-1].replace(",", "")) if numbers else None
