"""Windows in SQL: whose rows they are, and which of them, in the order that is said between the two."""

from __future__ import annotations

from typing import Final

OF_GROUP: Final = "partition by run, `group`"
OF_MEMBER: Final = "partition by run, `group`, member_id"
SO_FAR: Final = "rows between unbounded preceding and current row"
BEFORE: Final = "rows between unbounded preceding and 1 preceding"
