"""Make the SQL of windows over rows: their partitions and their frames. The order stands between the two."""

from __future__ import annotations

from typing import Final

OF_GROUP: Final = "partition by run, `group`"
OF_MEMBER: Final = "partition by run, `group`, member_id"
SO_FAR: Final = "rows between unbounded preceding and current row"
BEFORE: Final = "rows between unbounded preceding and 1 preceding"
