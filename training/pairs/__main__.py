"""`python -m training.pairs --from DIR --into DIR2`: sources of packages to queries and the texts that answer them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from training.collect.unpack import sane_path
from training.pairs.merge import merge, table_lines
from training.pairs.parts import make_parts, part_of


def packages_in(root: Path) -> list[tuple[str, Path]]:
    """The packages of a collection with their folders: by its manifest where it has one, else by the folders."""
    found: dict[str, Path] = {}
    manifest = root / "manifest.jsonl"
    if manifest.exists():
        for line in manifest.read_text("utf-8").splitlines():
            try:
                entry = json.loads(line)
                name = f"{entry['registry']}/{entry['name']}"
            except (ValueError, KeyError):
                continue  # the last line of a collection that is still being written
            folder = root / "src" / entry["registry"] / sane_path(entry["name"].replace("/", "__"))
            if entry.get("kept") and folder.is_dir():
                found[name] = folder
    else:
        for registry in sorted((root / "src").iterdir()):
            found.update(
                {f"{registry.name}/{folder.name}": folder for folder in registry.iterdir() if folder.is_dir()}
            )
    return sorted(found.items())


def dropped_files(root: Path) -> set[str]:
    """Files that the collection's overlap check left out, as `registry/folder/path`."""
    listed = root / "dropped.txt"
    lines = listed.read_text("utf-8").splitlines() if listed.exists() else []
    return {
        line.split("\t")[0].strip().removeprefix("src/").removesuffix(".gz") for line in lines if line.strip()
    }


def main(arguments: list[str] | None = None) -> int:
    """Make what is missing, then merge; 1 when there is nothing to read."""
    parser = argparse.ArgumentParser(prog="python -m training.pairs", description=__doc__)
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--merge-only", action="store_true", help="make the data set of what has been read so far"
    )
    options = parser.parse_args(arguments)
    packages = packages_in(options.source)
    if not packages:
        sys.stderr.write(f"{options.source} holds no packages: run `python -m training.collect` first\n")
        return 1
    options.into.mkdir(parents=True, exist_ok=True)
    failed = [] if options.merge_only else make_parts(packages, options.into, options.workers)
    dropped = dropped_files(options.source)
    folders = {package: folder.relative_to(options.source / "src").as_posix() for package, folder in packages}
    parts = [part for package, _ in packages if (part := part_of(options.into, package)).exists()]
    stats = merge(parts, options.into, lambda package, path: f"{folders[package]}/{path}" in dropped)
    sys.stdout.write("\n".join([*table_lines(stats), ""]))
    summary = {
        key: stats[key]
        for key in ("packages", "registries", "docs", "pairs", "validation_packages", "validation_pairs")
    }
    sys.stdout.write(
        f"{json.dumps(summary)}\nfailed packages: {len(failed)}\n" + "".join(f"  {line}\n" for line in failed)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
