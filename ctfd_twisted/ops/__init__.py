"""What those who run the platform touch: commands, the supervisor's notices."""
