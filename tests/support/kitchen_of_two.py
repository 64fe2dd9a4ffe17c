"""Starts a group of two members that many tests of timelines, logs and stories share."""

from __future__ import annotations

from tools.mistakes.stage import Stage


class TwoMembers(Stage):
    """Starts Anna alone in the group `kitchen` and later ben; the topic `orders` has four partitions."""

    def __init__(self) -> None:
        super().__init__({"orders": 4})
        self.anna, self.ben = self.consumer("anna"), self.consumer("ben")
        self.together(self.anna)
        self.ben.join()
        self.anna.beat()
        self.together(self.anna, waiting=[self.ben])
