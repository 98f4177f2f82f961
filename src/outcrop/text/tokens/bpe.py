"""Byte pair encoding of one piece: how many tokens remain once no two neighbours merge."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final

LONGEST_SCANNED: Final = 100
"""Up to this many bytes, rescanning all pairs after each merge is fastest; beyond it a heap avoids quadratic time."""
NO_TOKEN: Final = 1 << 30
"""The rank of a pair that is not a token, above all others."""


def count_merged(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    """The tokens of a piece; of two pairs with the same rank the left one merges first."""
    return _scan(piece, ranks) if len(piece) <= LONGEST_SCANNED else _merge_by_heap(piece, ranks)


def _scan(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    parts = [piece[at : at + 1] for at in range(len(piece))]
    costs = [ranks.get(piece[at : at + 2], NO_TOKEN) for at in range(len(piece) - 1)]
    while costs and (lowest := min(costs)) < NO_TOKEN:
        at = costs.index(lowest)
        parts[at] += parts.pop(at + 1)
        del costs[at]
        if at < len(costs):
            costs[at] = ranks.get(parts[at] + parts[at + 1], NO_TOKEN)
        if at:
            costs[at - 1] = ranks.get(parts[at - 1] + parts[at], NO_TOKEN)
    return len(parts)


def _merge_by_heap(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    """The same for a long piece. A part is identified by its first byte; stale heap entries are skipped."""
    size = len(piece)
    end = list(range(1, size + 1))  # end of the part that starts here
    before = list(range(-1, size))  # start of the part to the left; one extra for the end of the piece
    cost = [ranks.get(piece[at : at + 2], NO_TOKEN) for at in range(size - 1)] + [NO_TOKEN]
    heap = [rank * size + at for at, rank in enumerate(cost) if rank < NO_TOKEN]
    heapify(heap)
    parts = size
    while heap:
        rank, at = divmod(heappop(heap), size)
        if cost[at] != rank:
            continue
        parts -= 1
        taken = end[at]
        cost[taken] = NO_TOKEN
        middle = end[at] = end[taken]
        before[middle] = at
        cost[at] = ranks.get(piece[at : end[middle]], NO_TOKEN) if middle < size else NO_TOKEN
        if cost[at] < NO_TOKEN:
            heappush(heap, cost[at] * size + at)
        left = before[at]
        if left >= 0:
            cost[left] = ranks.get(piece[left:middle], NO_TOKEN)
            if cost[left] < NO_TOKEN:
                heappush(heap, cost[left] * size + left)
    return parts
