#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Mistakes of usage and configuration: one line on stderr with the cause, exit code 2 for usage and
# 1 otherwise, and nothing half set up.

. "$(dirname "$0")/lib.sh"
need_bed
make_bed
write_conf "$TMP/good.ini"
bad=0

# mistake NAME CODE WORD ARGS...: penstock ARGS ends with the code; its one line has the word.
mistake() {
	local name=$1 code=$2 word=$3 got lines
	shift 3
	timeout 20 ip netns exec "$NSS" "$PENSTOCK" "$@" >"$TMP/out" 2>"$TMP/err"
	got=$?
	lines=$(wc -l <"$TMP/err")
	if [ $got -ne "$code" ] || [ "$lines" -ne 1 ] || ! grep -qi -- "$word" "$TMP/err"; then
		echo "$name: exit code $got (expected $code), $lines lines, expected \"$word\" in:"
		sed 's/^/  /' "$TMP/err" | head -n 5
		bad=$((bad + 1))
	fi
	if ! has_no_program; then
		echo "$name: left an XDP program behind"
		bad=$((bad + 1))
	fi
	if [ -e "$FEEDS" ]; then
		echo "$name: left feeds behind"
		bad=$((bad + 1))
		rm -rf "$FEEDS"
	fi
}
# full ARGS...: what cannot be written is a failure, and says so.
full() {
	if timeout 60 "$PENSTOCK" "$@" >/dev/full 2>"$TMP/err" || [ "$(wc -l <"$TMP/err")" -ne 1 ] ||
		! grep -q "standard output" "$TMP/err"; then
		echo "penstock $* >/dev/full: not one line about standard output, or exit code 0:"
		sed 's/^/  /' "$TMP/err" | head -n 5
		bad=$((bad + 1))
	fi
}
# config NAME CODE WORD: run with the configuration on standard input.
config() {
	cat >"$TMP/$1.ini"
	mistake "$1" "$2" "$3" run -c "$TMP/$1.ini" -- --no-pci
}
# override NAME CODE WORD -o VALUE...: run with the good configuration changed.
override() {
	local name=$1 code=$2 word=$3
	shift 3
	mistake "$name" "$code" "$word" run -c "$TMP/good.ini" "$@" -- --no-pci
}

mistake "unknown command" 2 frobnicate frobnicate
mistake "unknown option" 2 frobnicate run -c "$TMP/good.ini" --frobnicate
mistake "option without a value" 2 -c run -c
mistake "help for what is not there" 2 nosuch help nosuch
mistake "a word after help config" 2 extra help config extra
mistake "a word after version" 2 extra version extra
mistake "bench option out of range" 2 "--reps 0: .* 1 to 1000" bench ingest --reps 0
mistake "bench of what there is not" 2 "ingest, feed" bench nosuch
mistake "packed that does not fit" 1 "--size 176" bench packed --size 300 --reps 1
mistake "load without a port" 2 "--port, --from" load --to 10.77.0.1:8009
mistake "load to no address" 2 "ADDRESS:PORT" load --port srv --from 10.77.0.2 --to 10.77.0.1:8009
mistake "load with odd sizes" 2 "134-1232" load --port srv --from 10.77.0.2:4433 --to 10.77.0.1:8009 --size 10-50
mistake "load to an unknown neighbour" 1 "--mac" load --port srv --from 10.77.0.2:4433 --to 10.77.0.99:8009
mistake "load by sockets" 1 "kernel sockets" load --port srv --from 10.77.0.2:4433 --to 10.77.0.1:8009 --mac 02:00:00:00:00:01 \
	-o port.load.path=socket -o penstock.memory=no-huge
mistake "feed of another file" 1 "give the path of a feed" feed /etc/passwd --once
for args in help version "help help" "help version" "help config" "help drops" "help feed" \
	"bench open --reps 1 --json"; do
	# shellcheck disable=SC2086 # words
	full $args
done
mistake "feed without a path" 2 feed feed
mistake "feed that is not there" 1 "$TMP/nothing" feed "$TMP/nothing" --count 1
mistake "a devarg that loses rules" 1 "auto_reset=1 .*leave it out" run -c "$TMP/good.ini" -- -a 0000:7f:1f.7,auto_reset=1
mistake "unreadable configuration" 1 "$TMP/nothing.ini" run -c "$TMP/nothing.ini" -- --no-pci
mistake "a directory as configuration" 1 "$TMP.*-c FILE" run -c "$TMP" -- --no-pci
config "malformed" 1 malformed.ini <<<"this is no configuration"
config "unknown-key" 1 colour < <(cat "$TMP/good.ini"; echo "colour = blue")
config "unknown-section" 1 garden < <(cat "$TMP/good.ini"; printf '[garden]\nsize = 1\n')
config "no-port" 1 port < <(sed '/^\[port/,/^device/d' "$TMP/good.ini")
config "port-used-twice" 1 8001 < <(cat "$TMP/good.ini"
	printf '[service again]\nkind = udp\naddress = any\nport = 8001\n')
config "bad-address" 1 10.77.0.999 < <(sed 's/10\.77\.0\.2/10.77.0.999/' "$TMP/good.ini")
override "bad number" 2 size_mb -o feed.size_mb=many
override "override without a value" 2 feed.size_mb -o feed.size_mb
override "no such choice" 2 "off always auto" -o quic.retry=maybe
config "file-bad-choice" 1 "off always auto" < <(cat "$TMP/good.ini"; printf '[quic]\nretry = maybe\n')
override "no such lcore" 2 "4[0-9][0-9]" -l 499
override "no list of lcores" 2 "2,4-6" -l x
override "no such interface" 1 nosuch0 -o port.net.device=nosuch0
override "feeds in a missing place" 1 /nowhere -o feed.dir=/nowhere/at/all
override "key log that cannot be written" 1 "key_log.*/nowhere" -o tls.key_log=/nowhere/keys
ip -n "$NSS" link set srv down
override "interface down" 1 "link set"
ip -n "$NSS" link set srv up

# No huge pages: an empty directory in place of the kernel's list, in the mount namespace that
# ip netns exec makes for each program.
cat >"$TMP/without-huge" <<SH
#!/bin/sh
mount -t tmpfs -o size=4k penstock-netns /sys/kernel/mm/hugepages && exec "$PENSTOCK" "\$@"
SH
chmod 755 "$TMP/without-huge"
real=$PENSTOCK PENSTOCK=$TMP/without-huge
override "no huge pages" 1 "sysctl vm.nr_hugepages=" -o penstock.memory=huge
PENSTOCK=$real

# A full /dev/shm: a small file system of our own in its place.
mkdir "$TMP/small"
mount -t tmpfs -o size=64k penstock-netns "$TMP/small" || fail "a tmpfs cannot be mounted"
override "full memory file system" 1 "$TMP/small" -o "feed.dir=$TMP/small/feeds"
umount "$TMP/small"

# No permission: a user without capabilities, with a copy that he can reach.
chmod 755 "$TMP"
chmod 644 "$TMP"/*.ini
install -m 755 "$PENSTOCK" "$TMP/penstock"
cat >"$TMP/nobody" <<SH
#!/bin/sh
exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \\
	"$TMP/penstock" "\$@"
SH
chmod 755 "$TMP/nobody"
PENSTOCK=$TMP/nobody
override "no permission for feeds" 1 "feeds: Permission denied; make it"
install -d -o 65534 "$TMP/theirs"
override "no permission for the interface" 1 "not permitted to open an AF_XDP socket on srv; run as root" \
	-o "feed.dir=$TMP/theirs" -o port.net.path=af_xdp
PENSTOCK=$real

[ $bad -eq 0 ] || fail "$bad mistakes answered wrongly"
pass "each mistake is answered by one line and the right exit code"
