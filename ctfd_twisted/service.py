"""The one place where the platform's parts are put together: ``twistd ctfplatform``'s options and its service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy.engine import make_url
from twisted.application.internet import TimerService
from twisted.application.service import IService
from twisted.internet.interfaces import IReactorTime
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool
from twisted.web.resource import IResource

from ctfd_twisted.accounts.directory import Directory
from ctfd_twisted.accounts.handlers import account_handlers
from ctfd_twisted.accounts.hasher import Hasher, hashing_threads
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.oauth_client import OAuthClient
from ctfd_twisted.accounts.oauth_reach import Network as OAuthNetwork
from ctfd_twisted.accounts.oauth_reach import Reach as OAuthReach
from ctfd_twisted.accounts.oauth_rules import provider_of
from ctfd_twisted.accounts.reset_pages import new_password_first
from ctfd_twisted.accounts.tracker import AddressTracker
from ctfd_twisted.archive.api import ExportsApi, SendFile
from ctfd_twisted.archive.desk import ImportDesk
from ctfd_twisted.archive.exporter import Exporter
from ctfd_twisted.archive.import_api import ImportPages, import_intake
from ctfd_twisted.archive.importer import Importer
from ctfd_twisted.challenges.handlers import challenge_handlers
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.competition.configs_api import ConfigsApi
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content.handlers import content_handlers
from ctfd_twisted.content.notices_api import NoticesApi
from ctfd_twisted.content.public_pages import read_public_pages
from ctfd_twisted.db.behind import WriteBehind
from ctfd_twisted.db.database import Database, Start
from ctfd_twisted.db.engine import POOL_SIZE, READERS, open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.queue import Queue
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.db.threads import InThread, in_thread, start_in
from ctfd_twisted.files.content import Content, Store
from ctfd_twisted.files.handlers import FileRoom
from ctfd_twisted.files.keeping import PictureKeeper
from ctfd_twisted.files.rules import Version
from ctfd_twisted.files.sending import Download
from ctfd_twisted.files.stores import store_at
from ctfd_twisted.http.call import Front
from ctfd_twisted.http.cookies import Cookies
from ctfd_twisted.http.intake import Intake, Intakes
from ctfd_twisted.http.pipeline import Pipeline
from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.http.site import PlatformSite, mounted
from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.handlers import hill_handlers, hill_poller
from ctfd_twisted.koth.reach import Network as HillNetwork
from ctfd_twisted.koth.reach import Reach as HillReach
from ctfd_twisted.live.room import make_live
from ctfd_twisted.mail.api import MailApi
from ctfd_twisted.mail.dispatcher import MailDispatcher
from ctfd_twisted.mail.post import Post
from ctfd_twisted.mail.postman import Postman
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.ops.health import FrontDoor
from ctfd_twisted.ops.node import Node, Parts, Stage
from ctfd_twisted.ops.workers.supervisor import Supervisor
from ctfd_twisted.scoring.api import scoring_handlers
from ctfd_twisted.scoring.boards import PublicBoard
from ctfd_twisted.settings import Settings
from ctfd_twisted.settings.options import Options
from ctfd_twisted.web.admin_backup import AdminBackupPages
from ctfd_twisted.web.api_docs import ApiDocs
from ctfd_twisted.web.assets_store import load_assets
from ctfd_twisted.web.challenge_pages import view_renderer
from ctfd_twisted.web.handlers import page_handlers
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.share_pages import SharePages
from ctfd_twisted.web.share_pictures import Pictures
from ctfd_twisted.webhooks.alarm import MailAlarm
from ctfd_twisted.webhooks.client import WebhookClient
from ctfd_twisted.webhooks.dispatcher import Dispatcher
from ctfd_twisted.webhooks.handlers import webhook_handlers
from ctfd_twisted.webhooks.reach import Network, Reach

if TYPE_CHECKING:
    from ctfd_twisted.ops.metrics.meter import Meter

__all__ = ("Options", "Platform", "makeService", "make_platform")

#: Seconds between two looks for what other programs have written to an SQLite file.
LOOK_AROUND: Final = 0.25
#: Threads for uploaded files: they wait for the disk, or for a network.
FILERS: Final = 4


class Platform(msgspec.Struct, frozen=True):
    """The platform over an open database: what answers requests, and what runs by itself beside it."""

    resource: IResource
    pipeline: Pipeline
    intake: Intake
    uploads: Store
    services: Sequence[IService]
    #: What waits for threads, by who puts it there and what is done with it.
    queues: Mapping[tuple[str, str], Queue]


def make_platform(
    settings: Settings,
    clock: IReactorTime,
    db: Database,
    hash_in: Start,
    webhook_reach: Reach,
    hill_reach: HillReach,
    file_in: Start,
    oauth_reach: OAuthReach,
    meter: Meter | None = None,
) -> Platform:
    """Put the platform together over *db*; nothing is read or started yet.

    *webhook_reach* is how webhooks get out, *hill_reach* how agents of hills are asked,
    *oauth_reach* how MajorLeagueCyber is; *meter* counts what happens, where somebody wants to know.
    """
    bus = db.bus

    def now() -> datetime:
        return datetime.fromtimestamp(clock.seconds(), UTC)

    keys = Keys(settings.secret_key)
    hasher = Hasher(hash_in, rounds=settings.password_rounds)
    # What runs by itself waits for threads in queues of its own.
    beside = db.aside()
    behind = WriteBehind(beside, clock)
    directory = Directory(db, behind, keys, hasher, settings.preset_admin)
    assets = load_assets()
    public_pages = Snapshot(db, bus, read_public_pages, {"pages"})
    pages = Pages(assets, public_pages, lambda competition: provider_of(competition, settings.oauth) is not None)
    competition = Snapshot(db, bus, read_competition, {"config"})
    pipeline = Pipeline(
        front=_front(settings),
        policy=settings,
        competition=competition,
        callers=directory,
        tracker=AddressTracker(behind),
        pages=pages,
        now=now,
        look_around=db.notice_others,
        password_change=partial(new_password_first, keys),
    )
    if meter is not None:
        pipeline.answered = meter.answered
    sealer, postman = Sealer(keys.mail_key()), Postman(clock)
    post = Post(sealer, settings.mail)
    board = PublicBoard(db, settings.application_root)
    uploads = store_at(settings.uploads, settings.upload_limit, FILERS)
    files = FileRoom(db, uploads, in_thread(file_in), now)
    keep = PictureKeeper(files.uploads, uploads, in_thread(file_in)).keep
    accounts = account_handlers(db, pages, hasher, keys, post, OAuthClient(clock, oauth_reach), settings, board, keep)
    exporter = Exporter(db, in_thread(file_in), uploads.open, settings.data_dir)
    importer = Importer(db, in_thread(file_in), uploads, settings.data_dir)
    desk = ImportDesk(db, importer, in_thread(file_in), now)
    reader = ChallengeReader(db, bus)
    challenges = challenge_handlers(
        db, behind, reader, sign=keys.sign, render_view=view_renderer(pages), remove_files=files.uploads.remove
    )
    live = make_live(clock, beside, board, directory, competition.get, now, enabled=settings.server_sent_events)
    agents = HillClient(clock, hill_reach)
    webhooks = WebhookClient(clock, webhook_reach, settings.webhook_header_prefix)
    apis = [
        *accounts,
        *challenges,
        *scoring_handlers(db, now, board),
        *hill_handlers(db, reader, agents),
        *files.handlers(reader, keys.read_signed, clock),
        *content_handlers(db),
        ExportsApi(exporter, _send_file(in_thread(file_in), clock)),
        AdminBackupPages(pages, lambda: exporter.under_way),
        ImportPages(db, pages, desk, in_thread(file_in), settings.data_dir),
        ConfigsApi(db),
        NoticesApi(db),
        live.api,
        MailApi(db, postman, settings.mail),
        *webhook_handlers(clock, db, webhooks),
    ]
    custom_pages, page_routes = page_handlers(db, pages, assets, public_pages, apis, board)
    shares = SharePages(db, pages, reader, keys.plain_mac, Pictures(in_thread(file_in), uploads.open))
    told = [*apis, *page_routes, shares]
    status, root = settings.malformed_payload_status, settings.application_root
    docs = ApiDocs(pages, told, in_thread(file_in), malformed_status=status, root=root)
    site = PlatformSite(pipeline, [*told, docs], custom_pages.fallback)
    node, prefix, ticked = db.engines.node, settings.webhook_header_prefix, None if meter is None else meter.ticked
    by_role: dict[str, Callable[[], IService]] = {
        "web": lambda: files.tidying(clock),
        "koth": lambda: hill_poller(clock, beside, agents, node=node, prefix=prefix, ticked=ticked),
        "webhooks": lambda: Dispatcher(clock, beside, webhooks, MailAlarm(sealer, settings.mail), node),
        "mail": lambda: MailDispatcher(beside, clock, postman, sealer, settings.mail),
    }
    by_itself = [make() for role, make in by_role.items() if role in settings.roles]
    services = [behind, live.hub, live.feed, *by_itself]
    large = pipeline.lets_in, settings.application_root, settings.upload_limit
    intake = Intakes(files.intake(*large), import_intake(settings.data_dir, in_thread(file_in), *large))
    queues = {
        ("requests", "write"): db.writes,
        ("requests", "read"): db.reads,
        ("services", "write"): beside.writes,
        ("services", "read"): beside.reads,
        ("requests", "hash"): hasher.queue,
    }
    return Platform(site.resource(), pipeline, intake, uploads, services, queues)


def _send_file(threads: InThread, clock: IReactorTime) -> SendFile:
    return lambda file, size: Download(Content(file, Version(size, 0)), range(size), threads, clock)


def _front(settings: Settings) -> Front:
    root = settings.application_root
    return Front(root, settings.public_url, Cookies(settings.secret_key, root or "/"))


def makeService(options: Options) -> IService:
    """The service of ``twistd ctfplatform``; nothing is opened before it starts."""
    # Chosen by twistd, so it can't be imported before twistd has chosen.
    from twisted.internet import reactor  # noqa: PLC0415

    if options.settings.workers > 1:
        supervisor, endpoint = Supervisor(reactor, options.settings, options.read), options.settings.metrics
        return supervisor if endpoint is None else _measured(reactor, supervisor, endpoint)
    return make_node(options.settings, reactor)


def make_node(settings: Settings, reactor: Any, stage: Stage | None = None) -> Node:
    """One node over *reactor*, or one worker on its *stage*: threads, database, platform, listeners."""
    url = make_url(settings.database)
    engines = open_engines(url)
    sqlite = engines.dialect == "sqlite"
    # Writes that wait for each other's locks must leave reads a connection.
    hashing, writers = hashing_threads(), 1 if sqlite else POOL_SIZE - READERS
    writing, reading = ThreadPool(0, writers, "writers"), ThreadPool(0, READERS, "readers")
    bus = Bus()
    call = reactor.callFromThread
    db = Database(engines, bus, write=start_in(writing, call), read=start_in(reading, call), writers=writers)
    hashes, filing = start_in(hashing, call), ThreadPool(0, FILERS, "files")
    meter = None if settings.metrics is None else _meter(db)
    reaches = Network(reactor), HillNetwork(reactor), start_in(filing, call), OAuthNetwork(reactor)
    platform = make_platform(settings, reactor, db, hashes, *reaches, meter)
    door = FrontDoor(db.aside(), reactor)
    services = [*platform.services]
    if sqlite:
        # Requests look around before they are answered. This is for those who ask nothing: listeners and dispatchers.
        services.append(TimerService(LOOK_AROUND, db.notice_others))
    else:
        # psycopg takes 10 MB, which a node on SQLite need not pay.
        from ctfd_twisted.db.listener import Listener  # noqa: PLC0415

        services.append(Listener(url, engines.node, bus, call))
    parts = Parts(
        db=db,
        door=door,
        site=QuietSite(mounted(door, settings.application_root), reactor, platform.intake),
        check_uploads=platform.uploads.check,
        open=partial(door.open, platform.resource),
        services=services,
        pools=[hashing, filing, writing, reading],
        in_thread=partial(deferToThreadPool, reactor, writing),
    )
    node = Node(reactor, parts, settings.listen, settings.roles, stage)
    if meter is not None:
        _measure(reactor, node, parts, meter, platform.queues, settings.metrics if stage is None else None)
    return node


# What counts and tells figures is imported by those nodes alone that do; the others need not pay for it.


def _meter(db: Database) -> Meter:
    from ctfd_twisted.ops.metrics.meter import Meter  # noqa: PLC0415

    meter = db.meter = Meter()
    return meter


def _measure(*what: Any) -> None:
    from ctfd_twisted.ops.metrics.wiring import measure  # noqa: PLC0415

    measure(*what)


def _measured(reactor: Any, supervisor: Supervisor, endpoint: str) -> IService:
    from ctfd_twisted.ops.metrics.wiring import measured  # noqa: PLC0415

    return measured(reactor, supervisor, endpoint)
