#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# init makes check content, a second init changes nothing, fini restores exactly what was; what
# somebody else changed meanwhile is named and left alone.

. "$(dirname "$0")/host.sh"
host_begin
snapshot >"$TMP/before.txt"

host init -c "$CONF" --undo-after 0 >"$TMP/init.txt" || fail "init: $(cat "$TMP/init.txt")"
[ "$(mtu srv)" = 1500 ] && [ "$(mtu mq)" = 1500 ] || fail "init did not set the MTU"
[ "$(feature srv rx-udp-gro-forwarding)" = off ] || fail "init did not turn GRO forwarding off"
[ "$(state_files)" = "$INSTANCE.state" ] || fail "no state file, or more: $(state_files)"
host check -c "$CONF" >"$TMP/check.txt" || fail "not ready after init"

snapshot >"$TMP/initial.txt"
cp "$STATE/$INSTANCE.state" "$TMP/state.txt"
host init -c "$CONF" --undo-after 0 >"$TMP/again.txt" || fail "a second init fails"
grep -q '^nothing to change' "$TMP/again.txt" || fail "a second init changes something"
same_as "$TMP/initial.txt" "a second init changed something"
cmp -s "$STATE/$INSTANCE.state" "$TMP/state.txt" || fail "a second init wrote the state anew"

host fini -c "$CONF" >"$TMP/fini.txt" || fail "fini: $(cat "$TMP/fini.txt")"
same_as "$TMP/before.txt" "fini did not restore everything"
no_state || fail "fini left a state file"
host fini -c "$CONF" | grep -q 'nothing to restore' || fail "a second fini does something"

# A later init with more to change keeps what the first one saved.
host init -c "$CONF" --undo-after 0 >/dev/null || fail "init after fini"
ip -n "$NSS" link set srv mtu 3000
host init -c "$CONF" --undo-after 0 >/dev/null || fail "init after a change"
host fini -c "$CONF" >/dev/null
same_as "$TMP/before.txt" "the value before the first init was not kept"

# Changed outside: reported, left alone; everything else is restored.
host init -c "$CONF" --undo-after 0 >/dev/null
ip -n "$NSS" link set srv mtu 1400
host fini -c "$CONF" --json >"$TMP/foreign.json" || fail "fini fails after a foreign change"
rows "$TMP/foreign.json" 'd["ok"] and row("mtu", "mq")["outcome"] == "restored" and row("mtu", "mq")["state"] == "ok" and
	row("mtu", "srv")["outcome"] == "foreign" and row("mtu", "srv")["state"] == "partial" and
	row("mtu", "srv")["remedy"] == "ip link set dev srv mtu 9000" and
	"1400" in row("mtu", "srv")["why"] and "9000" in row("mtu", "srv")["why"]' \
	|| fail "the foreign change is not told"
[ "$(mtu srv)" = 1400 ] || fail "the foreign change was not left alone"
[ "$(mtu mq)" = 4000 ] || fail "the rest was not restored"
no_state || fail "a state file remains"
ip -n "$NSS" link set srv mtu 9000

# An interface that is gone does not stop the others, and its settings are kept for when it is back.
host init -c "$CONF" --undo-after 0 --json >"$TMP/init.json" || fail "init before the TAP goes"
rows "$TMP/init.json" 'd["ok"] and row("mtu", "mq")["outcome"] == "changed"' || fail "init's JSON"
ip -n "$NSS" link set mq down name away
host fini -c "$CONF" --json >"$TMP/gone.json" 2>/dev/null && fail "fini is content when an interface is gone"
rows "$TMP/gone.json" 'not d["ok"] and row("mtu", "mq")["outcome"] == "gone" and "--forget" in row("mtu", "mq")["remedy"] and
	row("mtu", "srv")["outcome"] == "restored"' || fail "the TAP is not named"
[ "$(mtu srv)" = 9000 ] || fail "the other interface was not restored"
ip -n "$NSS" link set away name mq
ip -n "$NSS" link set mq up
host fini -c "$CONF" >"$TMP/back.txt" || fail "fini fails when the interface is back"
same_as "$TMP/before.txt" "an interface that was gone for a while is not restored"
no_state || fail "a state file remains after the interface came back"

# It does not come back.
host init -c "$CONF" --undo-after 0 >/dev/null || fail "init before the TAP goes for good"
stop "$PID"
wait_for 5 eval '! ip -n "$NSS" link show mq >/dev/null 2>&1' || fail "the TAP stays"
host fini -c "$CONF" >"$TMP/gone.txt" 2>&1 && fail "fini forgets by itself"
grep -q '^gone *mtu *mq *it is not there any more; before init it was 4000' "$TMP/gone.txt" || fail "the TAP is not named"
grep -q 'mtu' "$STATE/$INSTANCE.state" || fail "its settings are not kept"
host fini -c "$CONF" --forget >"$TMP/gone.txt" || fail "fini --forget"
grep -q '^forgotten *mtu *mq' "$TMP/gone.txt" || fail "what is forgotten is not said"
[ "$(mtu srv)" = 9000 ] || fail "the other interface was not restored"
no_state || fail "a state file remains after fini --forget"

# So does no physical function that is gone, and its rules with it.
host init -c "$CONF" --undo-after 0 >/dev/null || fail "init before the PF goes"
sed 's/^device = srv/&\npf = gone0/' "$CONF" >"$TMP/gone.ini"
host fini -c "$TMP/gone.ini" --rules-only >"$TMP/gone.txt" 2>&1 || fail "no PF: $(cat "$TMP/gone.txt")"
host fini -c "$TMP/gone.ini" >"$TMP/gone.txt" 2>&1 || fail "fini without the PF: $(cat "$TMP/gone.txt")"
[ "$(mtu srv)" = 9000 ] || fail "without the PF nothing is restored"
no_state || fail "a state file remains when the PF is gone"

# A damaged state file stops both, and is not overwritten.
printf 'penstock-state 1\nboot x\ndone\tsetting\tsrv\tmtu\t1\t2\nend 7\n' >"$STATE/$INSTANCE.state"
cp "$STATE/$INSTANCE.state" "$TMP/damaged"
for c in init fini confirm; do
	host $c -c "$CONF" >"$TMP/damaged.txt" 2>&1
	[ $? -eq 1 ] || fail "$c goes on with a damaged state file"
	grep -q 'line 4 is damaged' "$TMP/damaged.txt" || fail "$c does not name the line"
	cmp -s "$STATE/$INSTANCE.state" "$TMP/damaged" || fail "$c overwrote a damaged state file"
done
pass "made, made twice, restored, foreign changes and lost interfaces told"
