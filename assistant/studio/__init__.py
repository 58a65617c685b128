"""LangGraph Studio and `langgraph dev`: the graph, who may ask it, and where it keeps its threads."""
