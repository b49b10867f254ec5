#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The consumer library as it is installed: the example of the README is compiled with what its
# pkg-config file says, and reads a feed of the real program.

. "$(dirname "$0")/lib.sh"
need_bed
for tool in meson pkg-config; do
	command -v $tool >/dev/null || skip "needs $tool; apt-get install meson pkg-config"
done
make_bed
meson install -C "$BUILD" --no-rebuild --destdir "$TMP/root" >"$TMP/install.log" 2>&1 || fail "meson install fails"
pc=$(find "$TMP/root" -name penstock_feed.pc)
[ -f "$pc" ] || fail "no pkg-config file is installed"
export PKG_CONFIG_LIBDIR=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$TMP/root
libdir=${pc%/pkgconfig/*}

# The example is the indented block of its section; what it leaves to its reader is take().
sed -n '/^## Reading the feed/,/^## The/s/^    //p' "$ROOT/README.md" |
	sed "s,/dev/shm/penstock/tpu.0,$FEEDS/udp.0," >"$TMP/example.h"
grep -qF "$FEEDS/udp.0" "$TMP/example.h" || fail "the README has no example that attaches to a feed"
cat >"$TMP/consumer.c" <<'C'
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include <penstock_feed.h>

static void
take(const uint8_t *payload, uint32_t bytes)
{
	static int taken;

	if (bytes > 0)
		printf("%.*s\n", (int)bytes, (const char *)payload);
	if (++taken == 20)
		exit(0);
}

int
main(void)
{
#include "example.h"
}
C
# shellcheck disable=SC2046
${CC:-gcc} -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags penstock_feed) -o "$TMP/consumer" \
	"$TMP/consumer.c" $(pkg-config --libs penstock_feed) >"$TMP/cc.log" 2>&1 ||
	fail "the README's example does not compile"

write_conf "$TMP/penstock.ini"
start_penstock "$TMP/penstock.ini" -- --no-pci
client_wire send $SERVER_ADDR 8001 20
LD_LIBRARY_PATH=$libdir timeout 20 "$TMP/consumer" >"$TMP/consumer.out" 2>"$TMP/consumer.log" ||
	fail "the consumer ended with code $? after $(wc -l <"$TMP/consumer.out") records"
[ "$(grep -c . "$TMP/consumer.out")" -eq 20 ] && [ "$(sort -u "$TMP/consumer.out" | wc -l)" -eq 20 ] ||
	fail "the consumer did not print 20 different datagrams: $(head -n 3 "$TMP/consumer.out")"
LD_LIBRARY_PATH=$libdir ldd "$TMP/consumer" | grep -q "$libdir/libpenstock_feed" ||
	fail "the consumer runs with another library than the installed one"
pass "installed, found by pkg-config, the README's example reads 20 datagrams"
