#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# What the bridge tells while it delivers, to penstock top and to DPDK's protocol; clients that mean
# ill disturb nobody; a second bridge is refused, one after kill -9 is not.

. "$(dirname "$0")/lib.sh"
need_bed
need_ngtcp2
# top_of ARGS...: penstock top, once, with the bridge's directory known
top_of() { RUNTIME_DIRECTORY=$TMP/run "$PENSTOCK" top --once "$@"; }
# top_has EXPRESSION [ARGS...]: true of the JSON object t; b is its bridge
top_has() {
	top_of --json "${@:2}" 2>"$TMP/top.log" | python3 -c 'import json, sys
t = json.loads(sys.stdin.read() or "{}")
b = t.get("bridge")
sys.exit(not (b and eval(sys.argv[1])))' "$1"
}

start_served
SOCKET=$TMP/run/dpdk/penstock-$INSTANCE-bridge/dpdk_telemetry.v2
start_second
start_bridge "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not connect"
grep -q "telemetry at $SOCKET" "$TMP/bridge.log" || fail "the bridge does not say where its telemetry is"

# 100 that say and read nothing, ten that say anything and read nothing, and do so again when dropped
spawn hostile python3 -c '
import os, random, socket, sys, time
def join():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.setblocking(False)
    return s
silent = [join() for _ in range(100)]
loud, dropped, r = [], 0, random.Random(1)
while True:
    while len(loud) < 10:
        loud.append(join())
    for s in list(loud):
        try:
            s.send(r.choice([b"/penstock/bridge/histogram", b"/", b"\0", r.randbytes(r.randrange(1, 5000))]))
        except BlockingIOError:
            pass
        except OSError:
            loud.remove(s)
            dropped += 1
            print(dropped, flush=True)
    time.sleep(0.001)' "$SOCKET"
HOSTILE=$PID
wait_for 10 test -s "$TMP/hostile.out" || fail "no client that does not read is dropped"
client_sends_all "$NGTCP2" --count 5000
wait_for 30 bridge_settled 5000 || fail "the bridge holds: $(tail -n 1 "$TMP/bridge.out")"
alive "$HOSTILE" || fail "the hostile clients have ended: $(tail -n 1 "$TMP/hostile.log")"
wait_for 20 top_has 'b["stats"]["delivered"] == 5000' --bridge "$SOCKET" || fail "among hostile clients top is not answered"
stop "$HOSTILE"

# The same instance's, and both in one picture.
wait_for 20 top_has 't["stats"]["published"] == 5000 and b["stats"]["delivered"] == b["latency"]["count"] == 5000' --name "$INSTANCE" \
	|| fail "top --name shows $(top_of --json --name "$INSTANCE")"
wait_for 10 top_has '0 < b["latency"]["p50_ns"] <= b["latency"]["p90_ns"] <= b["latency"]["p99_ns"] <= b["latency"]["max_ns"]' \
	--name "$INSTANCE" || fail "percentiles: $(top_of --json --name "$INSTANCE")"
top_of --name "$INSTANCE" >"$TMP/top.txt"
for words in "^penstock $INSTANCE" "^bridge to $VALIDATOR" "^  delivered  *5000 .*acknowledged" "^  rejected  *0 " \
	"^  aged  *0 " "^  duplicate  *0 " "^  connections  *4 " "in us: p50 [0-9]* p90 .*max [0-9]"; do
	grep -q "$words" "$TMP/top.txt" || fail "top does not show '$words': $(cat "$TMP/top.txt")"
done
timeout 4 env RUNTIME_DIRECTORY="$TMP/run" "$PENSTOCK" top --name "$INSTANCE" >"$TMP/top.txt"
[ "$(grep -c "^bridge to" "$TMP/top.txt")" -ge 2 ] || fail "top does not go on"

# As any client of DPDK's does.
python3 - "$SOCKET" "$BRIDGE_PID" "$FEEDS" <<'PY' || fail "telemetry does not speak DPDK's protocol"
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(5)
s.connect(sys.argv[1])
hello = json.loads(s.recv(1024))
assert hello["pid"] == int(sys.argv[2]) and hello["version"].startswith("penstock"), hello
def ask(what):
    s.send(what.encode())
    return json.loads(s.recv(hello["max_output_len"]))[what.split(",")[0]]
names = ask("/")
assert names[0] == "/" and len(names) > 4 and ask("/penstock/none") is None
for name in names[1:]:
    assert all(type(v) in (int, str) for v in ask(name).values()), name
histogram = {int(k): v for k, v in ask("/penstock/bridge/histogram").items()}
latency = ask("/penstock/bridge/latency")
assert sum(histogram.values()) == latency["count"] == 5000 and 0 not in histogram.values()
assert latency["p50_ns"] in histogram and max(histogram) <= latency["max_ns"] < 2 * max(histogram)
feeds = ask("/penstock/bridge/feeds")
assert feeds["feed0"].startswith(sys.argv[3]) and feeds["feed0_unread_bytes"] == 0, feeds
info = ask("/penstock/bridge/info")
assert info["target"] == "127.0.0.1:9009" and info["keys"] == 1 and len(info["key0"]) >= 32, info
PY

in_server timeout 10 env RUNTIME_DIRECTORY="$TMP/run" "$PENSTOCK" bridge -c "$TMP/bridge.ini" >/dev/null 2>"$TMP/two"
code=$?
[ $code -eq 1 ] && [ "$(wc -l <"$TMP/two")" -eq 1 ] && grep -q "another bridge listens at $SOCKET; stop it" "$TMP/two" \
	|| fail "a second bridge: code $code, $(cat "$TMP/two")"
in_server timeout 10 "$PENSTOCK" bridge -c "$TMP/bridge.ini" -o bridge.telemetry=/nonexistent/x >/dev/null 2>"$TMP/two"
code=$?
[ $code -eq 1 ] && grep -q "bridge\] telemetry: /nonexistent/x: No such" "$TMP/two" || fail "a place that is none: $(cat "$TMP/two")"
wait_for 10 top_has 'b["stats"]["delivered"] == 5000' --name "$INSTANCE" || fail "the first bridge is disturbed"
"$PENSTOCK" top --once --bridge "$TMP/none" >/dev/null 2>"$TMP/err" && fail "top finds a bridge where none is"
grep -q "no bridge answers at $TMP/none; start it" "$TMP/err" || fail "top says $(cat "$TMP/err")"

# A bridge alone, after its end by force.
kill -KILL "$BRIDGE_PID"
wait_for 5 gone "$BRIDGE_PID"
[ -S "$SOCKET" ] || fail "there is no socket left over"
top_has True --bridge "$SOCKET" && fail "a dead bridge answers"
stop "$PENSTOCK_PID"
start_bridge "max_age_ms = 0"
wait_for 10 bridge_connected || fail "the bridge does not come back"
wait_for 10 top_has 'list(t) == ["bridge"] and b["stats"]["delivered"] == 0 and b["info"]["pid"] == '"$BRIDGE_PID" --name "$INSTANCE" \
	|| fail "top shows of the bridge alone $(top_of --json --name "$INSTANCE")"
end_bridge
[ -z "$(ls -A "$TMP/run/dpdk")" ] || fail "the bridge leaves $(ls -R "$TMP/run/dpdk")"
top_of --name "$INSTANCE" 2>"$TMP/err" && fail "top shows what is not there"
grep -q "no penstock runs under the file prefix penstock-$INSTANCE" "$TMP/err" || fail "top says $(cat "$TMP/err")"
pass "5000 delivered while $(tail -n 1 "$TMP/hostile.out") clients that do not read were dropped"
