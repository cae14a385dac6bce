"""The scenario's JSON schema, read for two purposes: to draw values of what it describes, and to know what stands at a path."""
import json
import math
import random


class Schema:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.root = json.load(file)
        self.definitions = self.root["$defs"]

    def resolved(self, node):
        """Follows a $ref. A node of nothing but true or false allows anything, or nothing."""
        while isinstance(node, dict) and "$ref" in node:
            node = self.definitions[node["$ref"].removeprefix("#/$defs/")]
        return node if isinstance(node, dict) else {}

    def alternatives(self, node, depth=0):
        """The node itself and everything that it is put together from, whatever the conditions are."""
        node = self.resolved(node)
        found = [node]
        if depth < 12:
            for key in ("allOf", "anyOf", "oneOf"):
                for part in node.get(key, []):
                    found += self.alternatives(part, depth + 1)
            for key in ("then", "else"):
                if key in node:
                    found += self.alternatives(node[key], depth + 1)
        return found

    def at(self, path):
        """Everything that may describe the value at a path of keys and indices; empty where the schema says nothing."""
        nodes = self.alternatives(self.root)
        for key in path:
            below = []
            for node in nodes:
                if isinstance(key, int):
                    part = node.get("items")
                else:
                    part = node.get("properties", {}).get(key, node.get("additionalProperties"))
                if isinstance(part, dict):
                    below += self.alternatives(part)
            nodes = below
        return nodes

    def keys(self, path):
        """Keys that an object at this path may have, with what describes each."""
        known = {}
        for node in self.at(path):
            for key, part in node.get("properties", {}).items():
                known.setdefault(key, part)
        return known

    def strategy_names(self, decision):
        return list(self.resolved(self.definitions.get(decision + "_name", {})).get("enum", []))

    def strategy_parameters(self, decision, name):
        """Parameters of a strategy, with what describes each; none for one that the schema does not know yet."""
        for rule in self.definitions.get(decision, {}).get("then", {}).get("else", {}).get("allOf", []):
            names = rule.get("if", {}).get("properties", {}).get("name", {}).get("enum", [])
            if name in names:
                properties = self.resolved(rule["then"]).get("properties", {})
                return {key: part for key, part in properties.items() if key != "name"}
        return {}

    def study_names(self):
        return list(self.definitions["study_name"]["enum"])

    def draw(self, node, rng, low=None, high=None):
        """A value of a simple type; None where the node describes none. `low` and `high` narrow the range of numbers."""
        node = self.resolved(node)
        if "enum" in node:
            return rng.choice(node["enum"])
        if "const" in node:
            return node["const"]
        kind = node.get("type")
        if kind == "boolean":
            return rng.random() < 0.5
        if kind in ("integer", "number"):
            least = node.get("minimum", node.get("exclusiveMinimum", 0))
            most = node.get("maximum", node.get("exclusiveMaximum", 1e9))
            least = max(least, low) if low is not None else least
            most = min(most, high) if high is not None else most
            value = draw_number(rng, least, most)
            if kind == "integer":
                return int(min(max(round(value), math.ceil(least)), math.floor(most)))
            if "exclusiveMinimum" in node and value <= node["exclusiveMinimum"]:
                value = most if most > node["exclusiveMinimum"] else 1.0
            return value
        return None


def draw_number(rng: random.Random, least, most):
    """Evenly over small ranges, by orders of magnitude over large ones, now and then exactly an end."""
    if rng.random() < 0.08:
        return rng.choice([least, most])
    if least > 0 and most / least > 100:
        value = math.exp(rng.uniform(math.log(least), math.log(most)))
    elif least >= 0 and most > 1000:
        value = math.expm1(rng.uniform(math.log1p(least), math.log1p(most)))
    else:
        value = rng.uniform(least, most)
    rounded = float(f"{value:.3g}")  # short numbers read better in a case that is kept
    return rounded if least <= rounded <= most else value
