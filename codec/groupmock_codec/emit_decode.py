"""Writes the source of decoders: flat Python that reads one message class in one version, `(data, offset) -> (message, end)`.

Optimizations that were measured (see benchmarks): adjacent fixed-width fields are one `unpack_from`, which also takes the next length
prefix; varints below 128 are inlined; structs are inlined and arrays are local loops, so that a message is one function; the end of the
buffer is checked once, because a slice past the end is short and every later read then fails or ends beyond it.

With `max_elements` the function counts down `left` over the whole message: array elements, nested ones included, and tagged fields. This
bounds what bytes turn into: an empty element of three bytes becomes an object of 150 bytes in 0.3 us.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from . import runtime
from .declare import NO_TAGS, TAGS, Field, Message, Wire, fields_of, misplaced_tags
from .emit import CODES, UNPACK, CodecSource, calling, layout

READERS: Final[Mapping[str, object]] = {
    "Refused": runtime.Refused,
    "NO_TAGS": NO_TAGS,
    "read_uvarint": runtime.read_uvarint,
    "read_length": runtime.read_length,
    "read_counted_tags": runtime.read_counted_tags,
    "read_text": runtime.read_compact_text,
    "read_text_or_null": runtime.read_compact_text_or_null,
    "read_bytes": runtime.read_compact_bytes,
    "read_bytes_or_null": runtime.read_compact_bytes_or_null,
    "part": runtime.part,
    "read_records": runtime.read_compact_records,
    "read_records_or_null": runtime.read_compact_records_or_null,
    "unpack_from": struct.unpack_from,
    "StructError": struct.error,
}


class DecodeSource(CodecSource):
    """Builds the source of one decoder function. `o` is the offset variable; the next byte to read is always at `o + self.ahead`."""

    def __init__(self, version: int, flexible: bool, max_elements: int | None = None) -> None:
        super().__init__()
        self.version, self.flexible, self.max_elements = version, flexible, max_elements
        self.viewed = False  # `viewed` is True if record fields are decoded to views of the frame instead of copies.
        self.path = ""
        self.run: list[tuple[str, str]] = []
        self.ahead = 0

    def function(self, message: type[Message]) -> None:
        """Write the source of the whole function `decode(data, o)`."""
        # The records of responses are copied, because they are for clients, which may expect bytes.
        self.viewed = message.__name__.endswith("Request")
        # Without a limit the function has no parameter `left`, because even a default argument would cost time.
        self.line("def decode(data, o):" if self.max_elements is None else f"def decode(data, o, left={self.max_elements}):")
        with self.block():
            self.line("start = o")
            self.line("try:")
            with self.block():
                self.line("z = len(data)")
                result = self.struct(message)
                self.line("if o > z: raise Refused")
                self.line(f"return {result}, o")
            self.line("except (Refused, IndexError, StructError):")
            with self.block():
                self.line("raise explain(data, start) from None")

    @contextmanager
    def below(self, name: str) -> Iterator[None]:
        """While the block is written, extend the field path that errors show by a field's name, or by "[]" for an array's elements."""
        outer = self.path
        self.path += name if name == "[]" or not outer else f".{name}"
        yield
        self.path = outer

    def count(self, count: str, above_zero: bool) -> None:
        """Write a check that refuses an impossible count of elements, or a count above the remaining limit, before the first element is
        built."""
        wrong = f"{count} >" if above_zero else f"0 > {count} or {count} >"
        if self.max_elements is None:
            self.line(f"if {wrong} z - o: raise Refused")
        else:
            # One comparison with the remaining limit of elements (`left`) suffices, because a false count within the limit soon reaches the
            # end of the bytes.
            self.line(f"if {wrong} left: raise unfit({self.path!r}, {count}, left, o - start, z - o)")
            self.line(f"left -= {count}")

    def at(self, more: int = 0) -> str:
        """Return the offset expression of the byte that is `more` bytes after the next one."""
        ahead = self.ahead + more
        return f"o + {ahead}" if ahead else "o"

    def fixed(self, code: str, name: str) -> str:
        """Add a fixed-width value to the run of values that are read with one call. Its name has the value after `flush`."""
        self.run.append((code, name))
        return name

    def flush(self) -> None:
        """Write one call that reads the pending run of fixed-width values."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        names = ", ".join(name for _, name in self.run)
        if codes == "B":
            self.line(f"{names} = data[{self.at()}]")
        else:
            self.line(f"{names}{',' if len(self.run) == 1 else ''} = {calling(UNPACK, codes)}(data, {self.at()})")
        self.ahead += layout(codes).size
        self.run.clear()

    def settle(self) -> None:
        """Write an addition so that `o` itself is the offset of the next byte, which is needed where branches and loop turns meet."""
        self.flush()
        if self.ahead:
            self.line(f"o += {self.ahead}")
            self.ahead = 0

    def value(self, wire: Wire, nullable: bool) -> str:
        """Write the reading of one value of any type, and return the name that has the value (after `flush` for fixed-width types)."""
        if wire.kind in CODES:
            return self.fixed(CODES[wire.kind], self.fresh())
        if wire.kind == "array":
            return self.array(wire, nullable)
        if wire.kind == "struct":
            return self.nullable_struct(wire) if nullable else self.struct(wire.struct)
        text = ".decode('utf-8', 'groupmock-java')" if wire.kind == "string" else ""
        viewed = self.viewed and wire.kind == "records"
        return self.compact(text, nullable, viewed) if self.flexible else self.prefixed(text, nullable, viewed)

    def prefixed(self, text: str, nullable: bool, viewed: bool) -> str:
        """Write the reading of a string (int16 length) or of bytes (int32 length) in versions that are not flexible. A negative length
        means null."""
        length = self.fixed("h" if text else "i", self.fresh("n"))
        self.flush()
        name, begin = self.fresh(), self.at()
        self.line(f"if {length} < 0:")
        with self.block():
            if nullable:
                self.line(f"{name} = None; o = {begin}")
            else:
                self.line("raise Refused")
        with self.block("else:") if nullable else self.here():
            read = f"part(data, {begin}, p)" if viewed else f"data[{begin}:p]{text}"
            self.line(f"p = {begin} + {length}; {name} = {read}; o = p")
        self.ahead = 0
        return name

    def compact(self, text: str, nullable: bool, viewed: bool) -> str:
        """Write the reading of a compact string or of compact bytes. The first byte of the varint length joins the run before it."""
        length = self.fixed("B", self.fresh("n"))
        self.flush()
        name, before = self.fresh(), self.at(-1)
        self.line(f"if 0 < {length} < 128:")
        with self.block():
            self.line(f"p = {before} + {length}; {name} = data[{self.at()}:p]{text}; o = p")
        if nullable:
            self.line(f"elif not {length}: {name} = None; o = {self.at()}")
        reader = ("read_text" if text else "read_records" if viewed else "read_bytes") + ("_or_null" if nullable else "")
        self.line(f"else: {name}, o = {reader}(data, {before})")
        self.ahead = 0
        return name

    def array(self, wire: Wire, nullable: bool) -> str:
        """Write the reading of an array, whose count is checked against the bytes that are left."""
        count = self.fixed("B" if self.flexible else "i", self.fresh("n"))
        self.settle()
        name = self.fresh()
        if self.flexible:
            self.line(f"if {count} > 127: {count}, o = read_length(data, o - 1)")
            self.line(f"else: {count} -= 1")
        if nullable:
            self.line(f"if {count} < 0: {name} = None")
            self.line("else:")
        with self.block() if nullable else self.here():
            self.count(count, nullable)
            with self.below("[]"):
                self.elements(wire, name, count)
        return name

    def elements(self, wire: Wire, name: str, count: str) -> None:
        """Write the reading of an array's elements into the list `name`. It begins and ends settled."""
        element = wire.element_wire
        if element.kind == "uuid":
            self.line(f"p = o + 16 * {count}; {name} = [data[i:i + 16] for i in range(o, p, 16)]; o = p")
        elif element.kind in CODES:
            code = CODES[element.kind]
            self.line(f"{name} = list(unpack_from(f'>{{{count}}}{code}', data, o)); o += {count} * {struct.calcsize('>' + code)}")
        else:
            append = self.fresh("a")
            self.line(f"{name} = []; {append} = {name}.append")
            self.line(f"for _ in range({count}):")
            with self.block():
                each = self.value(element, nullable=False)
                self.settle()
                self.line(f"{append}({each})")

    def nullable_struct(self, wire: Wire) -> str:
        """Write the reading of a struct after an int8 marker, which is negative for null."""
        marker = self.fixed("b", self.fresh("n"))
        self.settle()
        name = self.fresh()
        self.line(f"if {marker} < 0: {name} = None")
        self.line("else:")
        with self.block():
            self.line(f"{name} = {self.struct(wire.struct)}")
        return name

    def struct(self, message: type[Message]) -> str:
        """Write the reading of a struct's fields and the building of the struct. It ends settled."""
        fields = fields_of(message)
        values: dict[str, str] = {}
        tagged: list[Field] = []
        misplaced = misplaced_tags(message, self.version)
        for field in fields:
            if not field.present(self.version):
                values[field.name] = self.default(field)
            elif self.flexible and field.tagged(self.version):
                tagged.append(field)
            else:
                with self.below(field.name):
                    values[field.name] = self.value(field.wire, field.nullable(self.version))
        if not self.flexible:
            self.settle()
            return self.built(message, fields, values)
        count = self.fixed("B", self.fresh("n"))
        self.settle()
        name, tags = self.fresh("m"), self.fresh("t")
        if tagged or misplaced:
            with self.below(TAGS):
                self.known_tags(tagged, values, count, tags, misplaced)
            return self.built(message, fields, values, tags)
        self.line(f"if {count}:")
        with self.block(), self.below(TAGS):
            self.line(f"{count}, o = read_uvarint(data, o - 1)")
            self.spend_tags(count)
            self.line(f"{tags}, o = read_counted_tags(data, o, {count}); {name} = {self.built(message, fields, values, tags)}")
        self.line(f"else: {name} = {self.built(message, fields, values)}")
        return name

    def spend_tags(self, count: str) -> None:
        """Write the counting of tagged fields against the limit of elements. A count of 2^31 and more is negative, so there is no tag,
        and nothing is given back."""
        if self.max_elements is not None:
            self.line(f"if {count} < 0: {count} = 0")
            self.line(f"if {count} > left: raise too_many({self.path!r}, {count}, left, o - start)")
            self.line(f"left -= {count}")

    def built(self, message: type[Message], fields: tuple[Field, ...], values: Mapping[str, str], tags: str = "") -> str:
        """Return the call that builds the message with positional arguments, which is the fastest for msgspec."""
        arguments = [values[field.name] for field in fields] + ([f"unknown_tags={tags}"] if tags else [])
        return f"{self.class_name(message)}({', '.join(arguments)})"

    def known_tags(self, tagged: list[Field], values: dict[str, str], count: str, tags: str, misplaced: frozenset[int]) -> None:
        """Write the reading of the tagged section of a struct that declares tags. As in Kafka, the size of a known tag is ignored."""
        for field in tagged:
            values[field.name] = self.fresh()
            self.line(f"{values[field.name]} = {self.default(field)}")
        self.line(f"{tags} = NO_TAGS")
        self.line(f"if {count}:")
        with self.block():
            tag, size = self.fresh("g"), self.fresh("s")
            self.line(f"{count}, o = read_uvarint(data, o - 1); {tags} = {{}}")
            self.spend_tags(count)
            self.line(f"for _ in range({count}):")
            with self.block():
                self.line(f"{tag}, o = read_uvarint(data, o); {size}, o = read_uvarint(data, o)")
                for field in tagged:
                    self.line(f"if {tag} == {field.number}:")
                    with self.block():
                        with self.below(field.name):
                            read = self.value(field.wire, field.nullable(self.version))
                        self.settle()
                        self.line(f"{values[field.name]} = {read}; continue")
                wrong = f" or {tag} in {sorted(misplaced)}" if misplaced else ""
                self.line(f"if not 0 <= {size} <= z - o{wrong}: raise Refused")
                self.line(f"{tags}[{tag}] = data[o:o + {size}]; o += {size}")
            self.line(f"if not {tags}: {tags} = NO_TAGS")
