#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# meson install: every file that an operator and a consumer need is there, the unit names them where
# they are, the installed program and launch.sh run, and the man pages are clean and know every
# command, option, configuration key and drop reason.

. "$(dirname "$0")/lib.sh"
[ -x "$PENSTOCK" ] || skip "$PENSTOCK is not built; ninja -C $BUILD"
for tool in meson man mandoc pkg-config; do
	command -v $tool >/dev/null || skip "needs $tool; deploy/install-packages.sh --tests"
done
begin
prefix=$(meson introspect --buildoptions "$BUILD" | python3 -c 'import json, sys
print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
DESTDIR=$TMP/root meson install -C "$BUILD" --no-rebuild >"$TMP/install.log" 2>&1 || fail "meson install fails"
AT=$TMP/root$prefix

for file in bin/penstock lib/penstock/launch.sh lib/systemd/system/penstock.service \
	lib/systemd/system/penstock-bridge@.service include/penstock_feed.h \
	share/man/man8/penstock.8 share/man/man5/penstock.ini.5 share/doc/penstock/LICENSE share/doc/penstock/README.md; do
	[ -s "$AT/$file" ] || fail "$file is not installed"
done
for dir in config:examples deploy/doc:.; do
	for file in "$ROOT/${dir%:*}"/*; do
		cmp -s "$file" "$AT/share/doc/penstock/${dir#*:}/${file##*/}" || fail "$file is not installed"
	done
done
for name in penstock_feed.pc libpenstock_feed.so libpenstock_feed.a; do
	[ -n "$(find "$AT" -name $name)" ] || fail "$name is not installed"
done
[ "$(ls "$TMP/root")" = "$(cut -d/ -f2 <<<"$prefix")" ] || fail "files are outside of $prefix: $(ls "$TMP/root")"

# What the units name is there, and nothing stands beside it.
for path in $(grep -oh "$prefix/[a-z/]*penstock[a-z/.]*" "$AT"/lib/systemd/system/penstock*.service | sort -u); do
	[ -x "$TMP/root$path" ] || fail "a unit names $path, which is not installed"
done
[ "$(grep -c "$prefix/" "$AT/lib/systemd/system/penstock.service")" -ge 4 ] || fail "the unit does not name what is installed"
for unit in penstock.service penstock-bridge@.service; do
	command -v systemd-analyze >/dev/null || break
	sed "s|=\(-\?\)$prefix/|=\1$AT/|" "$AT/lib/systemd/system/$unit" >"$TMP/$unit"
	systemd-analyze verify --man=no --recursive-errors=no "$TMP/$unit" >"$TMP/verify.log" 2>&1 &&
		[ ! -s "$TMP/verify.log" ] || fail "systemd-analyze complains of the installed $unit"
done
"$AT/bin/penstock" version >"$TMP/version" || fail "the installed program does not run"
"$AT/lib/penstock/launch.sh" --help | grep -q launch.sh || fail "the installed launch.sh does not run"

# page FILE: clean to two formatters; its text goes to $TMP/text in one line per paragraph.
page() {
	[ -z "$(mandoc -Tlint "$1")" ] || fail "mandoc: $(mandoc -Tlint "$1" | head -n 3)"
	[ -z "$(man --warnings=w -l "$1" 2>&1 >/dev/null)" ] || fail "man: $(man --warnings=w -l "$1" 2>&1 >/dev/null | head -n 3)"
	MANWIDTH=1000 MANOPT=--nj LC_ALL=C man -l "$1" | col -bx >"$TMP/text"
}
# has WORDS: they are in the text, at any distance.
has() { grep -qF -- "$1" "$TMP/text" || fail "$2 is not in the page"; }

page "$AT/share/man/man8/penstock.8"
n=0
while read -r command summary; do
	grep -qx " *$command" "$TMP/text" || fail "command $command is not in the page"
	has "$summary" "the summary of $command"
	for option in $("$PENSTOCK" help "$command" | grep -o '^  --\?[a-zA-Z-]*'); do
		has "$option" "option $option of $command"
	done
	n=$((n + 1))
done < <("$PENSTOCK" help | sed -n 's/^  //p')
[ $n -gt 8 ] || fail "only $n commands"
while read -r key text; do
	has "$key" "drop reason $key"
done < <("$PENSTOCK" help drops)

page "$AT/share/man/man5/penstock.ini.5"
n=0
while read -r key value; do
	has "$key = $value" "key $key"
	n=$((n + 1))
done < <("$PENSTOCK" help config | grep '^  [^ ]')
[ $n -gt 40 ] || fail "only $n keys"
for section in $("$PENSTOCK" help config | sed -n 's/^\[\([^] ]*\).*/\1/p'); do
	has "[$section" "section $section"
done
pass "$(find "$TMP/root" -type f | wc -l) files; $n keys in penstock.ini(5)"
