"""All handlers of challenges, for the one place where the platform is put together."""

from __future__ import annotations

from ctfd_twisted.challenges.admin_api import ChallengesAdminApi, RemoveFiles
from ctfd_twisted.challenges.api import ChallengesApi, RenderView, Sign
from ctfd_twisted.challenges.attempts_api import AttemptsApi
from ctfd_twisted.challenges.flags_api import FlagsApi
from ctfd_twisted.challenges.hints_api import HintsApi
from ctfd_twisted.challenges.modules_api import ModulesApi
from ctfd_twisted.challenges.ratings_api import RatingsApi
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.challenges.solutions_api import SolutionsApi
from ctfd_twisted.challenges.solvers_api import SolversApi
from ctfd_twisted.challenges.tags_api import TagsApi
from ctfd_twisted.challenges.topics_api import TopicsApi
from ctfd_twisted.challenges.unlocks_api import UnlocksApi
from ctfd_twisted.db.behind import WriteBehind
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.site import HasRoutes


def challenge_handlers(
    db: Database,
    behind: WriteBehind,
    reader: ChallengeReader,
    *,
    sign: Sign,
    render_view: RenderView,
    remove_files: RemoveFiles,
) -> list[HasRoutes]:
    """Every class of routes about challenges and what hangs on them.

    *reader* is shared with whoever else shows something of a challenge. *sign* is ``Keys.sign``.
    """
    return [
        ChallengesApi(db, behind, reader, sign, render_view),
        SolversApi(db, reader),
        ChallengesAdminApi(db, remove_files),
        AttemptsApi(db),
        FlagsApi(db),
        HintsApi(db, reader),
        SolutionsApi(db, reader, remove_files),
        UnlocksApi(db),
        RatingsApi(db, reader),
        TagsApi(db),
        TopicsApi(db),
        ModulesApi(db),
    ]
