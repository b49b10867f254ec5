# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# A VF that gets its PF's address by penstock init: the PF's drop rules from start to end, through a
# kill, with other people's rules beside them, and as i40e reports them.

. "$(dirname "$0")/lib.sh"
. "$GUEST_DIR/labnic.sh"
COUNT=${COUNT:-100}
THEIRS="$SERVER_ADDR 8001 2
any 7777 3"
ALL=$(printf '%s\n%s\n' "$OURS" "$THEIRS" | sort)

begin
export STATE_DIRECTORY=$TMP/state
mkdir "$STATE_DIRECTORY"
write_labnic_conf "$TMP/penstock.ini"
load_labnic
vf_address=$(address_of labvf)
"$PENSTOCK" init -c "$TMP/penstock.ini" --undo-after 0 >"$TMP/init.log" 2>&1 || fail "init fails"
[ "$(ntuple)" = on ] || fail "init does not turn ntuple on"
[ "$(address_of labvf)" = "$(address_of labpf)" ] || fail "init does not give the VF the PF's address"

# Rules act here, and a rule for a service's own port that is not ours stays whatever we do.
ethtool -N labpf flow-type udp4 dst-port 7777 action 3 >/dev/null
ethtool -N labpf flow-type udp4 dst-ip $SERVER_ADDR dst-port 8001 action 2 >/dev/null
has_rules "$THEIRS" || fail "labnic has other rules than were given: $(rules)"
client_wire send $SERVER_ADDR 7777 20
ethtool -S labpf | grep -q 'rx_queue_3_packets: 20$' || fail "a rule for queue 3 does not act"
kernel_has 8001 50

# shellcheck disable=SC2086
serve "$TMP/penstock.ini" $EAL
has_rules "$ALL" || fail "the rules are not as they should be: $(rules)"
kernel_has 8001 0
feed_has udp 50
"$PENSTOCK" fini -c "$TMP/penstock.ini" >"$TMP/busy.log" 2>&1 && fail "fini while penstock runs"
grep -q 'is running; stop it first' "$TMP/busy.log" || fail "fini does not say that it runs"
has_rules "$ALL" || fail "a refused fini took rules away: $(rules)"
start_check "$COUNT" --seed 1
client_sends_all "$NGTCP2" --count "$COUNT" --seed 1
end_check

# Killed with its guard, it leaves its rules behind; only these are taken away.
kill -KILL "$(pgrep -x ps-guard)" "$PENSTOCK_PID"
wait "$PENSTOCK_PID" 2>/dev/null
has_rules "$ALL" || fail "rules went with penstock and its guard: $(rules)"
"$PENSTOCK" fini -c "$TMP/penstock.ini" --rules-only >"$TMP/rules.log" 2>&1 || fail "fini --rules-only fails"
has_rules "$THEIRS" || fail "fini --rules-only leaves $(rules)"
kernel_has 8001 50

# A drop rule of ours that somebody else has set becomes ours, with a warning, and goes at the end.
ethtool -N labpf flow-type udp4 dst-ip $SERVER_ADDR dst-port 8009 action -1 >/dev/null
sed 's/^address = .*/address = any/' "$TMP/penstock.ini" >"$TMP/any.ini"
# shellcheck disable=SC2086
serve "$TMP/any.ini" $EAL
has_rules "$ALL" || fail "any is not spelled out with the PF's address: $(rules)"
grep -q "falls back: a drop rule .*dst-port 8009 is there already" "$TMP/penstock.log" || fail "a rule is taken over in silence"
stop "$PENSTOCK_PID"
has_rules "$THEIRS" || fail "a stop leaves $(rules)"
"$PENSTOCK" fini -c "$TMP/penstock.ini" >"$TMP/fini.log" 2>&1 || fail "fini fails"
[ "$(ntuple)" = off ] || fail "fini leaves ntuple on"
[ "$(address_of labvf)" = "$vf_address" ] || fail "fini leaves the VF with another address"

# i40e: ones over masks that are not the rule's own, before and while penstock runs.
unload_labnic
load_labnic driver=i40e overlay=1
set_up_labnic
# shellcheck disable=SC2086
serve "$TMP/penstock.ini" $EAL
has_rules "$OURS" || fail "i40e's report is not taken for our rules: $(rules)"
kernel_has 8001 0
echo 2 >/sys/module/labnic/parameters/overlay
sleep "$(two_periods)"
[ "$(top_value port0_losses)" = 0 ] || fail "i40e's report with source masks is taken for a loss"
stop "$PENSTOCK_PID"
[ -z "$(rules)" ] || fail "after its end there are still $(rules)"
kernel_has 8001 50

# The same report from a driver that has no excuse is another rule.
unload_labnic
load_labnic overlay=2
set_up_labnic
refused "$TMP/penstock.ini" "does not have it as it was given (mask of the source address differs)"
[ -z "$(rules)" ] || fail "a rule that differs stays: $(rules)"
pass "drop rules keep $COUNT transactions and 50 datagrams from the kernel, are read back as i40e reports them, and go alone"
