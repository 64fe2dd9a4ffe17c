"""The order of equal elements of a queue is that of java.util.PriorityQueue (openjdk 21)."""

from __future__ import annotations

from groupmock.core.java.priority_queue import PriorityQueue


def test_equal_elements_come_in_the_order_of_java() -> None:
    queue: PriorityQueue[str] = PriorityQueue()
    for priority, element in zip((2, 1, 1, 2, 1, 3, 1), "abcdefg", strict=True):
        queue.add(priority, element)
    assert "".join(queue.poll() for _ in range(7)) == "bgecdaf"
    assert not queue


def test_an_element_that_is_added_again_comes_after_equal_ones_in_some_places() -> None:
    """Each polled element is added with one more task, as the assignor does it."""
    queue: PriorityQueue[str] = PriorityQueue()
    counts = dict.fromkeys("abcde", 0)
    for element in counts:
        queue.add(0, element)
    polled = ""
    for _ in range(15):
        element = queue.poll()
        polled += element
        counts[element] += 1
        queue.add(counts[element], element)
    assert polled == "aebdcdceababcde"
