"""Language models on OpenAI-compatible servers: one client and one boundary for every port that asks a model."""
