"""Repositories as an index knows them: where they are, which collection they are in, which branches were asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from outcrop.contracts import Store
from outcrop.errors import SourceError
from outcrop.records import Manifest
from outcrop.sources.checkout import Repository, bare_at, repository_at, repository_holding
from outcrop.write.add import collection_of

BRANCHES: Final = "branches:"
"""Settings of an index that begin so name a repository; the value is JSON: its collection and patterns of branches."""


def reach_repository(store: Store, key: str, collection: str) -> Repository | None:
    """A repository by the folder of its objects, through any checkout that is still there."""
    folders = [
        each.folder for each in store.manifests() if (each.repository, each.collection) == (key, collection)
    ]
    for folder in (key, str(Path(key).parent), *filter(None, folders)):
        found = bare_at(Path(folder)) or repository_at(Path(folder))
        if found is not None and str(found.common_dir) == key:
            return found
    return None


def remembered_patterns(store: Store, repository: Repository, collection: str) -> list[str]:
    """The patterns of branches that were asked for last."""
    said = store.setting(f"{BRANCHES}{repository.common_dir}")
    name, patterns = json.loads(said) if said else (collection, [])
    return list(patterns) if name == collection else []


def forget_pattern(store: Store, manifest: Manifest) -> None:
    """Do not bring a branch back that was asked for by its name; one that a wildcard matches comes with the next
    sync."""
    key = f"{BRANCHES}{manifest.repository}"
    said = store.setting(key)
    if said and manifest.folder is None:
        collection, patterns = json.loads(said)
        names = (manifest.name, manifest.branch)
        store.put_setting(key, json.dumps([collection, [each for each in patterns if each not in names]]))


def find_repository(path: Path) -> Repository:
    """The repository that a folder is in."""
    repository = repository_holding(path.expanduser().resolve())
    if repository is None:
        raise SourceError(f"{path} is not in a git repository; branches are read from one")
    return repository


def tree_repository(store: Store, path: Path) -> Repository | None:
    """The repository whose checkout this very folder is, if it is kept as a manifest: trees of it are in the index, or
    it is a linked worktree, which shares what it has with the others. Also a bare one, which is nothing but trees."""
    real = path.resolve()
    repository = (bare_at(real) or repository_at(real)) if path.is_dir() else None
    if repository is None or repository.is_bare:
        return repository
    is_linked = repository.git_dir != repository.common_dir
    is_known = is_linked or any(each.repository == str(repository.common_dir) for each in store.manifests())
    return repository if is_known else None


def collection_of_repository(store: Store, repository: Repository, given: str | None) -> str:
    """The collection of a repository's trees: the one given, the one they are in already, that of its own checkout."""
    known = [each.collection for each in store.manifests() if each.repository == str(repository.common_dir)]
    common = repository.common_dir
    if given or known:
        return given or known[0]
    if bare_at(common) is not None and not common.name.startswith("."):
        return common.name.removesuffix(".git")
    own = common.parent if bare_at(common) is not None or common.name == ".git" else repository.top
    return collection_of(store, own, None)
