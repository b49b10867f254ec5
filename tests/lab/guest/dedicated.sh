# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The dedicated layout by check, init, run and fini: the first queue ours, the last, two of them by an
# RSS context, a port of one queue, and interfaces whose drivers lack what it takes. Killed at every
# step of init.

. "$(dirname "$0")/lib.sh"
. "$GUEST_DIR/labnic.sh"
COUNT=${COUNT:-100}

penstock() { env $HOOK "$PENSTOCK" "$@"; }

# write_dedicated FILE DEVICE FIRST QUEUES
write_dedicated() {
	cat >"$1" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
idle = sleep
watch_ms = $((WATCH_S * 1000))
lcores = 1-$4
[port nic]
device = $2
path = af_xdp
layout = dedicated
first_queue = $3
queues = $4
CONF
	services >>"$1"
}

# settings_of INTERFACE: all that init may change there.
settings_of() {
	ip -o link show dev "$1" | sed 's/state [A-Z]*//; s/,LOWER_UP//; s/NO-CARRIER,//'
	ethtool -k "$1"
	ethtool -l "$1"
	ethtool -x "$1"
	ethtool -n "$1"
	for c in 1 2 3; do ethtool -x "$1" context $c; done
}

restored() {
	settings_of "$1" >"$TMP/now.txt" 2>/dev/null
	diff "$TMP/before.txt" "$TMP/now.txt" >"$TMP/diff.log" || fail "$2"
	[ -z "$(ls "$STATE_DIRECTORY" | grep -v 'lock$')" ] || fail "$2: a state file remains"
}

snapshot() { settings_of "$1" >"$TMP/before.txt" 2>/dev/null; }

init() { penstock init -c "$1" --undo-after 0 >"$TMP/init.log" 2>&1; }

fini() { penstock fini -c "$1" >"$TMP/fini.log" 2>&1 || fail "fini fails"; }

# table: the queues of the indirection table, each once.
table() { ethtool -x labpf | awk '/^ *[0-9]+:/ { for (i = 2; i <= NF; i++) print $i }' | sort -un | xargs; }

on_queue() { ethtool -S labpf | sed -n "s/^ *rx_queue_$1_packets: //p"; }

# rows STEP STATE: how many rows of this step check has in this state.
rows() { penstock check -c "$CONF" 2>/dev/null | grep -c "^$2 *$1 "; }

# to_queue FIRST WHAT: the services' packets arrive on this queue, and nothing else does.
to_queue() {
	local before other
	before=$(on_queue "$1")
	client_wire send $SERVER_ADDR 8001 50
	client_wire send $SERVER_ADDR 8002 50
	feed_has udp 50
	feed_has anyaddr 50
	other=$(on_queue "$1")
	[ $((other - before)) = 100 ] || fail "$2: queue $1 got $((other - before)) packets, should be 100"
	from_many_ports 7777
	wait_for 30 client_wire echo $SERVER_ADDR || fail "$2: the kernel does not answer"
	[ "$(on_queue "$1")" = "$other" ] || fail "$2: queue $1 gets what is not penstock's"
}

# from_many_ports PORT: 256 datagrams, each from a port of its own.
from_many_ports() {
	in_client python3 -c '
import socket, sys
for n in range(256):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"%d" % n, (sys.argv[1], int(sys.argv[2])))' $SERVER_ADDR "$1"
}

# records WORKER: in its feed of the service udp.
records() { timeout 3 "$PENSTOCK" feed "$FEEDS/udp.$1" --json --count 100000 2>/dev/null | wc -l; }
both_feeds() {
	local a b
	a=$(records 0) b=$(records 1)
	GOT=$((${GOT:-0} + a + b)) BOTH="${BOTH:-}$([ "$a" -gt 0 ] && echo 0)$([ "$b" -gt 0 ] && echo 1)"
	[ "$GOT" = 256 ] && [[ $BOTH = *0* ]] && [[ $BOTH = *1* ]]
}

# not_started TEXT: run refuses, and says why.
not_started() {
	timeout 120 "$PENSTOCK" run -c "$CONF" >"$TMP/refused.out" 2>"$TMP/refused.log"
	local code=$?
	[ $code -eq 1 ] || fail "exit code $code, should be 1 ($1)"
	grep -q "$1" "$TMP/refused.log" || fail "not said: $1"
}

start() {
	rm -rf "$FEEDS"
	spawn penstock "$PENSTOCK" run -c "$CONF"
	PENSTOCK_PID=$PID
	wait_for 120 serves || fail "penstock does not start"
}

# lost COMMAND...: takes a part away while penstock runs, which notices and puts it back.
lost() {
	local before
	before=$(top_value port0_losses)
	"$@" >/dev/null || fail "$*: exit code $?"
	wait_for $(($(two_periods) + 1)) has_lost $((before + 1)) || fail "$*: not noticed"
	wait_for $(($(two_periods) + 10)) all_back || fail "$*: not put back"
}

has_lost() { [ "$(top_value port0_losses)" = "$1" ]; }
all_back() { [ "$(table)" = "1 2 3 4 5 6 7" ] && has_rules "$RULES" && [ "$(top_value port0_alarm)" = 0 ]; }

begin
HOOK=
WATCH_S=2
CONF=$TMP/penstock.ini
export STATE_DIRECTORY=$TMP/state
mkdir "$STATE_DIRECTORY"
cc -shared -fPIC -O1 -D_GNU_SOURCE -o "$TMP/hook.so" "$NETNS_DIR/rename_hook.c" || fail "the hook does not build"
load_labnic rss=1

# The first queue of eight.
write_dedicated "$CONF" labpf 0 1
RULES="$SERVER_ADDR 8001 0
$SERVER_ADDR 8009 0
any 8002 0"
snapshot labpf
[ "$(rows rss not)" = 1 ] && [ "$(rows ntuple not)" = 1 ] && [ "$(rows rules not)" = 3 ] || fail "check does not list what is missing"
penstock check -c "$CONF" | grep -q 'ethtool -X labpf start 1 equal 7' || fail "check does not tell the table's command"
penstock check -c "$CONF" | grep -q "ethtool -N labpf flow-type udp4 dst-ip $SERVER_ADDR dst-port 8009 action 0" || fail "check does not tell a rule's command"
restored labpf "check changes something"
not_started "indirection table leads to penstock's queue 0 too.*penstock init sets it"
init "$CONF" || fail "init fails"
[ "$(table)" = "1 2 3 4 5 6 7" ] || fail "the table is $(table)"
has_rules "$RULES" || fail "the rules are $(rules)"
[ "$(rows rss ok)" = 1 ] && [ "$(rows rules ok)" = 3 ] || fail "check is not content after init"
penstock init -c "$CONF" --undo-after 0 | grep -q '^nothing to change' || fail "a second init changes something"

start
to_queue 0 "the first of eight"
start_check "$COUNT" --seed 1
client_sends_all "$NGTCP2" --count "$COUNT" --seed 1
end_check
lost ethtool -N labpf delete "$(location_of 8001)"
lost ethtool -X labpf default
lost ethtool -K labpf ntuple off
to_queue 0 "after losses"
stop "$PENSTOCK_PID"
ethtool -N labpf delete "$(location_of 8001)"
not_started "the ntuple rule udp4.$SERVER_ADDR.8001 is none, not queue=0.*penstock init"
fini "$CONF"
restored labpf "fini does not restore everything"

# Its own commands are enough.
penstock check -c "$CONF" | sed -n 's/^ *\* \(ethtool\)/\1/p' >"$TMP/advice.sh"
sh -e "$TMP/advice.sh" >/dev/null || fail "the advice cannot be followed: $(cat "$TMP/advice.sh")"
[ "$(rows rss ok)" = 1 ] && [ "$(rows rules ok)" = 3 ] || fail "check is not content after its own advice"
fini "$CONF"
has_rules "$RULES" || fail "fini takes the operator's own rules"
unload_labnic
load_labnic rss=1

# Somebody else's rule stays, and stands in the way.
ethtool -K labpf ntuple on
ethtool -N labpf flow-type udp4 dst-ip $SERVER_ADDR dst-port 8009 action 3 loc 9 >/dev/null
penstock check -c "$CONF" >"$TMP/check.txt"
grep -q "^not *rules .*rule at location 9 takes its packets elsewhere: queue=3, not queue=0" "$TMP/check.txt" &&
	grep -q 'ethtool -N labpf delete 9' "$TMP/check.txt" || fail "another rule is not named: $(grep rules "$TMP/check.txt")"
init "$CONF"
[ "$(rules | grep 8009)" = "$SERVER_ADDR 8009 3" ] || fail "init takes another's rule: $(rules)"
not_started 'is queue=3, not queue=0'
fini "$CONF"
ethtool -N labpf delete 9

# No room for the last rule: everything else is taken back.
for port in $(seq 14); do
	ethtool -N labpf flow-type udp4 dst-port $((9000 + port)) action 1 >/dev/null
done
snapshot labpf
init "$CONF" && fail "init without room for its rules"
grep -q 'all 16 ntuple rules are taken' "$TMP/init.log" || fail "init does not say that there is no room"
restored labpf "a failed init leaves something"
unload_labnic
load_labnic rss=1

# Killed before and after each step.
snapshot labpf
at=1 kills=0 code=137 what=kill-after
while [ $code -eq 137 ]; do
	[ "$what" = kill-before ] && what=kill-after || what=kill-before
	HOOK="LD_PRELOAD=$TMP/hook.so HOOK_AT=$at HOOK_DO=$what"
	init "$CONF"
	code=$?
	HOOK=
	[ $code -eq 137 ] || [ $code -eq 0 ] || fail "init ended with $code"
	[ $code -ne 137 ] || kills=$((kills + 1))
	fini "$CONF"
	restored labpf "after $what $at and fini something is different"
	[ $what = kill-before ] || at=$((at + 1))
done
[ $kills -ge 10 ] || fail "only $kills kills"

# The last queue, of an interface that has one: init makes room for it.
write_dedicated "$CONF" labpf 1 1
ethtool -L labpf combined 1
snapshot labpf
init "$CONF" || fail "init fails on an interface of one queue"
[ "$(table)" = 0 ] || fail "the table is $(table)"
start
to_queue 1 "the last of two"
stop "$PENSTOCK_PID"
fini "$CONF"
restored labpf "fini does not restore the only queue"
ethtool -L labpf combined 8

# Two in the middle, by an RSS context.
write_dedicated "$CONF" labpf 3 2
snapshot labpf
init "$CONF" || fail "init fails with two queues"
[ "$(table)" = "0 1 2 5 6 7" ] || fail "the table is $(table)"
start
before3=$(on_queue 3) before4=$(on_queue 4)
from_many_ports 8001
wait_for 30 both_feeds || fail "the feeds have $GOT records, workers ${BOTH:-none}"
[ $(($(on_queue 3) - before3 + $(on_queue 4) - before4)) = 256 ] || fail "queues 3 and 4 got other packets"
stop "$PENSTOCK_PID"
fini "$CONF"
restored labpf "fini does not restore what an RSS context took"

# Drivers without a table, without contexts, and without such rules.
unload_labnic
load_labnic
write_dedicated "$CONF" labpf 0 1
penstock check -c "$CONF" | grep -q '^not *rss .*no indirection table' || fail "the missing table is not named"
not_started 'indirection table'
load_drivers
write_dedicated "$CONF" "$IGB1" 0 2
penstock check -c "$CONF" | grep -q '^not *rss .*no further RSS contexts' || fail "missing contexts are not named"
write_dedicated "$CONF" "$IGB1" 0 1
sed -i '/^descriptors/d; s/^path = .*/&\ndescriptors = 256/' "$CONF"
snapshot "$IGB1"
init "$CONF" && fail "init with rules that igb does not have"
grep -q "the driver refuses the ntuple rule" "$TMP/init.log" || fail "init does not name the rule"
restored "$IGB1" "a failed init leaves something on igb"
write_dedicated "$CONF" "$VIRTIO" 0 1
penstock check -c "$CONF" | grep -q '^not *ntuple .*no ntuple rules' || fail "missing rules are not named"
pass "first, last and two middle queues: made, read back, served $COUNT transactions, lost and put back, taken back; killed $kills times; igb and virtio-net refused"
