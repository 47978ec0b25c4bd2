"""The whole competition as one file that CTFd can read, and its tables and boards for spreadsheets."""
