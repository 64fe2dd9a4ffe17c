"""A Spark for small frames: compiling expressions or re-planning between stages costs more than such frames take."""

from __future__ import annotations

from typing import Final

SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
}
"""With the quick compiler alone Java keeps 48 MB for code. The one session of all tests fills them, and then Spark ends itself; 240 is what
Java keeps otherwise."""
