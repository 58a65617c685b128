"""Language models behind OpenAI-compatible servers: one client, one boundary, for every port that asks one."""
