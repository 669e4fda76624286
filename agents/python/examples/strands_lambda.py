"""The Strands agent as a Lambda function: this file, strands_agent.py, calculator_agent.py and sortie_agent.py in one folder."""

import sortie_agent
from strands_agent import rollout

handler = sortie_agent.lambda_handler(rollout)
