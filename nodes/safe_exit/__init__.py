"""`safe_exit`: every turn that may not be answered ends here by DT-008, and says why and how to go on.

node.py     the node: how the turn ends, and what is written of it
offer.py    what is offered beside an end, asked of the documents
ticket.py   what people get of a turn, and what became of it
"""

from __future__ import annotations

from nodes.safe_exit.node import NODES, safe_exit
from nodes.safe_exit.offer import Documents

__all__ = ["NODES", "Documents", "safe_exit"]
