"""The public facts of a source: tables, units, column types, bounds, keys, caps and budget.

Everything in a policy is public by definition. It is written by the data owner, from knowledge that does not come
from the rows themselves, and it is the only thing besides the query that a refusal may depend on.
"""

from discreet.policy._column import Bound, Column, ColumnType, Key
from discreet.policy._policy import Budget, Policy, load_policy
from discreet.policy._tables import DeclaredGraph, PersonPath, Table
from discreet.policy._toml import column_to_toml, toml_key, toml_value

__all__ = [
    "Bound",
    "Budget",
    "Column",
    "ColumnType",
    "DeclaredGraph",
    "Key",
    "PersonPath",
    "Policy",
    "Table",
    "column_to_toml",
    "load_policy",
    "toml_key",
    "toml_value",
]
