#!/usr/bin/env bash
# Debian's packages, for what a machine misses.
#   apt.sh install PACKAGE...    install them, as root
#   apt.sh download PACKAGE...   put their .deb files into this folder
# A|B is the first of them that this system has. stderr says what is waited for, and why it failed.
# One at a time: a second one waits for the first, and both for anybody else's apt. apt-get alone gives up at once where the lock of
# the lists is held: its DPkg::Lock::Timeout is for dpkg's.
set -euo pipefail
WAIT_SECONDS=300

say() { echo "$*" >&2; }
[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
how=("$1"); shift
[ "${how[0]}" != install ] || how+=(-y --no-install-recommends)
said=$(mktemp); trap 'rm -f "$said"' EXIT

# In a session of its own, where it goes on when we are ended: a package manager that is killed half-way leaves a machine that
# somebody has to mend by hand.
apt() {
  local waits=
  until LC_ALL=C DEBIAN_FRONTEND=noninteractive setsid -w apt-get -qq "$@" >"$said" 2>&1 </dev/null; do
    if ! grep -q 'Could not get lock' "$said" || [ "$SECONDS" -ge "$WAIT_SECONDS" ]; then return 1; fi
    [ -n "$waits" ] || say "waiting for another program: $(grep -m1 -o 'Could not get lock.*' "$said")"
    waits=1; sleep 1
  done
}

first_known() { # A|B
  local p
  for p in ${1//|/ }; do [[ $(LC_ALL=C apt-cache policy "$p") != *"Candidate: "[!\(]* ]] || break; done
  echo "$p"
}

attempt() { # package...
  local p names=()
  for p; do names+=("$(first_known "$p")"); done
  apt "${how[@]}" "${names[@]}"
}

# The program itself is what is locked: it is there wherever there is something to lock.
program=$(command -v apt-get) || { say "there is no apt-get on this machine"; exit 1; }
exec 9<"$program"
flock -n 9 || {
  say "waiting for another start that uses apt-get"
  flock -w "$WAIT_SECONDS" 9 || { say "apt-get is in use for $WAIT_SECONDS s"; exit 1; }
}
# A fresh container has no lists at all, and old ones name files that are gone.
attempt "$@" || { say "apt-get update"; apt update && attempt "$@"; } || {
  grep -m3 '^E: ' "$said" | sed 's/^E: /apt-get: /' >&2 || true
  exit 1
}
