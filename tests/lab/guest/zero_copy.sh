# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# penstock on AF_XDP of a real driver, in the mode that $MODE demands (zero-copy or copy): first a
# socket of our own that insists on zero-copy, then the mode of penstock's socket as the kernel
# says it, then single round trips, then QUIC. $SERVER and $CLIENT name the interfaces.

. "$(dirname "$0")/lib.sh"
COUNT=${COUNT:-500}

load_drivers
begin
client_on "${!CLIENT}"
server_on "${!SERVER}"
driver=$(in_server ethtool -i srv | sed -n 's/^driver: //p')
[ "$driver" = virtio_net ] || in_server ethtool -L srv combined 1 || fail "$driver keeps its queues"
wait_for 30 client_wire echo $SERVER_ADDR || fail "no wire between cli and srv"

write_conf "$TMP/penstock.ini"
bound=$(in_server python3 "$GUEST_DIR/xsk.py" bind srv 0)
if [ "$MODE" = zero-copy ]; then
	[ "$bound" = zero-copy ] || fail "$driver: zero-copy was demanded: $bound"
	demand=require
else
	[ "$bound" = "Operation not supported" ] || fail "$driver: zero-copy was not refused: $bound"
	in_server timeout 60 "$PENSTOCK" run -c "$TMP/penstock.ini" -o port.net.zero_copy=require 2>"$TMP/require.log"
	[ $? -eq 1 ] && grep -q 'only copies' "$TMP/require.log" || fail "zero_copy = require is not refused"
	demand=prefer
fi
wait_for 30 client_wire echo $SERVER_ADDR || fail "no wire between cli and srv after the bind"

serve "$TMP/penstock.ini" -o port.net.zero_copy=$demand
[ "$(mode)" = "af_xdp driver $MODE" ] || fail "$driver: penstock says its mode is $(mode)"
sockets=$(python3 "$GUEST_DIR/xsk.py" owned "$PENSTOCK_PID")
[ "${sockets%% *}" = "$MODE" ] || fail "$driver: the kernel says penstock's socket is \"$sockets\""
wait_for 30 client_wire echo $SERVER_ADDR || fail "other traffic does not reach the kernel"

# Every answer must leave by itself, without a next packet that would push it out. A starved machine
# loses some.
read -r answered median_ms worst_ms < <(in_client python3 "$GUEST_DIR/rtt.py" $SERVER_ADDR $TPU_PORT 20)
[ "$answered" -ge 15 ] || fail "$driver: $answered of 20 single datagrams were answered"

start_check "$COUNT" --seed 1
begin_ns=$(date +%s%N)
client_sends_all "$NGTCP2" --count "$COUNT" --seed 1
end_check
took_ms=$((($(date +%s%N) - begin_ns) / 1000000))
stop "$PENSTOCK_PID"
has_no_program || fail "$driver: the XDP program is still there"
wait_for 30 client_wire echo $SERVER_ADDR || fail "no traffic with the kernel after the end"
pass "$driver: $COUNT transactions over af_xdp $MODE in $took_ms ms, byte for byte; $answered of 20 round trips, $median_ms and at most $worst_ms ms ($sockets)"
