#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# An interface without hardware is not busy polled: the driver's socket on veth asks the kernel for
# nothing, and the worker's empty rounds make no system call. What is asked for is read from the
# running program's socket.

. "$(dirname "$0")/lib.sh"
need_bed
make_bed
write_conf "$TMP/penstock.ini"

# Of every AF_XDP socket of the program: SO_PREFER_BUSY_POLL (69).
preferences() {
	python3 - "$PENSTOCK_PID" <<'PY'
import ctypes, os, socket, sys
PIDFD_GETFD, SO_DOMAIN, SO_PREFER_BUSY_POLL, AF_XDP = 438, 39, 69, 44
pid = int(sys.argv[1])
pidfd = os.pidfd_open(pid)
for fd in os.listdir(f"/proc/{pid}/fd"):
    if not os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
        continue
    mine = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, int(fd), 0)
    if mine < 0:
        sys.exit("pidfd_getfd fails")
    with socket.socket(AF_XDP, socket.SOCK_RAW, 0, mine) as s:
        if s.getsockopt(socket.SOL_SOCKET, SO_DOMAIN) == AF_XDP:
            print(s.getsockopt(socket.SOL_SOCKET, SO_PREFER_BUSY_POLL))
PY
}

start_penstock "$TMP/penstock.ini" -- --no-pci
got=$(preferences) || skip "the program's sockets cannot be looked at here"
[ "$got" = 0 ] || fail "SO_PREFER_BUSY_POLL of the sockets is '$got', expected 0"
# Nothing sleeps for want of it: what comes now is there at once, each of them.
for i in 1 2 3 4 5; do
	client_wire send $SERVER_ADDR 8001 1
	wait_for 2 eval '[ "$(top_value udp_datagrams)" -eq '$i' ]' || fail "datagram $i does not arrive"
done
pass "no busy polling on veth, five datagrams one by one"
