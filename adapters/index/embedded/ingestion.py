"""Reading folders of documents in, so that a killed run leaves the old index whole.

Three steps: one SQLite transaction adds the new documents as coming and marks the old ones as going; one commit of
the index drops these and takes those; one more transaction makes it final. Readers see the old index or the new one,
for the index's commit is atomic and the rows of both are there while it happens. The next run finishes what a killed
one left between two steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from io import SEEK_END, FileIO
from pathlib import Path
from tempfile import TemporaryFile

from adapters.data_folder import hold_lock, owner_only
from adapters.index.embedded.index import PassageWriter, add, open_writer
from adapters.index.embedded.page_reader import Page, PageTask, ReadPage, read_pages, unpack
from adapters.index.embedded.recovery import WRITTEN_ANEW, recover, write_anew
from adapters.index.records import FileRow, FolderRow, Identity, our_errors, unwritable
from adapters.index.store import Store
from adapters.reading import files
from adapters.reading.dialects import DialectSettings, is_part
from adapters.reading.files import FoundFile, SkippedFile
from adapters.reading.stop_switch import StopSwitch
from adapters.reading.texts import as_written, serialise_reading
from contracts.enums import Source
from contracts.errors import IndexBusy, KnowledgeError

FORMAT = 4
"""Raised when pages are cut or described otherwise: every document is then read again."""
MAX_BYTES = 10_000_000
LOCK = "writer.lock"

_FRESH_NS = 2_000_000_000
"""A file younger than this may change again without a new time stamp; the coarsest file systems count in 2 s."""

Progress = Callable[[int, int, str], None]
"""Files done, files in all, and the file at hand. Each file is told twice: when it is read, and when it is written."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to read in, what its pages count as unless they say otherwise themselves, and how they are written."""

    path: Path
    source: Source = Source.DOC
    version: str | None = None
    reading: DialectSettings = field(default_factory=DialectSettings)


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a run did.

    Attributes:
        added, changed, removed, unchanged: Files of the folders named.
        folded: Of the files added, changed and unchanged, those whose content another file holds already; they make
            no document of their own.
        skipped: Files that are not indexed, why, and the way out.
        warnings: Files that are indexed, but not as they might be.
        chunks: Chunks written in this run.
        seconds: How long it took.
        markup: Kinds of mark-up that no Markdown knows, with the number of files that have them, of those read in this
            run: answers are without it.
        parts: Files of the folders named that are parts of other pages, by their names, and no pages themselves.
        documents, policies, chunks_in_all: What the knowledge base holds now, other folders included; policies are
            documents, too.
    """

    added: int
    changed: int
    removed: int
    unchanged: int
    folded: int
    skipped: list[SkippedFile]
    warnings: list[SkippedFile]
    chunks: int
    seconds: float
    documents: int
    policies: int
    chunks_in_all: int
    parts: int = 0
    markup: dict[str, int] = field(default_factory=dict[str, int])


def ingest(
    folders: Path | Folder | Sequence[Path | Folder],
    *,
    directory: Path,
    kb_ids_from: int | None = None,
    only: bool = False,
    max_bytes: int = MAX_BYTES,
    on_progress: Progress | None = None,
    stop: StopSwitch | None = None,
) -> IngestReport:
    """Bring the knowledge base up to date with folders of documents: Markdown, and with the extra `formats` more.

    Args:
        folders: What to read; folders that earlier runs read stay as they are.
        directory: Where the knowledge base lives; made where it is missing.
        kb_ids_from: Leave out pages whose number is smaller.
        only: Drop what earlier runs read from other folders.
        max_bytes: Leave out larger Markdown files, and files of other formats that are five times as large.
        on_progress: Called after each file that had to be read or written.
        stop: Ends reading from another thread.

    Raises:
        ReadingStopped: Somebody ended reading; the old index is whole.
        KnowledgeError: A folder does not exist, or the knowledge base cannot be written; the old index is whole.
        IndexBusy: Another process is writing it.
    """
    started = time.perf_counter()
    wanted = _check_folders([folders] if isinstance(folders, Path | Folder) else folders)
    with alone(directory), our_errors("read", directory):
        store = Store(directory)
        try:
            with open_writer(directory) as writer:
                recover(store, writer)
                # What was read waits on the disk until all of it is there. Without a buffer, a full disk is noticed at once.
                with _open_spool(directory) as spool:
                    run = _IngestionRun(store, spool, stop, kb_ids_from, max_bytes, on_progress)
                    run.survey(wanted, only=only)
                    count = run.apply(writer)
            return run.report(count, time.perf_counter() - started)
        finally:
            store.close()


def _open_spool(directory: Path) -> FileIO:
    try:
        return TemporaryFile(dir=directory, buffering=0)
    except OSError as error:
        raise unwritable(error.strerror or "unknown error") from error


def renew(directory: Path) -> None:
    """Make the index again from what was read in, where an earlier version made other words of it: a second for 800 passages.

    Raises:
        IndexBusy: Another process is writing it.
        KnowledgeError: It cannot be written; the old index is whole.
    """
    with alone(directory), our_errors("read", directory):
        store = Store(directory)
        try:
            with open_writer(directory) as writer:
                recover(store, writer)
        finally:
            store.close()


def _check_folders(folders: Sequence[Path | Folder]) -> list[Folder]:
    wanted: dict[Path, Folder] = {}
    for item in folders:
        folder = item if isinstance(item, Folder) else Folder(item)
        path = folder.path.expanduser()
        if not path.exists():
            raise KnowledgeError(f"There is no folder {path}.", "Name a folder that holds documents.")
        if not path.is_dir():
            raise KnowledgeError(f"{path} is not a folder.", f"Name the folder that holds it: {path.parent}")
        wanted[path.resolve()] = folder
    if not wanted:
        raise KnowledgeError("There is no folder to index.", "Name a folder that holds documents.")
    return [replace(folder, path=path) for path, folder in wanted.items()]


_PATIENCE_S = 1.0
"""Who makes vectors beside a server writes them in moments; one that reads documents in, for longer."""


@contextmanager
def alone(directory: Path) -> Generator[None]:
    """Be the only one that writes a knowledge base.

    Raises:
        IndexBusy: Another process is writing it.
        KnowledgeError: Its folder cannot be written to.
    """
    try:
        lock = hold_lock(directory / LOCK, _PATIENCE_S)
    except TimeoutError as error:
        raise IndexBusy(
            f"Another process is indexing into {directory}.", "Wait until it has finished; searching works meanwhile."
        ) from error
    except OSError as error:
        raise KnowledgeError(
            f"The folder {directory} cannot be written to ({error.strerror}).",
            "Allow writing to it, or choose another data folder, on a local disk.",
        ) from error
    try:
        with owner_only():
            yield
    finally:
        lock.release()


# --------------------------------------------------------------------------------------------------------- a run

_Key = tuple[int, str]


@dataclass(slots=True)
class _IngestionRun:
    """One run: what was there, what is found, and the difference."""

    store: Store
    spool: FileIO
    stop: StopSwitch | None
    kb_ids_from: int | None
    max_bytes: int
    on_progress: Progress | None
    named: dict[int, FolderRow] = field(default_factory=dict[int, FolderRow])
    others: dict[int, FolderRow] = field(default_factory=dict[int, FolderRow])
    readings: dict[int, DialectSettings] = field(default_factory=dict[int, DialectSettings])
    renewed: set[int] = field(default_factory=set[int])
    """Folders that are read in another way than before."""
    dropped: list[int] = field(default_factory=list[int])
    before: dict[_Key, FileRow] = field(default_factory=dict[_Key, FileRow])
    before_folders: dict[int, FolderRow] = field(default_factory=dict[int, FolderRow])
    now: dict[_Key, FileRow] = field(default_factory=dict[_Key, FileRow])
    spooled: dict[_Key, tuple[int, int]] = field(default_factory=dict[_Key, tuple[int, int]])
    """Where the cut page of a file stands in `spool`, in bytes, and its length."""
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    markup: dict[str, int] = field(default_factory=dict[str, int])
    parts: int = 0
    fresh: int = 0
    coming: int = 0
    read: int = 0
    written: int = 0

    # ---------------------------------------------------------------------------------------------------- survey

    def survey(self, wanted: list[Folder], *, only: bool) -> None:
        """Look at every file, and read those that may have changed."""
        self.before_folders = {row.id: row for row in self.store.folders()}
        self.before = self.store.files()
        with self.store.transaction():
            for folder in wanted:
                row = self.store.keep_folder(folder.path, folder.source, folder.version)
                self.named[row.id] = row
                self.readings[row.id] = folder.reading
        self.renewed = {number for number, reading in self.readings.items() if reading != self._kept_reading(number)}
        rest = {number: row for number, row in self.before_folders.items() if number not in self.named}
        self.others, self.dropped = ({}, list(rest)) if only else (rest, [])
        self.now = {key: row for key, row in self.before.items() if key[0] in self.others}
        roots = {Path(row.path) for row in (*self.named.values(), *self.others.values())}
        scans = [(row, files.walk(Path(row.path), roots - {Path(row.path)})) for row in self.named.values()]
        for row, scan in scans:
            pages = [found for found in scan.found if not is_part(found.path, self.readings[row.id])]
            self.parts += len(scan.found) - len(pages)
            scan.found = pages
        fresh = [(row, found) for row, scan in scans for found in scan.found if not self._is_known(row, found)]
        self.fresh = len(fresh)
        for row, scan in scans:
            self._keep_known(row, scan)
        since = time.time_ns() - _FRESH_NS
        tasks = [
            self._task((row.id, found.path), found.size, known=self.before.get((row.id, found.path)))
            for row, found in fresh
        ]
        with closing(read_pages(tasks, self.stop)) as pages:
            for (row, found), page in zip(fresh, pages, strict=True):
                self._note(row, found, page, since)
                self.read += 1
                self._tell(f"{row.label}/{found.path}")

    def _task(self, key: _Key, size: int, known: FileRow | None = None) -> PageTask:
        folder = {**self.named, **self.others}[key[0]]
        digest = None if known is None else known.sha256
        return PageTask(Path(folder.path), key[1], size, self._reading(key[0]), self.max_bytes, digest)

    def _kept_reading(self, folder: int) -> DialectSettings:
        return as_written(self.store.meta(_reading_key(folder)))

    def _reading(self, folder: int) -> DialectSettings:
        return self.readings[folder] if folder in self.readings else self._kept_reading(folder)

    def _is_known(self, folder: FolderRow, found: FoundFile) -> bool:
        if folder.id in self.renewed:
            return False
        old = self.before.get((folder.id, found.path))
        stamp = (found.size, found.mtime_ns)
        return old is not None and old.sha256 is not None and (old.size, old.mtime_ns) == stamp and self._fits(found)

    def _fits(self, found: FoundFile) -> bool:
        return found.size <= files.limit(found.path, self.max_bytes)

    def _keep_known(self, folder: FolderRow, scan: files.Scan) -> None:
        self.skipped += [SkippedFile(f"{folder.label}/{path}", reason) for path, reason in scan.skipped]
        there = {found.path for found in scan.found}
        for (number, path), old in self.before.items():
            # A file that only cannot be looked at now is not gone.
            if number == folder.id and (path in there or not scan.covers(path)):
                self.now[number, path] = self._judge(old)

    def _note(self, folder: FolderRow, found: FoundFile, page: Page, since: int) -> None:
        """Keep what was read of a file, or why nothing was."""
        key = (folder.id, found.path)
        mtime = -1 if found.mtime_ns > since else found.mtime_ns
        row = FileRow(folder.id, found.path, found.size, mtime)
        if isinstance(page, ReadPage):
            self._spool(key, page)
            for kind in page.markup:
                self.markup[kind] = self.markup.get(kind, 0) + 1
            # What rests on other files, too, is looked at in each run.
            row = replace(row, mtime_ns=mtime if page.alone else -1, sha256=page.digest, kb_id=page.kb_id)
            self.now[key] = self._judge(replace(row, source=page.source, version=page.version, warning=page.warning))
        elif page.unfit:
            self.now[key] = replace(row, unfit=page.unfit)
        elif page.fault:
            self.skipped.append(SkippedFile(f"{folder.label}/{found.path}", page.fault))
        else:
            self.now[key] = self._judge(replace(self.before[key], size=row.size, mtime_ns=mtime))

    def _spool(self, key: _Key, page: ReadPage) -> None:
        rest = memoryview(page.cut)
        try:
            self.spooled[key] = (self.spool.seek(0, SEEK_END), len(rest))
            while rest:
                rest = rest[self.spool.write(rest) :]
        except OSError as error:
            raise unwritable(error.strerror or "unknown error") from error

    def _judge(self, row: FileRow) -> FileRow:
        left_out = self.kb_ids_from is not None and row.kb_id is not None and row.kb_id < self.kb_ids_from
        return row if row.left_out == left_out else replace(row, left_out=left_out)

    def _tell(self, path: str) -> None:
        """Tell how many files are done: to read them is one half of the work, to write what is new in them the other."""
        if not self.on_progress:
            return
        written = self.written * self.fresh // self.coming if self.coming else 0
        self.on_progress((self.read + written) // 2, self.fresh, path)

    # --------------------------------------------------------------------------------------------------- changes

    def apply(self, writer: PassageWriter) -> int:
        """Make the difference, in the three steps; return how many chunks were written."""
        existing = self.store.documents()
        desired = self._list_desired()
        coming = [(identity, key) for identity, key in desired.items() if identity not in existing]
        going = {identity: number for identity, number in existing.items() if identity not in desired}
        self.coming = len(coming)
        self._read_rest(coming)
        anew = bool(going) and self.store.count()[1] <= WRITTEN_ANEW
        written = 0
        kept: set[str] = set()
        with self.store.transaction():
            for identity, key in coming:
                if self.stop:
                    self.stop.check()
                count = self._write(None if anew else writer, identity, key)
                if count is None:
                    kept.add(identity.key)
                written += count or 0
                self.written += 1
                self._tell(identity.key)
            gone = [number for identity, number in going.items() if identity.key not in kept]
            self.store.remove(gone)
            self._keep_files()
        if coming or gone:
            if anew:
                write_anew(self.store, writer)
            else:
                writer.remove(gone)
            writer.commit()
            with self.store.transaction():
                self.store.settle()
            self.store.tidy()
        return written

    def _list_desired(self) -> dict[Identity, _Key]:
        """Return the documents that there shall be: one per content, kind of source and version."""
        folders = {**self.named, **self.others}
        first: dict[tuple[str, str, str | None], tuple[str, _Key]] = {}
        for key, row in self.now.items():
            if row.sha256 is None or row.left_out:
                continue
            folder = folders[key[0]]
            content = (row.sha256, row.source or folder.source, row.version or folder.version)
            # Of identical files the first by name gives the key, whichever was read first.
            first[content] = min(
                first.get(content, (f"{folder.label}/{row.path}", key)), (f"{folder.label}/{row.path}", key)
            )
        return {Identity(name, *content, FORMAT): key for content, (name, key) in first.items()}

    def _read_rest(self, coming: Iterable[tuple[Identity, _Key]]) -> None:
        """Read the files of documents that come though their files are known: cut in a new way, or no longer left out."""
        rest = [(identity, key) for identity, key in coming if key not in self.spooled]
        tasks = [self._task(key, self.now[key].size) for _, key in rest]
        self.fresh += len(rest)
        with closing(read_pages(tasks, self.stop)) as pages:
            for (identity, key), page in zip(rest, pages, strict=True):
                if isinstance(page, ReadPage) and page.digest == identity.sha256:
                    self._spool(key, page)
                self.read += 1
                self._tell(identity.key)

    def _write(self, writer: PassageWriter | None, identity: Identity, key: _Key) -> int | None:
        """Write one document down and hand it to the index, if one is given; `None` if its file changed meanwhile."""
        if key not in self.spooled:
            self.now[key] = replace(self.now[key], mtime_ns=-1)
            self.skipped.append(SkippedFile(identity.key, "changed while it was being read: index again"))
            return None
        start, length = self.spooled[key]
        self.spool.seek(start)
        header, cut = unpack(self.spool.read(length))
        entries = self.store.add(identity, header, cut)
        return add(writer, entries) if writer else len(entries)

    def _keep_files(self) -> None:
        self.store.keep_files(row for key, row in self.now.items() if self.before.get(key) != row)
        self.store.drop_files(key for key in self.before if key not in self.now)
        self.store.drop_folders(self.dropped)
        for number in self.dropped:
            # A number may be given to another folder.
            self.store.set_meta(_reading_key(number), "")
        for number in self.renewed:
            self.store.set_meta(_reading_key(number), serialise_reading(self.readings[number]))

    # ---------------------------------------------------------------------------------------------------- report

    def report(self, written: int, seconds: float) -> IngestReport:
        """Count what changed, by files."""
        mine = {key: row for key, row in self.now.items() if key[0] in self.named}
        was = {
            key: self._content(row, self.before_folders)
            for key, row in self.before.items()
            if key[0] not in self.others and _is_indexed(row)
        }
        now = {key: self._content(row, self.named) for key, row in mine.items() if _is_indexed(row)}
        unchanged = sum(was.get(key) == content for key, content in now.items())
        added = sum(key not in was for key in now)
        documents, in_all = self.store.count()
        return IngestReport(
            added=added,
            changed=len(now) - unchanged - added,
            removed=sum(key not in now for key in was),
            unchanged=unchanged,
            folded=len(now.keys() - set(self._list_desired().values())),
            skipped=sorted([*self.skipped, *self._list_skipped(mine)]),
            warnings=sorted(SkippedFile(self._name(key), row.warning) for key, row in mine.items() if row.warning),
            chunks=written,
            seconds=seconds,
            documents=documents,
            policies=self.store.policies(),
            chunks_in_all=in_all,
            parts=self.parts,
            markup=self.markup,
        )

    def _content(self, row: FileRow, folders: dict[int, FolderRow]) -> tuple[str | None, str, str | None]:
        folder = folders[row.folder]
        return row.sha256, row.source or folder.source, row.version or folder.version

    def _list_skipped(self, rows: dict[_Key, FileRow]) -> Iterable[SkippedFile]:
        for key, row in rows.items():
            if row.unfit:
                yield SkippedFile(self._name(key), row.unfit)
            elif row.left_out:
                reason = f"its number {row.kb_id} is below {self.kb_ids_from}: lower `kb_ids_from` to have it"
                yield SkippedFile(self._name(key), reason)

    def _name(self, key: _Key) -> str:
        return f"{self.named[key[0]].label}/{key[1]}"


def _is_indexed(row: FileRow) -> bool:
    return row.sha256 is not None and not row.left_out


def _reading_key(folder: int) -> str:
    return f"reading:{folder}"
