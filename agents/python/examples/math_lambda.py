"""The math agent as a Lambda function: this file, math_agent.py and sortie_agent.py in one folder."""

import sortie_agent
from math_agent import rollout

handler = sortie_agent.lambda_handler(rollout)
