"""How a spend is divided among the parts of a query, and the noise that it buys."""
