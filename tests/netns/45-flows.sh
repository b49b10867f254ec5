#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# penstock flows and its telemetry: every selector with state, proof and counters; --verify looks
# now; a port without rules says that software does it.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"

"$PENSTOCK" flows --name "$INSTANCE" >"$TMP/none.out" 2>"$TMP/none.log"
[ $? -eq 1 ] && [ "$(wc -l <"$TMP/none.log")" -eq 1 ] || fail "no penstock: not one line and code 1"
"$PENSTOCK" flows --nosuch >/dev/null 2>&1
[ $? -eq 2 ] || fail "an unknown option does not end with code 2"

# A long period: what is seen, --verify has seen.
start_penstock "$TMP/penstock.ini" -o penstock.watch_ms=60000 -- --no-pci
client_wire send $SERVER_ADDR 8001 30
client_wire send $SERVER_ADDR 8002 20
"$PENSTOCK" flows --verify --json --name "$INSTANCE" >"$TMP/flows.json" || fail "flows --verify ends with $?"
python3 - "$TMP/flows.json" <<'PY' || fail "flows --json is not as expected: $(cat "$TMP/flows.json")"
import json, sys
d = json.load(open(sys.argv[1]))
rules = {(r["service"], r["address"], r["udp_port"]): r for r in d["rules"]}
assert d["verified"] == 1 and d["flows"] == 3 and d["proven"] == 3 and d["lost"] == 0, "sums"
assert set(rules) == {("udp", "10.77.0.2", 8001), ("anyaddr", "any", 8002), ("tpu", "10.77.0.2", 8009)}, "rules"
assert rules["udp", "10.77.0.2", 8001]["right"] == 30 and rules["anyaddr", "any", 8002]["right"] == 20, "counters"
for r in d["rules"]:
    assert r["state"] == "proven" and r["family"] == "af_xdp" and r["path"] == "af_xdp", "state"
    assert r["missteered"] == 0 and r["queues"] == 1 and "read back" in r["proof"] and r["unproven"], "proof"
PY
"$PENSTOCK" flows --name "$INSTANCE" | grep -q "net .*af_xdp .*udp .*10.77.0.2:8001 .*proven .* 30 " || fail "the table lacks a rule"

# The list in the kernel is changed behind our back; only a look finds it.
map=$(program_map ps_allow)
if [ -n "$map" ]; then
	bpftool map delete id "$map" key hex 0a 4d 00 02 1f 41 00 00 || fail "bpftool map delete"
	client_wire send $SERVER_ADDR 8001 5
	"$PENSTOCK" flows --verify --name "$INSTANCE" >/dev/null || fail "flows --verify ends with $? although the list was mended"
	log_says "list lacks an address" || fail "the log does not say what is missing"
	client_wire send $SERVER_ADDR 8001 7
	wait_for 3 eval '[ "$(flows right)" -eq 57 ]' || fail "$(flows right) packets, expected 57"
fi
stop_penstock

# A virtual device has no rules: software, and said so.
spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/penstock.ini" --port net_ring0 -- --no-pci --vdev net_ring0
PENSTOCK_PID=$PID
wait_for 15 serving_somehow || fail "penstock does not start on net_ring0"
[ "$(flows states)" = software ] || fail "flows on net_ring0 are $(flows states)"
[ "$(info port0_path)" = pmd ] || fail "path is $(info port0_path)"
stop_penstock
pass "states, proofs and counters of all rules; a list that was changed is found and mended"
