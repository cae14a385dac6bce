# An agent that learns to configure: a softmax over candidates of a linear preference, trained by REINFORCE (Williams, Machine
# Learning 8, 1992) with the mean reward so far as its baseline.
#   python3 python/examples/agent.py scenarios/quickstart.json 40
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import rehearse_gym


class Agent:
    def __init__(self, features, rate=0.3, seed=1):
        self.weights, self.rate, self.random = [0.0] * features, rate, random.Random(seed)
        self.rewards, self.gradient = [], [0.0] * features

    def act(self, candidates):
        """The index of one of the candidates' feature vectors."""
        preferences = [sum(w * x for w, x in zip(self.weights, candidate)) for candidate in candidates]
        shares = [math.exp(p - max(preferences)) for p in preferences]
        chosen = self.random.choices(range(len(candidates)), shares)[0]
        for f in range(len(self.weights)):  # of the logarithm of the choice's probability
            mean = sum(share * candidate[f] for share, candidate in zip(shares, candidates)) / sum(shares)
            self.gradient[f] += candidates[chosen][f] - mean
        return chosen

    def learn(self, reward):
        """At the end of an episode."""
        self.rewards.append(reward)
        mean = sum(self.rewards) / len(self.rewards)
        spread = sum(abs(r - mean) for r in self.rewards) / len(self.rewards) or 1.0
        length = math.sqrt(sum(g * g for g in self.gradient)) or 1.0
        self.weights = [w + self.rate * (reward - mean) / spread * g / length for w, g in zip(self.weights, self.gradient)]
        self.gradient = [0.0] * len(self.weights)


def train(scenario, episodes):
    """Rewards of all episodes: minus the dollars that each has cost."""
    environment = rehearse_gym.ConfigureEnvironment(scenario)
    size, agent = environment.FEATURES, Agent(environment.FEATURES)
    for _ in range(episodes):
        observation, info = environment.reset()
        ended, total = False, 0.0
        while not ended:
            there = [list(observation[i : i + size]) for i in range(0, len(observation), size) if observation[i]]
            observation, reward, terminated, truncated, info = environment.step(agent.act(there))
            ended, total = terminated or truncated, total + reward
        agent.learn(total)
    environment.close()
    return agent.rewards


if __name__ == "__main__":
    rewards = train(sys.argv[1], int(sys.argv[2]))
    tenth = max(1, len(rewards) // 10)
    print(f"dollars an episode: {-sum(rewards[:tenth]) / tenth:.2f} at first, {-sum(rewards[-tenth:]) / tenth:.2f} at last")
