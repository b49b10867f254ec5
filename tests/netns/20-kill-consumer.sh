#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# kill -9 of the consumer in the middle of traffic, over and over: the next one goes on behind what
# was released, sees nothing twice that was, and misses nothing. The ring is small enough to fill up
# while there is no consumer: the client then waits and loses nothing either.

. "$(dirname "$0")/lib.sh"
. "$NETNS_DIR/kill.sh"
KILLS=12

need_kill
make_bed
seed_random
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -o feed.size_mb=1 -- --no-pci
start_consumer
start_client
wait_for 10 acknowledged 0 || fail "nothing is acknowledged"
for _ in $(seq $KILLS); do
	random_nap 200 900
	kill_now "$CONSUMER_PID"
	random_nap 0 900
	start_consumer
	still_flows
done
stop "$CLIENT_PID"
judge
pass "$VERDICT, $KILLS killed"
