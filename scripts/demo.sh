#!/usr/bin/env bash
# The main job, end to end: index files and folders, ask them, pack a context for a prompt. All of it stays in .demo/.
set -euo pipefail
cd "$(dirname "$0")/.."
export OUTCROP_DB="$PWD/.demo/index.db"
step() {
  printf '\n\033[1m$'
  printf ' %q' "$@"
  printf '\033[0m\n'
  "$@"
}
PATH="$PWD/.venv/bin:$PATH"

rm -rf .demo && mkdir -p .demo
step outcrop add README.md ARCHITECTURE.md CHANGELOG.md benchmarks/README.md --collection docs
step outcrop add src --collection code
step outcrop add --id backups --text "Backups run at 02:30 every night; restore with restic and the key from the safe."
step outcrop search -n 3 -c docs "how does a search see what another process has just written?"
step outcrop search -n 2 --explain "when do the backups run?"
step outcrop search -n 2 -c code "BlockedAddress"
step outcrop context -b 400 -c docs "why is there no graph index over the vectors?"
step outcrop related -n 3 merge_hits
step outcrop map -b 300 -c code
step outcrop context --code -b 500 "how are two lists of candidates fused?" --prefer fusion.py
step outcrop sync
step outcrop status

# The same over HTTP: an agent writes a note and finds it at once.
outcrop serve --port 0 >.demo/serve.log 2>&1 &
trap 'kill $! 2>/dev/null; wait' EXIT
until url=$(grep -o 'http://[^ ]*' .demo/serve.log); do
  kill -0 $! || { cat .demo/serve.log; exit 1; }
  sleep 0.2
done
step python scripts/demo_http.py "$url"
step outcrop install claude --print
