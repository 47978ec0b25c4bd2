"""``ctfplatform demo``: a small live competition on this machine, to see the platform at work within a minute."""
