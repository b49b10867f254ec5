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

begin
write_labnic_conf "$TMP/penstock.ini"
load_labnic
set_up_labnic

# The period is long enough to mend it between the first attempt to install again and the last.
start_with reinstall 6
ethtool -K labpf ntuple off
noticed "ntuple off" "the kernel has other rules or settings"
ethtool -K labpf ntuple on
[ "$(seen port0_alarm)" = 1 ] || fail "ntuple off: no alarm in telemetry"
back "ntuple off and on"
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
ip link set dev labpf address "$address"

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
pass "ntuple off, another MAC address and a deleted rule: noticed within two watch periods, put back, or left to the kernel; no rule where no address is shared"
