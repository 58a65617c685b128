"""The graph: nodes, edges and policies. Start reading at `build.py`."""
