"""What every route shares: parsing, answers, errors, gates and limits."""
