#!/usr/bin/env bash
# The main job, end to end: index files and folders, ask them, pack a context for a prompt. All of it stays in .demo/
# (or the folder DEMO_DIR names). Every question says what must answer it, and the demo ends with 1 when something else does.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
place=${DEMO_DIR:-$PWD/.demo}
export OUTCROP_DB="$place/index.db"

say() { printf '\n\033[1;36m── %s\033[0m\n' "$1"; }

step() { # print a command as one would type it, and run it
  printf '\033[1m$'
  for word in "$@"; do
    if [[ $word =~ [^A-Za-z0-9_./:=-] ]]; then printf ' "%s"' "$word"; else printf ' %s' "$word"; fi
  done
  printf '\033[0m\n'
  "$@"
}

ask() { # ask EXPECTED COMMAND…: EXPECTED must stand in the first hit, or in what is packed or related
  local expected=$1 answer
  shift
  step "$@" | tee "$place/answer"
  if [[ $2 == search ]]; then answer=$(grep -m 1 '^1\. ' "$place/answer" || true); else answer=$(<"$place/answer"); fi
  [[ $answer == *"$expected"* ]] || { printf '\n\033[1;31mThis should have been answered by %s.\033[0m\n' "$expected" >&2; exit 1; }
}

rm -rf "$place" && mkdir -p "$place"

say "Index this project's documentation, its code, and a note"
step outcrop add README.md ARCHITECTURE.md CHANGELOG.md docs --collection docs
step outcrop add src --collection code
step outcrop add --id backups --text "Backups run at 02:30 every night; restore with restic and the key from the safe."

say "Ask in your own words"
ask docs/how-to/models.md outcrop search -n 1 "how do I switch an index to another model?"
ask docs/how-to/notes.md outcrop search -n 1 "can several agents write notes at once?"
ask src/outcrop/sources/url.py outcrop search -n 1 "where is a URL that leads to a private address refused?"

ask docs/explanation/freshness.md outcrop search -n 1 -c docs --kind markdown "how does a search see what another process has just written?"

say "Or for a name, and see why a hit is there"
ask src/outcrop/errors.py outcrop search -n 1 -c code BlockedAddress
ask backups:1 outcrop search -n 1 --explain "when do the backups run?"

say "Pack the answer into a prompt, within a budget"
ask "outcrop reembed --model" outcrop context -b 400 -c docs "how do I switch an index to another model?"
ask "approximate graph to build" outcrop context -b 400 -c docs "why is there no graph index over the vectors?"
ask "def fuse_ranks" outcrop context --code -b 700 "reciprocal rank fusion of two lists" --must fusion.py

say "Find your way in code: what uses a function, and what the code is made of"
ask src/outcrop/engine/reading.py outcrop related -n 3 merge_hits
step outcrop map -b 300 -c code

say "Keep it fresh: an unchanged file costs one look"
step outcrop sync
step outcrop status

say "The same over HTTP: an agent writes a note and finds it at once"
outcrop serve --port 0 >"$place/serve.log" 2>&1 &
trap 'kill $! 2>/dev/null; wait' EXIT
until url=$(grep -so 'http://[^ ]*' "$place/serve.log"); do
  kill -0 $! || { cat "$place/serve.log"; exit 1; }
  sleep 0.2
done
ask "never deploy on Fridays" python scripts/demo_http.py "$url"

say "Let your agent use it"
step outcrop install claude --print
