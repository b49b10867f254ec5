#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# What penstock mem says is what penstock run takes: the files of the feeds, the blocks of the
# endpoints, and the packet buffers.

. "$(dirname "$0")/host.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini"
"$PENSTOCK" mem -c "$TMP/penstock.ini" --json >"$TMP/mem.json" || fail "mem"
"$PENSTOCK" mem -c "$TMP/penstock.ini" | grep -q '^node 0: .* 1 GiB or .* of 2 MiB' \
	|| fail "the table has no sum"

python3 - "$TMP/mem.json" "$PENSTOCK_PID" "$FEEDS" "/var/run/dpdk/penstock-$INSTANCE" <<'PY' || fail "mem differs from what is allocated"
import json, os, re, socket, sys

mem = json.load(open(sys.argv[1]))
pid, feeds, run = sys.argv[2:]
items = {i["what"]: i["bytes"] for i in mem["items"]}

# Feeds: the ring and the cursor.
for name in "udp.0", "anyaddr.0", "tpu.0":
    have = sum(os.stat(f"{feeds}/{name}{suffix}").st_size for suffix in ("", ".consumer"))
    page = os.sysconf("SC_PAGESIZE")
    have = (have + page - 1) // page * page
    assert have == items[f"feed {name}"], (name, have, items[f"feed {name}"])

# Endpoints: one anonymous mapping; the kernel may have joined it with its neighbours.
sizes, last, total = [], None, 0
for line in open(f"/proc/{pid}/maps"):
    m = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *$", line)
    if m:
        sizes.append(int(m[2], 16) - int(m[1], 16))
need = items["connections tpu.0"]
assert any(need <= s < need + (1 << 20) for s in sizes), (need, sorted(sizes)[-4:])

# Packet buffers: what the port's mempool has, from EAL's own telemetry.
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(f"{run}/dpdk_telemetry.v2")
s.recv(1024)
s.send(b"/mempool/info,ps_port0")
pool = json.loads(s.recv(16384))["/mempool/info"]
huge = sum(n["huge_bytes"] for n in mem["nodes"])
assert huge == 0 and items["memory_mb"] == 128 << 20
taken = pool["size"] * (pool["elt_size"] + pool["header_size"] + pool["trailer_size"])
print("pool", pool, "bytes", taken)
open(os.path.dirname(sys.argv[1]) + "/pool", "w").write(str(taken))
PY
stop "$PENSTOCK_PID"
rows "$TMP/mem.json" 'row("hugepages", "")["state"] == "skip"' || fail "mem has no rows"

# The same port in huge pages: the item for its packet buffers.
sed 's/^memory = .*/memory = huge/' "$TMP/penstock.ini" >"$TMP/huge.ini"
buffers=$("$PENSTOCK" mem -c "$TMP/huge.ini" --json | python3 -c '
import json, sys
print([i["bytes"] for i in json.load(sys.stdin)["items"] if i["what"] == "packet buffers net"][0])')
pool=$(cat "$TMP/pool")
[ "$buffers" -eq "$pool" ] || fail "packet buffers: mem says $buffers, the pool has $pool"
pass "feeds, endpoints and packet buffers are as mem says"
