"""The graph: nodes, edges and policies. `build.py` tells the whole story."""
