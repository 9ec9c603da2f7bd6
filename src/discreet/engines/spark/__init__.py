"""Apache Spark, for data past one machine: `pip install "discreet[spark]"`, with a Java of its own."""

from discreet.engines.spark._engine import Spark, spark_at
from discreet.engines.spark._schema import declared_tables
from discreet.engines.spark._url import session_of

__all__ = ["Spark", "declared_tables", "session_of", "spark_at"]
