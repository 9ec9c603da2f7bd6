"""A small real table with its policy, to try discreet on: the RAND health insurance experiment.

The table is public, so an answer can be compared with the truth.

>>> import discreet as dp
>>> from discreet.datasets import rand
>>> with dp.connect({"visits": rand.table}, policy=rand.policy) as session:
...     answer = session.sql("SELECT coinsurance, AVG(dollars) AS mean FROM visits GROUP BY coinsurance", dp.pure(1))
>>> answer.to_arrow().column_names
['coinsurance', 'mean']
"""

from __future__ import annotations

from discreet.datasets._dataset import Dataset, rand

__all__ = ["Dataset", "rand"]
