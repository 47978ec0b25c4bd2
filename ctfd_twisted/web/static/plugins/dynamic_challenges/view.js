// The platform's own pages need no script for this kind of challenge; the address is kept for clients that load it.
