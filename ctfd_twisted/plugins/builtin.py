"""The built-in kinds of challenges and flags, registered as anybody else's are."""

from twisted.plugin import IPlugin
from zope.interface import alsoProvides

from ctfd_twisted.challenges.flags import RegexFlag, StaticFlag
from ctfd_twisted.challenges.kinds import DynamicChallenge, StandardChallenge

standard_challenge = StandardChallenge()
dynamic_challenge = DynamicChallenge()
static_flag = StaticFlag()
regex_flag = RegexFlag()

for kind in (standard_challenge, dynamic_challenge, static_flag, regex_flag):
    alsoProvides(kind, IPlugin)
del kind
