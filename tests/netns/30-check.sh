#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# penstock check says what is wrong and how to mend it, and changes nothing.

. "$(dirname "$0")/host.sh"
host_begin
snapshot >"$TMP/before.txt"

host check -c "$CONF" >"$TMP/check.txt"
[ $? -eq 1 ] || fail "check does not say 1 with an MTU of 9000"
grep -q '^not *mtu *srv' "$TMP/check.txt" || fail "the MTU has no row"
grep -q 'ip link set dev srv mtu 1500' "$TMP/check.txt" || fail "the MTU has no command"
grep -q 'ethtool -K srv rx-udp-gro-forwarding off' "$TMP/check.txt" || fail "GRO has no command"
grep -q '^ok *channels *mq combined *2' "$TMP/check.txt" || fail "the TAP's two queues have no row"
same_as "$TMP/before.txt" "check changed something"
no_state || fail "check left a state file"

# The same as JSON.
host check -c "$CONF" --json >"$TMP/check.json"
rows "$TMP/check.json" 'not d["ok"] and row("mtu", "srv")["init"] and row("mtu", "srv")["state"] == "not"' \
	|| fail "the JSON is not as it should be"

# What EAL makes is not looked for, and the interface of a PCI device counts by its path.
cat >"$TMP/eal.ini" <<CONF
[penstock]
name = $INSTANCE
memory = no-huge
[port one]
device = net_memif0
[port two]
device = 0000:7f:1f.7
path = af_xdp
[service udp]
kind = udp
address = any
port = 8001
CONF
host check -c "$TMP/eal.ini" >"$TMP/eal.txt"
grep -q '^skip *driver *net_memif0 *EAL makes it' "$TMP/eal.txt" || fail "an EAL device is taken for an interface"
! grep 'net_memif0' "$TMP/eal.txt" | grep -q '^not' || fail "an EAL device makes check unhappy"
grep -q '^not *driver *0000:7f:1f.7 *there is no such PCI device' "$TMP/eal.txt" || fail "a PCI device is missed by nobody"
grep -q '^skip *vfio .*no port needs vfio-pci' "$TMP/eal.txt" || fail "path = af_xdp asks for vfio-pci"

# Kernel sockets need no privileges, AF_XDP does.
chmod 755 "$TMP"
install -m 755 "$PENSTOCK" "$TMP/penstock"
unprivileged() { in_server setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all "$TMP/penstock" check -c "$1"; }
write_conf "$TMP/af_xdp.ini"
sed 's/^device = srv/&\npath = socket/' "$TMP/af_xdp.ini" >"$TMP/socket.ini"
chmod 644 "$TMP/af_xdp.ini" "$TMP/socket.ini"
unprivileged "$TMP/af_xdp.ini" | grep -q '^not *privileges *CAP_NET_RAW' || fail "AF_XDP without privileges is taken for ready"
unprivileged "$TMP/socket.ini" >"$TMP/socket.txt"
grep -q '^skip *privileges' "$TMP/socket.txt" && grep -q '^skip *memlock' "$TMP/socket.txt" || fail "kernel sockets are said to need privileges"
# Nor are the interface's queues theirs: nothing of it is to be changed.
for step in offloads channels rings rss xdp; do
	grep -q "^skip *$step *srv *kernel sockets" "$TMP/socket.txt" || fail "kernel sockets: no row $step that is skipped"
done

# Of a physical function that is not there, only that is said.
sed '/^device = net_memif0/a pf = nosuch0' "$TMP/eal.ini" >"$TMP/pf.ini"
host check -c "$TMP/pf.ini" >"$TMP/pf.txt"
grep -q '^not *driver *nosuch0 *there is no such interface' "$TMP/pf.txt" || fail "a missing PF is not named"
grep -q '^not *vf ' "$TMP/pf.txt" && fail "SR-IOV is asked of a PF that is not there"

# Its own advice makes it content.
sed -n 's/^ *\* \(ip link\|ethtool\)/\1/p' "$TMP/check.txt" >"$TMP/advice.sh"
in_server sh -e "$TMP/advice.sh" >/dev/null || fail "the advice cannot be followed"
host check -c "$CONF" >"$TMP/check.txt" || fail "not ready after its own advice was followed"
tail -n 1 "$TMP/check.txt" | grep -q '^ready' || fail "ready is not said"

# Who else is on a service's port is named, and netfilter's rules are listed.
spawn bound in_server_exec python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 8009))
print("bound", flush=True)
time.sleep(60)'
wait_for 5 grep -q bound "$TMP/bound.out"
host check -c "$CONF" | grep -q "8009 is also bound by python3 (pid $PID)" \
	|| fail "the socket's owner is not named"
if in_server python3 "$NETNS_DIR/nft_drop.py" 2>"$TMP/nft.log"; then
	host check -c "$CONF" >"$TMP/nft.txt"
	grep -q '^partial *netfilter *inet penstocktest in .*1 rules and policy drop at input' \
		"$TMP/nft.txt" || { cp "$TMP/nft.txt" "$TMP/nft.log"; fail "the nft chain is not listed"; }
else
	echo "note: nftables cannot be written here"
fi

# A validator's threads on a worker's processor.
if command -v taskset >/dev/null; then
	cp "$(command -v sleep)" "$TMP/agave-validator"
	spawn validator taskset -c 1 "$TMP/agave-validator" 60
	VALIDATOR=$PID
	sed 's/^idle = .*/idle = poll/; s/^lcores = .*/lcores = 1/; s/^queues = .*//' "$CONF" >"$TMP/pinned.ini"
	wait_for 5 pgrep -x agave-validator >/dev/null
	host check -c "$TMP/pinned.ini" | grep -q "^not *validator *agave-validator $VALIDATOR *1 of its threads" \
		|| fail "the pinned thread is not named"
	sed -i 's/^lcores = .*/lcores = 0/' "$TMP/pinned.ini"
	host check -c "$TMP/pinned.ini" | grep -q "^ok *validator *agave-validator $VALIDATOR" \
		|| fail "a thread pinned elsewhere is blamed"
fi

# What a validator announces.
info() { printf '{"id":"x","gossip":"%s:8000","tpu":"%s:%s"}' $SERVER_ADDR $SERVER_ADDR "$1"; }
info 8003 | host check -c "$CONF" --contact-info - | grep -q '^ok *contact *tpu' \
	|| fail "the announced port is not recognised"
info 8004 | host check -c "$CONF" --contact-info - >"$TMP/contact.txt" && fail "a wrong port passes"
grep -q "^not *contact *tpu .*$SERVER_ADDR:8010" "$TMP/contact.txt" || fail "the wrong port is not said"
echo nonsense | host check -c "$CONF" --contact-info - >/dev/null && fail "nonsense passes"

# Usage.
for args in "" "-c" "-x" "-c $CONF more"; do
	host check $args >/dev/null 2>&1
	[ $? -eq 2 ] || fail "check $args does not exit with 2"
done
host check -c "$TMP/nowhere.ini" >/dev/null 2>&1
[ $? -eq 1 ] || fail "a missing file does not exit with 1"
pass "rows, commands, JSON, sockets, rules, contact info"
