"""A group with which many tests of pictures, logs and stories begin."""

from __future__ import annotations

from tools.mistakes.stage import Stage


class TwoMembers(Stage):
    """A stage with Anna alone in the group `kitchen`, then with ben; `orders` has four partitions."""

    def __init__(self) -> None:
        super().__init__({"orders": 4})
        self.anna, self.ben = self.consumer("anna"), self.consumer("ben")
        self.together(self.anna)
        self.ben.join()
        self.anna.beat()
        self.together(self.anna, waiting=[self.ben])
