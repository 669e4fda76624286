"""The Strands agent as an app of bedrock-agentcore, as it is deployed to AgentCore Runtime.

Run it here:  npm start -- --agent agents/python/examples/strands_app.py --python .venv/bin/python
"""

from bedrock_agentcore import BedrockAgentCoreApp
from strands_agent import solve

app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    asked = payload["_rollout"]
    # The task's metadata stands beside the prompt.
    return solve(payload["prompt"], payload["answer"], asked["base_url"], asked["api_key"], asked["model_id"])


if __name__ == "__main__":
    app.run()
