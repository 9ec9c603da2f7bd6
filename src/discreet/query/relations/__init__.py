"""The meaning of FROM: relations in which every row has one owner."""
