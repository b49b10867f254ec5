# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# In the machine, where systemd is process 1: the units as they are installed, on AF_XDP over a veth pair
# whose other end is the client's.

. "$(dirname "$0")/lib.sh"
CONF=/etc/penstock/penstock.ini

mtu() { cat /sys/class/net/srv/mtu; }
is() { [ "$(systemctl show -P "$1" penstock)" = "$2" ]; }
restarts() { systemctl show -P NRestarts penstock; }
restarted() { [ "$(restarts)" -gt "$1" ] && is ActiveState active; }
state() { systemctl show -p NRestarts,ActiveState,SubState,Result penstock | tr '\n' ' '; }
# not the undo timer of init, nor what launch.sh looks with
pids() { pgrep -f '^[^ ]*/penstock run '; }

install_unit() {
	cp "$PENSTOCK" /usr/local/bin/penstock
	mkdir -p /usr/local/lib/penstock /etc/penstock
	cp "$ROOT/deploy/launch.sh" /usr/local/lib/penstock/
	cp "$ROOT"/deploy/systemd/*.service /run/systemd/system/
	# Nothing of the host's own start is here to come after, and an emulated start takes its time.
	for unit in penstock penstock-bridge@; do
		mkdir /run/systemd/system/$unit.service.d
		cat >/run/systemd/system/$unit.service.d/lab.conf <<-UNIT
			[Unit]
			DefaultDependencies=no
			[Service]
			TimeoutStartSec=300
			StandardOutput=append:/run/$unit.log
			StandardError=append:/run/$unit.log
		UNIT
	done
	systemctl daemon-reload || fail "systemd does not reload"
}

# Beside a penstock that serves: the bridge sees its feed with the little that the unit leaves it, tells
# of itself where penstock top looks, reads the stakes again, and comes back.
BRIDGE=penstock-bridge@penstock
bridge_is() { systemctl show -P "$1" $BRIDGE; }
bridge_reads() {
	"$PENSTOCK" top --once --json --name "$INSTANCE" 2>/dev/null | python3 -c 'import json, sys
b = json.load(sys.stdin)["bridge"]
sys.exit(not (b["stats"]["feeds"] == 1 and b["info"]["pid"] == int(sys.argv[1])))' "$(bridge_is MainPID)" 2>/dev/null
}
check_bridge() {
	local pid
	systemctl start $BRIDGE || fail "the bridge does not start: $(systemctl status $BRIDGE)"
	wait_for 120 bridge_reads || fail "the bridge does not read the feed: $(tail -n 3 "$TMP/bridge.log")"
	pid=$(bridge_is MainPID)
	[ "$(ps -o user= -p "$pid")" = penstock ] && grep -q '^CapBnd:	0*$' "/proc/$pid/status" \
		|| fail "the bridge has rights: $(grep -E '^(Uid|Cap)' "/proc/$pid/status")"
	systemctl reload $BRIDGE || fail "the bridge is not reloaded"
	wait_for 60 grep -q '1 stakes from' "$TMP/bridge.log" || fail "the bridge does not read the stakes again"
	kill -KILL "$pid"
	wait_for 120 bridge_reads || fail "killed, the bridge does not come back: $(systemctl status $BRIDGE)"
	[ "$(bridge_is NRestarts)" = 1 ] || fail "the bridge was restarted $(bridge_is NRestarts) times"
	systemctl stop $BRIDGE || fail "the bridge does not stop"
	[ "$(bridge_is Result)" = success ] || fail "stopped, the bridge's result is $(bridge_is Result)"
}

begin
ln -s /run/penstock.log "$TMP/unit.log"
ln -s /run/penstock-bridge@.log "$TMP/bridge.log"
[ "$(cat /proc/1/comm)" = systemd ] || fail "systemd is not process 1"
ip netns add "$NSC" && ip link add cli netns "$NSC" type veth peer name srv || fail "no veth pair"
ip -n "$NSC" addr add $CLIENT_ADDR/24 dev cli
ip -n "$NSC" link set dev cli mtu 1500 up
in_client ethtool -K cli tx off >/dev/null
ip addr add $SERVER_ADDR/24 dev srv
ip link set dev srv mtu 3000 up
install_unit
FEEDS=/dev/shm/penstock
write_conf $CONF
useradd --system penstock || fail "there is no user for the bridge"
sed -i 's/^\[feed\]/&\ngroup = penstock/' $CONF
printf '[bridge]\nfeeds = %s/tpu.*\ntarget = 127.0.0.1:9\nstakes = /etc/penstock/stakes\n' $FEEDS >>$CONF
printf 'staked_map_id:\n  11111111111111111111111111111111: 5\n' >/etc/penstock/stakes
systemctl start penstock || fail "the unit does not start: $(systemctl status penstock)"
is ActiveState active || fail "it is $(systemctl show -P ActiveState penstock)"
[ "$(mtu)" = 1500 ] || fail "init has not prepared the host"
[ -s /var/lib/penstock/$INSTANCE.state ] || fail "there is no state file"
client_wire send $SERVER_ADDR 8001 20
feed_has udp 20
sleep 15
is NRestarts 0 && is ActiveState active || fail "the watchdog bites a unit that serves: $(state)"
check_bridge

systemctl stop penstock || fail "it does not stop"
is Result success || fail "stopped, its result is $(systemctl show -P Result penstock)"
[ "$(mtu)" = 3000 ] || fail "stopped: the host is not as it was"

systemctl start penstock || fail "it does not start again"
before=$(restarts)
kill -KILL "$(pids)"
wait_for 180 restarted "$before" || fail "killed: it is not restarted: $(state)"
[ "$(mtu)" = 1500 ] || fail "killed: init has not run again"

before=$(restarts)
kill -STOP "$(pids)"
wait_for 180 restarted "$before" || fail "hung: it is not restarted: $(state)"

# launch.sh itself: systemd's own watchdog ends it, penstock with it, and gives the host back.
before=$(restarts)
kill -STOP "$(systemctl show -P MainPID penstock)"
wait_for 180 restarted "$before" || fail "launch.sh hung: it is not restarted: $(state)"
[ "$(pids | wc -l)" = 1 ] || fail "an old penstock is left"
client_wire send $SERVER_ADDR 8001 20
feed_has udp 20
systemctl stop penstock || fail "it does not stop at the end"
[ "$(mtu)" = 3000 ] || fail "at the end the host is not as it was"
[ -z "$(ls /var/lib/penstock | grep -v 'lock$')" ] || fail "left in /var/lib/penstock: $(ls /var/lib/penstock)"
pass "under $(/lib/systemd/systemd --version | head -n 1): started, stopped, restarted after a kill and two hangs; the bridge, too"
