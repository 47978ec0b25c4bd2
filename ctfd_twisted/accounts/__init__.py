"""Users, teams, tokens, sessions and sign-up: who is who, and who may sign in."""
