"""A bucket of Java's HashMap may become a red-black tree (JEP 180), which changes the order of its keys.

A bucket is read as a chain, even when it is a tree, which only serves look-ups. But the tree changes the chain: its root is first in the
chain; a new key follows its parent in the tree; whenever the root changes it moves to the front. So the chain can only be computed by
keeping the tree, with insertion and deletion of red-black trees (Cormen and others, Introduction to Algorithms, chapter 13; a node with
two children changes places with its successor before it goes). Keys are sorted by their spread hashes as signed numbers, equal ones by
`compareTo`. In Java: java.util.HashMap.TreeNode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, Literal, TypeVar

K = TypeVar("K")
Side = Literal["left", "right"]
OTHER: Final[dict[Side, Side]] = {"left": "right", "right": "left"}


class _Node(Generic[K]):
    """A node of the bucket, which is in the tree (`left`, `right`, `parent`, `red`) and in the chain (`before`, `after`)."""

    __slots__ = ("after", "before", "key", "left", "parent", "rank", "red", "right")

    def __init__(self, key: K, rank: Any) -> None:
        self.key, self.rank, self.red = key, rank, False
        self.parent: _Node[K] | None = None
        self.left: _Node[K] | None = None
        self.right: _Node[K] | None = None
        self.before: _Node[K] | None = None
        self.after: _Node[K] | None = None

    def child(self, side: Side) -> _Node[K] | None:
        return self.left if side == "left" else self.right

    def hang(self, side: Side, node: _Node[K] | None) -> None:
        """Make `node` the child of this node on that side."""
        if side == "left":
            self.left = node
        else:
            self.right = node
        if node is not None:
            node.parent = self

    def side(self) -> Side:
        """Return whether this node is its parent's left or right child."""
        assert self.parent is not None
        return "left" if self.parent.left is self else "right"


def _red(node: _Node[K] | None) -> bool:
    return node is not None and node.red


class TreeBin(Generic[K]):
    """The keys of a bucket that is a tree, in the order of the chain. It is made of (key, rank) in the order of the former list. Keys
    are sorted by rank; no two ranks are equal."""

    __slots__ = ("_first", "_nodes", "_root")

    def __init__(self, ranked: Iterable[tuple[K, Any]]) -> None:
        self._root: _Node[K] | None = None
        self._first: _Node[K] | None = None
        self._nodes: dict[K, _Node[K]] = {}
        last: _Node[K] | None = None
        for key, rank in ranked:
            node = self._nodes[key] = _Node(key, rank)
            self._chain(last, node)
            self._attach(node)
            last = node
        self._root_first()

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, key: object) -> bool:
        return key in self._nodes

    def __iter__(self) -> Iterator[K]:
        node = self._first
        while node is not None:
            yield node.key
            node = node.after

    def add(self, key: K, rank: Any) -> None:
        """Add a key that the bucket does not have."""
        node = self._nodes[key] = _Node(key, rank)
        self._attach(node, behind_parent=True)
        self._root_first()

    def too_small(self) -> bool:
        """True if the bucket becomes a list when the next key is removed. Java decides this before the key has left the tree."""
        root = self._root
        return root is None or root.right is None or root.left is None or root.left.left is None

    def remove(self, key: K) -> None:
        """Remove a key that the bucket has."""
        node = self._nodes.pop(key)
        self._unchain(node)
        self._detach(node)
        self._root_first()


    def _chain(self, before: _Node[K] | None, node: _Node[K]) -> None:
        """Insert `node` into the chain after `before`, or at the front."""
        node.before = before
        node.after = self._first if before is None else before.after
        if before is None:
            self._first = node
        else:
            before.after = node
        if node.after is not None:
            node.after.before = node

    def _unchain(self, node: _Node[K]) -> None:
        if node.before is None:
            self._first = node.after
        else:
            node.before.after = node.after
        if node.after is not None:
            node.after.before = node.before

    def _root_first(self) -> None:
        if self._root is not None and self._root is not self._first:
            self._unchain(self._root)
            self._chain(None, self._root)


    def _attach(self, node: _Node[K], behind_parent: bool = False) -> None:
        """Insert the node into the tree as a leaf where its rank belongs, and balance the tree."""
        under, at = None, self._root
        while at is not None:
            under, at = at, at.left if node.rank < at.rank else at.right
        if under is None:
            self._root = node
            return
        under.hang("left" if node.rank < under.rank else "right", node)
        if behind_parent:
            self._chain(under, node)
        self._balance_insertion(node)

    def _rotate(self, node: _Node[K], side: Side) -> None:
        """Rotate the tree at the node: the child on the other side takes the node's place, and the node becomes its child on this side."""
        up = node.child(OTHER[side])
        assert up is not None
        self._replace(node, up)
        node.hang(OTHER[side], up.child(side))
        up.hang(side, node)

    def _replace(self, node: _Node[K], other: _Node[K] | None) -> None:
        """Put `other` in the place of `node` under its parent."""
        if node.parent is None:
            self._root = other
            if other is not None:
                other.parent = None
        else:
            node.parent.hang(node.side(), other)

    def _balance_insertion(self, node: _Node[K]) -> None:
        """Balance the tree after an insertion (Cormen's RB-INSERT-FIXUP)."""
        node.red = True
        while _red(parent := node.parent) and parent is not None and (above := parent.parent) is not None:
            side = parent.side()
            uncle = above.child(OTHER[side])
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                above.red, node = True, above
                continue
            if node.side() != side:
                self._rotate(parent, side)
                parent = node
            parent.red, above.red = False, True
            self._rotate(above, OTHER[side])
            break
        if self._root is not None:
            self._root.red = False

    def _detach(self, node: _Node[K]) -> None:
        """Remove a node from the tree and balance the tree. A leaf stays in its place until the tree is balanced."""
        if node.left is not None and node.right is not None:
            self._swap_with_successor(node, node.right)
        child = node.left if node.left is not None else node.right
        if child is not None:
            self._replace(node, child)
        if not node.red:
            self._balance_deletion(node if child is None else child)
        if child is None:
            self._replace(node, None)

    def _swap_with_successor(self, node: _Node[K], right: _Node[K]) -> None:
        """Exchange place and colour of the node and the leftmost node of its right subtree."""
        next_one = right
        while next_one.left is not None:
            next_one = next_one.left
        node.red, next_one.red = next_one.red, node.red
        below, left, home = next_one.right, node.left, next_one.parent
        self._replace(node, next_one)
        next_one.hang("left", left)
        if next_one is right:
            next_one.hang("right", node)
        else:
            assert home is not None
            home.hang("left", node)
            next_one.hang("right", right)
        node.left = None
        node.hang("right", below)

    def _balance_deletion(self, node: _Node[K]) -> None:
        """Balance the tree after a deletion (Cormen's RB-DELETE-FIXUP): the path to `node` has one black node too few."""
        while node is not self._root and not node.red:
            parent, side = node.parent, node.side()
            assert parent is not None
            other = parent.child(OTHER[side])
            if other is not None and other.red:
                other.red, parent.red = False, True
                self._rotate(parent, side)
                other = parent.child(OTHER[side])
            if other is None:
                node = parent
            elif not _red(other.left) and not _red(other.right):
                other.red, node = True, parent
            else:
                self._borrow(parent, other, side)
                return
        node.red = False

    def _borrow(self, parent: _Node[K], other: _Node[K], side: Side) -> None:
        """Rotate in the last two cases of the deletion, in which the sibling has a red child."""
        far = other.child(OTHER[side])
        if not _red(far):
            near = other.child(side)
            assert near is not None
            near.red, other.red = False, True
            self._rotate(other, OTHER[side])
            far, other = other, near
        other.red, parent.red = parent.red, False
        assert far is not None
        far.red = False
        self._rotate(parent, side)
        if self._root is not None:
            self._root.red = False
