#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# AF_XDP over a TAP of two queues with two workers: each gets exactly what came in on its queue, the
# sockets' statistics are told by queue, and nothing is lost while the program is taken off and put
# back in the middle of traffic.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ports.sh"
need_bed
[ -c /dev/net/tun ] || skip "needs /dev/net/tun"
[ "$(nproc)" -ge 2 ] || skip "needs two processors"
make_bed

tap_address=10.78.0.2
mkfifo "$TMP/orders"
tap() { exec ip netns exec "$NSS" python3 "$NETNS_DIR/tapgen.py" mq 2 10.78.0.1 $tap_address <"$TMP/orders"; }
spawn tap tap
exec 9>"$TMP/orders"
wait_for 5 grep -q ready "$TMP/tap.out" || skip "a TAP with two queues cannot be made here"
ip -n "$NSS" addr add $tap_address/24 dev mq
ip -n "$NSS" link set mq up

# order QUEUE PORT COUNT GAP_US, and wait until it is done
orders=0
order() {
	echo "send $*" >&9
	orders=$((orders + 1))
	[ "${WAIT:-1}" -eq 0 ] || wait_for 60 done_orders $orders || fail "the sender does not end"
}
done_orders() { [ "$(grep -c done "$TMP/tap.out")" -ge "$1" ]; }

cat >"$TMP/penstock.ini" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
idle = sleep
watch_ms = 500
[port mq]
device = mq
queues = 2
[feed]
dir = $FEEDS
size_mb = 4
[service udp]
kind = udp
address = any
port = 8001
CONF
mq_program() { ip -n "$NSS" -d link show mq | grep -q 'name penstock_steer'; }
both_serve() {
	alive "$PENSTOCK_PID" || fail "penstock ended at start"
	mq_program && top_value redirected >/dev/null
}

# Which queue a packet takes is the interface's to choose: a service of one worker is refused.
refused 1 "service\|udp" "set workers = all" -- -o service.udp.workers=1 -l 0,1 -- --no-pci
refused 1 "queues" -- -o port.mq.queues=3 -l 0,1 -- --no-pci
spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/penstock.ini" -l 0,1 -- --no-pci
PENSTOCK_PID=$PID
wait_for 15 both_serve || fail "penstock does not start"
[ "$(info port0_queues)" -eq 2 ] && [ "$(info port0_path)" = af_xdp ] || fail "not two queues of AF_XDP"

order 0 8001 2000 300
order 1 8001 3000 300
# records WORKER: how many are in its feed
records() { timeout 3 "$PENSTOCK" feed "$FEEDS/udp.$1" --json --count 100000 2>/dev/null | wc -l; }
queue() { "$PENSTOCK" top --once --json --name "$INSTANCE" | python3 -c 'import json, sys; print(json.load(sys.stdin)["queues"][int(sys.argv[1])][sys.argv[2]])' "$1" "$2"; }
wait_for 5 eval '[ "$(queue 1 rx_packets)" -ge 3000 ]'
[ "$(queue 0 rx_packets)" -ge 2000 ] && [ "$(queue 1 rx_packets)" -ge 3000 ] || fail "queues got $(queue 0 rx_packets) and $(queue 1 rx_packets)"
for q in 0 1; do
	for key in xsk_dropped xsk_ring_full xsk_fill_empty xsk_invalid; do
		[ "$(queue $q $key)" -eq 0 ] || fail "queue $q: $key is $(queue $q $key)"
	done
done
got0=$(records 0) got1=$(records 1)
[ "$got0" -eq 2000 ] && [ "$got1" -eq 3000 ] || fail "the feeds have $got0 and $got1 records, sent were 2000 and 3000"
[ "$(flows missteered)" -eq 0 ] || fail "$(flows missteered) packets were mis-steered"
[ "$(flows right)" -eq 5000 ] || fail "$(flows right) packets were steered, expected 5000"

# In the middle of traffic: what is not redirected meanwhile, the kernel gets, and has no socket for.
no_ports() { in_server awk '/^Udp: [0-9]/ { print $3 }' /proc/net/snmp; }
before=$(no_ports)
WAIT=0 order all 8001 2000 700
sleep 1
in_server ip link set mq xdp off
wait_for 2 mq_program || fail "the program is not put back"
wait_for 60 done_orders $orders || fail "the sender does not end"
sleep 0.5
got=$(($(records 0) + $(records 1))) passed=$(($(no_ports) - before))
[ $((got + passed)) -eq 2000 ] || fail "$got records and $passed datagrams in the kernel, 2000 were sent"
[ "$got" -ge 1000 ] || fail "only $got of 2000 were received around the loss"
[ "$(flows states)" = proven ] || fail "flows are $(flows states)"
stop_penstock

# More feeds than one answer of telemetry has room for: nothing is cut without a word.
for n in $(seq 21); do
	printf '[service more%s]\nkind = udp\naddress = any\nport = %s\n' "$n" $((8100 + n))
done >>"$TMP/penstock.ini"
sed -i 's/^size_mb = .*/size_mb = 1/' "$TMP/penstock.ini"
rm -rf "$FEEDS"
spawn penstock in_server_exec "$PENSTOCK" run -c "$TMP/penstock.ini" -l 0,1 -- --no-pci
PENSTOCK_PID=$PID
wait_for 15 both_serve || fail "penstock does not start with 22 services"
python3 - "$INSTANCE" "$PENSTOCK" <<'PY' || fail "telemetry does not tell of all feeds, or does not say so"
import json, socket, subprocess, sys
name, penstock = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(f"/var/run/dpdk/penstock-{name}/dpdk_telemetry.v2")
s.recv(65536)
def ask(what):
    s.send(what.encode())
    return json.loads(s.recv(1 << 20))[what.split(",")[0]]
every = set(ask("/penstock/feeds,0")) | set(ask("/penstock/feeds,1"))
top = json.loads(subprocess.check_output([penstock, "top", "--once", "--json", "--name", name]))
assert len(every) == 2 * 22 * 6 and set(top["feeds"]) == every, (len(every), len(top["feeds"]))
assert ask("/penstock/feeds") is None
PY
grep -q "ask by worker" "$TMP/penstock.log" || fail "the log does not say to ask by worker"
stop_penstock
pass "two queues, two workers: 5000 exact; around the loss of the program $got were received and $passed passed"
