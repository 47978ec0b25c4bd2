"""The kind of challenge ``koth``, registered as anybody else's is."""

from twisted.plugin import IPlugin
from zope.interface import alsoProvides

from ctfd_twisted.koth.challenge_type import HillChallenge

hill_challenge = HillChallenge()
alsoProvides(hill_challenge, IPlugin)
