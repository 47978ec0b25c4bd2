"""Uploaded files: where they are kept, who may have them, and how they come and go."""
