"""Which messages belong together: threads, by what each message says that it answers."""

from __future__ import annotations

from collections.abc import Iterable


def find_threads(messages: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """The thread of each message, by id: the name of the oldest message that is known of it, which need not be there.
    A message is its id and those it refers to, the oldest first. Takes nearly linear time, and any input has an answer:
    messages that refer to each other in a circle are one thread."""
    before: dict[str, str] = {}

    def root(name: str) -> str:
        top = name
        while (above := before.get(top, top)) != top:
            top = above
        while (above := before.get(name, name)) != top:  # so that the next walk is short
            before[name] = top
            name = above
        return top

    own: list[str] = []
    for id_, references in messages:
        own.append(id_)
        chain = (*references, id_)
        first = root(chain[0])
        for name in chain[1:]:
            other = root(name)
            if other != first:
                before[other] = first
    return {id_: root(id_) for id_ in own}
