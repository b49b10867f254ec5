# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# What takes the PF's drop rules away while penstock runs, and what penstock does about it.

. "$(dirname "$0")/lib.sh"
. "$GUEST_DIR/labnic.sh"

# start_with VALUE SECONDS: on_rule_loss, and the watch period.
start_with() {
	WATCH_S=$2
	LOSSES=0 READ=0
	# shellcheck disable=SC2086
	serve "$TMP/penstock.ini" -o penstock.on_rule_loss="$1" -o penstock.watch_ms=$(($2 * 1000)) $EAL
	has_rules "$OURS" || fail "no drop rules: $(rules)"
}

# says TEXT: in the log, after what was read before.
says() { tail -n +$((READ + 1)) "$TMP/penstock.log" | grep -q "$1"; }

# noticed WHAT TEXT: the alarm is in the log within two periods from now, and in telemetry.
noticed() {
	wait_for "$(two_periods)" says "alarm: $2" || fail "$1: no alarm within two watch periods"
	"$PENSTOCK" top --once --json --name "$INSTANCE" >"$TMP/top.json"
	LOSSES=$((LOSSES + 1))
	[ "$(seen port0_losses)" = $LOSSES ] || fail "$1: telemetry does not count it"
}

seen() { wire value "$1" <"$TMP/top.json"; }

# back WHAT: the rules are there again, and penstock says so once it has seen them.
back() {
	wait_for $(($(two_periods) + 10)) says 'rules are in place again' || fail "$1: the alarm stays"
	has_rules "$OURS" || fail "$1: the rules do not come back: $(rules)"
	[ "$(top_value port0_alarm)" = 0 ] || fail "$1: the alarm stays in telemetry"
	READ=$(wc -l <"$TMP/penstock.log")
}

# ended WHAT: of itself, with exit code 1, and the kernel has the traffic.
ended() {
	wait_for $((3 * WATCH_S + 10)) gone "$PENSTOCK_PID" || fail "$1: penstock does not end"
	wait "$PENSTOCK_PID"
	local code=$?
	[ $code -eq 1 ] || fail "$1: exit code $code, should be 1"
	says "traffic is left to the kernel" || fail "$1: penstock does not say why it ended"
	[ -z "$(rules)" ] || fail "$1: rules stay: $(rules)"
	kernel_has 8001 50
}

# row_states: of the drop rules' rows in penstock flows.
row_states() {
	"$PENSTOCK" flows --json --name "$INSTANCE" 2>/dev/null | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["rules"] if r["family"] == "pf-drop"]
print(len(rows), *sorted({r["state"] for r in rows}))'
}

has_no_rules() { [ -z "$(rules)" ]; }

# stick PID: one worker of it stands still, held by a tracer, until that ends; its pid in $PID.
stick() {
	local task
	task=$(grep -l worker /proc/"$1"/task/*/comm | head -n 1)
	[ -n "$task" ] || fail "no worker thread is found"
	spawn tracer python3 -c '
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE, INTERRUPT = 0x4206, 0x4207
for request in SEIZE, INTERRUPT:
    if libc.ptrace(request, int(sys.argv[1]), None, None):
        sys.exit("ptrace: errno %d" % ctypes.get_errno())
print("held", flush=True)
time.sleep(600)' "$(basename "$(dirname "$task")")"
	wait_for 30 grep -q held "$TMP/tracer.out" || fail "the worker cannot be held"
}

begin
write_labnic_conf "$TMP/penstock.ini"
load_labnic
set_up_labnic

# The period is long enough to mend it between the first attempt to install again and the last.
start_with reinstall 6
[ "$(row_states)" = "2 proven" ] || fail "rows of the drop rules: $(row_states), should be 2 proven"
"$PENSTOCK" flows --name "$INSTANCE" | grep -q "pf-drop .*$SERVER_ADDR:8001 *drop proven .*read.*by meaning" || fail "the table lacks a drop rule"
ethtool -K labpf ntuple off
noticed "ntuple off" "the kernel has other rules or settings"
[ "$(row_states)" = "2 lost" ] || fail "rows of the drop rules: $(row_states), should be 2 lost"
ethtool -K labpf ntuple on
[ "$(seen port0_alarm)" = 1 ] || fail "ntuple off: no alarm in telemetry"
back "ntuple off and on"
stop "$PENSTOCK_PID"

# Rules that are there and read back as they should be, and do not act: the VF gets its packets, and
# so does the kernel.
start_with reinstall 2
echo 1 >/sys/module/labnic/parameters/inert
spawn sender ip netns exec "$NSC" python3 "$NETNS_DIR/wire.py" send $SERVER_ADDR 8001 80 100 100
sender=$PID
wait_for $((2 * $(two_periods) + 5)) says "alarm: the kernel gets packets that rules should" || fail "rules that do not act are not noticed"
LOSSES=$((LOSSES + 1))
echo 0 >/sys/module/labnic/parameters/inert
back "rules that do not act"
"$PENSTOCK" top --once --json --name "$INSTANCE" >"$TMP/top.json"
[ "$(seen port0_leaked)" -ge 1 ] || fail "telemetry does not count what leaked"
wait "$sender"
kernel_has 8001 0
stop "$PENSTOCK_PID"

# Attempts are counted for a minute: what comes next has its own.
start_with reinstall 6
address=$(address_of labpf)
ip link set dev labpf address 02:00:00:00:00:77
noticed "MAC change" "the link has another MAC address"
for _ in $(seq 100); do
	[ -z "$(rules)" ] && break
	sleep 0.2
done
[ -z "$(rules)" ] || fail "MAC change: the rules stay, and what comes to the new address is nobody's"
stop "$PENSTOCK_PID"
[ -z "$(rules)" ] || fail "after its end there are still $(rules)"

# No rules at start, as no address is shared: they come when one is.
serve "$TMP/penstock.ini" -o penstock.watch_ms=2000 $EAL
has_no_rules || fail "rules without a shared address: $(rules)"
ip link set dev labpf address "$address"
wait_for 30 has_rules "$OURS" || fail "the PF has the VF's address, and no rules: $(rules)"
stop "$PENSTOCK_PID"
has_no_rules || fail "after its end there are still $(rules)"

# A worker that does not end keeps nothing from the kernel.
start_with reinstall 2
stick "$PENSTOCK_PID"
kill -TERM "$PENSTOCK_PID"
wait_for 10 has_no_rules || fail "stuck: the rules stay: $(rules)"
alive "$PENSTOCK_PID" || fail "stuck: penstock ended all the same, so this shows nothing"
stop "$PID"
wait_for 30 gone "$PENSTOCK_PID" || fail "stuck no more: penstock does not end"

start_with reinstall 2
ethtool -N labpf delete "$(location_of 8001)"
noticed "rule deleted" "the kernel has other rules or settings"
back "rule deleted"
kernel_has 8001 0
ethtool -K labpf ntuple off
ended "ntuple off for good"
ethtool -K labpf ntuple on

start_with stop 2
ethtool -N labpf delete "$(location_of 8009)"
ended "rule deleted, on_rule_loss = stop"
pass "rules that do not act, and rules gone beside a worker that is stuck; ntuple off, another MAC address and a deleted rule: noticed within two watch periods, put back, or left to the kernel; no rule where no address is shared"
