# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# For the tests of check, init and fini. Beside the bed of lib.sh there is a TAP with two queues in
# the server's namespace, mq. State files are kept in $STATE. Sourced.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# host_begin: the bed, with settings that init has to change.
host_begin() {
	need_bed
	make_bed
	STATE=$TMP/state
	mkdir "$STATE"
	CONF=$TMP/host.ini
	ip -n "$NSS" link set srv mtu 9000
	in_server ethtool -K srv rx-udp-gro-forwarding on >/dev/null 2>&1
	spawn tap in_server_exec python3 -u "$NETNS_DIR/mqtap.py" mq 2
	wait_for 5 grep -q ready "$TMP/tap.out" || skip "a TAP with two queues cannot be made here"
	ip -n "$NSS" link set mq mtu 4000 up
	in_server ethtool -K mq rx-udp-gro-forwarding on >/dev/null 2>&1
	write_host_conf "$CONF"
}

write_host_conf() {
	cat >"$1" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
idle = sleep
lcores = 0-1
[port net]
device = srv
[port tap]
device = mq
queues = 2
[feed]
dir = $FEEDS
size_mb = 4
[service tpu]
kind = tpu-quic
address = $SERVER_ADDR
port = 8009
[service udp]
kind = udp
address = $SERVER_ADDR
port = 8001
CONF
}

host() { in_server env STATE_DIRECTORY="$STATE" ${HOOK:+$HOOK} "$PENSTOCK" "$@"; }

# Everything that can be seen of the two interfaces.
snapshot() {
	local i
	for i in srv mq; do
		ip -n "$NSS" -o link show "$i" | sed 's/state [A-Z]*//'
		in_server ethtool -k "$i"
		in_server ethtool -l "$i"
		in_server ethtool -g "$i"
		in_server ethtool -x "$i"
	done 2>/dev/null
}

# same_as FILE: nothing differs from the snapshot in it.
same_as() {
	snapshot >"$TMP/now.txt"
	diff "$1" "$TMP/now.txt" >"$TMP/diff.log" || fail "$2"
}

# rows FILE EXPRESSION: the object that a host command prints with --json is as all are, and the
# expression over it, d, and its rows, row(NAME, SUBJECT), is true.
rows() {
	python3 - "$@" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
keys = {"name", "subject", "state", "why", "remedy"}
assert {"name", "steps", "ok", "text"} <= set(d), set(d)
for r in d["steps"]:
    assert keys <= set(r) <= keys | {"init", "outcome"}, r
    assert r["state"] in ("ok", "not", "partial", "skip"), r
    assert r["why"] and (r["remedy"] or r["state"] != "not"), r
row = lambda name, subject: [r for r in d["steps"] if (r["name"], r["subject"]) == (name, subject)][0]
assert eval("(" + sys.argv[2] + ")"), json.dumps(d, indent=1)
PY
}

state_files() { ls "$STATE" | grep -v '\.lock$'; }
no_state() { [ -z "$(state_files)" ]; }

mtu() { cat_in "/sys/class/net/$1/mtu"; }
cat_in() { in_server cat "$1"; }
feature() { in_server ethtool -k "$1" | sed -n "s/^$2: \([a-z]*\).*/\1/p"; }

# The preloaded hook, built here: it is of use to tests only.
build_hook() {
	command -v cc >/dev/null || skip "needs a C compiler; apt-get install build-essential"
	cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$TMP/hook.so" "$NETNS_DIR/rename_hook.c" \
		|| fail "the hook does not build"
}
