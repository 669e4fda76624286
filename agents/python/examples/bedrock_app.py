"""An app of bedrock-agentcore, as it is deployed to AgentCore Runtime (pip install bedrock-agentcore).

Run it here:  npm start -- --agent agents/python/examples/bedrock_app.py --python .venv/bin/python
"""

import json
import re
import urllib.request

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    asked = payload["_rollout"]
    request = urllib.request.Request(
        asked["base_url"] + "/chat/completions",
        data=json.dumps(
            {"model": asked["model_id"], "messages": [{"role": "user", "content": payload["prompt"]}]}
        ).encode(),
        headers={"content-type": "application/json", "authorization": "Bearer " + asked["api_key"]},
    )
    with urllib.request.urlopen(request) as reply:
        text = json.load(reply)["choices"][0]["message"]["content"] or ""
    # The task's metadata stands beside the prompt.
    return {"rewards": [1.0 if last_number(text) == last_number(payload["answer"]) else 0.0]}


def last_number(text):
    numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
    return float(numbers[-1]) if numbers else None


if __name__ == "__main__":
    app.run()
