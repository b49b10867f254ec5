# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# Another Debian release in a chroot, with its DPDK, compilers and libraries: the committed tree is
# built there without a warning, its unit tests pass, and the program serves a foreign client.
# Sourced by the tests beside it, which end through pass, fail or skip: exit code 0, 1 or 77, with
# the reason in the last line.
#
# A chroot stays for the next run, in $PENSTOCK_COMPAT/<release>; delete that directory, about 2 GB,
# for a fresh one. Everything else happens in mount and process namespaces of the script's own, so
# no mount and no process can outlive it, however it ends.

set -u

COMPAT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$COMPAT_DIR/../.." && pwd)
CHROOTS=${PENSTOCK_COMPAT:-/var/tmp/penstock-compat}
END_TO_END="netns/01-udp-service netns/02-stopped netns/03-killed netns/04-foreign-program
	netns/06-clean-stop interop/01-ngtcp2 interop/06-beyond-window interop/10-retry
	compat/eal-arguments"

pass() {
	echo "pass: $*"
	exit 0
}

fail() {
	echo "fail: $*"
	exit 1
}

skip() {
	echo "skip: $*"
	exit 77
}

# enter_namespaces: runs the calling script again, isolated.
enter_namespaces() {
	[ $$ -ne 1 ] || return 0
	[ "$(id -u)" -eq 0 ] || skip "needs root for a chroot"
	command -v debootstrap >/dev/null || skip "needs debootstrap; apt-get install debootstrap"
	unshare --mount --pid --fork true || skip "mount and process namespaces cannot be made here"
	mkdir -p "$CHROOTS" || fail "cannot make $CHROOTS"
	# A chroot and the machine's cores are for one script at a time.
	exec 9>"$CHROOTS/lock"
	flock 9
	# unshare heeds no signal while it waits; killed, it takes all inside with it.
	setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child \
		--mount-proc bash "$0" &
	trap 'kill -KILL $!; exit 130' HUP INT TERM
	wait $!
	exit $?
}

in_chroot() {
	chroot "$DIR" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		PENSTOCK_BUILD=/build "$@"
}

# step WORDS COMMAND...: says how long it took; shows the end of its output, which is in $LOG, when
# it fails. Returns the command's code.
step() {
	local what=$1 start=$SECONDS code=0
	shift
	"$@" >"$LOG" 2>&1 || code=$?
	if [ $code -eq 0 ]; then
		echo "$what: $((SECONDS - start)) s"
	else
		tail -n 30 "$LOG"
	fi
	return $code
}

# The mirror, and the way to it, are the ones this machine's apt uses.
debian_mirror() {
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Identifier: Packages' 'Component: main' |
		sed -n '/-security$/!{s/ .*//p;q}'
}

make_chroot() {
	local mirror
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || skip "apt knows no Debian mirror; apt-get update"
	rm -rf --one-file-system "$DIR"
	step "debootstrap $RELEASE" debootstrap --variant=minbase "$RELEASE" "$DIR" "$mirror" ||
		skip "debootstrap $RELEASE fails; see above"
	apt-config dump | grep -E '^Acquire::(https?|Check-)' >"$DIR/etc/apt/apt.conf.d/00host"
	cp /etc/hosts "$DIR/etc/hosts"
}

mount_chroot() {
	# iproute2 wants a root directory that is a mount.
	mount --bind "$DIR" "$DIR" && mount -t proc proc "$DIR/proc" &&
		mount -t sysfs sysfs "$DIR/sys" && mount --rbind /dev "$DIR/dev" ||
		skip "proc, sys and dev cannot be mounted in a chroot here"
}

copy_tree() {
	rm -rf "$DIR/penstock" "$DIR/build" "$DIR/build-clang" "$DIR"/tmp/penstock-*
	mkdir "$DIR/penstock"
	git -C "$ROOT" archive HEAD | tar -x -C "$DIR/penstock"
}

# build_in_chroot COMPILER DIR
build_in_chroot() {
	in_chroot CC="$1" meson setup "$2" /penstock -Dwerror=true && in_chroot ninja -C "$2" -j2
}

install_packages() {
	step "packages" in_chroot /penstock/deploy/install-packages.sh && return
	grep -qE 'Unable to locate|no installation candidate' "$LOG" &&
		fail "a package of deploy/install-packages.sh has another name in $RELEASE"
	skip "the packages of $RELEASE cannot be installed; see above"
}

end_to_end() {
	local script
	for script in $END_TO_END; do
		step "$script" in_chroot bash "/penstock/tests/$script.sh"
		case $? in
		0) ;;
		77) skip "$1: built and unit tests pass, but $script says $(tail -n 1 "$LOG")" ;;
		*) fail "$1: $script does not pass" ;;
		esac
	done
}

# compat RELEASE DPDK: the whole check of one Debian release that has that DPDK LTS.
compat() {
	local dpdk what tests
	RELEASE=$1
	DIR=$CHROOTS/$RELEASE
	LOG=$CHROOTS/$RELEASE.log
	enter_namespaces
	[ -e "$DIR/etc/penstock-packages" ] || make_chroot
	mount_chroot
	step "copy of the tree" copy_tree || fail "git archive fails in $ROOT"
	install_packages
	touch "$DIR/etc/penstock-packages"
	dpdk=$(in_chroot pkg-config --modversion libdpdk)
	[[ $dpdk = $2.* ]] || skip "$RELEASE has DPDK $dpdk now, not $2"
	what="DPDK $dpdk, gcc $(in_chroot gcc -dumpfullversion), clang $(in_chroot clang -dumpversion)"
	echo "$what"
	step "build with clang" build_in_chroot clang /build-clang || fail "$what: clang does not build the tree"
	step "build with gcc" build_in_chroot gcc /build || fail "$what: gcc does not build the tree"
	step "unit tests" in_chroot meson test -C /build --no-rebuild --print-errorlogs --suite unit ||
		fail "$what: unit tests fail"
	tests=$(sed -n 's/^Ok: *\([0-9]*\).*/\1/p' "$LOG")
	end_to_end "$what"
	pass "$what: built, $tests unit tests, $(wc -w <<<"$END_TO_END") end to end"
}
