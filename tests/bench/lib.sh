# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# For the benches that run the real program: one service, reached by kernel sockets, AF_XDP that
# copies, or a PMD (memif, whose packets come from shared memory). penstock load sends from the other
# processor. Sourced.

. "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

SINK=$BUILD/tests/bench/feed_sink
SERVER=$PENSTOCK # the program that is measured; the load is always $PENSTOCK
RSIZE=10         # of memif, as a power of two
MEMIF=net_memif0

bench_bed() {
	need_bed
	[ -x "$SINK" ] || skip "$SINK is not built; ninja -C $BUILD"
	[ "$(nproc)" -ge 2 ] || skip "needs two processors: one for the worker, one for the load"
	make_bed
	# or what kernel sockets send has half-made checksums
	in_server ethtool -K srv tx off >/dev/null || skip "ethtool -K srv tx off fails here"
	write_conf "$TMP/penstock.ini"
	client_wire echo $SERVER_ADDR || fail "no answer to an ICMP echo"
}

# ticks FIELD: of the program's threads, 14 user and 15 system, in 10 ms
ticks() { awk -v f="$1" '{ s += $f } END { print s + 0 }' /proc/"$PENSTOCK_PID"/task/*/stat; }
softirq() { awk '$1 == "cpu" { print $8 }' /proc/stat; }
is_up() { alive "$PENSTOCK_PID" && "$PENSTOCK" top --once --json --name "$INSTANCE" >/dev/null 2>&1; }
# idle_rounds: of the worker so far
idle_rounds() { echo $(($(top_value loops) - $(top_value busy_loops))); }

memif() { echo "--vdev=$MEMIF,role=$1,id=0,socket=$TMP/memif.sock,socket-abstract=no,rsize=$RSIZE"; }

# serve WAY [OPTIONS]: starts the program and who reads its feeds. MINE: what the load has to say.
serve() {
	local way=$1 run=()
	shift
	case $way in
	socket) run=(-o port.net.path=socket -- --no-pci) MINE=(--port cli -- --no-pci) ;;
	af_xdp) run=(-o port.net.path=af_xdp -o port.net.zero_copy=off -- --no-pci) MINE=(--port cli -- --no-pci) ;;
	memif)
		run=(--port $MEMIF -- --no-pci "$(memif server)")
		MINE=(--port $MEMIF --mac 02:00:00:00:00:01 -- --no-pci "$(memif client)")
		;;
	esac
	rm -rf "$FEEDS"
	spawn penstock in_server_exec "$SERVER" run -c "$TMP/penstock.ini" -l 1 -o feed.size_mb=64 \
		-o quic.source_per_min=0 "$@" "${run[@]}"
	PENSTOCK_PID=$PID
	wait_for 15 is_up || fail "penstock does not start for $way"
	SINKS=()
	local service
	for service in tpu udp; do
		spawn "sink_$service" "$SINK" "$FEEDS/$service.0"
		SINKS+=("$PID")
	done
}

serve_no_more() { stop "${SINKS[@]}" "$PENSTOCK_PID"; }

# load ARGS...: after serve, for at most $seconds; the summary is in $TMP/load.out
load() {
	in_client timeout $((seconds + 60)) "$PENSTOCK" load --from $CLIENT_ADDR:4433 --json -l 0 \
		-o penstock.name=load-$INSTANCE -o penstock.memory=no-huge "$@" "${MINE[@]}" >"$TMP/load.out" 2>"$TMP/load.log" \
		|| fail "penstock load: $(tail -n 1 "$TMP/load.log")"
}
