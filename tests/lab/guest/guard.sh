# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# In the machine: whatever becomes of penstock, the PF's drop rules are gone within three seconds,
# and nobody else's with them.

. "$(dirname "$0")/lib.sh"
. "$GUEST_DIR/labnic.sh"
THEIRS="any 7777 3"
ALL=$(printf '%s\n%s\n' "$OURS" "$THEIRS" | sort)
RECORD=

has_only_theirs() { has_rules "$THEIRS"; }
# The watch had put them back, or given up.
settled() { gone "$PENSTOCK_PID" || has_rules "$ALL"; }
guard_pid() { pgrep -x ps-guard; }
no_guard() { ! guard_pid >/dev/null; }

# begin_run: the rules are in, and recorded.
begin_run() {
	# shellcheck disable=SC2086
	serve "$TMP/penstock.ini" $EAL
	wait_for 60 has_rules "$ALL" || fail "no drop rules: $(rules)"
	[ "$(grep -c '^drop labpf ' "$RECORD")" -ge 2 ] || fail "the rules are not recorded"
	GUARD=$(guard_pid)
	[ "$(wc -w <<<"$GUARD")" = 1 ] || fail "there is not one guard but: $GUARD"
}

# freed WHAT SINCE: within three seconds of SINCE, as far as looks can tell that take their time here,
# and the kernel really has the traffic.
freed() {
	wait_for 10 has_only_theirs || fail "$1: the rules stay: $(rules)"
	local ms=$(($(now) - $2)) look
	look=$(now)
	rules >/dev/null
	look=$(($(now) - look))
	[ $ms -le $((3000 + 2 * look)) ] || fail "$1: the rules were gone after $ms ms only, a look takes $look ms"
	echo "$1: gone after $ms ms, a look takes $look ms"
	kernel_has 8001 50
}

now() { date +%s%3N; }

# over WHAT: nothing of it is left, the record neither.
over() {
	wait_for 30 no_guard || fail "$1: the guard stays"
	[ ! -e "$RECORD" ] || fail "$1: the record stays"
}

# stick PID: one worker of it stands still, held by a tracer, until that ends; its pid in $PID.
stick() {
	local task
	task=$(grep -l worker /proc/"$1"/task/*/comm | head -n 1)
	[ -n "$task" ] || fail "no worker thread is found"
	spawn tracer python3 "$NETNS_DIR/hold.py" "$(basename "$(dirname "$task")")"
	wait_for 30 grep -q held "$TMP/tracer.out" || fail "the worker cannot be held"
}

launch() {
	# shellcheck disable=SC2086
	spawn launch env PENSTOCK="$PENSTOCK" bash "$ROOT/deploy/launch.sh" -c "$TMP/penstock.ini" \
		-- -l 2 $EAL
	LAUNCH=$PID
	wait_for 120 grep -q 'launch: serving' "$TMP/launch.log" || fail "launch.sh does not come to serve"
	has_rules "$ALL" || fail "launch.sh: no drop rules: $(rules)"
	PENSTOCK_PID=$(pgrep -f "^$PENSTOCK run -c $TMP/penstock.ini")
}

begin
export STATE_DIRECTORY=$TMP/state
mkdir "$STATE_DIRECTORY"
RECORD=$STATE_DIRECTORY/$INSTANCE.rules
write_labnic_conf "$TMP/penstock.ini"
load_labnic
set_up_labnic
ethtool -N labpf flow-type udp4 dst-port 7777 action 3 >/dev/null

# Killed. The guard has no more rights than it needs, and does not mind a signal for the group.
begin_run
grep -q '^CapEff:.*0000000000001000$' "/proc/$GUARD/status" || fail "the guard has other capabilities than NET_ADMIN"
kill -INT "$GUARD"
kill -TERM "$GUARD"
! pgrep -f 'penstock run' | grep -qx "$GUARD" || fail "the guard is taken for a penstock"
kill -KILL "$PENSTOCK_PID"
since=$(now)
wait "$PENSTOCK_PID" 2>/dev/null
freed SIGKILL "$since"
over SIGKILL

# Stopped, and going on: the rules come back when it serves again.
begin_run
kill -STOP "$PENSTOCK_PID"
freed SIGSTOP "$(now)"
kill -CONT "$PENSTOCK_PID"
wait_for 90 has_rules "$ALL" || fail "SIGCONT: the rules do not come back: $(rules)"

# One worker is stuck, the rest goes on.
stick "$PENSTOCK_PID"
freed "stuck worker" "$(now)"
stop "$PID"
wait_for 90 settled || fail "the rules do not come back: $(rules)"
stop "$PENSTOCK_PID"
has_only_theirs || fail "after its end there are still $(rules)"
over "stuck worker"

# Killed when half of the rules were in, and when half of them were out.
cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$TMP/hook.so" "$GUEST_DIR/rule_hook.c" || fail "the hook does not build"
for at in insert delete; do
	# shellcheck disable=SC2086
	spawn penstock env LD_PRELOAD="$TMP/hook.so" HOOK_AT=$at "$PENSTOCK" run -c "$TMP/penstock.ini" -l 2 $EAL
	PENSTOCK_PID=$PID
	if [ $at = delete ]; then
		wait_for 120 serves || fail "penstock does not start"
		has_rules "$ALL" || fail "no drop rules: $(rules)"
		kill -TERM "$PENSTOCK_PID"
	fi
	wait "$PENSTOCK_PID"
	[ $? -eq 137 ] || fail "$at: it was not killed"
	freed "half an $at" "$(now)"
	over "half an $at"
done

# Without its guard: fini knows what to take out from the record, not from the configuration of by
# then, and leaves what somebody else has put in the place of a rule.
begin_run
kill -KILL "$GUARD" "$PENSTOCK_PID"
wait "$PENSTOCK_PID" 2>/dev/null
has_rules "$ALL" || fail "the rules went without a guard, so this shows nothing"
at=$(location_of 8009)
ethtool -N labpf delete "$at"
ethtool -N labpf flow-type udp4 dst-ip $SERVER_ADDR dst-port 8009 action 2 loc "$at" >/dev/null
sed 's/^port = 80/port = 90/' "$TMP/penstock.ini" >"$TMP/other.ini"
"$PENSTOCK" fini -c "$TMP/other.ini" --rules-only >"$TMP/fini.log" 2>&1 || fail "fini --rules-only fails"
has_rules "$(printf '%s\n%s' "$SERVER_ADDR 8009 2" "$THEIRS" | sort)" || fail "fini --rules-only leaves $(rules)"
ethtool -N labpf delete "$at"
[ ! -e "$RECORD" ] || fail "fini --rules-only leaves the record"

# The next run takes out what is left, too.
begin_run
kill -KILL "$GUARD" "$PENSTOCK_PID"
wait "$PENSTOCK_PID" 2>/dev/null
sed '/^\[service tpu\]/,$d' "$TMP/penstock.ini" >"$TMP/fewer.ini"
# shellcheck disable=SC2086
serve "$TMP/fewer.ini" $EAL
has_rules "$(printf '%s\n%s' "$SERVER_ADDR 8001 drop" "$THEIRS" | sort)" || fail "a later run has $(rules)"
stop "$PENSTOCK_PID"
has_only_theirs || fail "after its end there are still $(rules)"
over "a later run"

# Under launch.sh.
for what in KILL STOP stuck; do
	launch
	case $what in
	stuck) stick "$PENSTOCK_PID" ;;
	*) kill -$what "$PENSTOCK_PID" ;;
	esac
	freed "launch.sh, $what" "$(now)"
	wait_for 60 gone "$LAUNCH" || fail "launch.sh, $what: it goes on"
	[ $what != stuck ] || stop "$PID"
	[ "$(ls "$STATE_DIRECTORY" | grep -v 'lock$')" = "" ] || fail "launch.sh, $what: left $(ls "$STATE_DIRECTORY")"
	ethtool -K labpf ntuple on
	set_up_labnic
	has_only_theirs || ethtool -N labpf flow-type udp4 dst-port 7777 action 3 >/dev/null
done
pass "killed, stopped, stuck, half in and half out: the kernel has the traffic within three seconds, and only recorded rules go"
