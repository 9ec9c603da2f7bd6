"""Apache Spark, for data past one machine: `pip install "discreet[spark]"`, with a Java of its own."""

from discreet.engines.spark._engine import Spark, spark_at
from discreet.engines.spark._url import session_of

__all__ = ["Spark", "session_of", "spark_at"]
