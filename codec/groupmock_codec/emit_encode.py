"""Writes the source of encoders: flat Python that writes one message class in one version, `message -> bytes`.

Adjacent fixed-width fields are one `pack`, together with the next int16 / int32 length; everything goes into one list that is joined once.
Values out of range, null where it is not allowed and wrong types make `pack`, `encode` or `join` fail by themselves. The source tests only
what they would accept (a 15-byte uuid, a field that the version lacks).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from . import runtime
from .declare import Field, Message, Wire, fields_of
from .emit import CODES, PACK, CodecSource, calling

WRITERS: Final[Mapping[str, object]] = {
    "Refused": runtime.Refused,
    "UVARINTS": runtime.UVARINTS,
    "uvarint": runtime.uvarint,
    "text_length": runtime.text_length,
    "write_tags": runtime.write_tags,
    "pack": struct.pack,
    "StructError": struct.error,
    "Z": b"\0",
}


class EncodeSource(CodecSource):
    """Builds the source of one encoder function. Values pile up in `run` (one pack), packs and bytes in `items` (one extend of the list
    `sink`)."""

    def __init__(self, version: int, flexible: bool) -> None:
        super().__init__()
        self.version, self.flexible = version, flexible
        self.run: list[tuple[str, str]] = []
        self.items: list[str] = []
        self.sink = "o"
        self.loops = 0
        self.last: list[str] = []

    def function(self, message: type[Message]) -> None:
        """Write the source of the whole function `encode(m)`."""
        self.line("def encode(m):")
        with self.block():
            self.line("try:")
            with self.block():
                self.line(f"if m.__class__ is not {self.class_name(message)}: raise Refused")
                begin = len(self.lines)
                self.struct(message, "m")
                self.close_run()
                self.line(self.result(len(self.lines) > begin and any("o += " in line for line in self.lines[begin:])))
                if any("o += " in line for line in self.lines[begin:]):
                    self.lines.insert(begin, "        " + " = ".join([*self.last, "o"]) + " = []")
            self.line("except (Refused, StructError, AttributeError, TypeError, UnicodeEncodeError):")
            with self.block():
                self.line("raise explain(m) from None")

    def result(self, has_list: bool) -> str:
        """Return the return statement of the function. One item needs no join, and only loops and branches need the list."""
        items, self.items = self.items, []
        if not has_list:
            return f"return {items[0]}" if len(items) == 1 else f"return b''.join(({', '.join(items)},))" if items else "return b''"
        return f"o += ({', '.join(items)},); return b''.join(o)" if items else "return b''.join(o)"

    def fixed(self, code: str, value: str) -> None:
        """Add a fixed-width value to the run of values that are packed with one call."""
        self.run.append((code, value))

    def close_run(self) -> None:
        """Turn the current run of fixed-width values into one item."""
        if self.run:
            codes = "".join(code for code, _ in self.run)
            self.items.append(f"{calling(PACK, codes)}({', '.join(value for _, value in self.run)})")
            self.run.clear()

    def item(self, value: str) -> None:
        """Add an expression of type bytes as an item."""
        self.close_run()
        self.items.append(value)

    def settle(self) -> None:
        """Write a line that puts all items into the list, which is needed where branches and loops begin and end."""
        self.close_run()
        if self.items:
            self.line(f"{self.sink} += ({', '.join(self.items)},)")
            self.items.clear()

    def value(self, wire: Wire, nullable: bool, source: str) -> None:
        """Write the encoding of the value that the expression `source` gives."""
        if wire.kind == "uuid":
            self.line(f"if len({source}) != 16: raise Refused")
        if wire.kind in CODES:
            self.fixed(CODES[wire.kind], source)
        elif wire.kind == "array":
            self.array(wire, nullable, source)
        elif wire.kind == "struct":
            self.nullable_struct(wire, source) if nullable else self.struct(wire.struct, self.local(source))
        else:
            self.sized(wire.kind == "string", nullable, source)

    def local(self, source: str) -> str:
        """Write an assignment of `source` to a new local variable and return the variable's name."""
        name = self.fresh()
        self.line(f"{name} = {source}")
        return name

    def length(self, name: str, text: bool) -> str:
        """Return an expression for the compact length prefix of the bytes in `name`."""
        function = "text_length" if text else "uvarint"
        return f"UVARINTS[k] if (k := len({name}) + 1) < {runtime.SHORT} else {function}(k)"

    def sized(self, text: bool, nullable: bool, source: str) -> None:
        """Write the encoding of a string or of bytes with their length."""
        encode = ".encode()" if text else ""
        name = self.local(source if nullable else source + encode)
        length = self.length(name, text) if self.flexible else f"len({name})"
        if nullable:
            size = self.fresh("n")
            self.line(f"if {name} is None: {name} = b''; {size} = {'Z' if self.flexible else -1}")
            self.line("else:")
            with self.block():
                if text:
                    self.line(f"{name} = {name}{encode}")
                self.line(f"{size} = {length}")
            length = size
        if self.flexible:
            self.item(length)
        else:
            self.fixed("h" if text else "i", length)
        self.item(name)

    def array(self, wire: Wire, nullable: bool, source: str) -> None:
        """Write the encoding of an array: its count, then one call for numbers or a loop for other elements."""
        name, count = self.local(source), self.fresh("n")
        length = f"({self.length(name, False)})" if self.flexible else f"len({name})"
        if nullable:
            self.line(f"if {name} is None: {name} = (); {count} = {'Z' if self.flexible else -1}")
            self.line(f"else: {count} = {length}")
        else:
            count = length
        if self.flexible:
            self.item(count)
        else:
            self.fixed("i", count)
        element = wire.element_wire
        if element.kind in CODES and element.kind != "uuid":
            self.item(f"pack(f'>{{len({name})}}{CODES[element.kind]}', *{name})")
            return
        self.settle()
        if self.loops and element.kind == "struct" and self.sink == "o":
            self.not_again(name, element)
        else:
            self.loop(name, element)

    def loop(self, name: str, element: Wire) -> None:
        """Write a loop that encodes each element of the array `name`."""
        each = self.fresh("e")
        self.loops += 1
        self.line(f"for {each} in {name}:")
        with self.block():
            self.struct(element.struct, each) if element.kind == "struct" else self.value(element, False, each)
            self.settle()
        self.loops -= 1

    def not_again(self, name: str, element: Wire) -> None:
        """Write the encoding of an array inside another array, with a check that avoids encoding the same list twice. Where it is the
        very list of the element before, its bytes are there already."""
        last = self.fresh("last")
        self.last.append(last)
        with self.block(f"if {name} is {last}:"):
            self.line(f"if {last}_bytes is None: {last}_bytes = b''.join(o[{last}_from:{last}_to])")
            self.line(f"o += ({last}_bytes,)")
        with self.block("else:"):
            self.line(f"{last}, {last}_from = {name}, len(o)")
            self.loop(name, element)
            self.line(f"{last}_to, {last}_bytes = len(o), None")

    def nullable_struct(self, wire: Wire, source: str) -> None:
        """Write the encoding of a struct after an int8 marker, which is -1 for null and 1 otherwise."""
        name = self.local(source)
        self.settle()
        self.line(f"if {name} is None: {self.sink} += (b'\\xff',)")
        self.line("else:")
        with self.block():
            self.fixed("b", "1")
            self.struct(wire.struct, name)
            self.settle()

    def struct(self, message: type[Message], name: str) -> None:
        """Write the encoding of all fields of the struct `name`, followed by its tagged section."""
        tagged: list[Field] = []
        for field in fields_of(message):
            source = f"{name}.{field.name}"
            if not field.present(self.version):
                if not field.ignorable:
                    self.line(f"if {self.differs(field, source)}: raise Refused")
            elif self.flexible and field.tagged(self.version):
                tagged.append(field)
            else:
                self.value(field.wire, field.nullable(self.version), source)
        if not self.flexible:
            self.line(f"if {name}.unknown_tags: raise Refused")
        elif tagged:
            self.known_tags(tagged, name)
        else:
            self.item(f"write_tags({{}}, t) if (t := {name}.unknown_tags) else Z")

    def differs(self, field: Field, source: str) -> str:
        """Return an expression that is true if the field's value is not its default."""
        default = self.default(field)
        return f"{source} is not None" if default == "None" else f"{source} != {default}"

    def known_tags(self, tagged: list[Field], name: str) -> None:
        """Write the encoding of known tags that differ from their defaults, merged with the unknown tags in ascending order."""
        self.settle()
        tags, outer = self.fresh("t"), self.sink
        self.line(f"{tags} = None")
        for field in sorted(tagged, key=lambda each: each.number):
            source = f"{name}.{field.name}"
            with self.block(f"if {self.differs(field, source)}:"):
                self.sink = self.fresh("o")
                self.line(f"{self.sink} = []")
                self.value(field.wire, field.nullable(self.version), source)
                self.settle()
                self.line(f"if {tags} is None: {tags} = {{}}")
                self.line(f"{tags}[{field.number}] = b''.join({self.sink})")
                self.sink = outer
        numbers = tuple(field.number for field in tagged)
        self.item(f"write_tags({tags} or {{}}, {name}.unknown_tags, {numbers}) if {tags} or {name}.unknown_tags else Z")
