#!/usr/bin/env bash
# The main job, end to end: index a folder, ask it, pack a context for a prompt. Leaves everything in .demo/.
set -euo pipefail
cd "$(dirname "$0")/.."
export OUTCROP_DB="$PWD/.demo/index.db"
outcrop() { .venv/bin/outcrop "$@"; }
step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

rm -rf .demo && mkdir -p .demo
step outcrop add . --collection outcrop
step outcrop add --id note-1 --text "Backups run at 02:30 every night; restore with restic and the key from the safe."
step outcrop search -n 3 "how does a search stay fresh after a file was edited?"
step outcrop search -n 2 --explain "when do the backups run?"
step outcrop context -b 300 "why is there no graph index over the vectors?"
step outcrop status
