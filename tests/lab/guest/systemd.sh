# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# In the machine, where systemd is process 1: the unit as it is installed, on AF_XDP over a veth pair
# whose other end is the client's.

. "$(dirname "$0")/lib.sh"
CONF=/etc/penstock/penstock.ini

mtu() { cat /sys/class/net/srv/mtu; }
is() { [ "$(systemctl show -P "$1" penstock)" = "$2" ]; }
restarts() { systemctl show -P NRestarts penstock; }
restarted() { [ "$(restarts)" -gt "$1" ] && is ActiveState active; }
state() { systemctl show -p NRestarts,ActiveState,SubState,Result penstock | tr '\n' ' '; }
pid_of() { pgrep -x penstock | head -n 1; }

install_unit() {
	cp "$PENSTOCK" /usr/local/bin/penstock
	mkdir -p /usr/local/lib/penstock /etc/penstock
	cp "$ROOT/deploy/launch.sh" /usr/local/lib/penstock/
	cp "$ROOT/deploy/systemd/penstock.service" /run/systemd/system/
	# Nothing of the host's own start is here to come after, and an emulated start takes its time.
	mkdir /run/systemd/system/penstock.service.d
	cat >/run/systemd/system/penstock.service.d/lab.conf <<-UNIT
		[Unit]
		DefaultDependencies=no
		[Service]
		TimeoutStartSec=300
		StandardOutput=append:/run/penstock.log
		StandardError=append:/run/penstock.log
	UNIT
	systemctl daemon-reload || fail "systemd does not reload"
}

begin
ln -s /run/penstock.log "$TMP/unit.log"
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
systemctl start penstock || fail "the unit does not start: $(systemctl status penstock)"
is ActiveState active || fail "it is $(systemctl show -P ActiveState penstock)"
[ "$(mtu)" = 1500 ] || fail "init has not prepared the host"
[ -s /var/lib/penstock/$INSTANCE.state ] || fail "there is no state file"
client_wire send $SERVER_ADDR 8001 20
feed_has udp 20
sleep 15
is NRestarts 0 && is ActiveState active || fail "the watchdog bites a unit that serves: $(state)"

systemctl stop penstock || fail "it does not stop"
is Result success || fail "stopped, its result is $(systemctl show -P Result penstock)"
[ "$(mtu)" = 3000 ] || fail "stopped: the host is not as it was"

systemctl start penstock || fail "it does not start again"
before=$(restarts)
kill -KILL "$(pid_of)"
wait_for 180 restarted "$before" || fail "killed: it is not restarted: $(state)"
[ "$(mtu)" = 1500 ] || fail "killed: init has not run again"

before=$(restarts)
kill -STOP "$(pid_of)"
wait_for 180 restarted "$before" || fail "hung: it is not restarted: $(state)"

# launch.sh itself: systemd's own watchdog ends it, penstock with it, and gives the host back.
before=$(restarts)
kill -STOP "$(systemctl show -P MainPID penstock)"
wait_for 180 restarted "$before" || fail "launch.sh hung: it is not restarted: $(state)"
[ "$(pgrep -cx penstock)" = 1 ] || fail "an old penstock is left"
client_wire send $SERVER_ADDR 8001 20
feed_has udp 20
systemctl stop penstock || fail "it does not stop at the end"
[ "$(mtu)" = 3000 ] || fail "at the end the host is not as it was"
[ -z "$(ls /var/lib/penstock | grep -v 'lock$')" ] || fail "left in /var/lib/penstock: $(ls /var/lib/penstock)"
pass "under $(/lib/systemd/systemd --version | head -n 1): started, stopped, restarted after a kill and two hangs"
