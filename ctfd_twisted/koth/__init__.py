"""King of the hill: hills, ticks and reigns."""
