"""Several processes of one node that share its listening sockets, and the one that looks after them."""
