#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The same senders into the same validator (solana-streamer, built as it is for validators) by two ways,
# in turn: straight to its port through the kernel, and through Penstock on AF_XDP, feed and bridge.
#   flood    20 senders with stake send under a flood of forged Initials and of clients that come and go,
#            which began two seconds before them, or two seconds after (early): the share of their
#            transactions that arrives, and the processor that it takes
#   latency  4 senders without a flood: from the sender's library to the thread behind solana-streamer
# Prints a table for the documentation, then every run. Exit code 0 when all was measured.

usage="usage: tests/bench/bridge.sh flood|latency [--rounds N] [--seconds N] [--levels LIST] [--receive-mb N]
  --levels  flood: SPOOFED/CHURN a second, comma-separated (0/0,1000/50,5000/200,20000/200,20000/200/early)
            latency: transactions a second, comma-separated (1000,5000)
  --receive-mb  buffer of the validator's socket (128, as operators are told to set it; 0: the kernel's)"
mode=${1:-} rounds=3 seconds=8 levels= receive_mb=128
shift
while [ $# -gt 0 ]; do
	case $1 in
	--rounds | --seconds | --levels | --receive-mb)
		[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
		name=${1#--}
		declare "${name/-/_}=$2"
		shift
		;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
	shift
done
RATE=200 # of all senders of the flood together
case $mode in
flood) n=20 levels=${levels:-0/0,1000/50,5000/200,20000/200,20000/200/early} ;;
latency) n=4 levels=${levels:-1000,5000} ;;
*) echo "$usage" >&2; exit 2 ;;
esac

CARGO_PROFILE=optimized
. "$(dirname "$0")/../bridge/lib.sh"
need_bed
need_ngtcp2
need_agave
need_streamer
begin
chmod 755 "$TMP"
make_bed
make_senders $n
open_ways
keypair "$TMP/key.json"
write_conf "$TMP/penstock.ini"

# cpu_ms PID...: what these took so far
cpu_ms() {
	local pid sum=0
	for pid in "$@"; do
		sum=$((sum + $(awk '{ print 10 * ($14 + $15) }' "/proc/$pid/stat")))
	done
	echo $sum
}

# serve WAY: sets SERVING, the processes in front of the validator
serve() {
	SERVING=()
	rm -rf "$TMP/received" "$TMP/received.times" "$FEEDS" "$TMP/bridge.out"
	VALIDATOR=0.0.0.0:$TPU_PORT
	start_streamer "${STAKED[@]}" --staked "$TMP/key.json" 1000000000000 --receive-mb $receive_mb
	[ "$1" = penstock ] || return
	start_penstock "$TMP/penstock.ini" -o feed.group=nogroup -- --no-pci
	VALIDATOR=127.0.0.1:$TPU_PORT
	start_bridge "keys = $TMP/key.json" "stakes = $TMP/stakes"
	wait_for 10 bridge_connected || fail "the bridge does not connect"
	SERVING=("$BRIDGE_PID" "$PENSTOCK_PID")
}

# flood_of SPOOFED CHURN: in the background, unless there is none
flood_of() {
	echo '{}' >"$TMP/flood.out"
	FLOOD_PID=
	[ "$1" = 0 ] || start_flood $((seconds + 7)) "$1" "$2"
}

# arm WAY LEVEL: one run, a line of JSON in $TMP/arms
arm() {
	local way=$1 level=$2 rate=$RATE skip=0 spoofed churn when front validator began
	IFS=/ read -r spoofed churn when <<<"$level"
	[ "$mode" = flood ] || rate=$level skip=1 spoofed=0
	serve "$way"
	front=$(cpu_ms "${SERVING[@]}") validator=$(cpu_ms "$STREAMER_PID") began=$(date +%s%N)
	if [ "$when" = early ]; then
		start_steady "$rate" $((rate * seconds)) --linger 5
		sleep 2
		flood_of "$spoofed" "$churn"
	else
		flood_of "$spoofed" "$churn"
		sleep 2
		start_steady "$rate" $((rate * seconds)) --linger 5
	fi
	wait "$STEADY_PID" || fail "the senders: $(tail -n 1 "$TMP/steady.log")"
	front=$(($(cpu_ms "${SERVING[@]}") - front)) validator=$(($(cpu_ms "$STREAMER_PID") - validator))
	began=$((($(date +%s%N) - began) / 1000000))
	[ -z "$FLOOD_PID" ] || wait "$FLOOD_PID" || fail "the flood: $(tail -n 1 "$TMP/flood.log")"
	stop "${SERVING[@]}" "$STREAMER_PID"
	arrivals $skip
	python3 - "$way" "$level" $front $validator $began "$TMP/arrivals.out" "$TMP/flood.out" \
		>>"$TMP/arms" <<-'PY' || fail "no figures of $way at $level"
		import json, sys
		way, level, front, validator, ms = sys.argv[1:3] + [int(a) for a in sys.argv[3:6]]
		told = [json.load(open(f)) for f in sys.argv[6:8]]
		print(json.dumps(dict(way=way, level=level, front_cpu=front / ms, validator_cpu=validator / ms,
		    load=open("/proc/loadavg").read().split()[0], **told[0], **told[1])))
	PY
	tail -n 1 "$TMP/arms" >&2
}

for ((i = 0; i < rounds; i++)); do
	for level in ${levels//,/ }; do
		for way in straight penstock; do
			arm $way "$level"
		done
	done
done
python3 - "$TMP/arms" "$mode" "$levels" "$rounds" <<'PY'
import json, statistics, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
mode, levels, rounds = sys.argv[2], sys.argv[3].split(","), sys.argv[4]
loads = sorted(float(r["load"]) for r in runs)
print(f"Medians of {rounds} interleaved rounds; load average {loads[0]:.1f} to {loads[-1]:.1f}.\n")
def cells(level, way):
    of = lambda f: statistics.median(f(r) for r in runs if (r["level"], r["way"]) == (level, way))
    name = "straight to solana-streamer" if way == "straight" else "Penstock, bridge, solana-streamer"
    cpu = f"{100 * of(lambda r: r['validator_cpu']):.0f} % | {100 * of(lambda r: r['front_cpu']):.0f} % |"
    if mode == "latency":
        return f"| {int(level):,} | {name} | " + " | ".join(f"{of(lambda r: r[p]) / 1000:.2f}" for p in ("p50_us", "p90_us", "p99_us")) \
            + f" | {100 * of(lambda r: r['arrived'] / r['sent']):.2f} % | {cpu}"
    spoofed, churn, *early = level.split("/")
    flood = "none" if spoofed == "0" else f"{int(spoofed):,} forged, {int(churn):,} coming and going" + (", senders were there before" if early else "")
    return f"| {flood} | {name} | {100 * of(lambda r: r['in_time'] / r['sent']):.1f} % | {100 * of(lambda r: r['arrived'] / r['sent']):.1f} %" \
        f" | {of(lambda r: r['senders_whole']):.0f} | {of(lambda r: r['p50_us'] or 0) / 1000:.1f} ms | {cpu}"
if mode == "latency":
    print("| a second | way | p50 ms | p90 | p99 | arrived | processor: validator | Penstock and bridge |\n|---|---|---|---|---|---|---|---|")
else:
    print("| flood, a second | way | within 2 s | at all | senders of 20 with all | half of them in | processor: validator | Penstock and bridge |\n|---|---|---|---|---|---|---|---|")
for level in levels:
    for way in "straight", "penstock":
        print(cells(level, way))
print()
for r in runs:
    print(json.dumps(r))
PY
pass "$mode: two ways, $rounds times"
