"""What ``twistd`` reads to list the ``ctfplatform`` command; the platform is imported when it is chosen."""

from twisted.application.service import ServiceMaker

ctfplatform = ServiceMaker(
    "ctfplatform",
    "ctfd_twisted.service",
    "A capture-the-flag platform, compatible with CTFd 3.8.7.",
    "ctfplatform",
)
